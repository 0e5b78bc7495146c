-- Proof that ingest was exactly-once and nothing dangles: every row names a broken rule; a sound database has none.
SELECT 'item' AS table_name, 'doubled key' AS fault, item_id AS key FROM item GROUP BY item_id HAVING count(*) > 1
UNION ALL
SELECT 'safety_question', 'doubled key', item_id FROM safety_question GROUP BY item_id HAVING count(*) > 1
UNION ALL
SELECT 'choice_question', 'doubled key', item_id FROM choice_question GROUP BY item_id HAVING count(*) > 1
UNION ALL
SELECT 'sentence_pair', 'doubled key', item_id FROM sentence_pair GROUP BY item_id HAVING count(*) > 1
UNION ALL
SELECT 'association_test', 'doubled key', item_id FROM association_test GROUP BY item_id HAVING count(*) > 1
UNION ALL
SELECT 'conversation', 'doubled key', item_id FROM conversation GROUP BY item_id HAVING count(*) > 1
UNION ALL
SELECT 'text_prompt', 'doubled key', item_id FROM text_prompt GROUP BY item_id HAVING count(*) > 1
UNION ALL
SELECT 'labelled_text', 'doubled key', item_id FROM labelled_text GROUP BY item_id HAVING count(*) > 1
UNION ALL
SELECT 'gold_answer', 'doubled key', item_id FROM gold_answer GROUP BY item_id HAVING count(*) > 1
UNION ALL
SELECT 'membership', 'doubled key', dataset || '@' || version || '/' || "row"
FROM membership GROUP BY dataset, version, "row" HAVING count(*) > 1
UNION ALL
SELECT 'request', 'doubled key', request_hash FROM request GROUP BY request_hash HAVING count(*) > 1
UNION ALL
SELECT 'response', 'doubled key', response_key || '/' || try_number
FROM response GROUP BY response_key, try_number HAVING count(*) > 1
UNION ALL
SELECT 'run_item', 'doubled key', run_id || '/' || "row" || '/' || sample_number
FROM run_item GROUP BY run_id, "row", sample_number HAVING count(*) > 1
UNION ALL
SELECT 'verdict', 'doubled key', verdict_id FROM verdict GROUP BY verdict_id HAVING count(*) > 1
UNION ALL
SELECT 'verdict_label', 'doubled key', verdict_id || '/' || attribute || '/' || value
FROM verdict_label GROUP BY verdict_id, attribute, value HAVING count(*) > 1
UNION ALL
SELECT 'annotation', 'doubled key', source || '/' || subject_id || '/' || annotator || '/' || attribute
FROM annotation GROUP BY subject_kind, subject_id, source, annotator, attribute HAVING count(*) > 1
UNION ALL
SELECT 'membership', 'item missing', item_id FROM membership WHERE item_id NOT IN (SELECT item_id FROM item)
UNION ALL
SELECT 'run_item', 'run missing', run_id FROM run_item WHERE run_id NOT IN (SELECT run_id FROM run)
UNION ALL
SELECT 'run', 'data set version missing', dataset || '@' || version
FROM run WHERE (dataset, version) NOT IN (SELECT (dataset, version) FROM dataset_version)
UNION ALL
SELECT 'verdict', 'subject missing', verdict_id
FROM verdict WHERE subject_kind = 'response' AND subject_id NOT IN (SELECT response_key FROM response)
UNION ALL
SELECT 'verdict_label', 'verdict missing', verdict_id
FROM verdict_label WHERE verdict_id NOT IN (SELECT verdict_id FROM verdict)
UNION ALL
SELECT 'run', 'outcomes do not add up to n', run_id
FROM run JOIN run_item USING (run_id) GROUP BY run_id, n_expected HAVING count(*) > n_expected
UNION ALL
SELECT 'target_text', 'doubled key', target_hash FROM target_text GROUP BY target_hash HAVING count(*) > 1
UNION ALL
SELECT 'likelihood', 'doubled key', likelihood_key FROM likelihood GROUP BY likelihood_key HAVING count(*) > 1
UNION ALL
SELECT 'run_target', 'doubled key', run_id || '/' || "row" || '/' || target
FROM run_target GROUP BY run_id, "row", target HAVING count(*) > 1
UNION ALL
SELECT 'score', 'doubled key', score_key FROM score GROUP BY score_key HAVING count(*) > 1
UNION ALL
SELECT 'run_target', 'run missing', run_id FROM run_target WHERE run_id NOT IN (SELECT run_id FROM run)
UNION ALL
SELECT 'likelihood', 'text missing', likelihood_key
FROM likelihood WHERE target_hash NOT IN (SELECT target_hash FROM target_text)
UNION ALL
SELECT 'likelihood', 'neither number nor error', likelihood_key
FROM likelihood WHERE (logprob_sum IS NULL) <> (error IS NOT NULL)
UNION ALL
SELECT 'token_count', 'doubled key', tokenizer_fingerprint || '/' || item_id
FROM token_count GROUP BY tokenizer_fingerprint, item_id HAVING count(*) > 1
UNION ALL
SELECT 'embedding', 'doubled key', embedding_key FROM embedding GROUP BY embedding_key HAVING count(*) > 1
UNION ALL
SELECT 'attack', 'doubled key', item_id FROM attack GROUP BY item_id HAVING count(*) > 1
