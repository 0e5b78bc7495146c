-- How many numbers of a run are kept that rest on these inputs and this version of the statistics.
SELECT count(*)
FROM score
WHERE run_id = $run AND judge_fingerprint IS NOT DISTINCT FROM $judge AND inputs = $inputs AND statistics = $statistics
