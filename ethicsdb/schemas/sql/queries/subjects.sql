-- The answers of a run that a judge can read, with the items that they answer. A run's samples of one item are one row
-- each; rows that share an answer are one subject.
SELECT DISTINCT ON (run_item.response_key)
    run_item.response_key,
    run_item.item_id,
    answer.text,
    answer.text_exact
FROM run_item
JOIN answer USING (response_key)
WHERE run_item.run_id = $run AND answer.status = 'completed'
ORDER BY run_item.response_key
