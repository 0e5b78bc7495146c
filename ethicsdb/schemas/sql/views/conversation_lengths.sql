-- Instances of a version of conversations by split and label, and their mean lengths in one tokenizer's tokens (Eagle,
-- Table 1). An instance counts under each of its labels; `all` has every instance once. `counted` and
-- `counted_outputs` say how many instances the means rest on.
WITH instance AS (
    SELECT
        membership.dataset,
        membership.version,
        membership.split,
        membership.item_id,
        unnest(list_prepend('all', from_json(conversation.labels, '["VARCHAR"]'))) AS label
    FROM membership
    JOIN conversation USING (item_id)
),
named AS (
    SELECT tokenizer_fingerprint, min(tokenizer) AS tokenizer
    FROM token_count
    GROUP BY tokenizer_fingerprint
)
SELECT
    instance.dataset,
    instance.version,
    instance.split,
    named.tokenizer,
    named.tokenizer_fingerprint,
    instance.label,
    count(*) AS instances,
    count(token_count.item_id) AS counted,
    count(token_count.output_tokens) AS counted_outputs,
    avg(token_count.context_tokens) AS mean_context_tokens,
    avg(token_count.output_tokens) AS mean_output_tokens,
    avg(token_count.turns) AS mean_turns
FROM instance
LEFT JOIN named ON true
LEFT JOIN token_count
  ON token_count.item_id = instance.item_id AND token_count.tokenizer_fingerprint = named.tokenizer_fingerprint
GROUP BY instance.dataset, instance.version, instance.split, named.tokenizer, named.tokenizer_fingerprint,
         instance.label
