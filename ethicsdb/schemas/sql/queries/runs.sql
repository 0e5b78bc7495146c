-- Every run, newest first.
SELECT
    run.run_id,
    run.benchmark,
    run.major,
    run.version,
    model.name AS model,
    run.item_limit,
    run.n_expected,
    run.source,
    run.role,
    count(answer.response_key) AS answers,
    run.started_at
FROM run
JOIN model ON model.fingerprint = run.model_fingerprint
LEFT JOIN run_item USING (run_id)
LEFT JOIN answer ON answer.response_key = run_item.response_key AND answer.status = 'completed'
GROUP BY ALL
ORDER BY run.started_at DESC, run.run_id
