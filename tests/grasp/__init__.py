"""Tests of `linkwright.grasp`."""
