"""Vectors of words and sentences, for association tests."""
