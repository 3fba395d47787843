"""Tests of `linkwright.cli`."""
