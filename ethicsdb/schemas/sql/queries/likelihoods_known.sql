-- Of some keys, those that have a likelihood, or an error that would come again.
SELECT likelihood_key FROM likelihood WHERE likelihood_key IN (SELECT unnest($keys))
