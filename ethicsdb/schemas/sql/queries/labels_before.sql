-- Who labelled which answer of a benchmark in which import; withdrawn imports aside.
SELECT DISTINCT annotator, item_id, model, text, text_exact, source
FROM labelled_answer
WHERE attribute = $attribute
  AND benchmark = $benchmark
  AND major = $major
  AND source NOT IN (SELECT name FROM withdrawn WHERE kind = 'import')
