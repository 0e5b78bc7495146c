-- What somebody said of a sheet's answers, in which import; withdrawn imports aside.
SELECT annotation.subject_id, annotation.source, annotation.value
FROM annotation
JOIN sheet_unit ON sheet_unit.response_key = annotation.subject_id
WHERE sheet_unit.sheet_id = $sheet
  AND annotation.annotator = $annotator
  AND annotation.attribute = $attribute
  AND annotation.source NOT IN (SELECT name FROM withdrawn WHERE kind = 'import')
