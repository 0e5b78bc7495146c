-- GPTBIAS's intersectional scores: answers whose verdict names two or more types of bias.
SELECT leaderboard.*
FROM leaderboard
JOIN metric
  ON metric.benchmark = leaderboard.benchmark AND metric.major = leaderboard.major AND metric.metric = leaderboard.metric
WHERE metric.attribute = 'intersectional'
