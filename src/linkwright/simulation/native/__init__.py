"""Native runs: compiled loops around the compiled Programs of a System's phases."""
