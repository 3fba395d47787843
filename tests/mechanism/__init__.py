"""Tests of `linkwright.mechanism`."""
