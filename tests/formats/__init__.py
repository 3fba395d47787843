"""Tests of `linkwright.formats`."""
