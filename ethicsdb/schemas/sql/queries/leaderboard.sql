-- One benchmark's board.
SELECT *
FROM leaderboard
WHERE benchmark = $benchmark AND major = $major AND (current OR $old_judges)
ORDER BY judge, metric, slice, slice_value, source = 'published', "rank" NULLS LAST, model, run_id
