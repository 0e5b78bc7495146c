-- Judges against people, for one benchmark.
SELECT *
FROM judge_agreement
WHERE benchmark = $benchmark AND major = $major
ORDER BY judge, annotator, attribute, rule, slice = 'overall' DESC, slice_value
