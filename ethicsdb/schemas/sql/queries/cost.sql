-- What was paid, by model and purpose.
SELECT * FROM cost ORDER BY model, purpose, model_fingerprint
