"""Tests of `linkwright.models`."""
