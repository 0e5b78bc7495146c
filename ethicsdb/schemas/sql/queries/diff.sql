-- Rows that differ between two versions of a data set, by content: multisets are compared, so repeats count. A row whose
-- content is the same and whose cluster or base question is another was relinked.
WITH linked AS (
    SELECT version, {'item': item_id, 'variant': variant, 'id': source_id, 'split': split} AS content,
           {'group': group_id, 'base': base_item} AS link, count(*) AS times
    FROM membership
    WHERE dataset = $dataset AND version IN ($before, $after)
    GROUP BY ALL
),
counted AS (
    SELECT
        content,
        coalesce(sum(times) FILTER (version = $before), 0) AS before,
        coalesce(sum(times) FILTER (version = $after), 0) AS after
    FROM linked
    GROUP BY content
),
gone AS (
    SELECT content, before - after AS times FROM counted WHERE before > after
),
come AS (
    SELECT content, after - before AS times FROM counted WHERE after > before
),
-- Rows that keep their links too.
kept AS (
    SELECT content, sum(least(before, after)) AS times
    FROM (
        SELECT
            content,
            coalesce(sum(times) FILTER (version = $before), 0) AS before,
            coalesce(sum(times) FILTER (version = $after), 0) AS after
        FROM linked
        GROUP BY content, link
    )
    GROUP BY content
),
-- A source id and variant that lost one row and gained one row was changed.
alone AS (
    SELECT content.id AS id, content.variant AS variant, any_value(content) AS content, 'gone' AS side
    FROM gone WHERE content.id IS NOT NULL GROUP BY ALL HAVING sum(times) = 1
    UNION ALL
    SELECT content.id, content.variant, any_value(content), 'come'
    FROM come WHERE content.id IS NOT NULL GROUP BY ALL HAVING sum(times) = 1
),
pair AS (
    SELECT gone.content AS old, come.content AS new
    FROM alone gone
    JOIN alone come ON gone.id = come.id AND gone.variant IS NOT DISTINCT FROM come.variant
    WHERE gone.side = 'gone' AND come.side = 'come'
),
changes AS (
    SELECT 'changed' AS change, old.id AS source_id, old.variant AS variant, old.item AS old_item, new.item AS new_item
    FROM pair
    UNION ALL
    SELECT 'removed', content.id, content.variant, content.item, NULL
    FROM gone, range(gone.times::BIGINT)
    WHERE NOT EXISTS (SELECT 1 FROM pair WHERE pair.old = gone.content)
    UNION ALL
    SELECT 'added', content.id, content.variant, NULL, content.item
    FROM come, range(come.times::BIGINT)
    WHERE NOT EXISTS (SELECT 1 FROM pair WHERE pair.new = come.content)
    UNION ALL
    SELECT 'relinked', content.id, content.variant, content.item, content.item
    FROM counted JOIN kept USING (content), range((least(before, after) - kept.times)::BIGINT)
)
SELECT change, source_id, variant, old_text.text, new_text.text
FROM changes
LEFT JOIN item_text old_text ON old_text.item_id = old_item
LEFT JOIN item_text new_text ON new_text.item_id = new_item
ORDER BY change, source_id, variant, old_text.text, new_text.text
