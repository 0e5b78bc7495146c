-- All boards: every metric of every benchmark, overall and by slice, with n, coverage and interval; published figures
-- stand beside ours and are marked so. Ranks compare rows of one benchmark major, version, item limit, judge, prompt,
-- sampling, samples an item, metric and slice; equal values share a rank. `n` and `n_expected` count answers: where
-- `samples` is above 1, `items` says how many items these are of. Numbers of a measure come from `score`, of each the one
-- that was computed last; where they rest on likelihoods, no judge has a part in them. `settings` says in words what differs from the
-- benchmark's own settings, and is empty where nothing does. `cut_off` counts answers that ended at the length limit.
WITH cluster_sum AS MATERIALIZED (
    SELECT * FROM main.cluster_sum
),
-- Not the view of this name, which would work out the sums a second time.
score_interval AS (
{{scoring/interval.sql}}
),
asked AS (
    SELECT k, sum(asked) AS n_expected, sum(n_g) AS n, coalesce(sum(s_g), 0) AS hits, sum(cut_off) AS cut_off
    FROM cluster_sum
    GROUP BY k
),
ours AS (
    SELECT
        run.benchmark,
        run.major,
        run.dataset,
        run.version,
        run.item_limit,
        model.name AS model,
        judge.name AS judge,
        of_metric.name AS metric,
        of_slice.name AS slice,
        of_slice.value AS slice_value,
        score_interval.value,
        score_interval.ci_low,
        score_interval.ci_high,
        score_interval.stderr,
        score_interval.df,
        score_interval.method,
        asked.n::BIGINT AS n,
        asked.hits::BIGINT AS hits,
        asked.n_expected::BIGINT AS n_expected,
        asked.n / asked.n_expected AS coverage,
        score_interval.clusters,
        asked.cut_off::BIGINT AS cut_off,
        run_settings.samples,
        (asked.n_expected / run_settings.samples)::BIGINT AS items,
        run_settings.settings,
        -- All missing as no hit, and all missing as a hit.
        asked.hits / asked.n_expected AS bound_low,
        (asked.hits + asked.n_expected - asked.n) / asked.n_expected AS bound_high,
        run.source,
        NULL::VARCHAR AS paper,
        run.run_id,
        judge.fingerprint AS judge_fingerprint,
        run.model_fingerprint,
        run.prompt_fingerprint,
        run.sampling,
        -- Not a join: two declared judges may be one and the same.
        judge.fingerprint IN (SELECT fingerprint FROM current_judge) AS current,
        NULL::VARCHAR AS note
    FROM asked
    LEFT JOIN score_interval USING (k)
    CROSS JOIN board_key
    JOIN board_part of_slice ON of_slice.part = 'slice' AND of_slice.number = k % slices
    JOIN board_part of_metric ON of_metric.part = 'metric' AND of_metric.number = k // slices % metrics
    JOIN board_part of_judge ON of_judge.part = 'judge' AND of_judge.number = k // (slices * metrics) % judges
    JOIN board_part of_run ON of_run.part = 'run' AND of_run.number = k // (slices * metrics * judges)
    JOIN run ON run.run_id = of_run.name AND run.role = 'evaluation'
    JOIN run_settings ON run_settings.run_id = run.run_id
    JOIN model ON model.fingerprint = run.model_fingerprint
    JOIN judge ON judge.fingerprint = of_judge.name
),
latest AS (
    SELECT *
    FROM score
    QUALIFY row_number() OVER (
        PARTITION BY run_id, judge_fingerprint, quantity, slice, slice_value ORDER BY computed_at DESC, score_key
    ) = 1
),
measured AS (
    SELECT
        run.benchmark,
        run.major,
        run.dataset,
        run.version,
        run.item_limit,
        model.name AS model,
        judge.name AS judge,
        metric.metric,
        latest.slice,
        latest.slice_value,
        latest.value,
        latest.ci_low,
        latest.ci_high,
        latest.stderr,
        latest.df,
        latest.method,
        latest.n,
        NULL::BIGINT AS hits,
        latest.n_expected,
        latest.n / nullif(latest.n_expected, 0) AS coverage,
        latest.clusters,
        NULL::BIGINT AS cut_off,
        run_settings.samples,
        latest.n_expected AS items,
        run_settings.settings,
        NULL::DOUBLE AS bound_low,
        NULL::DOUBLE AS bound_high,
        run.source,
        NULL::VARCHAR AS paper,
        run.run_id,
        latest.judge_fingerprint,
        run.model_fingerprint,
        run.prompt_fingerprint,
        run.sampling,
        latest.judge_fingerprint IS NULL
            OR latest.judge_fingerprint IN (SELECT fingerprint FROM current_judge) AS current,
        NULL::VARCHAR AS note
    FROM latest
    JOIN run ON run.run_id = latest.run_id AND run.role = 'evaluation'
    ANTI JOIN withdrawn ON withdrawn.kind = 'run' AND withdrawn.name = run.run_id
    ANTI JOIN withdrawn AS verdicts
      ON verdicts.kind = 'verdicts' AND verdicts.name = latest.run_id || ' ' || latest.judge_fingerprint
    JOIN metric ON metric.benchmark = run.benchmark AND metric.major = run.major AND metric.positive = '[]'
     AND metric.attribute = latest.quantity
    JOIN run_settings ON run_settings.run_id = run.run_id
    JOIN model ON model.fingerprint = run.model_fingerprint
    LEFT JOIN judge ON judge.fingerprint = latest.judge_fingerprint
),
published AS (
    SELECT
        benchmark, major, NULL, NULL, NULL, model, judge, metric, slice, slice_value,
        value, NULL, NULL, NULL, NULL, NULL, n, hits, n, NULL, NULL, NULL, NULL, NULL, NULL,
        NULL, NULL, 'published', paper || ', ' || table_name, NULL, NULL, NULL, NULL, NULL, true, note
    FROM published_result
),
board AS (
    SELECT * FROM ours
    UNION ALL
    SELECT * FROM measured
    UNION ALL
    SELECT * FROM published
)
SELECT
    board.*,
    metric.display,
    metric.direction,
    metric.unit,
    metric.ideal,
    metric.rule,
    CASE WHEN board.source <> 'published' AND board.value IS NOT NULL THEN
        rank() OVER (
            PARTITION BY board.benchmark, board.major, board.version, board.item_limit, board.judge_fingerprint,
                         board.prompt_fingerprint, board.sampling, board.samples, board.metric, board.slice,
                         board.slice_value, board.source = 'published', board.value IS NULL
            ORDER BY CASE
                WHEN metric.ideal IS NOT NULL THEN abs(board.value - metric.ideal)
                WHEN metric.direction = 'lower' THEN board.value
                ELSE -board.value
            END
        )
    END AS "rank"
FROM board
JOIN metric ON metric.benchmark = board.benchmark AND metric.major = board.major AND metric.metric = board.metric
