-- Direct, indirect and harmless questions side by side, for one benchmark.
SELECT *
FROM leaderboard_safeguards
WHERE benchmark = $benchmark AND major = $major AND current
ORDER BY judge, unsafe_direct, model, run_id
