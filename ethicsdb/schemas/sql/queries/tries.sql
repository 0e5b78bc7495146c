-- For each of some keys: how many calls were begun, and whether it needs no more of them.
WITH wanted AS (
    SELECT unnest($keys::VARCHAR[]) AS response_key
),
begun AS (
    SELECT response_key, try_number FROM call SEMI JOIN wanted USING (response_key)
    UNION ALL
    SELECT response_key, try_number FROM response SEMI JOIN wanted USING (response_key)
),
counted AS (
    SELECT response_key, max(try_number) AS tries FROM begun GROUP BY response_key
),
ended AS (
    SELECT
        response_key,
        bool_or(status <> 'error' OR list_contains($final_errors, error_code)) AS final
    FROM response
    SEMI JOIN wanted USING (response_key)
    GROUP BY response_key
)
SELECT response_key, tries, coalesce(final, false)
FROM counted
LEFT JOIN ended USING (response_key)
