-- Likelihood scores (LLS) of unethical outputs, refusals and ethical outputs: Eagle and the existing sets scored as it
-- is. Published averages stand beside, with a note: their normalisation is not known.
SELECT leaderboard.*
FROM leaderboard
JOIN benchmark ON benchmark.name = leaderboard.benchmark AND benchmark.major = leaderboard.major
WHERE benchmark.declaration ->> '$.measure' = 'exchange'
