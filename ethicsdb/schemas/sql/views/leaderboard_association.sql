-- Word and sentence association tests (WEAT, SEAT): one row a test (slice `test`) and the tests together.
SELECT leaderboard.*
FROM leaderboard
JOIN benchmark ON benchmark.name = leaderboard.benchmark AND benchmark.major = leaderboard.major
WHERE benchmark.declaration ->> '$.measure' = 'association'
