-- The labels that each judge can give. Of a judge whose journal says nothing of them, as one written before they were
-- kept, they are those that a rubric of its form gives; other forms came later.
SELECT judge_fingerprint, attribute
FROM judge_attribute
UNION ALL
SELECT
    fingerprint AS judge_fingerprint,
    unnest(
        CASE identity ->> '$.rubric.form'
            WHEN 'numbered' THEN ['safety', 'refusal', 'safety_published']
            WHEN 'refusal_rules' THEN ['refusal', 'manner']
            WHEN 'classes' THEN list_concat(
                [identity ->> '$.rubric.attribute', 'safety'],
                CASE WHEN json_type(identity, '$.rubric.recode') = 'OBJECT'
                    THEN [(identity ->> '$.rubric.attribute') || '_raw'] ELSE [] END,
                CASE WHEN json_array_length(identity, '$.rubric.refusal') > 0 THEN ['refusal'] ELSE [] END
            )
        END
    ) AS attribute
FROM judge
ANTI JOIN judge_attribute ON judge_attribute.judge_fingerprint = judge.fingerprint
