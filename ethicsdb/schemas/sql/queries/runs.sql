-- Every run, newest first, with what came of it: asked (n_expected) = answered + filtered + error + pending. Equal
-- requests are sent once, so that `requests`, which counts distinct ones that could be sent, may be below that. Of a
-- likelihood run, `answered` counts items whose texts are all scored, and `requests` distinct texts after contexts.
WITH answered AS (
    SELECT
        run_item.run_id,
        count(*) FILTER (answer.status = 'completed') AS answered,
        count(*) FILTER (answer.status = 'filtered') AS filtered,
        count(*) FILTER (answer.status = 'error') AS error,
        count(*) FILTER (answer.error_code = 'no_question') AS no_question,
        count(DISTINCT run_item.response_key) FILTER (answer.error_code IS DISTINCT FROM 'no_question') AS requests
    FROM run_item
    LEFT JOIN answer USING (response_key)
    GROUP BY run_item.run_id
),
target AS (
    SELECT run_id, count(DISTINCT likelihood_key) FILTER (likelihood_key <> '') AS requests
    FROM run_target
    GROUP BY run_id
),
scored AS (
    SELECT
        run_id,
        count(*) FILTER (outcome = 'scored') AS answered,
        count(*) FILTER (outcome = 'error') AS error,
        count(*) FILTER (reason = 'nothing_to_score') AS no_question
    FROM item_outcome
    JOIN target USING (run_id)
    GROUP BY run_id
),
counted AS (
    SELECT * FROM answered
    UNION ALL
    SELECT run_id, answered, 0, error, no_question, requests FROM scored JOIN target USING (run_id)
)
SELECT
    run.run_id,
    run.benchmark,
    run.major,
    run.version,
    model.name AS model,
    run.item_limit,
    run.n_expected,
    coalesce(counted.answered, 0) AS answered,
    coalesce(counted.filtered, 0) AS filtered,
    coalesce(counted.error, 0) AS error,
    run.n_expected - coalesce(counted.answered + counted.filtered + counted.error, 0) AS pending,
    coalesce(counted.no_question, 0) AS no_question,
    coalesce(counted.requests, 0) AS requests,
    run_settings.samples,
    run_settings.settings,
    run.source,
    run.role,
    run.run_id IN (SELECT name FROM withdrawn WHERE kind = 'run') AS withdrawn,
    run.started_at
FROM run
JOIN model ON model.fingerprint = run.model_fingerprint
JOIN run_settings ON run_settings.run_id = run.run_id
LEFT JOIN counted ON counted.run_id = run.run_id
ORDER BY run.started_at DESC, run.run_id
