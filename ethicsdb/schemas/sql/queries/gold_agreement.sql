-- A judge against a gold set: one version of it, and the judge as it is declared now.
SELECT *
FROM gold_agreement
WHERE benchmark = $benchmark AND major = $major AND version = $version
  AND judge_fingerprint IN (SELECT fingerprint FROM current_judge WHERE name = $judge)
ORDER BY attribute, rule DESC, split, array_position(['overall', 'language', 'category'], slice), slice_value
