-- Rows that differ between two versions of a data set, by content: multisets are compared, so repeats count.
WITH counted AS (
    SELECT version, item_id, group_id, variant, base_item, source_id, split, count(*) AS occurrences
    FROM membership
    WHERE dataset = $dataset AND version IN ($before, $after)
    GROUP BY ALL
),
gone AS (
    SELECT old.* REPLACE (old.occurrences - coalesce(new.occurrences, 0) AS occurrences)
    FROM counted old
    LEFT JOIN counted new
      ON new.version = $after
     AND (new.item_id, new.group_id, new.variant, new.base_item, new.source_id, new.split)
         IS NOT DISTINCT FROM (old.item_id, old.group_id, old.variant, old.base_item, old.source_id, old.split)
    WHERE old.version = $before AND old.occurrences > coalesce(new.occurrences, 0)
),
come AS (
    SELECT new.* REPLACE (new.occurrences - coalesce(old.occurrences, 0) AS occurrences)
    FROM counted new
    LEFT JOIN counted old
      ON old.version = $before
     AND (new.item_id, new.group_id, new.variant, new.base_item, new.source_id, new.split)
         IS NOT DISTINCT FROM (old.item_id, old.group_id, old.variant, old.base_item, old.source_id, old.split)
    WHERE new.version = $after AND new.occurrences > coalesce(old.occurrences, 0)
),
-- A source id and variant that lost one row and gained one row was changed.
pair AS (
    SELECT gone.item_id AS old_item, come.item_id AS new_item, source_id, variant
    FROM gone JOIN come USING (source_id, variant)
    WHERE source_id IS NOT NULL
      AND gone.occurrences = 1 AND come.occurrences = 1
      AND 1 = (SELECT count(*) FROM gone g WHERE (g.source_id, g.variant) IS NOT DISTINCT FROM (gone.source_id, gone.variant))
      AND 1 = (SELECT count(*) FROM come c WHERE (c.source_id, c.variant) IS NOT DISTINCT FROM (come.source_id, come.variant))
),
changes AS (
    SELECT 'changed' AS change, source_id, variant, old_item, new_item FROM pair
    UNION ALL
    SELECT 'removed', source_id, variant, item_id, NULL FROM gone, range(gone.occurrences)
    WHERE (source_id, variant, item_id) NOT IN (SELECT (source_id, variant, old_item) FROM pair)
    UNION ALL
    SELECT 'added', source_id, variant, NULL, item_id FROM come, range(come.occurrences)
    WHERE (source_id, variant, item_id) NOT IN (SELECT (source_id, variant, new_item) FROM pair)
)
SELECT change, source_id, variant, old_text.text, new_text.text
FROM changes
LEFT JOIN item_text old_text ON old_text.item_id = old_item
LEFT JOIN item_text new_text ON new_text.item_id = new_item
ORDER BY change, source_id, variant, old_text.text, new_text.text
