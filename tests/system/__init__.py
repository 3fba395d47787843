"""Tests of `linkwright.system`."""
