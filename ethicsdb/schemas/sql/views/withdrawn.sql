-- What stands withdrawn: runs, imports of labels, and a judge's verdicts on a run (`name`: run, space, judge's
-- fingerprint). No board shows it. Its rows stay.
SELECT kind, name
FROM withdrawal
QUALIFY row_number() OVER (PARTITION BY kind, name ORDER BY said_at DESC) = 1 AND withdrawn
