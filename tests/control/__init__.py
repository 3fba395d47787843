"""Tests of `linkwright.control`."""
