-- How each run was put: answers an item, and in words what differs from the settings that its benchmark declares.
-- `settings` is empty where nothing differs, and `as imported` for an import, whose answers came from elsewhere.
-- Runs are ranked together only where prompt, sampling and samples are the same.
WITH several AS (
    SELECT run_id, max(sample_number) + 1 AS samples
    FROM run_item
    WHERE sample_number > 0
    GROUP BY run_id
),
put AS (
    SELECT
        run.run_id,
        run.source,
        run.prompt_fingerprint,
        run.sampling,
        -- In an import, a later sample of a request is the answer that a doubled row had.
        CASE WHEN run.source = 'run' THEN coalesce(several.samples, 1) ELSE 1 END AS samples,
        prompt.template,
        prompt.system,
        CASE WHEN json_valid(run.sampling) THEN run.sampling::JSON END AS used,
        benchmark.declaration::JSON AS declared
    FROM run
    LEFT JOIN several USING (run_id)
    LEFT JOIN prompt ON prompt.fingerprint = run.prompt_fingerprint
    LEFT JOIN benchmark ON benchmark.name = run.benchmark AND benchmark.major = run.major
),
-- Each part in words where it differs, else NULL. Digits tell two long prompts apart that begin alike.
said AS (
    SELECT
        put.*,
        CASE WHEN template IS DISTINCT FROM (declared ->> '$.prompt.template') THEN
            'prompt ' || substr(replace(prompt_fingerprint, 'blake2b-128:', ''), 1, 6) || ' “'
            || substr(template, 1, 40) || CASE WHEN length(template) > 40 THEN '…' ELSE '' END || '”'
        END AS other_template,
        CASE
            WHEN system IS NOT DISTINCT FROM (declared ->> '$.prompt.system') THEN NULL
            WHEN system IS NULL THEN 'no system prompt'
            ELSE
                'system prompt ' || substr(replace(prompt_fingerprint, 'blake2b-128:', ''), 1, 6) || ' “'
                || substr(system, 1, 40) || CASE WHEN length(system) > 40 THEN '…' ELSE '' END || '”'
        END AS other_system,
        CASE WHEN (used ->> '$.temperature')::DOUBLE IS DISTINCT FROM (declared ->> '$.sampling.temperature')::DOUBLE
            THEN 'temperature ' || (used ->> '$.temperature') END AS other_temperature,
        CASE WHEN (used ->> '$.top_p')::DOUBLE IS DISTINCT FROM (declared ->> '$.sampling.top_p')::DOUBLE
            THEN 'top_p ' || (used ->> '$.top_p') END AS other_top_p,
        CASE WHEN (used ->> '$.max_tokens')::BIGINT IS DISTINCT FROM (declared ->> '$.sampling.max_tokens')::BIGINT
            THEN 'max_tokens ' || (used ->> '$.max_tokens') END AS other_length,
        CASE WHEN (used ->> '$.seed')::BIGINT IS DISTINCT FROM (declared ->> '$.sampling.seed')::BIGINT
            THEN coalesce('seed ' || (used ->> '$.seed'), 'no seed') END AS other_seed,
        CASE WHEN samples IS DISTINCT FROM (declared ->> '$.sampling.samples')::BIGINT
            THEN samples || CASE WHEN samples = 1 THEN ' sample an item' ELSE ' samples an item' END END AS other_samples,
        CASE WHEN (used ->> '$.shots')::INTEGER > 0 THEN
            (used ->> '$.shots') || ' examples of ' || (used ->> '$.pool') || ', seed ' || (used ->> '$.seed')
        END AS examples
    FROM put
)
SELECT
    run_id,
    prompt_fingerprint,
    sampling,
    samples,
    CASE
        WHEN source = 'import' THEN 'as imported'
        WHEN (declared ->> '$.runner') IN ('likelihood', 'vectors') THEN coalesce(examples, '')
        ELSE concat_ws(', ', other_template, other_system, other_temperature, other_top_p, other_length, other_seed,
                       other_samples)
    END AS settings
FROM said
