-- How many numbers `board_part` gives to judges, metrics and slices. A board row's key is
-- ((run * judges + judge) * metrics + metric) * slices + slice.
SELECT
    count(*) FILTER (part = 'judge') AS judges,
    count(*) FILTER (part = 'metric') AS metrics,
    count(*) FILTER (part = 'slice') AS slices
FROM board_part
