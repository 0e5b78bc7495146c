-- People's labels with the answers that they are about: a row for each label and run that the answer stands in.
SELECT
    annotation.source,
    annotation.annotator,
    annotation.attribute,
    annotation.value,
    run.benchmark,
    run.major,
    run_item.item_id,
    model.name AS model,
    answer.text,
    answer.text_exact
FROM annotation
JOIN run_item ON run_item.response_key = annotation.subject_id
JOIN run USING (run_id)
JOIN answer USING (response_key)
JOIN model ON model.fingerprint = run.model_fingerprint
WHERE annotation.subject_kind = 'response'
