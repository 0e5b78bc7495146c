-- The answers that stand under some keys, with their exact bytes where the text has a lone surrogate.
SELECT response_key, status, text, text_exact, flags, error_code
FROM answer
WHERE response_key IN (SELECT unnest($keys))
