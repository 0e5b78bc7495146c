-- Batches that hold some requests and were not collected yet: each of their requests, with the steps that were taken.
WITH steps AS (
    SELECT batch, list({'step': step, 'value': value} ORDER BY taken_at) AS steps FROM batch_step GROUP BY batch
),
concerned AS (
    SELECT DISTINCT batch
    FROM batch_line
    WHERE response_key IN (SELECT unnest($keys))
      AND batch NOT IN (SELECT batch FROM batch_step WHERE step = 'collected')
)
SELECT
    batch_line.batch,
    batch_line.response_key,
    batch_line.try_number,
    batch_line.request_hash,
    batch_line.sampling,
    batch_line.sample_number,
    request.messages,
    request.messages_exact,
    steps.steps
FROM batch_line
SEMI JOIN concerned USING (batch)
JOIN steps USING (batch)
JOIN request ON request.request_hash = batch_line.request_hash
ORDER BY batch_line.batch, batch_line.response_key
