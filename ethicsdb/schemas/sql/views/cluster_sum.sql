-- Sums by board row and cluster, which is all that an interval needs. `k` names the board row, see `board_key`.
WITH numbered AS (
    SELECT dataset, version, "row", min("row") OVER (PARTITION BY dataset, version, group_id) AS cluster
    FROM membership
),
unit AS (
    SELECT
        ((of_run.number * judges + of_judge.number) * metrics + of_metric.number) * slices AS base,
        numbered.cluster,
        metric_unit.item_id,
        metric_unit.variant,
        metric_unit.value,
        metric_unit.cut_off
    FROM metric_unit
    JOIN run USING (run_id)
    JOIN numbered
      ON numbered.dataset = run.dataset AND numbered.version = run.version AND numbered."row" = metric_unit."row"
    JOIN board_part of_run ON of_run.part = 'run' AND of_run.name = metric_unit.run_id
    JOIN board_part of_judge ON of_judge.part = 'judge' AND of_judge.name = metric_unit.judge_fingerprint
    JOIN board_part of_metric ON of_metric.part = 'metric' AND of_metric.name = metric_unit.metric
    CROSS JOIN board_key
),
item_number AS (
    SELECT item_slice.item_id, board_part.number
    FROM item_slice
    JOIN board_part
      ON board_part.part = 'slice' AND board_part.name = item_slice.slice AND board_part.value = item_slice.slice_value
),
sliced AS (
    SELECT base + (SELECT number FROM board_part WHERE part = 'slice' AND name = 'overall') AS k, cluster, value, cut_off
    FROM unit
    UNION ALL
    SELECT base + board_part.number, cluster, unit.value, unit.cut_off
    FROM unit
    JOIN board_part
      ON board_part.part = 'slice' AND board_part.name = 'variant' AND board_part.value = unit.variant
    UNION ALL
    SELECT base + item_number.number, cluster, value, cut_off
    FROM unit
    JOIN item_number USING (item_id)
)
SELECT
    k,
    cluster,
    count(value) AS n_g,
    sum(value) AS s_g,
    count(*) AS asked,
    count(*) FILTER (cut_off) AS cut_off,
    0 AS lo,
    1 AS hi
FROM sliced
GROUP BY k, cluster
