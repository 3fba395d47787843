"""Tests of `linkwright.server`."""
