"""Tests of `linkwright.backends`."""
