-- How the asked-for items of one benchmark's runs ended.
SELECT outcomes.*
FROM outcomes
WHERE benchmark = $benchmark AND major = $major AND role = 'evaluation'
  AND (judge_fingerprint IS NULL OR judge_fingerprint IN (SELECT fingerprint FROM current_judge))
ORDER BY judge, model, run_id, n DESC, outcome, reason
