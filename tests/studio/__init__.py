"""Tests of `linkwright.studio`."""
