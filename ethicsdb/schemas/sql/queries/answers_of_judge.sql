-- A judge's own answers by key: the one that counts, with its try.
SELECT response_key, try_number, status, text, text_exact, error_code, flags
FROM answer
WHERE response_key IN (SELECT unnest($keys::VARCHAR[]))
