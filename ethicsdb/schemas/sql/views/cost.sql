-- What was paid to whom, and what for: every try stands in exactly one row. Money is in millionths of a US dollar, after
-- the prices that the model's declaration had when the call was made.
--
-- `billed` tries are those whose reply of success was read whole, which is what endpoints charge for; `uncosted` those of
-- them whose price or token counts are unknown, so that `cost_microusd` leaves them out. `in_flight` calls were begun and
-- have no reply: a kill or a lost line, which the endpoint may charge for all the same. Imported answers are not here.
WITH purpose AS (
    SELECT response_key, 'answers' AS purpose FROM run_item
    UNION ALL
    SELECT response_key, 'candidates' FROM candidate
),
purpose_of AS (
    SELECT response_key, min(purpose) AS purpose FROM purpose GROUP BY response_key
),
tried AS (
    SELECT
        response.model_fingerprint,
        coalesce(purpose_of.purpose, 'verdicts') AS purpose,
        response.*,
        false AS lost
    FROM response
    LEFT JOIN purpose_of USING (response_key)
    WHERE response.billed IS NOT NULL
),
lost AS (
    SELECT
        coalesce(known.model_fingerprint, run.model_fingerprint) AS model_fingerprint,
        coalesce(purpose_of.purpose, 'verdicts') AS purpose
    FROM call
    ANTI JOIN response ON response.response_key = call.response_key AND response.try_number = call.try_number
    LEFT JOIN (
        SELECT response_key, any_value(model_fingerprint) AS model_fingerprint FROM response GROUP BY response_key
    ) AS known USING (response_key)
    LEFT JOIN (SELECT response_key, any_value(run_id) AS run_id FROM run_item GROUP BY response_key) AS item
      USING (response_key)
    LEFT JOIN run USING (run_id)
    LEFT JOIN purpose_of USING (response_key)
),
counted AS (
    SELECT
        model_fingerprint,
        purpose,
        count(*) AS calls,
        count(*) FILTER (billed) AS billed,
        coalesce(sum(prompt_tokens) FILTER (billed), 0)::BIGINT AS prompt_tokens,
        coalesce(sum(completion_tokens) FILTER (billed), 0)::BIGINT AS completion_tokens,
        sum(cost_microusd)::BIGINT AS cost_microusd,
        count(*) FILTER (billed AND cost_microusd IS NULL) AS uncosted,
        0 AS in_flight
    FROM tried
    GROUP BY model_fingerprint, purpose
    UNION ALL
    SELECT model_fingerprint, purpose, count(*), 0, 0, 0, NULL, 0, count(*)
    FROM lost
    GROUP BY model_fingerprint, purpose
)
SELECT
    model.name AS model,
    counted.purpose,
    sum(counted.calls)::BIGINT AS calls,
    sum(counted.billed)::BIGINT AS billed,
    sum(counted.prompt_tokens)::BIGINT AS prompt_tokens,
    sum(counted.completion_tokens)::BIGINT AS completion_tokens,
    sum(counted.cost_microusd)::BIGINT AS cost_microusd,
    sum(counted.uncosted)::BIGINT AS uncosted,
    sum(counted.in_flight)::BIGINT AS in_flight,
    counted.model_fingerprint
FROM counted
LEFT JOIN model ON model.fingerprint = counted.model_fingerprint
GROUP BY model.name, counted.purpose, counted.model_fingerprint
