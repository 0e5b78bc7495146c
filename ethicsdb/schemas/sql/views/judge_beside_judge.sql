-- Which of two judges finds how much more: of the answers of a run that both scored, how many each counts under a
-- metric, overall and by the item's parts. A row for each ordered pair of judges.
--
-- Imported judge outputs about answers that were not released are taken to be about the same answers where they name the
-- same model and revision, and the same data; `run_id` is then that of `judge`.
--
-- `ratio` = hits of `judge` / hits of `other` (Zhao et al. 2023: GPT-4 finds about 2.7 times the bias that ChatGPT
-- finds); NULL where the other finds nothing. Its interval is exp(log ratio +- t s), s^2 = G / (G - 1) times the sum over
-- the G clusters of (a_g / a - b_g / b)^2, with a_g and b_g the hits of the two judges in a cluster, and t of G - 1
-- degrees of freedom; NULL for one cluster, or where either finds nothing.
WITH judged AS (
    SELECT
        run.run_id,
        run.benchmark,
        run.major,
        CASE
            WHEN contains(model.identity, '"judge_outputs"')
            THEN to_json([run.benchmark, run.major::VARCHAR, run.dataset, run.version, model.name, model.revision])::VARCHAR
            ELSE run.run_id
        END AS answers
    FROM run
    JOIN model ON model.fingerprint = run.model_fingerprint
),
unit AS (
    SELECT metric_unit.*, run.benchmark, run.major, run.answers
    FROM metric_unit
    JOIN judged AS run USING (run_id)
    JOIN metric
      ON metric.benchmark = run.benchmark AND metric.major = run.major AND metric.metric = metric_unit.metric
    WHERE metric_unit.outcome = 'scored' AND metric_unit.value IS NOT NULL AND metric.denominator = 'scored'
),
pair AS (
    SELECT
        one.benchmark,
        one.major,
        one.run_id,
        one.metric,
        one.judge_fingerprint,
        two.judge_fingerprint AS other_fingerprint,
        one.item_id,
        one.group_id,
        one.value AS a,
        two.value AS b
    FROM unit AS one
    JOIN unit AS two
      ON two.answers = one.answers AND two.metric = one.metric AND two."row" = one."row"
     AND two.sample_number = one.sample_number AND two.judge_fingerprint <> one.judge_fingerprint
),
sliced AS (
    SELECT pair.*, 'overall' AS slice, '' AS slice_value FROM pair
    UNION ALL
    SELECT pair.*, item_slice.slice, item_slice.slice_value FROM pair JOIN item_slice USING (item_id)
),
grouped AS (
    SELECT
        benchmark, major, run_id, metric, judge_fingerprint, other_fingerprint, slice, slice_value, group_id,
        count(*) AS n_g,
        sum(a) AS a_g,
        sum(b) AS b_g,
        sum(a * b) AS both_g
    FROM sliced
    GROUP BY ALL
),
total AS (
    SELECT
        benchmark, major, run_id, metric, judge_fingerprint, other_fingerprint, slice, slice_value,
        count(*) AS clusters,
        sum(n_g)::BIGINT AS n,
        sum(a_g)::BIGINT AS hits,
        sum(b_g)::BIGINT AS other_hits,
        sum(both_g)::BIGINT AS both
    FROM grouped
    GROUP BY ALL
),
spread AS (
    SELECT
        total.*,
        hits / nullif(other_hits, 0) AS ratio,
        sqrt(sum((a_g / hits - b_g / other_hits) ^ 2) * max(clusters / nullif(clusters - 1, 0))) AS log_stderr
    FROM total
    JOIN grouped USING (
        benchmark, major, run_id, metric, judge_fingerprint, other_fingerprint, slice, slice_value
    )
    GROUP BY ALL
),
grid AS (
    SELECT df AS df_0, q AS q_0, lead(df) OVER (ORDER BY df) AS df_1, lead(q) OVER (ORDER BY df) AS q_1
    FROM t_quantile
),
bounded AS (
    SELECT
        spread.*,
        log_stderr * CASE
            WHEN clusters - 1 = df_0 THEN q_0
            ELSE q_1 + (q_0 - q_1) * (1 / (clusters - 1) - 1 / df_1) / (1 / df_0 - 1 / df_1)
        END AS reach
    FROM spread
    ASOF LEFT JOIN grid ON clusters - 1 >= df_0
)
SELECT
    bounded.benchmark,
    bounded.major,
    model.name AS model,
    judge.name AS judge,
    other.name AS other_judge,
    bounded.metric,
    bounded.slice,
    bounded.slice_value,
    bounded.n,
    bounded.clusters,
    bounded.hits,
    bounded.other_hits,
    bounded.both,
    bounded.hits / bounded.n AS share,
    bounded.other_hits / bounded.n AS other_share,
    bounded.ratio,
    CASE WHEN hits > 0 AND other_hits > 0 THEN exp(ln(ratio) - reach) END AS ratio_low,
    CASE WHEN hits > 0 AND other_hits > 0 THEN exp(ln(ratio) + reach) END AS ratio_high,
    bounded.run_id,
    bounded.judge_fingerprint,
    bounded.other_fingerprint
FROM bounded
JOIN run USING (run_id)
JOIN model ON model.fingerprint = run.model_fingerprint
JOIN judge ON judge.fingerprint = bounded.judge_fingerprint
JOIN judge AS other ON other.fingerprint = bounded.other_fingerprint
