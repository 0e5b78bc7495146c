"""The shape of everything: tables, declarations, outcomes, fingerprints and SQL."""
