-- Which of two sentences a model prefers: StereoSet, CrowS-Pairs, RedditBias.
SELECT leaderboard.*
FROM leaderboard
JOIN benchmark ON benchmark.name = leaderboard.benchmark AND benchmark.major = leaderboard.major
WHERE benchmark.declaration ->> '$.measure' IN ('stereoset', 'preferences', 'likelihood_differences')
