-- Judge beside person: a row for each label that a person gave and a judge was asked for too, once a benchmark however
-- many runs the answer stands in. `judge_label` is NULL where the judge's words did not give the label.
--
-- Rule `strict` compares a person's attribute with the judge's label of that name, rule `published` with the label
-- `<attribute>_published`, which follows the counting rule of the rubric's authors. Pairs are made only for labels that
-- the judge's rubric has. What stands withdrawn is left out: imports of labels, runs, a judge's verdicts on a run. Several
-- values in one verdict form one label, joined by ` + `. Where one annotator labelled an answer in several sources, the
-- first source by name counts.
WITH person AS (
    SELECT subject_id, annotator, attribute, value, sampling_probability, group_id
    FROM annotation
    WHERE subject_kind = 'response' AND source NOT IN (SELECT name FROM withdrawn WHERE kind = 'import')
    QUALIFY row_number() OVER (PARTITION BY subject_id, annotator, attribute ORDER BY source) = 1
),
place AS (
    SELECT run.benchmark, run.major, run_item.response_key, min(model.name) AS model
    FROM run_item
    JOIN run USING (run_id)
    JOIN model ON model.fingerprint = run.model_fingerprint
    ANTI JOIN withdrawn ON withdrawn.kind = 'run' AND withdrawn.name = run.run_id
    WHERE run_item.response_key IN (SELECT subject_id FROM person)
    GROUP BY ALL
),
taken_back AS (
    SELECT run_item.response_key AS subject_id, split_part(withdrawn.name, ' ', 2) AS judge_fingerprint
    FROM withdrawn
    JOIN run_item ON run_item.run_id = split_part(withdrawn.name, ' ', 1)
    WHERE withdrawn.kind = 'verdicts'
),
judged AS (
    SELECT verdict_id, subject_id, judge_fingerprint, status
    FROM current_verdict
    ANTI JOIN taken_back USING (subject_id, judge_fingerprint)
    WHERE subject_kind = 'response' AND other_id IS NULL AND subject_id IN (SELECT subject_id FROM person)
),
said AS (
    SELECT verdict_id, attribute, string_agg(value, ' + ' ORDER BY value) AS label
    FROM verdict_label
    WHERE verdict_id IN (SELECT verdict_id FROM judged)
    GROUP BY ALL
),
rule_suffix (rule, suffix) AS (
    VALUES ('strict', ''), ('published', '_published')
)
SELECT
    place.benchmark,
    place.major,
    judge.name AS judge,
    judged.judge_fingerprint,
    person.annotator,
    person.attribute,
    rule_suffix.rule,
    place.model,
    person.subject_id AS response_key,
    person.group_id,
    person.sampling_probability,
    person.value AS person_label,
    said.label AS judge_label,
    judged.verdict_id,
    judged.status
FROM person
JOIN place ON place.response_key = person.subject_id
JOIN judged USING (subject_id)
JOIN judge ON judge.fingerprint = judged.judge_fingerprint
CROSS JOIN rule_suffix
JOIN judge_gives
  ON judge_gives.judge_fingerprint = judged.judge_fingerprint
 AND judge_gives.attribute = person.attribute || rule_suffix.suffix
LEFT JOIN said
  ON said.verdict_id = judged.verdict_id
 AND said.attribute = person.attribute || rule_suffix.suffix
