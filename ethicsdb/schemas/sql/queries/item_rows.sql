-- Rows of a version with the payloads of their items.
SELECT
    membership."row",
    membership.item_id,
    membership.group_id,
    membership.variant,
    membership.source_id,
    payload.* EXCLUDE (item_id)
FROM membership
JOIN safety_question payload USING (item_id)
WHERE membership.dataset = $dataset AND membership.version = $version
ORDER BY membership."row"
