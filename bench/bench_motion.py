"""Motions at ticks: chains of joints, and a PUMA whose tool goes from pose to pose without end."""

from __future__ import annotations

import time
from functools import partial

from bench.measure import Row, interleaved
from linkwright.algebra import equal, floor, where
from linkwright.blocks import Block
from linkwright.motion import ArmMotion, ChainMotion
from linkwright.robots import Robot
from linkwright.robots.ik import tool_kinematics
from linkwright.simulation.native.session import Session
from linkwright.system import System

TITLE = "Motions at ticks"
_TICKS = 50_000
_HOME = [0.0, 0.8, 3.1, 0.0, 0.8, 0.0]
_DOWN = (0.7071067811865476, 0.0, 0.7071067811865476, 0.0)
_PLACES = ((0.5, -0.15, 0.5), (0.5, 0.15, 0.5), (0.6, 0.0, 0.6), (0.45, 0.1, 0.4))


def run() -> list[Row]:
    """Time chains of six joints, tool legs in the base, and tool legs in a frame that moves."""
    tool = tool_kinematics(Robot("puma560"), "tool")
    limits = [3.0] * 6, [15.0] * 6
    blocks: dict[str, ChainMotion] = {
        "joint legs": ChainMotion(*limits, slots=1),
        "tool legs": ArmMotion(tool, *limits, start=_HOME, slots=1),
        "tool legs in a moving frame": ArmMotion(
            tool, *limits, start=_HOME, slots=1, frames=["belt"]
        ),
    }
    sessions = {what: _session(block) for what, block in blocks.items()}
    times = interleaved(
        {what: partial(_native, session) for what, session in sessions.items()},
        rounds=5,
        clock=time.process_time,
    )
    note = "a new goal every 0.8 s with a turn of 0.1 s; set-points, rates and accelerations"
    return [
        Row(f"{what}: ticks in a second", _TICKS / seconds, "1/s", 100_000, "higher", note)
        for what, seconds in times.items()
    ]


def _client(pose: bool) -> Block:
    """Return a block that gives goals in turn."""
    b = Block("client", rate=1000)
    number = b.intermediate(floor(b.time / 0.8) + 1)
    which = b.intermediate(number - 4 * floor(number / 4))
    goals = [[*p, *_DOWN] if pose else [p[0], p[1], p[2], 0.1, -p[1], p[0]] for p in _PLACES]
    values = [goals[-1][k] * (1 + 0 * which) for k in range(len(goals[0]))]
    for i, goal in enumerate(goals[:-1]):
        values = [where(equal(which, i), goal[k], v) for k, v in enumerate(values)]
    b.output_vector("values", values)
    b.output("number", number)
    b.output_vector("pose", [0, "0.05*sin(t)", 0, 1, 0, 0, 0])
    b.output_vector("twist", [0, "0.05*cos(t)", 0, 0, 0, 0])
    return b


def _session(block: ChainMotion) -> Session:
    s = System(name="motion")
    pose = isinstance(block, ArmMotion)
    frame = pose and "belt_pose" in block.inputs
    chain, client = s.add(block, rate=1000), s.add(_client(pose))
    s.connect(client.values, chain["values"][: 7 if pose else 6])
    s.connect(client.number, chain.sequence[0])
    s.connect(2 if pose else 1, chain.kind[0])
    s.connect(0.1, chain.blend[0])
    s.connect(1 if frame else 0, chain.frame[0])
    if frame:
        s.connect(client.pose, chain.belt_pose)
        s.connect(client.twist, chain.belt_twist)
    shown = [f"{block.name}.{key}[{k}]" for key in "qua" for k in range(6)]
    phases = s.phases([*shown, f"{block.name}.done"])
    session = Session(phases, phases.tick_seconds, every=1)
    session.advance()
    return session


def _native(session: Session) -> None:
    """Run so many ticks more; snapshots are taken away in chunks."""
    session.extend(session.tick + _TICKS)
    while not session.done:
        session.advance()
