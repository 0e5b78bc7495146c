-- What the answers of a run, and each judge's verdicts on them, cost, whoever asked for them first: answers that several
-- runs share stand in the row of each, and `shared` counts them. Columns as in `cost`.
WITH part AS (
    SELECT DISTINCT run_id, 'answers' AS part, NULL::VARCHAR AS judge_fingerprint, response_key
    FROM run_item
    UNION
    SELECT run_item.run_id, 'verdicts', verdict.judge_fingerprint, verdict.judge_response_key
    FROM run_item
    JOIN verdict ON verdict.subject_id = run_item.response_key
    WHERE verdict.judge_response_key IS NOT NULL
),
sharing AS (
    SELECT response_key, count(DISTINCT run_id) > 1 AS shared FROM part GROUP BY response_key
),
tried AS (
    SELECT
        response_key,
        count(*) AS calls,
        count(*) FILTER (billed) AS billed,
        coalesce(sum(prompt_tokens) FILTER (billed), 0) AS prompt_tokens,
        coalesce(sum(completion_tokens) FILTER (billed), 0) AS completion_tokens,
        sum(cost_microusd) AS cost_microusd,
        count(*) FILTER (billed AND cost_microusd IS NULL) AS uncosted
    FROM response
    WHERE billed IS NOT NULL
    GROUP BY response_key
)
SELECT
    run.benchmark,
    model.name AS model,
    part.part,
    judge.name AS judge,
    count(*) AS answers,
    count(*) FILTER (sharing.shared) AS shared,
    sum(tried.calls)::BIGINT AS calls,
    sum(tried.billed)::BIGINT AS billed,
    sum(tried.prompt_tokens)::BIGINT AS prompt_tokens,
    sum(tried.completion_tokens)::BIGINT AS completion_tokens,
    sum(tried.cost_microusd)::BIGINT AS cost_microusd,
    sum(tried.uncosted)::BIGINT AS uncosted,
    part.run_id,
    part.judge_fingerprint
FROM part
JOIN tried USING (response_key)
JOIN sharing USING (response_key)
JOIN run ON run.run_id = part.run_id
JOIN model ON model.fingerprint = run.model_fingerprint
LEFT JOIN judge ON judge.fingerprint = part.judge_fingerprint
GROUP BY run.benchmark, model.name, part.part, judge.name, part.run_id, part.judge_fingerprint
