"""The blocks of an arm: its control on one side of the hardware, its simulation on the other."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from math import expm1

from linkwright.algebra import (
    ZERO,
    Expr,
    absolute,
    equal,
    floor,
    maximum,
    minimum,
    not_equal,
    sign,
    where,
)
from linkwright.blocks import Block
from linkwright.equations.kernels import forward_dynamics, quick_inverse
from linkwright.equations.tree import Tree, tree_of
from linkwright.program import Program
from linkwright.server.cell import Cell, CellArm
from linkwright.simulation.hardware import silence

OBSERVED = 30.0
"""1/s, of the filter behind which torques from outside are seen."""

PANICS = ("none", "server", "told")
"""Why a device stops by itself: the server is silent, or has commanded it."""


def model_tree(arm: CellArm) -> Tree:
    """Return the tree of an arm's mechanism with the arm's own numbers put in.

    >>> from linkwright.server.cell_file import read_cell
    >>> [x.name for x in model_tree(read_cell("axes2").arms[0]).coordinates]
    ['shoulder', 'elbow']
    """
    m = arm.mechanism
    known = {**m.values, **arm.values}
    values = {x: known[name] for name, x in m.parameters.items() if name in known}
    return replace(tree_of(m), values={**values, **dict.fromkeys(m.inputs.values(), 0.0)})


def _embedded(
    block: Block, program: Program, arm: CellArm, **arguments: Sequence[Expr]
) -> list[Expr]:
    """Return what a Program of the arm's dynamics computes in a block."""
    known = {**arm.mechanism.values, **arm.values}
    given: dict[str, Sequence[object]] = dict(arguments)
    for port in program.inputs:
        if port.name == "p":
            given["p"] = [known[x.name] for x in port.entries]
    found = block.embed(program, given)
    return list(found[program.outputs[0].name])


def inverse_dynamics(
    block: Block, arm: CellArm, q: Sequence[Expr], u: Sequence[Expr], a: Sequence[Expr]
) -> list[Expr]:
    """Return the torques in a block that an arm needs for a motion."""
    return _embedded(block, quick_inverse(tree_of(arm.mechanism)), arm, q=q, u=u, a=a)


class ArmControl(Block):
    """The control law of an arm: from wanted positions to currents."""

    def __init__(self, arm: CellArm, name: str = "control") -> None:
        super().__init__(name)
        n, law, hold = len(arm.axes), arm.law, self.intermediate
        q = self.input_vector("q", n, list(arm.start), doc="measured positions")
        u = self.input_vector("u", n, doc="measured speeds")
        target = self.input_vector("target", n, list(arm.start), doc="wanted positions")
        rate = self.input_vector("target_rate", n, doc="wanted speeds")
        ahead = self.input_vector("target_acceleration", n, doc="wanted accelerations")
        on = self.input("on", doc="whether currents flow")
        for i, (x, at) in enumerate(zip(target, arm.start, strict=True)):
            self.discrete_state(f"wanted{i}", x, at, doc="where it should have been a tick before")
        kp = self.input_vector("kp", n, list(law.kp), doc="stiffness")
        kd = self.input_vector("kd", n, list(law.kd), doc="damping")
        rows = zip(kp, kd, target, q, rate, u, strict=True)
        wanted = [hold(k * (r - x) + d * (v - w)) for k, d, r, x, v, w in rows]
        if law.kind == "pd":
            still = [self.expr(0)] * n
            torque = inverse_dynamics(self, arm, q, still, still)
            torque = [x + y for x, y in zip(torque, wanted, strict=True)]
        else:
            motion = [hold(x + y) for x, y in zip(wanted, ahead, strict=True)]
            passives = arm.mechanism.passives.items()
            rubs = {q.name for b, x in passives if x.friction is not ZERO for q in b.coordinates}
            # a joint that dry friction holds takes what breaks it away, the way it shall go
            u = tuple(
                where(hold(equal(v, 0) | (v * w > 0)), w, v) if x.name in rubs else w
                for x, v, w in zip(tree_of(arm.mechanism).coordinates, rate, u, strict=True)
            )
            torque = inverse_dynamics(self, arm, q, u, motion)
        currents = []
        for x, axis in zip(torque, arm.axes, strict=True):
            asked = hold(x / axis.constant)
            kept = maximum(-axis.current, minimum(axis.current, asked))
            currents.append(where((on > 0) & (absolute(asked) < 1e12), kept, 0))
        self.output_vector("told", target, doc="the set-point")
        self.output_vector("current", currents, unit="A", doc="currents of the axes")


