"""Tests of `linkwright.windows`."""
