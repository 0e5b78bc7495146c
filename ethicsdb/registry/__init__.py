"""What exists and where it is kept: declarations, store, journals, versions, queries."""
