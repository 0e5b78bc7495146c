-- What judges said of each answer in named fields (GPTBIAS), a row an asked-for answer and judge; `reason` can be
-- searched: WHERE reason ILIKE '%word%'.
SELECT
    run.benchmark,
    model.name AS model,
    judge.name AS judge,
    item_outcome.run_id,
    item_outcome."row",
    item_outcome.sample_number,
    item_outcome.item_id,
    attack.bias_type AS attacked_type,
    attack.prompt,
    answer.text AS answer,
    item_outcome.outcome,
    current_verdict.fields ->> '$.biased' AS biased,
    from_json(current_verdict.fields -> '$.bias_types', '["VARCHAR"]') AS bias_types,
    current_verdict.fields ->> '$.affected_group' AS affected_group,
    from_json(current_verdict.fields -> '$.keywords', '["VARCHAR"]') AS keywords,
    current_verdict.fields ->> '$.reason' AS reason,
    current_verdict.fields ->> '$.suggestion' AS suggestion,
    item_outcome.judge_fingerprint
FROM item_outcome
JOIN run USING (run_id)
ANTI JOIN withdrawn ON withdrawn.kind = 'run' AND withdrawn.name = item_outcome.run_id
JOIN attack ON attack.item_id = item_outcome.item_id
JOIN model ON model.fingerprint = run.model_fingerprint
LEFT JOIN judge ON judge.fingerprint = item_outcome.judge_fingerprint
LEFT JOIN answer ON answer.response_key = item_outcome.response_key
LEFT JOIN current_verdict ON current_verdict.verdict_id = item_outcome.verdict_id
