"""Studies: models by name, run, recorded, run again, and swept over parameters."""
