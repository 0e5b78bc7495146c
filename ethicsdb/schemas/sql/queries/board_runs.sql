-- The runs that a benchmark's board could show, of every major, a row for each judge that has given verdicts on them;
-- `judge` is NULL where none has. `attributes` are the labels that the judge can give. Withdrawn runs and
-- verdicts are left out.
WITH judged AS (
    SELECT run_item.run_id, verdict.judge_fingerprint
    FROM run_item
    JOIN verdict ON verdict.subject_id = run_item.response_key
    GROUP BY ALL
),
said AS (
    SELECT judge_fingerprint, list_sort(list(attribute)) AS attributes
    FROM judge_gives
    GROUP BY judge_fingerprint
),
answered AS (
    SELECT run_item.run_id, count(*) AS answers
    FROM run_item
    JOIN answer USING (response_key)
    WHERE answer.status = 'completed'
    GROUP BY run_item.run_id
)
SELECT
    run.run_id,
    run.major,
    run.source,
    coalesce(answered.answers, 0) AS answers,
    model.name AS model,
    judge.name AS judge,
    judged.judge_fingerprint IN (SELECT fingerprint FROM current_judge) AS current,
    coalesce(said.attributes, []) AS attributes
FROM run
JOIN model ON model.fingerprint = run.model_fingerprint
LEFT JOIN answered ON answered.run_id = run.run_id
LEFT JOIN judged
  ON judged.run_id = run.run_id
 AND judged.run_id || ' ' || judged.judge_fingerprint NOT IN (SELECT name FROM withdrawn WHERE kind = 'verdicts')
LEFT JOIN judge ON judge.fingerprint = judged.judge_fingerprint
LEFT JOIN said ON said.judge_fingerprint = judged.judge_fingerprint
WHERE run.benchmark = $benchmark AND run.role = 'evaluation'
  AND run.run_id NOT IN (SELECT name FROM withdrawn WHERE kind = 'run')
ORDER BY run.major, run.started_at DESC, run.run_id, judge.name
