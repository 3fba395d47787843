"""Tests of `linkwright.algebra`."""
