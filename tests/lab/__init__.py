"""Tests of `linkwright.lab`."""
