-- Every target of a run with its likelihood; an item that lacks what is to be scored has a row without one.
SELECT run_target."row", run_target.target, likelihood.logprob_sum, likelihood.tokens
FROM run_target
LEFT JOIN likelihood USING (likelihood_key)
WHERE run_target.run_id = $run
ORDER BY run_target."row", run_target.target
