-- What a run's answers and verdicts cost.
SELECT * FROM run_cost WHERE run_id = $run ORDER BY part, judge, judge_fingerprint
