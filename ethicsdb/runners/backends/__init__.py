"""Backends: what answers a request."""
