-- A data set at a glance: its newest version, counts, terms.
SELECT
    dataset.name,
    dataset.title,
    dataset.kind,
    dataset_version.version,
    dataset_version."rows",
    dataset_version.items,
    dataset.languages,
    dataset.licence,
    dataset.access,
    dataset_version.built_at,
    dataset_version.fingerprint,
    dataset_version.source,
    dataset_version.source_sha256,
    dataset.citation
FROM dataset
LEFT JOIN dataset_version ON dataset_version.dataset = dataset.name
QUALIFY row_number() OVER (PARTITION BY dataset.name ORDER BY dataset_version.number DESC) = 1
