-- The asked-for texts of an item of a likelihood run, found as in `why_items`.
SELECT
    run_target."row",
    membership.source_file,
    membership.source_row,
    run_target.item_id,
    membership.variant,
    item_text.text AS question,
    run_target.target,
    target_text.text,
    likelihood.logprob_sum,
    likelihood.tokens,
    likelihood.logprob_sum / nullif(likelihood.tokens, 0) AS logprob_mean,
    likelihood.flags,
    likelihood.error,
    likelihood.detail,
    run_target.likelihood_key,
    likelihood.request_hash,
    request.messages
FROM run_target
JOIN run USING (run_id)
JOIN membership
  ON membership.dataset = run.dataset AND membership.version = run.version AND membership."row" = run_target."row"
LEFT JOIN item_text ON item_text.item_id = run_target.item_id
LEFT JOIN likelihood ON likelihood.likelihood_key = run_target.likelihood_key
LEFT JOIN target_text ON target_text.target_hash = likelihood.target_hash
LEFT JOIN request ON request.request_hash = likelihood.request_hash
WHERE run_target.run_id = $run
  AND (membership.source_row::VARCHAR = $item
       OR membership.source_file || ':' || membership.source_row = $item
       OR (length($item) >= 6 AND starts_with(replace(run_target.item_id, 'blake2b-128:', ''), $item)))
ORDER BY run_target."row", run_target.target
