"""Tests of `linkwright.motion`."""
