"""Backends: each turns a Program into something that runs (native code, C, Python)."""
