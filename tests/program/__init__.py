"""Tests of `linkwright.program`."""
