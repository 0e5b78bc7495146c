-- Other imported runs of the same model and revision on the same board, oldest first; not those that were withdrawn.
SELECT other.run_id, other_model.name, other.n_expected
FROM run
JOIN model ON model.fingerprint = run.model_fingerprint
JOIN run AS other
  ON other.benchmark = run.benchmark
 AND other.major = run.major
 AND other.dataset = run.dataset
 AND other.version = run.version
 AND other.role = run.role
 AND other.source = 'import'
 AND other.run_id <> run.run_id
JOIN model AS other_model
  ON other_model.fingerprint = other.model_fingerprint
 AND other_model.name = model.name
 AND other_model.revision IS NOT DISTINCT FROM model.revision
WHERE run.run_id = $run
  AND other.run_id NOT IN (SELECT name FROM withdrawn WHERE kind = 'run')
ORDER BY other.started_at, other.run_id
