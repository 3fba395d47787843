"""Tests of `linkwright.simulation`."""
