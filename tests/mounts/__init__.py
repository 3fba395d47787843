"""Tests of `linkwright.mounts`."""
