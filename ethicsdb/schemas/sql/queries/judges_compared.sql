-- Judges beside each other, for one benchmark and the judges as they are declared now.
SELECT *
FROM judge_beside_judge
WHERE benchmark = $benchmark AND major = $major
  AND judge_fingerprint IN (SELECT fingerprint FROM current_judge)
  AND other_fingerprint IN (SELECT fingerprint FROM current_judge)
ORDER BY model, run_id, metric, judge, other_judge, slice = 'overall' DESC, slice, slice_value
