"""Catalogs of motors, gears, bearings, brakes, amplifiers and supplies, as TOML files."""
