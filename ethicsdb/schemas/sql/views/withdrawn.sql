-- Runs and imports that stand withdrawn: no board shows them. Their rows stay.
SELECT kind, name
FROM withdrawal
QUALIFY row_number() OVER (PARTITION BY kind, name ORDER BY said_at DESC) = 1 AND withdrawn
