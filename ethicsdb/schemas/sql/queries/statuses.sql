-- How the answers of a run stand; `pending` where none has come.
SELECT coalesce(answer.status, 'pending') AS status, count(*) AS n
FROM run_item
LEFT JOIN answer USING (response_key)
WHERE run_item.run_id = $run
GROUP BY ALL
ORDER BY n DESC
