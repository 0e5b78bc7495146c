"""Intervals, agreement and comparison: the numbers that boards stand on."""
