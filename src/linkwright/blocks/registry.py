"""The plain blocks, one line each. A new one is added here; text models and tests find it."""

from __future__ import annotations

from linkwright.blocks.basic import Delay, Hold, Integrator, WhiteNoise
from linkwright.blocks.kinds import Kind

BLOCKS = (Kind(Delay), Kind(Hold), Kind(Integrator), Kind(WhiteNoise))
"""Every kind of plain block."""
