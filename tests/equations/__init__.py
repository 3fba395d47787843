"""Tests of `linkwright.equations`."""
