-- What became of each asked-for item under each judge: exactly one of scored, filtered, judge_refused, unparsable,
-- error. NULL while the answer or the verdict has not been asked for yet. A judge whose verdicts on a run stand withdrawn
-- has none there. An item of a likelihood run is scored where all its targets are; no judge has a part in it.
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
UNION ALL
SELECT
    run_target.run_id,
    NULL,
    run_target."row",
    0,
    any_value(run_target.item_id),
    any_value(membership.group_id),
    any_value(membership.variant),
    any_value(membership.base_item),
    NULL,
    NULL,
    CASE
        WHEN bool_or(run_target.target = '' OR likelihood.error IS NOT NULL) THEN 'error'
        WHEN bool_and(likelihood.likelihood_key IS NOT NULL) THEN 'scored'
    END,
    CASE
        WHEN bool_or(run_target.target = '') THEN 'nothing_to_score'
        ELSE min(likelihood.error)
    END,
    false
FROM run_target
JOIN run USING (run_id)
JOIN membership
  ON membership.dataset = run.dataset AND membership.version = run.version AND membership."row" = run_target."row"
LEFT JOIN likelihood USING (likelihood_key)
ANTI JOIN vector_set ON vector_set.run_id = run_target.run_id
GROUP BY run_target.run_id, run_target."row"
UNION ALL
-- An association test is scored where no set lacks more than a fifth of its vectors.
SELECT
    vector_set.run_id,
    NULL,
    vector_set."row",
    0,
    any_value(vector_set.item_id),
    any_value(membership.group_id),
    any_value(membership.variant),
    any_value(membership.base_item),
    NULL,
    NULL,
    CASE WHEN bool_or(pending) THEN NULL WHEN bool_or(lacking) THEN 'error' ELSE 'scored' END,
    CASE WHEN bool_or(lacking) AND NOT bool_or(pending) THEN 'texts_without_vector' END,
    false
FROM vector_set
JOIN run USING (run_id)
JOIN membership
  ON membership.dataset = run.dataset AND membership.version = run.version AND membership."row" = vector_set."row"
GROUP BY vector_set.run_id, vector_set."row"
