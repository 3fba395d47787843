"""Tests of `linkwright.elements`."""
