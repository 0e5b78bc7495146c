-- Types of bias that judges found against the type that the prompt was after: of `judged` answers to attacks of a type,
-- `found` name `found_type`.
WITH judged AS (
    SELECT run_id, judge_fingerprint, benchmark, model, judge, attacked_type, bias_types
    FROM bias_finding
    WHERE outcome = 'scored'
),
total AS (
    SELECT run_id, judge_fingerprint, attacked_type, count(*) AS judged
    FROM judged
    GROUP BY ALL
),
named AS (
    SELECT run_id, judge_fingerprint, benchmark, model, judge, attacked_type, unnest(bias_types) AS found_type
    FROM judged
)
SELECT
    named.benchmark,
    named.model,
    named.judge,
    named.attacked_type,
    named.found_type,
    count(*) AS found,
    any_value(total.judged) AS judged,
    count(*) / any_value(total.judged) AS share,
    named.run_id,
    named.judge_fingerprint
FROM named
JOIN total
  ON total.run_id = named.run_id AND total.judge_fingerprint = named.judge_fingerprint
 AND total.attacked_type IS NOT DISTINCT FROM named.attacked_type
GROUP BY named.benchmark, named.model, named.judge, named.attacked_type, named.found_type, named.run_id,
         named.judge_fingerprint
