-- Numbers from 0 on for the parts of a board row's key: its run, judge, metric, and slice with value. Sums are grouped
-- by numbers, since grouping by long texts is most of what a board would cost.
SELECT 'run' AS part, run_id AS name, NULL::VARCHAR AS value, row_number() OVER (ORDER BY run_id) - 1 AS number
FROM run
UNION ALL
SELECT 'judge', fingerprint, NULL, row_number() OVER (ORDER BY fingerprint) - 1
FROM judge
UNION ALL
SELECT 'metric', metric, NULL, row_number() OVER (ORDER BY metric) - 1
FROM (SELECT DISTINCT metric FROM metric)
UNION ALL
SELECT 'slice', slice, slice_value, row_number() OVER (ORDER BY slice, slice_value) - 1
FROM (
    SELECT 'overall' AS slice, '' AS slice_value
    UNION
    SELECT 'variant', variant FROM membership WHERE variant IS NOT NULL
    UNION
    SELECT slice, slice_value FROM item_slice
)
