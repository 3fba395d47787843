"""The tests, as a package, so that they share what they need."""
