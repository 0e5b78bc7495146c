-- Runs whose id starts with some digits.
SELECT run_id
FROM run
WHERE starts_with(replace(run_id, 'blake2b-128:', ''), $start) AND length($start) > 0
ORDER BY run_id
LIMIT 20
