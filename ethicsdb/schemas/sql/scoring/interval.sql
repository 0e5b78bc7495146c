-- Confidence intervals of rates and means, by cluster: the same numbers as runners/statistics/intervals.py.
--
-- The view `score_interval`; or, for other clusters, `WITH cluster_sum AS (...), score_interval AS (<this text>) ...`.
-- Reads  cluster_sum(k, n_g, s_g, lo, hi)  one row per board row `k` (any type, NULL too) and cluster: how many
--                                          items (clusters of 0 are left out), the sum of their values, and the
--                                          range that one value can have, the same in all rows of a `k` (0 and 1
--                                          for a rate, NULL for a mean without bounds)
--        t_quantile(df, q)                 0.975 quantiles of Student's t, ascending to infinite df
-- Gives  k, n, clusters, value, stderr, df, ci_low, ci_high, method   (95%, two-sided)
--
-- Formulas: docs/statistics.md. Clusters of equal size and sum count once with their multiplicity: this keeps all but
-- the first GROUP BY small, since rates have few such pairs.
WITH level AS (
    SELECT 0.025 AS tail, min(q) AS z FROM t_quantile
),
shape AS (
    SELECT k, n_g::DOUBLE AS n_g, s_g::DOUBLE AS s_g, count(*) AS times, min(lo)::DOUBLE AS lo, max(hi)::DOUBLE AS hi
    FROM cluster_sum
    WHERE n_g > 0
    GROUP BY k, n_g, s_g
),
total AS (
    SELECT
        k,
        sum(times * n_g) AS n,
        sum(times)::DOUBLE AS clusters,
        sum(times * s_g) AS s,
        min(lo) AS lo,
        max(hi) AS hi,
        min(lo) = 0 AND max(hi) = 1 AND bool_and(n_g = 1 AND s_g IN (0, 1)) AS independent
    FROM shape
    GROUP BY k
),
-- The residual sum E_g, the share h_g and q_g = h_g^2 / (1 - h_g) of each cluster; a cluster alone has none.
part AS (
    SELECT
        shape.k,
        times,
        (s_g * n - n_g * s) / n AS residual,
        n_g / n AS share,
        CASE WHEN n > n_g THEN n / (n - n_g) END AS inflation,
        CASE WHEN n > n_g THEN n_g * n_g / (n * (n - n_g)) END AS q,
        2 * n_g > n AS major,
        abs(s_g * n - n_g * s) <= 1e-12 * (abs(s_g) * n + n_g * abs(s)) AS at_mean
    FROM shape
    JOIN total ON shape.k IS NOT DISTINCT FROM total.k
),
-- The one cluster that may hold most items has a huge q, whose square would cancel: it is kept apart.
spread AS (
    SELECT
        k,
        bool_and(at_mean) AS equal_means,
        sum(times * residual * residual * inflation) AS scatter,
        sum(times * share * share)
            + 2 * coalesce(sum(times * q) FILTER (WHERE major), 0) * coalesce(sum(times * q) FILTER (WHERE NOT major), 0)
            + coalesce(sum(times * q) FILTER (WHERE NOT major), 0) ^ 2
            - coalesce(sum(times * q * q) FILTER (WHERE NOT major), 0) AS inverse_df
    FROM part
    GROUP BY k
),
chosen AS (
    SELECT
        total.k,
        n,
        clusters,
        lo,
        hi,
        -- The mean of bounded values can't leave their range, but for rounding.
        greatest(least(s / n, hi), lo) AS value,
        CASE
            WHEN independent AND s IN (0, n) THEN 'rule_of_three'
            WHEN independent THEN 'wilson'
            WHEN clusters > 1 AND NOT equal_means AND lo IS NOT NULL AND hi IS NOT NULL THEN 'cr2_score'
            WHEN clusters > 1 AND NOT equal_means THEN 'cr2_t'
            WHEN clusters > 1 AND lo IS NOT NULL AND hi IS NOT NULL THEN 'exact_clusters'
            ELSE 'none'
        END AS method,
        CASE
            WHEN method = 'wilson' THEN sqrt(value * (1 - value) / n)
            WHEN method IN ('cr2_score', 'cr2_t') THEN sqrt(scatter) / n
        END AS stderr,
        CASE WHEN method IN ('cr2_score', 'cr2_t') THEN 1 / inverse_df END AS df
    FROM total
    JOIN spread ON total.k IS NOT DISTINCT FROM spread.k
),
grid AS (
    SELECT df AS df_0, q AS q_0, lead(df) OVER (ORDER BY df) AS df_1, lead(q) OVER (ORDER BY df) AS q_1
    FROM t_quantile
),
-- Half-width that an interval would have if it were symmetric, and the share u that the exact bound leaves open.
width AS (
    SELECT
        chosen.*,
        stderr * CASE
            WHEN df IS NULL THEN z
            WHEN df = df_0 THEN q_0
            ELSE q_1 + (q_0 - q_1) * (1 / df - 1 / df_1) / (1 / df_0 - 1 / df_1)
        END AS half,
        1 - tail ^ (1 / clusters) AS u
    FROM chosen
    CROSS JOIN level
    ASOF LEFT JOIN grid ON greatest(df, 1) >= df_0
),
-- The score limits: roots of a quadratic by their product, on the scale from lo = 0 to hi = 1, so that nothing cancels.
scaled AS (
    SELECT
        width.*,
        (value - lo) / (hi - lo) AS p,
        p * (1 - p) AS room,
        (half / (hi - lo)) ^ 2 AS square,
        square / 2 + sqrt(square * room * room + square * square / 4) AS reach
    FROM width
)
SELECT
    k,
    n::BIGINT AS n,
    clusters::BIGINT AS clusters,
    value,
    stderr,
    df,
    CASE
        WHEN method IN ('wilson', 'cr2_score') THEN lo + (hi - lo) * p * p * room / (p * room + reach)
        WHEN method = 'cr2_t' THEN value - half
        WHEN method <> 'none' THEN value - u * (value - lo)
    END AS ci_low,
    CASE
        WHEN method IN ('wilson', 'cr2_score')
            THEN hi - (hi - lo) * (1 - p) * (1 - p) * room / ((1 - p) * room + reach)
        WHEN method = 'cr2_t' THEN value + half
        WHEN method <> 'none' THEN value + u * (hi - value)
    END AS ci_high,
    method
FROM scaled
