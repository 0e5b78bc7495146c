-- Who labelled which answer of a benchmark in which import; withdrawn imports aside.
SELECT DISTINCT annotation.annotator, run_item.item_id, model.name, answer.text, answer.text_exact, annotation.source
FROM annotation
JOIN run_item ON run_item.response_key = annotation.subject_id
JOIN run USING (run_id)
JOIN answer USING (response_key)
JOIN model ON model.fingerprint = run.model_fingerprint
WHERE annotation.subject_kind = 'response'
  AND annotation.attribute = $attribute
  AND run.benchmark = $benchmark
  AND run.major = $major
  AND annotation.source NOT IN (SELECT name FROM withdrawn WHERE kind = 'import')
