-- A run with the identity of its model and prompt.
SELECT
    run.*,
    model.name AS model,
    model.identity AS model_identity,
    prompt.template,
    prompt.system
FROM run
JOIN model ON model.fingerprint = run.model_fingerprint
LEFT JOIN prompt ON prompt.fingerprint = run.prompt_fingerprint
WHERE run.run_id = $run
