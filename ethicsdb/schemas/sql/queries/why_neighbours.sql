-- Other stored answers to the same item, with all that their keys are made of.
SELECT DISTINCT ON (run_item.response_key)
    run_item.response_key,
    run_item.run_id,
    run_item.sample_number,
    run.sampling,
    model.identity AS model_identity,
    prompt.template,
    prompt.system
FROM run_item
JOIN run USING (run_id)
JOIN model ON model.fingerprint = run.model_fingerprint
LEFT JOIN prompt ON prompt.fingerprint = run.prompt_fingerprint
WHERE run_item.item_id = $item AND run_item.response_key <> $key
ORDER BY run_item.response_key, run_item.run_id
