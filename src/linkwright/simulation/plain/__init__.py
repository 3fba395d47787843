"""Runs in plain Python, for reading and for checking: slow, and the same numbers."""
