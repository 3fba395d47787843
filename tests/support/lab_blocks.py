"""Blocks of a laboratory run by themselves on numbers that are given tick by tick."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

import linkwright as lw
from linkwright.blocks import Block
from linkwright.formats.robot.description import Description, Link
from linkwright.lab.config import JointConfig, LabConfig

Array = NDArray[np.float64]
RATE = 100


def lab(*joints: JointConfig, **options: Any) -> LabConfig:
    """Return a laboratory without a robot."""
    return LabConfig("arm", Description("arm", (Link("base"),), ()), joints, **options)


class Driven:
    """What a block gave, tick by tick."""

    def __init__(self, block: Block, run: Any) -> None:
        self._block, self._run = block, run

    def __getitem__(self, port: str) -> Array:
        """Return a row for each tick, of an output by its port or of a state."""
        found = self._block.outputs.get(port)
        names = [port] if found is None else [s.name for s in found.symbols]
        rows = np.array([self._run[f"{self._block.name}.{name}"] for name in names]).T
        return rows[:, 0] if found is None or not found.shape else rows


def driven(block: Block, given: Mapping[str, Array], executor: str = "python") -> Driven:
    """Run a block on rows of its inputs, one for each tick; nan is let through."""
    sizes = {key: x.shape[1] if x.ndim > 1 else None for key, x in given.items()}
    key = repr((block.made_with, sizes))
    if key not in _SYSTEMS:
        _SYSTEMS[key] = _fed(block, sizes)
    system, rows = _SYSTEMS[key]
    ticks = len(next(iter(given.values())))
    rows[:] = [{name: values[k] for name, values in given.items()} for k in reversed(range(ticks))]
    states = [f"{block.name}.{s.name}" for s in block.discrete_states]
    outputs = [f"{block.name}.{s.name}" for o in block.outputs.values() for s in o.symbols]
    run = lw.simulate(
        system, (ticks - 1) / RATE, every=1, record=[*outputs, *states], executor=executor
    )
    return Driven(block, run)


_SYSTEMS: dict[str, tuple[lw.System, list[dict[str, Any]]]] = {}
"""Made once, of blocks that were made alike, each with the rows that are still to come."""


def _fed(block: Block, sizes: Mapping[str, int | None]) -> tuple[lw.System, list[dict[str, Any]]]:
    """Return a System of the block and a source, with the rows that it takes from their end."""
    system, rows = lw.System(name="driven", base=RATE), list[dict[str, Any]]()
    member = system.add(block, rate=RATE)

    def source() -> dict[str, Any]:
        return rows.pop()

    feed = system.add(source, rate=RATE, outputs=dict(sizes))
    for key in sizes:
        system.connect(feed[key], member[key])
    return system, rows
