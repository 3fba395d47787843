"""Sizing: which motors, gears, bearings and brakes a task needs, and with what margin."""
