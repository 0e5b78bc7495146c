-- The sets of each association test of a run: whether a vector has not been asked for yet, and whether more than a fifth
-- of the texts have none.
SELECT
    run_target.run_id,
    run_target."row",
    any_value(run_target.item_id) AS item_id,
    regexp_replace(run_target.target, '_[0-9]+$', '') AS set_name,
    count(*) AS texts,
    count(embedding.vector) AS with_vector,
    count(*) > count(embedding.embedding_key) AS pending,
    count(*) - count(embedding.vector) > 0.2 * count(*) OR count(embedding.vector) = 0 AS lacking
FROM run_target
JOIN run USING (run_id)
JOIN benchmark
  ON benchmark.name = run.benchmark AND benchmark.major = run.major AND benchmark.declaration ->> '$.runner' = 'vectors'
LEFT JOIN embedding ON embedding.embedding_key = run_target.likelihood_key
GROUP BY run_target.run_id, run_target."row", set_name
