"""Tests of `linkwright.analysis`."""
