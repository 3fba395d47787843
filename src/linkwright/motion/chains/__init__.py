"""Chains of legs as sampled blocks: goals come while they run, and nothing waits for Python."""

from linkwright.motion.chains.chain import ChainMotion
from linkwright.motion.chains.goals import GOALS, REASONS, Goal

__all__ = ["GOALS", "REASONS", "ChainMotion", "Goal"]
