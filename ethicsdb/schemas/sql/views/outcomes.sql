-- Outcome accounting: how the asked-for items of each run ended under each judge. `n` adds up to n_expected; items
-- that were not asked yet stand as `pending`.
WITH counted AS (
    SELECT run_id, judge_fingerprint, coalesce(outcome, 'pending') AS outcome, reason, count(*) AS n
    FROM item_outcome
    GROUP BY ALL
)
SELECT
    run.benchmark,
    run.major,
    run.dataset,
    run.version,
    model.name AS model,
    judge.name AS judge,
    counted.outcome,
    counted.reason,
    counted.n,
    run.n_expected,
    run.role,
    run.run_id,
    counted.judge_fingerprint
FROM counted
JOIN run USING (run_id)
ANTI JOIN withdrawn ON withdrawn.kind = 'run' AND withdrawn.name = counted.run_id
JOIN model ON model.fingerprint = run.model_fingerprint
LEFT JOIN judge ON judge.fingerprint = counted.judge_fingerprint
