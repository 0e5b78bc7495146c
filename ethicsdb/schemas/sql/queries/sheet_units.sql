-- Units of sheets by their names.
SELECT
    sheet_unit.unit_id,
    sheet.sheet_id,
    sheet.name,
    sheet.run_id,
    sheet.attribute,
    sheet.allowed,
    sheet_unit.response_key,
    sheet_unit.group_id,
    sheet_unit.sampling_probability,
    sheet_unit.annotators,
    sheet_unit.shown
FROM sheet_unit
JOIN sheet USING (sheet_id)
WHERE sheet_unit.unit_id IN (SELECT unnest($units))
