"""Hybrid control in operational space: force along some axes, motion along the others.

The tool's inertia, nonlinear effects and the contact's wrench F are taken away (Khatib 1987), so
that its acceleration is what the law says, along the axes of a frame that may be any: those that
are selected follow force, the others the wanted motion (selection as Raibert and Craig 1981),

    motion  a = a_d + kd e' + kp e
    force   M a = F + push + integral - D v

The force axes move as a mass M in the contact (hybrid impedance control, Anderson and Spong 1988)
until F = -push. Neither kind disturbs the other: Lambda couples them in the torques, not in the
tool's acceleration.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Literal

import numpy as np

from linkwright.algebra import ZERO, Expr, as_expr
from linkwright.algebra.triples import row_products
from linkwright.blocks import BlockError
from linkwright.blocks.places import AXES
from linkwright.control.force.impedances import six_by_six
from linkwright.control.force.ports import PerAxis, WristOrBody, per_axis, selection
from linkwright.control.force.tool_dynamics import ToolLaw
from linkwright.control.joints import PerJoint


class OperationalHybrid(ToolLaw):
    """Force along selected axes of any frame and motion along the others, decoupled.

    Beside the ports of all laws of force it has `target_acceleration` and `push`, which is what
    the tool should press with. The output `clearance` says how far the pose is from a singular one
    (0); below `clear` the law is damped.

    Args:
        mechanism: what is driven.
        wrist: a compliant wrist, or the body that is the tool.
        force: axes of the frame along which force is controlled, as "z rx ry".
        push: what the tool presses with along these, N and N*m.
        kp: stiffness over inertia of the other axes, 1/s^2.
        kd: damping over inertia of the other axes, 1/s.
        M: mass that the tool shows along the axes of force, kg and kg*m^2.
        D: damping along them, N*s/m and N*m*s/rad.
        ki: integral gain of the force, 1/s.
        frame: whose axes are meant: "flange" or "ground".
        rotation: turns that frame into the one of the selection; its columns are the axes.
        joints: names of the coordinates; by default all that can be driven up to the flange.
        target: where the joints should be; where the mechanism starts by default.
        axes: that the joints can move; by default those that they move at all.
        limit: largest torque or force of each joint.
        values: numbers of the mechanism's parameters as the law believes them to be.
        acts: whether torques act on the joints; otherwise they are the output `tau` alone.
        name: of the element.

    >>> from linkwright.mechanism import Mechanism
    >>> m = Mechanism("plotter")
    >>> slide = m.body("slide", translate="xz", mass=1)
    >>> law = OperationalHybrid(m, slide, "z", {"z": -5}, kp=400, kd=40, M=1, D=40)
    >>> list(law.inputs)[-2:], list(law.outputs)
    (['target_acceleration', 'push'], ['clearance', 'tau_slide_x', 'tau_slide_z'])
    """

    def __init__(
        self,
        mechanism: Any,
        wrist: WristOrBody,
        force: str,
        push: PerAxis,
        *,
        kp: float,
        kd: float,
        M: PerAxis,
        D: PerAxis,
        ki: float = 0.0,
        frame: Literal["flange", "ground"] = "flange",
        rotation: Sequence[Sequence[float]] | None = None,
        joints: Iterable[str] | None = None,
        target: PerJoint | None = None,
        axes: str | None = None,
        limit: PerJoint | None = None,
        values: Mapping[str, float] | None = None,
        acts: bool = True,
        name: str = "operational_hybrid",
    ) -> None:
        super().__init__(name, mechanism, wrist, joints, target, axes=axes, values=values)
        chosen = selection(force)
        n = len(self.joints)
        ahead = self.input_vector("target_acceleration", n, doc="wanted accelerations")
        wanted = per_axis(push, f"push of {name!r}")
        idle = [AXES[k] for k in range(6) if wanted[k] and k not in chosen]
        if idle:
            raise BlockError(
                f"{name!r} is to push along {' '.join(idle)}, where it controls motion",
                remedy=f"name these axes in force={force!r} too, or leave them out of push",
            )
        pushed = self.input_vector("push", 6, wanted, doc="what the tool should press with")
        stiff = self.parameter("kp", kp, unit="1/s^2", lower=0.0)
        damp = self.parameter("kd", kd, unit="1/s", lower=0.0)
        mass = six_by_six(self, "M", M, above=True, whole=False)
        drag = six_by_six(self, "D", D, whole=False)
        turn = self._turn(frame, rotation)
        self._check(turn, chosen)
        inertia = self.inertia()
        rate, forward = self.wanted_motion(ahead)
        inward = [tuple(column) for column in zip(*turn, strict=True)]
        error, rate, forward, speed, felt = (
            self._turned(inward, x)
            for x in (
                self.error(self.wanted, self.frame),
                rate,
                forward,
                self.tool_velocity,
                self.wrench,
            )
        )
        a: list[Expr] = []
        for k in range(6):
            if k not in chosen:
                a.append(forward[k] + damp * (rate[k] - speed[k]) + stiff * error[k])
                continue
            lack = self.intermediate(felt[k] + pushed[k])
            whole = lack + self._integral(AXES[k], lack, ki) - drag[k][k] * speed[k]
            a.append(whole / mass[k][k])
        command = self._turned(turn, self.named(a))
        self.put(self.accelerating(inertia, command, [-x for x in self.wrench]), limit, acts)

    def _integral(self, axis: str, lack: Expr, ki: float) -> Expr:
        if not ki:
            return ZERO
        gain = self.parameters.get("ki")
        rate = gain.symbol if gain else self.parameter("ki", ki, unit="1/s", lower=0.0)
        return self.state(
            f"integral_{axis}", rate * lack, doc=f"integral of the force along {axis}"
        )

    def _turn(
        self, frame: str, rotation: Sequence[Sequence[float]] | None
    ) -> list[tuple[Expr, ...]]:
        """Return the rows of the rotation from the axes of the selection to the flange's."""
        if frame not in ("flange", "ground"):
            raise BlockError(
                f"frame of {self.name!r} is {frame!r}", remedy="give 'flange' or 'ground'"
            )
        rows = _rotation(self.name, rotation)
        if frame == "flange":
            return rows
        inward = list(zip(*self.frame.rotation, strict=True))
        columns = list(zip(*rows, strict=True))
        return [tuple(self.named(row_products(columns, row))) for row in inward]

    def _turned(self, rows: Sequence[Sequence[Expr]], six: Sequence[Expr]) -> list[Expr]:
        return self.named([*row_products(rows, six[:3]), *row_products(rows, six[3:])])

    def _check(self, turn: Sequence[Sequence[Expr]], chosen: Sequence[int]) -> None:
        """Reject to control force along axes that the joints cannot move."""
        fixed = [k for k in range(6) if k not in self.moved]
        for axis in chosen:
            lost = [
                AXES[k] for k in fixed if k // 3 == axis // 3 and turn[k % 3][axis % 3] is not ZERO
            ]
            if lost:
                raise BlockError(
                    f"{self.name!r} controls force along {AXES[axis]}, which needs motion along "
                    f"{' '.join(lost)} of the flange; its joints do not move the tool there",
                    remedy="select other axes, or another frame",
                )


def _rotation(name: str, given: Sequence[Sequence[float]] | None) -> list[tuple[Expr, ...]]:
    """Return the rows of a rotation matrix, 0 and 1 exactly where they are meant."""
    unit = ((1, 0, 0), (0, 1, 0), (0, 0, 1))
    try:
        found = np.array(unit if given is None else given, dtype=float)
    except (TypeError, ValueError):
        found = np.zeros(0)
    if found.shape != (3, 3) or not np.allclose(found @ found.T, np.eye(3), atol=1e-9):
        raise BlockError(
            f"rotation of {name!r} is not a rotation matrix: {given!r}",
            remedy="give three rows; its columns are the axes of the selection",
        )
    if np.linalg.det(found) < 0:
        raise BlockError(
            f"rotation of {name!r} is a reflection: its axes are left-handed",
            remedy="turn one of its columns round",
        )
    exact = np.where(np.abs(found - np.round(found)) < 1e-12, np.round(found), found)
    return [tuple(as_expr(float(x)) for x in row) for row in exact]
