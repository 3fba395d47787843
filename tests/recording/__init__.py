"""Tests of `linkwright.recording`."""
