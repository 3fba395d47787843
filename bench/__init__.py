"""Measurements: each ``bench_*.py`` is a speed claim that can be run again."""
