"""Tests of `linkwright.wholebody`."""
