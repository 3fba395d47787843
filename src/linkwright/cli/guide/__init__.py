"""The dialogue that defines, analyzes and postprocesses a robot: ``linkwright tools guide``."""
