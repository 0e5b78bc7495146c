-- Table 1 of a version in one tokenizer's tokens.
SELECT split, label, instances, counted, mean_context_tokens, mean_output_tokens, mean_turns
FROM conversation_lengths
WHERE dataset = $dataset AND version = $version AND tokenizer_fingerprint = $tokenizer
ORDER BY split, label <> 'all', label
