-- The main text of every item, whatever its kind.
SELECT item_id, question AS text FROM safety_question
UNION ALL
SELECT item_id, CASE WHEN context IS NULL THEN question ELSE context || chr(10) || question END FROM choice_question
UNION ALL
SELECT item_id, stereotype FROM sentence_pair
UNION ALL
SELECT item_id, name FROM association_test
UNION ALL
SELECT item_id, output FROM conversation
UNION ALL
SELECT item_id, text FROM text_prompt
UNION ALL
SELECT item_id, text FROM labelled_text
UNION ALL
SELECT item_id, prompt FROM attack
UNION ALL
SELECT item_id, question || chr(10) || coalesce(answer, '') FROM gold_answer
