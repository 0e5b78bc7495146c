-- The answers of an import in the order of its file, with the items that they answer.
SELECT import_row."row", import_row.response_key, run_item.item_id
FROM import_row
JOIN run_item USING (run_id, response_key)
WHERE import_row.import_name = $name
QUALIFY row_number() OVER (PARTITION BY import_row."row" ORDER BY run_item."row") = 1
ORDER BY import_row."row"
