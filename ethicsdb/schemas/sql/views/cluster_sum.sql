-- Sums by board row and cluster, which is all that an interval needs. `k` names the board row.
WITH sliced AS (
    SELECT metric_unit.*, 'overall' AS slice, '' AS slice_value FROM metric_unit
    UNION ALL
    SELECT metric_unit.*, 'variant', variant FROM metric_unit WHERE variant IS NOT NULL
    UNION ALL
    SELECT metric_unit.*, item_slice.slice, item_slice.slice_value
    FROM metric_unit
    JOIN item_slice USING (item_id)
)
SELECT
    {'run_id': run_id, 'judge': judge_fingerprint, 'metric': metric, 'slice': slice, 'slice_value': slice_value} AS k,
    group_id,
    count(value) AS n_g,
    sum(value) AS s_g,
    count(*) AS asked,
    0 AS lo,
    1 AS hi
FROM sliced
GROUP BY ALL
