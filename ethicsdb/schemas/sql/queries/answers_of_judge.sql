-- A judge's own answers by key: the one that counts, with its try.
SELECT response_key, try_number, status, text, text_exact, error_code
FROM answer
WHERE model_fingerprint = $model AND list_contains($keys, response_key)
