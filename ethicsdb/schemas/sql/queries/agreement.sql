-- Judges against people, for one benchmark and the judges as they are declared now.
SELECT *
FROM judge_agreement
WHERE benchmark = $benchmark AND major = $major
  -- Not a join: two declared judges may be one and the same.
  AND judge_fingerprint IN (SELECT fingerprint FROM current_judge)
ORDER BY judge, annotator, attribute, rule DESC, slice = 'overall' DESC, slice_value
