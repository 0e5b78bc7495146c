-- The runs on which a judge of that name has given verdicts, each with the judge's identity: of the run `$name`, or of
-- the runs of the import of that name.
SELECT DISTINCT run_item.run_id, verdict.judge_fingerprint
FROM run_item
JOIN verdict ON verdict.subject_id = run_item.response_key
JOIN judge ON judge.fingerprint = verdict.judge_fingerprint
WHERE judge.name = $judge
  AND (run_item.run_id = $name OR run_item.run_id IN (SELECT run_id FROM import_row WHERE import_name = $name))
ORDER BY ALL
