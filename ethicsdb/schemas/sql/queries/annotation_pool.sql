-- The answers of a run that people can label, with what was asked and the stratum that each is in: the values of an item
-- field, a judge's label, or one stratum for all. Answers that rows share stand once.
WITH run_answer AS (
    SELECT DISTINCT ON (run_item.response_key)
        run_item.response_key,
        run_item.item_id,
        membership.group_id,
        answer.text,
        answer.text_exact,
        request.messages,
        request.messages_exact
    FROM run_item
    JOIN run USING (run_id)
    JOIN answer ON answer.response_key = run_item.response_key
    JOIN membership
      ON membership.dataset = run.dataset AND membership.version = run.version AND membership."row" = run_item."row"
    LEFT JOIN request ON request.request_hash = answer.request_hash
    WHERE run_item.run_id = $run AND answer.status = 'completed' AND answer.text IS NOT NULL
    ORDER BY run_item.response_key, run_item."row"
),
part AS (
    SELECT item_id, string_agg(DISTINCT slice_value, ' + ' ORDER BY slice_value) AS value
    FROM item_slice
    WHERE slice = $field
    GROUP BY item_id
),
said AS (
    SELECT
        current_verdict.subject_id,
        CASE
            WHEN any_value(current_verdict.status) <> 'parsed' THEN 'not judged'
            ELSE coalesce(string_agg(verdict_label.value, ' + ' ORDER BY verdict_label.value), 'none')
        END AS value
    FROM current_verdict
    LEFT JOIN verdict_label
      ON verdict_label.verdict_id = current_verdict.verdict_id AND verdict_label.attribute = $attribute
    WHERE current_verdict.judge_fingerprint = $judge
    GROUP BY current_verdict.subject_id
)
SELECT
    run_answer.*,
    CASE
        WHEN $judge IS NOT NULL THEN coalesce(said.value, 'not judged')
        WHEN $field IS NOT NULL THEN coalesce(part.value, 'none')
        ELSE 'all'
    END AS stratum
FROM run_answer
LEFT JOIN part ON part.item_id = run_answer.item_id
LEFT JOIN said ON said.subject_id = run_answer.response_key
ORDER BY run_answer.response_key
