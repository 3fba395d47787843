"""Tests of `linkwright.robots`."""
