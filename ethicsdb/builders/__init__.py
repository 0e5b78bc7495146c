"""Make dataset versions: sources, cleaning, links, quality reports."""
