"""Tests of `linkwright.sweeps`."""
