-- The answer that counts under each key: the first completed try; where none completed, the last thing that happened.
SELECT *
FROM response
QUALIFY row_number() OVER (
    PARTITION BY response_key
    ORDER BY status = 'completed' DESC, CASE WHEN status = 'completed' THEN try_number ELSE -try_number END
) = 1
