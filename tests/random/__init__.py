"""Random expressions, mechanisms, robots and Systems, each from a seed."""
