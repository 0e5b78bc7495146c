-- Labels of a withdrawn import beside those that other imports, which are on the boards, hold of one person, attribute,
-- question and model: the other's name, and the text of both answers.
WITH held AS (
    SELECT
        annotation.source,
        [annotation.annotator, annotation.attribute, run.benchmark, run.major::VARCHAR, run_item.item_id, model.name] AS about,
        answer.text,
        answer.text_exact
    FROM annotation
    JOIN run_item ON run_item.response_key = annotation.subject_id
    JOIN run USING (run_id)
    JOIN answer USING (response_key)
    JOIN model ON model.fingerprint = run.model_fingerprint
    WHERE annotation.subject_kind = 'response'
)
SELECT other.source, held.text, held.text_exact, other.text, other.text_exact
FROM held
JOIN held AS other USING (about)
WHERE held.source = $name
  AND other.source <> $name
  AND other.source NOT IN (SELECT name FROM withdrawn WHERE kind = 'import')
ORDER BY other.source
