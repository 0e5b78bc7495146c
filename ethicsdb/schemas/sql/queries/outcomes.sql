-- How the asked-for items of one benchmark's runs ended.
SELECT outcomes.*
FROM outcomes
LEFT JOIN current_judge ON current_judge.fingerprint = outcomes.judge_fingerprint
WHERE benchmark = $benchmark AND major = $major AND role = 'evaluation'
  AND (current_judge.fingerprint IS NOT NULL OR outcomes.judge_fingerprint IS NULL)
ORDER BY judge, model, run_id, n DESC, outcome, reason
