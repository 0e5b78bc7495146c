-- Other stored answers to the item at a place of a data set version, or to what stands there in its other versions
-- (the same source id and variant; without an id, the same row), with all that their keys are made of. Answers of other
-- runs come first.
WITH here AS (
    SELECT item_id, source_id, variant, "row"
    FROM membership
    WHERE dataset = $dataset AND version = $version AND "row" = $row
),
near AS (
    SELECT item_id FROM here
    UNION
    SELECT membership.item_id
    FROM membership
    JOIN here
      ON membership.variant IS NOT DISTINCT FROM here.variant
     AND CASE
             WHEN here.source_id IS NULL THEN membership."row" = here."row"
             ELSE membership.source_id = here.source_id
         END
    WHERE membership.dataset = $dataset AND membership.version <> $version
),
run_here AS (
    SELECT DISTINCT run_id FROM run_item WHERE response_key = $key
),
stored AS (
    SELECT DISTINCT ON (run_item.response_key)
        run_item.response_key,
        run_item.run_id,
        run_item.sample_number,
        item_text.text AS question,
        run.sampling,
        model.identity AS model_identity,
        prompt.template,
        prompt.system
    FROM run_item
    JOIN near USING (item_id)
    JOIN run USING (run_id)
    JOIN model ON model.fingerprint = run.model_fingerprint
    LEFT JOIN prompt ON prompt.fingerprint = run.prompt_fingerprint
    LEFT JOIN item_text USING (item_id)
    WHERE run_item.response_key <> $key
    ORDER BY run_item.response_key, run_item.run_id
)
SELECT *
FROM stored
ORDER BY run_id IN (SELECT run_id FROM run_here), run_id, response_key
