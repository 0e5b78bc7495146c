"""Bringing in what was made elsewhere: judge outputs and people's labels."""
