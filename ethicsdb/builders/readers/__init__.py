"""Readers: published files whose rows are nested, split over files or otherwise no flat table, as flat rows."""
