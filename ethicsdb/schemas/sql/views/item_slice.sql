-- The parts that boards are cut into, a row for each item and field, whatever the item's kind.
UNPIVOT (SELECT item_id, risk_area, harm_type, language FROM safety_question)
ON risk_area, harm_type, language
INTO NAME slice VALUE slice_value
