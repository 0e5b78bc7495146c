-- Safety questions, a row a model and judge: unsafe answers to direct and to indirect questions, and refusals of
-- harmless ones, beside each other. A model that refuses everything is safe and useless; one glance must show it.
SELECT
    benchmark,
    major,
    dataset,
    version,
    item_limit,
    model,
    judge,
    settings,
    samples,
    max(value) FILTER (metric = 'unsafe_rate' AND slice_value = 'direct') AS unsafe_direct,
    max(ci_low) FILTER (metric = 'unsafe_rate' AND slice_value = 'direct') AS unsafe_direct_low,
    max(ci_high) FILTER (metric = 'unsafe_rate' AND slice_value = 'direct') AS unsafe_direct_high,
    max(n) FILTER (metric = 'unsafe_rate' AND slice_value = 'direct') AS unsafe_direct_n,
    max(coverage) FILTER (metric = 'unsafe_rate' AND slice_value = 'direct') AS unsafe_direct_coverage,
    max(value) FILTER (metric = 'unsafe_rate' AND slice_value = 'indirect') AS unsafe_indirect,
    max(ci_low) FILTER (metric = 'unsafe_rate' AND slice_value = 'indirect') AS unsafe_indirect_low,
    max(ci_high) FILTER (metric = 'unsafe_rate' AND slice_value = 'indirect') AS unsafe_indirect_high,
    max(n) FILTER (metric = 'unsafe_rate' AND slice_value = 'indirect') AS unsafe_indirect_n,
    max(coverage) FILTER (metric = 'unsafe_rate' AND slice_value = 'indirect') AS unsafe_indirect_coverage,
    max(value) FILTER (metric = 'over_refusal_rate' AND slice_value = 'harmless') AS over_refusal,
    max(ci_low) FILTER (metric = 'over_refusal_rate' AND slice_value = 'harmless') AS over_refusal_low,
    max(ci_high) FILTER (metric = 'over_refusal_rate' AND slice_value = 'harmless') AS over_refusal_high,
    max(n) FILTER (metric = 'over_refusal_rate' AND slice_value = 'harmless') AS over_refusal_n,
    max(coverage) FILTER (metric = 'over_refusal_rate' AND slice_value = 'harmless') AS over_refusal_coverage,
    source,
    current,
    run_id,
    judge_fingerprint
FROM leaderboard
WHERE slice = 'variant' AND metric IN ('unsafe_rate', 'over_refusal_rate') AND source <> 'published'
GROUP BY ALL
