"""Tests of `linkwright.systolic`."""
