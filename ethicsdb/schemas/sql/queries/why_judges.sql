-- Every judge that has given verdicts.
SELECT fingerprint, name, identity FROM judge ORDER BY name, fingerprint
