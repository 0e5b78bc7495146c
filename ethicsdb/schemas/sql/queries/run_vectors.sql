-- Every text of a run's association tests with its vector, once a row.
SELECT DISTINCT run_target."row", target_text.text, target_text.text_exact, embedding.vector
FROM run_target
JOIN embedding ON embedding.embedding_key = run_target.likelihood_key
JOIN target_text USING (target_hash)
WHERE run_target.run_id = $run
ORDER BY run_target."row", target_text.text
