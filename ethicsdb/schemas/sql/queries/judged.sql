-- The verdicts that a judge has given on a run's answers.
SELECT verdict.verdict_id
FROM verdict
WHERE verdict.judge_fingerprint = $judge
  AND verdict.subject_id IN (SELECT response_key FROM run_item WHERE run_id = $run)
