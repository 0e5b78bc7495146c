-- An import that is on the boards and holds a label which a withdrawn one holds too: of one person, answer and attribute.
WITH held AS (
    SELECT
        annotation.source,
        [annotation.annotator, annotation.attribute, run.benchmark, run.major::VARCHAR, run_item.item_id, model.name] AS about,
        coalesce(answer.text_exact, encode(answer.text)) AS said
    FROM annotation
    JOIN run_item ON run_item.response_key = annotation.subject_id
    JOIN run USING (run_id)
    JOIN answer USING (response_key)
    JOIN model ON model.fingerprint = run.model_fingerprint
    WHERE annotation.subject_kind = 'response'
)
SELECT other.source
FROM held
JOIN held AS other USING (about, said)
WHERE held.source = $name
  AND other.source <> $name
  AND other.source NOT IN (SELECT name FROM withdrawn WHERE kind = 'import')
ORDER BY other.source
LIMIT 1
