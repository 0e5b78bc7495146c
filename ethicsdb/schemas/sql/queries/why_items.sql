-- The asked-for samples of an item of a run, found by the row of the source file (`FILE:ROW` where there are several
-- files) or by the start of the item's id.
SELECT
    run_item."row",
    membership.source_file,
    membership.source_row,
    run_item.item_id,
    run_item.sample_number,
    run_item.response_key,
    membership.variant,
    item_text.text AS question,
    answer.request_hash,
    request.messages
FROM run_item
JOIN run USING (run_id)
JOIN membership
  ON membership.dataset = run.dataset AND membership.version = run.version AND membership."row" = run_item."row"
LEFT JOIN item_text ON item_text.item_id = run_item.item_id
LEFT JOIN answer ON answer.response_key = run_item.response_key
LEFT JOIN request ON request.request_hash = answer.request_hash
WHERE run_item.run_id = $run
  AND (membership.source_row::VARCHAR = $item
       OR membership.source_file || ':' || membership.source_row = $item
       OR (length($item) >= 6 AND starts_with(replace(run_item.item_id, 'blake2b-128:', ''), $item)))
ORDER BY run_item."row", run_item.sample_number
