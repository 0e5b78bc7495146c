-- Which option each answer of a run chose, as a judge reads it; NULL where it chose none or there is no answer.
-- Several answers to one item count as the first: a measure takes one choice an item. In an import, a later sample is
-- the answer that a doubled row had.
SELECT run_item."row", any_value(CASE WHEN verdict_label.value <> 'none' THEN verdict_label.value::INTEGER END) AS choice
FROM run_item
LEFT JOIN current_verdict
  ON current_verdict.subject_kind = 'response'
 AND current_verdict.subject_id = run_item.response_key
 AND current_verdict.judge_fingerprint = $judge
LEFT JOIN verdict_label ON verdict_label.verdict_id = current_verdict.verdict_id AND verdict_label.attribute = 'choice'
JOIN run USING (run_id)
WHERE run_item.run_id = $run AND (run_item.sample_number = 0 OR run.source = 'import')
GROUP BY run_item."row"
ORDER BY run_item."row"
