"""The same numbers by another way: what tests compare with."""
