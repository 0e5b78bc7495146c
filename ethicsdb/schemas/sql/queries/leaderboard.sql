-- One benchmark's board, rows with the benchmark's own settings first.
SELECT *
FROM leaderboard
WHERE benchmark = $benchmark AND major = $major AND (current OR $old_judges)
ORDER BY judge, metric, slice, slice_value, source = 'published', settings <> '', settings,
         "rank" NULLS LAST, model, run_id
