-- The value that each asked-for item contributes to each metric: 1 or 0, or NULL where it does not enter the
-- denominator. A metric is reported only under judges whose rubric has its label. Withdrawn runs have none.
WITH
-- Many metrics count the same values of the same label, which is looked at once.
counted AS (
    SELECT DISTINCT attribute, positive, from_json(positive, '["VARCHAR"]') AS positives FROM metric
),
-- An attribute may have several values in one verdict; one of the counted values is enough.
label AS (
    SELECT
        verdict_label.verdict_id,
        counted.attribute,
        counted.positive,
        bool_or(list_contains(counted.positives, verdict_label.value)) AS hit
    FROM verdict_label
    JOIN counted USING (attribute)
    GROUP BY verdict_label.verdict_id, counted.attribute, counted.positive
)
SELECT
    item_outcome.run_id,
    item_outcome.judge_fingerprint,
    metric.metric,
    item_outcome."row",
    item_outcome.sample_number,
    item_outcome.item_id,
    item_outcome.group_id,
    item_outcome.variant,
    item_outcome.base_item,
    item_outcome.outcome,
    item_outcome.cut_off,
    CASE
        WHEN item_outcome.outcome = 'scored' THEN label.hit::INTEGER
        -- A published rule that divides by all prompts counts what it could not read as no hit.
        WHEN metric.denominator = 'all' AND item_outcome.outcome IS NOT NULL THEN coalesce(label.hit, false)::INTEGER
    END AS value
FROM item_outcome
JOIN run USING (run_id)
ANTI JOIN withdrawn ON withdrawn.kind = 'run' AND withdrawn.name = item_outcome.run_id
JOIN metric ON metric.benchmark = run.benchmark AND metric.major = run.major
JOIN judge_gives
  ON judge_gives.judge_fingerprint = item_outcome.judge_fingerprint
 AND judge_gives.attribute = metric.attribute
LEFT JOIN label
  ON label.verdict_id = item_outcome.verdict_id
 AND label.attribute = metric.attribute
 AND label.positive = metric.positive
WHERE metric.variants IS NULL OR json_contains(metric.variants, to_json(item_outcome.variant))
