"""The motion server: axes, motions and sensors over a network."""

from __future__ import annotations
