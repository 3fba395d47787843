"""Files of a laboratory: SL folders, preference files, `lab.toml`."""
