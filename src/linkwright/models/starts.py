"""Where commands and pages start a shipped model when nobody says otherwise.

A model's own start stays what it is: the bicycle rides straight, and is linearized about that.
"""

from __future__ import annotations

STARTS: dict[str, dict[str, float]] = {"whipple": {"phi_dot": 0.6}}
"""Coordinates and speeds by the names of models: a push, so that there is something to see."""
