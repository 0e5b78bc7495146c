-- Prior evaluation scores of the sets that Eagle is compared with: BBQ's choices, OpinionQA's alignment with people,
-- MoCa's agreement with people, ToxiGen's share that is not toxic.
SELECT leaderboard.*
FROM leaderboard
JOIN benchmark ON benchmark.name = leaderboard.benchmark AND benchmark.major = leaderboard.major
WHERE benchmark.declaration ->> '$.measure' IN ('choices', 'human_votes', 'opinion')
   OR (leaderboard.benchmark, leaderboard.metric) IN (SELECT (benchmark, metric) FROM metric WHERE attribute = 'toxicity')
