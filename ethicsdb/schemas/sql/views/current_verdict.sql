-- The verdict that counts for each subject and judge: the first that was not an error, else the last error.
SELECT *
FROM verdict
QUALIFY row_number() OVER (
    PARTITION BY subject_kind, subject_id, other_id, judge_fingerprint
    ORDER BY status = 'error', CASE WHEN status = 'error' THEN -judge_try ELSE judge_try END, verdict_id
) = 1
