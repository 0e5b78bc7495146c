-- The asked-for rows of a run by slice, the whole first.
WITH asked AS (
    SELECT DISTINCT "row", item_id FROM run_target WHERE run_id = $run
    UNION
    SELECT DISTINCT "row", item_id FROM run_item WHERE run_id = $run
)
SELECT "row", 'overall' AS slice, '' AS slice_value FROM asked
UNION ALL
SELECT asked."row", 'variant', membership.variant
FROM asked
JOIN run ON run.run_id = $run
JOIN membership
  ON membership.dataset = run.dataset AND membership.version = run.version AND membership."row" = asked."row"
WHERE membership.variant IS NOT NULL
UNION ALL
SELECT asked."row", item_slice.slice, item_slice.slice_value FROM asked JOIN item_slice USING (item_id)
ORDER BY slice <> 'overall', slice, slice_value, "row"
