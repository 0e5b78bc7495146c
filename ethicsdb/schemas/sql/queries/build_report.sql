-- Why rows of a version were dropped, mended or look odd.
SELECT number, severity, code, source_file, source_row, field, detail
FROM build_report
WHERE dataset = $dataset AND version = $version
ORDER BY number
