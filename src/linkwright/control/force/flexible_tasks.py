"""Tasks of an arm with flexible joints: a place of its tool, and forces of a compliant wrist.

Outputs y(q) are places of a point along axes of the ground, and after them as many of the last
joints as it takes to have one for each joint. Their derivatives along the motion are

    y' = J u,  y'' = J a + J' u,  y''' = J j + ...,  y'''' = J q'''' + r,  r with q'''' = 0,

by differentiation of the Program of y, again and again. Along axes of force the wrist, a spring k
between the point and surroundings at rest, says F = k (y - y0), so that F' = k y' and so on: with
(F - push)/k in place of the error of y, the force has the four poles of the joints. The load on the
joints is -J'F with its rates, by differentiation too.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import pairwise
from typing import TYPE_CHECKING

from linkwright.algebra import ZERO, Expr, as_expr, free_symbols, symbol, total
from linkwright.base.reprs import brief
from linkwright.blocks import Block, BlockError, checked
from linkwright.program import Program, derivative, program
from linkwright.program.derivatives import jacobian_vector

if TYPE_CHECKING:
    from linkwright.control.force.flexible_joints import FlexibleJointControl

_LETTERS = "xyz"
_MOTION = ("q", "u", "a", "j")
_FORCE = ("f", "g", "h")


class FlexibleTask:
    """The outputs of an arm's task, with their derivatives, and the loads of their forces."""

    def __init__(
        self,
        law: FlexibleJointControl,
        tool: str,
        axes: str,
        wrist: Mapping[str, float],
        believed: Mapping[str, float],
    ) -> None:
        self.law, self.joints = law, law.joints
        chosen = axes.split()
        wrong = [x for x in chosen if x not in _LETTERS] or [x for x in wrist if x not in chosen]
        if wrong or not chosen or len(set(chosen)) < len(chosen) or len(chosen) > len(law.joints):
            raise BlockError(
                f"{law.name!r} takes axes {brief(axes)} and a wrist along {brief(list(wrist))}",
                remedy='give some of "x y z", at most as many as joints, and the wrist along some '
                "of these",
            )
        m, kept = law.mechanism, len(law.joints) - len(chosen)
        if tool not in m.points:
            raise BlockError(f"{law.name!r}: {m.name!r} has no point {tool!r} for its tool")
        rows = [m.expr(f"dot(pos({tool}), [n{_LETTERS.index(x) + 1}])") for x in chosen]
        rows += self.joints[len(self.joints) - kept :]
        self.stiffness = [
            checked(wrist[x], f"wrist along {x} of {law.name!r}", above=0) if x in wrist else 0.0
            for x in (*chosen, *[""] * kept)
        ]
        given = sorted(set(free_symbols(*rows)) - set(self.joints), key=lambda x: x.name)
        self._known = [as_expr(believed[x.name]) if x.name in believed else x for x in given]
        n = len(self.joints)
        ports = {"q": list(self.joints), "p": given}
        places = program("task", ports, {"y": rows})
        self._matrix = derivative(places, "y", ["q"])
        scratch, force = Block("load"), [symbol(f"f_{k}", "input", owner="task") for k in range(n)]
        flat = scratch.embed(self._matrix, {x.name: list(x.entries) for x in self._matrix.inputs})
        (entries,) = flat.values()
        columns = [entries[k::n] for k in range(n)]
        pushed = [-total(x * f for x, f in zip(c, force, strict=True)) for c in columns]
        ports["f"] = force
        load = program("load", ports, {"y": pushed}, statements=scratch.statements)
        self._places, self._loads = [places], [load]
        for made, count in ((self._places, 3), (self._loads, 2)):
            for _ in range(count):
                made.append(self._next(made[-1]))

        pressed = [k for k, x in enumerate(self.stiffness) if x]
        self.push, self.felt = [ZERO] * n, [ZERO] * n
        if pressed:
            for name, of, doc in (
                ("push", self.push, "forces that the tool is to press with, N"),
                ("force", self.felt, "forces that it presses with, as measured, N"),
            ):
                ports_of = law.input_vector(name, len(pressed), unit="N", doc=doc)
                for k, x in zip(pressed, ports_of, strict=True):
                    of[k] = x

    def _next(self, made: Program) -> Program:
        """Return the Program of the derivative along the motion of what a Program gives."""
        ports = {port.name: list(port.entries) for port in made.inputs}
        tangent = jacobian_vector(made, "y", [name for name in ports if name != "p"])
        rates: dict[str, list[Expr]] = {}
        for chain in (_MOTION, _FORCE):
            known = [name for name in chain if name in ports]
            if known:
                after = chain[len(known)]
                ports[after] = [
                    symbol(f"{after}_{k}", "input", owner="task") for k in range(len(self.joints))
                ]
                rates |= {f"d_{x}": ports[y] for x, y in pairwise((*known, after))}
        scratch = Block("along")
        taken = {port.name: (ports | rates)[port.name] for port in tangent.inputs}
        found = list(scratch.embed(tangent, taken)["d_y"])
        return program("task_rate", ports, {"y": found}, statements=scratch.statements)

    def _said(self, made: Program, given: Mapping[str, Sequence[Expr]]) -> list[Expr]:
        """Return what a Program gives, as values of the law."""
        known = {**given, "p": self._known}
        found = self.law.embed(made, {port.name: list(known[port.name]) for port in made.inputs})
        (values,) = found.values()
        return [self.law.intermediate(x) for x in values]

    def places(self, *motion: Sequence[Expr]) -> list[Expr]:
        """Return the derivative of the outputs that coordinates, speeds and so on determine."""
        return self._said(self._places[len(motion) - 1], dict(zip(_MOTION, motion, strict=False)))

    def with_force(
        self, loads: Sequence[Sequence[Expr]], *motion: Sequence[Expr]
    ) -> list[Sequence[Expr]]:
        """Return the last derivatives of the load that a motion determines, -J'F added to them."""
        force: list[Sequence[Expr]] = [self.felt]
        for order in range(1, len(motion)):
            rates = self.places(*motion[: order + 1])
            force.append([k * x for k, x in zip(self.stiffness, rates, strict=True)])
        found: list[Sequence[Expr]] = []
        for order, load in enumerate(loads, len(motion) - len(loads)):
            given = dict(zip(_MOTION, motion[: order + 1], strict=False))
            given |= dict(zip(_FORCE, force[: order + 1], strict=False))
            more = self._said(self._loads[order], given)
            found.append([self.law.intermediate(x + y) for x, y in zip(load, more, strict=True)])
        return found

    def errors(
        self, wanted: Sequence[Sequence[Expr]], *motion: Sequence[Expr]
    ) -> tuple[list[list[Expr]], list[Expr]]:
        """Return the errors of outputs and their rates, and the fourth derivative that is wanted.

        Where the tool presses, the surroundings rest: nothing is wanted but the force.
        """
        found: list[list[Expr]] = []
        for order in range(4):
            reached = self.places(*motion[: order + 1])
            row = []
            for k, stiffness in enumerate(self.stiffness):
                if not stiffness:
                    row.append(wanted[order][k] - reached[k])
                elif order:
                    row.append(-reached[k])
                else:
                    row.append((self.push[k] - self.felt[k]) / stiffness)
            found.append(row)
        snap = [ZERO if k else x for k, x in zip(self.stiffness, wanted[4], strict=True)]
        return found, snap

    def snap(self, v: Sequence[Expr], *motion: Sequence[Expr]) -> list[Expr]:
        """Return the fourth derivative of the joints that gives the outputs the one wanted."""
        n = len(self.joints)
        given = dict(zip(_MOTION, motion, strict=True))
        along = [*motion[1:], [ZERO] * n]
        given |= {f"d_{k}": x for k, x in zip(_MOTION, along, strict=True)}
        rest = self._said(jacobian_vector(self._places[3], "y", list(_MOTION)), given)
        flat = self._said(self._matrix, given)
        matrix = [flat[i * n : (i + 1) * n] for i in range(n)]
        wanted = [self.law.intermediate(x - r) for x, r in zip(v, rest, strict=True)]
        (found,) = self.law._solved(matrix, wanted)
        return list(found)
