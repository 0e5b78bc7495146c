-- Every call for an answer, those that brought nothing included.
SELECT
    coalesce(response.try_number, call.try_number) AS try_number,
    coalesce(response.status, 'lost') AS status,
    response.text,
    response.flags,
    response.finish_reason,
    response.error_code,
    response.error_message,
    response.prompt_tokens,
    response.completion_tokens,
    response.duration_s,
    response.reported_model,
    response.system_fingerprint,
    coalesce(response.created_at, call.started_at) AS started_at
FROM (SELECT * FROM response WHERE response_key = $key) response
FULL JOIN (SELECT * FROM call WHERE response_key = $key) call USING (response_key, try_number)
ORDER BY try_number
