"""Environments that ship: tables of a model, what is seen, done and rewarded, in the folder beside.

Robots among them get what their table asks for: a servo for each joint that is moved (`servo`),
the ground under their feet (`ground`), and a gait: a clock, and targets of the servos as
expressions of its phase and of the actions.
"""

from __future__ import annotations

import math
import tomllib
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Any

from linkwright.algebra import cos, sin
from linkwright.base.errors import InputError, suggestion
from linkwright.blocks import Block

FOLDER = Path(__file__).parent / "shipped"
USUAL: dict[str, Any] = {
    "observe": ("q", "u"),
    "act": None,
    "reward": None,
    "done": None,
    "every": 1,
    "start": None,
    "parameters": None,
    "max_steps": None,
    "method": "semi-implicit",
    "step": None,
}
"""What an environment takes, and what it is where nobody says it."""


@cache
def shipped() -> Mapping[str, Mapping[str, Any]]:
    """Return the tables of all environments that ship, by name.

    >>> sorted(shipped())
    ['cart-pole-swing-up', 'quadruped-walk', 'reacher']
    """
    return {
        path.name.removesuffix(".env.toml"): tomllib.loads(path.read_text(encoding="utf-8"))
        for path in FOLDER.glob("*.env.toml")
    }


def asked(model: Any, given: Mapping[str, Any]) -> tuple[Any, dict[str, Any]]:
    """Return the model, and all that an environment takes: given, shipped with it, or usual."""
    table: Mapping[str, Any] = {}
    if isinstance(model, str) and model in shipped():
        table = shipped()[model]
        model = _built(model, table)
    merged = dict(USUAL)
    merged |= {k: v for k, v in table.items() if k in USUAL}
    merged |= {k: v for k, v in given.items() if v is not None}
    for name in ("act", "reward"):
        if merged[name] is None:
            near = suggestion(model, shipped(), None) if isinstance(model, str) else None
            raise InputError(
                f"an environment needs {name}",
                remedy=near or f"give it, or take one that ships: {', '.join(sorted(shipped()))}",
            )
    return model, merged


def _built(name: str, table: Mapping[str, Any]) -> Any:
    """Return the model of a table, a System where it is a robot with servos."""
    from linkwright.doors import load

    file = FOLDER / table["model"]
    if "servo" not in table:
        return load(file)
    from linkwright.control import PD
    from linkwright.elements import Contact, Plane
    from linkwright.system import System

    robot: Any = load(file, friction=False, limits=False)
    system = System(robot, name=name, base=table["base"])
    clock, servo = table["gait"], dict(table["servo"])
    gait = Block("gait", doc="targets of the servos, from a clock and the actions")
    phase = gait.state("phase", 2 * math.pi * clock["frequency"])
    for action in table["act"]:
        gait.input(action.removeprefix("gait."))
    targets = clock["targets"]
    gait.output_vector("target", [gait.expr(text) for text in targets.values()])
    gait.output("sine", sin(phase))
    gait.output("cosine", cos(phase))
    member = system.add(gait)
    moved = system.add(PD(robot, joints=list(targets), **servo))
    system.connect(list(member.target), moved.target)
    ground = dict(table["ground"])
    system.add(Contact(robot, ground.pop("feet"), Plane(), events=False, **ground))
    return system
