-- Every verdict on an answer, with its labels and the judge's own words.
SELECT
    judge.name AS judge,
    verdict.judge_fingerprint,
    verdict.judge_fingerprint IN (SELECT fingerprint FROM current_judge) AS current,
    verdict.status,
    verdict.reason,
    (
        SELECT string_agg(attribute || '=' || value, ', ' ORDER BY attribute, value)
        FROM verdict_label
        WHERE verdict_label.verdict_id = verdict.verdict_id
    ) AS labels,
    verdict.fields,
    response.text AS words,
    judge.identity,
    verdict.verdict_id
FROM verdict
JOIN judge ON judge.fingerprint = verdict.judge_fingerprint
LEFT JOIN response
  ON response.response_key = verdict.judge_response_key AND response.try_number = verdict.judge_try
WHERE verdict.subject_id = $key
ORDER BY judge.name, verdict.judge_fingerprint, verdict.judge_try
