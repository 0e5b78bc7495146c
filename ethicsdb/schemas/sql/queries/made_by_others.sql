-- Tables, views and macros of the attached database `old` that `new` has not: somebody else made them.
WITH thing AS (
    SELECT database_name, 'table' AS kind, schema_name, table_name AS name FROM duckdb_tables() WHERE NOT internal
    UNION ALL
    SELECT database_name, 'view', schema_name, view_name FROM duckdb_views() WHERE NOT internal
    UNION ALL
    SELECT database_name, 'macro', schema_name, function_name FROM duckdb_functions() WHERE NOT internal
)
SELECT DISTINCT kind, if(schema_name = 'main', name, schema_name || '.' || name) AS name
FROM thing
WHERE database_name = 'old'
  AND NOT EXISTS (
      SELECT 1 FROM thing other
      WHERE other.database_name = 'new' AND (other.kind, other.schema_name, other.name)
          = (thing.kind, thing.schema_name, thing.name)
  )
ORDER BY kind, name
