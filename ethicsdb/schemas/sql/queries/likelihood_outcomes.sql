-- How the items of a likelihood run ended.
SELECT outcome, reason, count(*) AS n
FROM item_outcome
WHERE run_id = $run
GROUP BY outcome, reason
ORDER BY n DESC, outcome, reason
