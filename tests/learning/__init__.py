"""Tests of `linkwright.learning`."""
