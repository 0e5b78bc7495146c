-- Answers that were drawn for people of a benchmark: what each person said, and what each judge did.
WITH said AS (
    SELECT
        sheet_unit.sheet_id,
        sheet_unit.unit_id,
        list({'annotator': annotation.annotator, 'value': annotation.value} ORDER BY annotation.annotator) AS people
    FROM sheet_unit
    JOIN sheet USING (sheet_id)
    JOIN annotation
      ON annotation.subject_id = sheet_unit.response_key AND annotation.attribute = sheet.attribute
     AND json_contains(sheet_unit.annotators, to_json(annotation.annotator))
    WHERE annotation.source NOT IN (SELECT name FROM withdrawn WHERE kind = 'import')
    GROUP BY ALL
),
judged AS (
    SELECT
        current_verdict.subject_id,
        current_verdict.judge_fingerprint,
        current_verdict.status,
        verdict_label.attribute,
        list(verdict_label.value) AS labels
    FROM current_verdict
    LEFT JOIN verdict_label USING (verdict_id)
    WHERE current_verdict.judge_fingerprint IN (SELECT fingerprint FROM current_judge)
    GROUP BY ALL
)
SELECT
    sheet.name AS sheet,
    sheet.attribute,
    sheet.allowed,
    sheet.strata,
    sheet_unit.unit_id,
    sheet_unit.stratum,
    sheet_unit.population,
    sheet_unit.group_id,
    said.people,
    judge.name AS judge,
    judged.labels
FROM sheet
JOIN run USING (run_id)
JOIN sheet_unit USING (sheet_id)
JOIN said USING (sheet_id, unit_id)
LEFT JOIN judged
  ON judged.subject_id = sheet_unit.response_key AND judged.attribute = sheet.attribute AND judged.status = 'parsed'
LEFT JOIN judge ON judge.fingerprint = judged.judge_fingerprint
WHERE run.benchmark = $benchmark AND run.major = $major
ORDER BY sheet.name, judge.name, sheet_unit.unit_id
