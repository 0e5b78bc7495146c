-- GPTBIAS scores: biased answers by type and overall, under the strict and the published rule.
SELECT leaderboard.*
FROM leaderboard
JOIN metric
  ON metric.benchmark = leaderboard.benchmark AND metric.major = leaderboard.major AND metric.metric = leaderboard.metric
WHERE metric.attribute = 'biased'
