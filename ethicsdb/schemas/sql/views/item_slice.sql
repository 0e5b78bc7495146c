-- The parts that boards are cut into, a row for each item and field, whatever the item's kind. A conversation has a row
-- for each of its labels.
UNPIVOT (SELECT item_id, risk_area, harm_type, language FROM safety_question)
ON risk_area, harm_type, language
INTO NAME slice VALUE slice_value
UNION ALL
FROM (
    UNPIVOT (SELECT item_id, bias_type, language FROM attack)
    ON bias_type, language
    INTO NAME slice VALUE slice_value
)
UNION ALL
FROM (
    UNPIVOT (SELECT item_id, category, condition, polarity, language FROM choice_question)
    ON category, condition, polarity, language
    INTO NAME slice VALUE slice_value
)
UNION ALL
FROM (
    UNPIVOT (SELECT item_id, category, form, direction, language FROM sentence_pair)
    ON category, form, direction, language
    INTO NAME slice VALUE slice_value
)
UNION ALL
FROM (
    UNPIVOT (SELECT item_id, level, language FROM association_test)
    ON level, language
    INTO NAME slice VALUE slice_value
)
UNION ALL
SELECT item_id, 'label', unnest(from_json(labels, '["VARCHAR"]')) FROM conversation
UNION ALL
FROM (
    UNPIVOT (SELECT item_id, target_group, language FROM conversation)
    ON target_group, language
    INTO NAME slice VALUE slice_value
)
UNION ALL
FROM (
    UNPIVOT (SELECT item_id, target_group, label, language FROM text_prompt)
    ON target_group, label, language
    INTO NAME slice VALUE slice_value
)
UNION ALL
FROM (
    UNPIVOT (SELECT item_id, category, target_group, label, phrase_label, language FROM labelled_text)
    ON category, target_group, label, phrase_label, language
    INTO NAME slice VALUE slice_value
)
UNION ALL
FROM (
    UNPIVOT (SELECT item_id, category, label, language FROM gold_answer)
    ON category, label, language
    INTO NAME slice VALUE slice_value
)
