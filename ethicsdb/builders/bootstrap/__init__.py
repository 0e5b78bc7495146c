"""Data sets that a model writes out of demonstrations: rounds of requests, and checks of every candidate."""
