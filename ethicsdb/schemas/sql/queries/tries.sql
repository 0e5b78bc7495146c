-- For each key of a model and its settings: how many calls were begun, and whether it needs no more of them.
WITH begun AS (
    SELECT response_key, try_number FROM call
    UNION ALL
    SELECT response_key, try_number FROM response
),
counted AS (
    SELECT response_key, max(try_number) AS tries FROM begun GROUP BY response_key
),
ended AS (
    SELECT
        response_key,
        bool_or(status <> 'error' OR list_contains($final_errors, error_code)) AS final
    FROM response
    WHERE model_fingerprint = $model
    GROUP BY response_key
)
SELECT response_key, tries, coalesce(final, false)
FROM counted
LEFT JOIN ended USING (response_key)