class ArmSense(Block):
    """What is known of an arm beyond its joints: the pose of its tool, torques from outside.

    The latter are what the arm's motion takes by its model less what its currents give, behind a
    filter of first order; they are 0 while brakes hold.

    >>> from linkwright.server.cell_file import read_cell
    >>> sorted(ArmSense(read_cell("axes2").arms[0], 500).outputs)
    ['external']
    """

    def __init__(self, arm: CellArm, rate: float, name: str = "sense") -> None:
        super().__init__(name)
        n, hold = len(arm.axes), self.intermediate
        q = self.input_vector("q", n, list(arm.start), doc="measured positions")
        u = self.input_vector("u", n, doc="measured speeds")
        current = self.input_vector("current", n, unit="A", doc="measured currents")
        on = self.input("on", doc="whether currents flow")
        share = -expm1(-OBSERVED / rate)
        slow, given = ([self.discrete_state(f"{x}{i}") for i in range(n)] for x in ("slow", "gave"))
        bends = [hold(OBSERVED * (v - x)) for v, x in zip(u, slow, strict=True)]
        needed = [hold(x) for x in inverse_dynamics(self, arm, q, u, bends)]
        external = [where(on > 0, x - y, 0) for x, y in zip(needed, given, strict=True)]
        for i, axis in enumerate(arm.axes):
            flows = given[i] + share * (axis.constant * current[i] - given[i])
            self.update(slow[i], where(on > 0, slow[i] + share * (u[i] - slow[i]), u[i]))
            self.update(given[i], where(on > 0, flows, needed[i]))
        self.output_vector("external", external, doc="torques or forces from outside")
        if arm.tool:
            from linkwright.motion.chains.solver import tool_at
            from linkwright.robots import Robot
            from linkwright.robots.ik import tool_kinematics

            robot = Robot(arm.mechanism.with_parameters(dict(arm.values)))
            place, turn = tool_at(self, tool_kinematics(robot, arm.tool), q)
            self.output_vector("pose", [*place, *turn], doc="of the tool, in the base of the arm")


class Card(Block):
    """The card of an arm's simulated hardware: what the device does by itself, in its own ticks.

    It counts its ticks, watches the server's heartbeat, latches PANIC until it is cleared, closes
    the brakes, and reads the encoders.
    """

    def __init__(self, arm: CellArm, cell: Cell, name: str = "card") -> None:
        super().__init__(name)
        n, hold = len(arm.axes), self.intermediate
        q = self.input_vector("q", n, list(arm.start), doc="positions")
        u = self.input_vector("u", n, doc="speeds")
        current = self.input_vector("current", n, unit="A", doc="what the server asks for")
        brake = self.input("brake", 1, doc="whether the server asks for brakes")
        beat = self.input("server", doc="ticks of the server")
        told = self.input("panic", doc="PANIC of the server, not zero")
        clears = self.input("clears", doc="how often PANIC was cleared")
        heartbeat = self.input("heartbeat", round(cell.heartbeat * cell.rate), doc="ticks")
        tick, met = self.discrete_state("ticks"), self.discrete_state("met")
        panic, cleared = self.discrete_state("why"), self.discrete_state("cleared")
        fresh, missing = silence(self, beat, "seen", "absent", idle=equal(met, 0))
        known = hold(where(fresh, 1, met))
        silent = hold(missing > heartbeat)
        freed = not_equal(clears, cleared) & ~silent
        why = hold(where(silent, 1, where(freed, 0, panic)))
        on = hold(equal(why, 0) & equal(told, 0) & equal(brake, 0) & (known > 0))
        flows = [where(on & (absolute(x) < 1e12), x, 0) for x in current]
        shown = [floor(x / a.encoder + 0.5) * a.encoder for x, a in zip(q, arm.axes, strict=True)]
        self.output("tick", tick + 1, doc="ticks of the device")
        self.output("panicked", why, doc="place in PANICS, latched")
        self.output("pressed", self.input("button", doc="of the cell, pressed if not zero"))
        self.output("closed", ~on, doc="whether the brakes hold", initial=1)
        self.output("missing", missing, doc="ticks since the server's last sign of life")
        self.output("flowing", maximum(*(absolute(x) for x in flows)), unit="A", doc="the largest")
        if arm.law.kind == "hybrid":
            felt = self.input_vector("felt", 3, unit="N", doc="force on the tool")
            self.output_vector("force", list(felt), unit="N", doc="of the sensor in the wrist")
        self.output_vector("applied", flows, unit="A", doc="currents that flow")
        self.output_vector("position", shown, doc="of the encoders")
        self.output_vector("speed", list(u), doc="of the axes")
        for memory, following in (
            (tick, tick + 1),
            (met, known),
            (panic, why),
            (cleared, clears),
        ):
            self.update(memory, following)


class ArmPlant(Block):
    """The arm itself: its dynamics, motors that give torque, and brakes, which are dry friction."""

    def __init__(self, arm: CellArm, name: str = "plant") -> None:
        super().__init__(name)
        n = len(arm.axes)
        current = self.input_vector("current", n, unit="A", doc="currents that flow")
        closed = self.input("closed", 1, doc="whether the brakes hold")
        push = self.input_vector("push", n, doc="torques from outside")
        q = [
            self.state(f"q{i}", None, x, unit=axis.unit)
            for i, (x, axis) in enumerate(zip(arm.start, arm.axes, strict=True))
        ]
        u = [
            self.state(f"u{i}", None, 0.0, unit=f"{axis.unit}/s") for i, axis in enumerate(arm.axes)
        ]
        torque = []
        for i, axis in enumerate(arm.axes):
            grip = where(closed > 0, axis.brake, 0) * sign(u[i])
            torque.append(self.intermediate(axis.constant * current[i] + push[i] - grip))
        program = forward_dynamics(model_tree(arm))
        rates = _embedded(self, program, arm, q=q, u=u, tau=torque)
        for x, v, a in zip(q, u, rates, strict=True):
            self.derivative(x, v)
            self.derivative(v, a)
        self.output_vector("q", q, doc="positions")
        self.output_vector("u", u, doc="speeds")
