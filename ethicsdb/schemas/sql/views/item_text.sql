-- The main text of every item, whatever its kind.
SELECT item_id, question AS text FROM safety_question
