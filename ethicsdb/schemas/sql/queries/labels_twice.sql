-- Labels of a withdrawn import beside those that other imports, which are on the boards, hold of one person, attribute,
-- question and model: the other's name, and the text of both answers.
SELECT other.source, held.text, held.text_exact, other.text, other.text_exact
FROM labelled_answer AS held
JOIN labelled_answer AS other USING (annotator, attribute, benchmark, major, item_id, model)
WHERE held.source = $name
  AND other.source <> $name
  AND other.source NOT IN (SELECT name FROM withdrawn WHERE kind = 'import')
ORDER BY other.source
