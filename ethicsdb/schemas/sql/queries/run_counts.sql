-- What a run asked and what came of it: asked = completed + filtered + error + pending. Equal requests are sent once, so
-- that `requests`, which counts distinct ones that could be sent, may be below `asked`.
SELECT
    count(*) AS asked,
    count(DISTINCT run_item."row") AS items,
    count(*) FILTER (answer.status = 'completed') AS completed,
    count(*) FILTER (answer.status = 'filtered') AS filtered,
    count(*) FILTER (answer.status = 'error') AS error,
    count(*) FILTER (answer.status IS NULL) AS pending,
    count(*) FILTER (answer.error_code = 'no_question') AS no_question,
    count(DISTINCT run_item.response_key) FILTER (answer.error_code IS DISTINCT FROM 'no_question') AS requests
FROM run_item
LEFT JOIN answer USING (response_key)
WHERE run_item.run_id = $run
