-- What a benchmark declares, or declared, under a major number.
SELECT declaration FROM benchmark WHERE name = $benchmark AND major = $major
