"""Tests of `linkwright.blocks`."""
