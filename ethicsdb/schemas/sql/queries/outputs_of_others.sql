-- The run of another model, or another revision, that the same judge outputs were imported for, on one
-- benchmark; not if withdrawn.
SELECT model.name, model.revision, run.run_id
FROM model
JOIN run ON run.model_fingerprint = model.fingerprint
WHERE run.benchmark = $benchmark
  AND run.major = $major
  AND model.backend = 'import'
  AND model.identity ->> '$.judge_outputs' = $content
  AND (model.name <> $model OR model.revision IS DISTINCT FROM $revision)
  AND run.run_id NOT IN (SELECT name FROM withdrawn WHERE kind = 'run')
ORDER BY run.run_id
LIMIT 1
