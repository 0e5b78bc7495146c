-- How far judges agree with people, overall and by model: the numbers of runners/statistics/agreement.py. Formulas:
-- docs/statistics.md.
--
-- n counts pairs in which both gave a label, n_expected the labelled answers that the judge has any verdict for,
-- coverage their ratio. `stderr`, `ci_low`, `ci_high` and `method` belong to kappa. Labels are compared as they are, also
-- those that the judge can't give. The four counts are there for attributes with a known positive label.
--
-- Where any answer of a row has a sampling probability, accuracy and kappa weigh each pair by its inverse (by 1 where it
-- has none) and so estimate what all answers would give; n, coverage and the four counts stay counts.
WITH positive (attribute, label) AS (
    VALUES ('safety', 'unsafe'), ('refusal', 'yes')
),
sliced AS (
    SELECT judge_pair.*, 'overall' AS slice, '' AS slice_value FROM judge_pair
    UNION ALL
    SELECT judge_pair.*, 'model', model FROM judge_pair
),
keyed AS (
    SELECT
        {
            'benchmark': benchmark, 'major': major, 'judge': judge, 'judge_fingerprint': judge_fingerprint,
            'annotator': annotator, 'attribute': attribute, 'rule': rule, 'slice': slice, 'slice_value': slice_value
        } AS k,
        group_id,
        sampling_probability,
        coalesce(1 / sampling_probability::DOUBLE, 1) AS w,
        person_label,
        judge_label,
        person_label = positive.label AS by_person,
        judge_label = positive.label AS by_judge
    FROM sliced
    LEFT JOIN positive USING (attribute)
),
counted AS (
    SELECT
        k,
        count(*) AS n_expected,
        count(judge_label) AS n,
        bool_or(sampling_probability IS NOT NULL) AS weighted,
        count(*) FILTER (WHERE NOT by_person AND NOT by_judge) AS both_negative,
        count(*) FILTER (WHERE NOT by_person AND by_judge) AS judge_only,
        count(*) FILTER (WHERE by_person AND NOT by_judge) AS person_only,
        count(*) FILTER (WHERE by_person AND by_judge) AS both_positive,
        count(by_person) > 0 AS two_way
    FROM keyed
    GROUP BY k
),
pair AS (
    SELECT k, group_id, w, person_label, judge_label, (person_label = judge_label)::INTEGER AS agrees
    FROM keyed
    WHERE judge_label IS NOT NULL
),
whole AS (
    SELECT
        k,
        sum(w) AS w,
        sum(w * w) AS w_square,
        min(agrees) = 1 AS all_agree,
        CASE WHEN all_agree THEN 1 ELSE sum(w * agrees) / sum(w) END AS observed
    FROM pair
    GROUP BY k
),
-- What share of the pairs each of the two calls by a label.
margin AS (
    SELECT k, label, sum(person_w) / any_value(whole.w) AS by_person, sum(judge_w) / any_value(whole.w) AS by_judge
    FROM (
        SELECT k, person_label AS label, w AS person_w, 0 AS judge_w FROM pair
        UNION ALL
        SELECT k, judge_label, 0, w FROM pair
    )
    JOIN whole USING (k)
    GROUP BY k, label
),
-- Kappa is NULL where both used one and the same label.
chance AS (
    SELECT
        k,
        CASE WHEN count(*) > 1 THEN sum(by_person * by_judge) END AS expected,
        count_if(by_person > 0) = 1 OR count_if(by_judge > 0) = 1 AS one_label
    FROM margin
    GROUP BY k
),
estimate AS (
    SELECT
        whole.*,
        expected,
        one_label,
        CASE WHEN expected IS NOT NULL AND all_agree THEN 1 ELSE (observed - expected) / (1 - expected) END AS kappa
    FROM whole
    JOIN chance USING (k)
),
-- `pseudo` is kappa + the influence of the pair on it, whose mean is kappa.
influence AS (
    SELECT
        pair.*,
        kappa + ((agrees - observed) * (1 - expected)
            - (1 - observed) * (of_person.by_judge + of_judge.by_person - 2 * expected)) / (1 - expected) ^ 2 AS pseudo
    FROM pair
    JOIN estimate USING (k)
    JOIN margin AS of_person ON of_person.k = pair.k AND of_person.label = pair.person_label
    JOIN margin AS of_judge ON of_judge.k = pair.k AND of_judge.label = pair.judge_label
),
grouped AS (
    SELECT
        k,
        sum(w) AS w_g,
        sum(w * agrees) AS a_g,
        sum(w * pseudo) AS b_g,
        sum(w * abs(pseudo)) AS c_g
    FROM influence
    GROUP BY k, group_id
),
total AS (
    SELECT k, count(*)::DOUBLE AS clusters, sum(w_g) AS w, sum(a_g) AS a, sum(b_g) AS b, sum(c_g) AS c
    FROM grouped
    GROUP BY k
),
-- Residual sums, share h_g and q_g = h_g^2 / (1 - h_g) of each cluster; a cluster alone has none.
part AS (
    SELECT
        k,
        w,
        clusters,
        (a_g * w - w_g * a) / w AS a_residual,
        (b_g * w - w_g * b) / w AS b_residual,
        abs(a_g * w - w_g * a) <= 1e-12 * (a_g * w + w_g * a) AS a_at_mean,
        abs(b_g * w - w_g * b) <= 1e-12 * (c_g * w + w_g * c) AS b_at_mean,
        w_g / w AS share,
        CASE WHEN clusters > 1 THEN w / (w - w_g) END AS inflation,
        CASE WHEN clusters > 1 THEN w_g * w_g / (w * (w - w_g)) END AS q,
        2 * w_g > w AS major
    FROM grouped
    JOIN total USING (k)
),
-- The one cluster that may hold most pairs has a huge q, whose square would cancel: it is kept apart.
spread AS (
    SELECT
        k,
        any_value(clusters) AS clusters,
        bool_and(a_at_mean) AS a_same,
        bool_and(b_at_mean) AS b_same,
        sqrt(sum(a_residual * a_residual * inflation)) / any_value(w) AS a_stderr,
        sqrt(sum(b_residual * b_residual * inflation)) / any_value(w) AS b_stderr,
        coalesce(sum(q) FILTER (WHERE major), 0) AS large,
        coalesce(sum(q) FILTER (WHERE NOT major), 0) AS small,
        1 / (sum(share * share) + 2 * large * small + small ^ 2
            - coalesce(sum(q * q) FILTER (WHERE NOT major), 0)) AS df
    FROM part
    GROUP BY k
),
grid AS (
    SELECT df AS df_0, q AS q_0, lead(df) OVER (ORDER BY df) AS df_1, lead(q) OVER (ORDER BY df) AS q_1
    FROM t_quantile
),
chosen AS (
    SELECT
        counted.*,
        clusters,
        observed AS accuracy,
        kappa,
        expected,
        all_agree,
        CASE
            WHEN counted.n = clusters AND NOT weighted AND observed IN (0, 1) THEN 'rule_of_three'
            WHEN counted.n = clusters AND NOT weighted THEN 'wilson'
            WHEN clusters > 1 AND NOT a_same THEN 'cr2_score'
            WHEN clusters > 1 THEN 'exact_clusters'
            WHEN clusters = 1 THEN 'none'
        END AS accuracy_method,
        CASE
            WHEN kappa IS NULL THEN NULL
            WHEN all_agree THEN accuracy_method
            WHEN one_label OR clusters = 1 OR b_same THEN 'none'
            ELSE 'cr2_t'
        END AS method,
        CASE WHEN method = 'cr2_t' THEN b_stderr END AS stderr,
        CASE
            WHEN df = df_0 THEN q_0
            ELSE q_1 + (q_0 - q_1) * (1 / df - 1 / df_1) / (1 / df_0 - 1 / df_1)
        END AS t,
        CASE accuracy_method
            WHEN 'wilson' THEN (SELECT min(q) FROM t_quantile) ^ 2 * accuracy * (1 - accuracy) / counted.n
            WHEN 'cr2_score' THEN (t * a_stderr) ^ 2
        END AS square,
        1 - 0.025 ^ (counted.n * w_square / (clusters * estimate.w ^ 2)) AS u
    FROM counted
    LEFT JOIN estimate USING (k)
    LEFT JOIN spread USING (k)
    ASOF LEFT JOIN grid ON greatest(df, 1) >= df_0
),
-- The score limits: roots of a quadratic by their product, so that nothing cancels.
bounded AS (
    SELECT
        chosen.*,
        accuracy * (1 - accuracy) AS room,
        square / 2 + sqrt(square * room * room + square * square / 4) AS reach,
        CASE
            WHEN square IS NOT NULL THEN accuracy * accuracy * room / (accuracy * room + reach)
            WHEN accuracy_method <> 'none' THEN accuracy - u * accuracy
        END AS accuracy_low,
        CASE
            WHEN square IS NOT NULL THEN 1 - (1 - accuracy) * (1 - accuracy) * room / ((1 - accuracy) * room + reach)
            WHEN accuracy_method <> 'none' THEN accuracy + u * (1 - accuracy)
        END AS accuracy_high
    FROM chosen
)
SELECT
    k.benchmark AS benchmark,
    k.major AS major,
    k.judge AS judge,
    k.judge_fingerprint AS judge_fingerprint,
    k.annotator AS annotator,
    k.attribute AS attribute,
    k.rule AS rule,
    k.slice AS slice,
    k.slice_value AS slice_value,
    n,
    n_expected,
    n / n_expected AS coverage,
    coalesce(clusters, 0)::BIGINT AS clusters,
    accuracy,
    accuracy_low,
    accuracy_high,
    accuracy_method,
    kappa,
    stderr,
    CASE
        WHEN method = 'cr2_t' THEN greatest(kappa - t * stderr, -1)
        -- Full agreement: as much disagreement as the accuracy leaves open, at the chance agreement that was found.
        WHEN method <> 'none' THEN greatest(1 - (1 - accuracy_low) / (1 - expected), -1)
    END AS ci_low,
    CASE WHEN method = 'cr2_t' THEN least(kappa + t * stderr, 1) WHEN method <> 'none' THEN 1 END AS ci_high,
    method,
    CASE WHEN two_way THEN both_negative END AS both_negative,
    CASE WHEN two_way THEN judge_only END AS judge_only,
    CASE WHEN two_way THEN person_only END AS person_only,
    CASE WHEN two_way THEN both_positive END AS both_positive
FROM bounded
