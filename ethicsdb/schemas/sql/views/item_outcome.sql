-- What became of each asked-for item under each judge: exactly one of scored, filtered, judge_refused, unparsable,
-- error. NULL while the answer or the verdict has not been asked for yet. A judge whose verdicts on a run stand withdrawn
-- has none there.
WITH judged AS (
    SELECT DISTINCT run_item.run_id, verdict.judge_fingerprint
    FROM run_item
    JOIN verdict ON verdict.subject_id = run_item.response_key
),
run_judge AS (
    SELECT judged.run_id, judged.judge_fingerprint
    FROM judged
    ANTI JOIN withdrawn
      ON withdrawn.kind = 'verdicts' AND withdrawn.name = judged.run_id || ' ' || judged.judge_fingerprint
)
SELECT
    run_item.run_id,
    run_judge.judge_fingerprint,
    run_item."row",
    run_item.sample_number,
    run_item.item_id,
    membership.group_id,
    membership.variant,
    membership.base_item,
    run_item.response_key,
    current_verdict.verdict_id,
    CASE
        WHEN answer.status IN ('filtered', 'error') THEN answer.status
        WHEN answer.status IS NULL THEN NULL
        WHEN current_verdict.status = 'parsed' THEN 'scored'
        WHEN current_verdict.status = 'refused' THEN 'judge_refused'
        ELSE current_verdict.status
    END AS outcome,
    CASE WHEN answer.status = 'completed' THEN current_verdict.reason ELSE answer.error_code END AS reason,
    -- At the length limit: the judge read what there was.
    answer.status = 'completed' AND contains(answer.flags, 'cut_off') AS cut_off
FROM run_item
JOIN run USING (run_id)
JOIN membership
  ON membership.dataset = run.dataset AND membership.version = run.version AND membership."row" = run_item."row"
LEFT JOIN run_judge USING (run_id)
LEFT JOIN answer ON answer.response_key = run_item.response_key
LEFT JOIN current_verdict
  ON current_verdict.subject_kind = 'response'
 AND current_verdict.subject_id = run_item.response_key
 AND current_verdict.judge_fingerprint = run_judge.judge_fingerprint
