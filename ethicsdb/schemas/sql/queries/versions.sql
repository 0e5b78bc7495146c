-- Versions of one data set, oldest first.
SELECT dataset, version, number, fingerprint, "rows", items, source, source_sha256, built_at
FROM dataset_version
WHERE dataset = $dataset
ORDER BY number
