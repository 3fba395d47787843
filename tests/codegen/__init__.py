"""Tests of `linkwright.codegen`."""
