"""Proof that a pose exists and is the only one near: Krawczyk's test with balls of python-flint.

With the actuators locked, an assembly of a machine solves as many equations as it has coordinates.
Around an approximate solution q, with C an approximate inverse of the Jacobian J,

    K(X) = q - C F(q) + (1 - C J(X)) (X - q)  inside X

proves that the box X holds exactly one solution, and that it is in K(X) (Krawczyk 1969; Rump,
*Verification methods*, Acta Numerica 2010). Balls have 128 bits here, so that boxes may be
as small as the solution is exact and as large as the test allows.
"""

from __future__ import annotations

import operator
from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np

from linkwright.algebra import Expr, symbol
from linkwright.algebra.calculus import gradient
from linkwright.base.arguments import worded
from linkwright.base.errors import DomainError
from linkwright.base.optional import extra
from linkwright.base.reprs import one_line
from linkwright.base.results import Result
from linkwright.equations.evaluation import quantities
from linkwright.mechanism import ModelLike
from linkwright.parallel.machine_rates import (
    Array,
    Coordinates,
    MachineRates,
    ProgramParts,
    machine_rates,
)
from linkwright.program import Code, lower
from linkwright.program.interpret import execute

_BITS = 128
_METHODS = {"sqrt", "exp", "log", "sin", "cos", "tan", "asin", "acos", "atan", "atan2"}
_METHODS |= {"sinh", "cosh", "tanh", "min", "max"}
_OPERATORS: dict[str, Callable[..., Any]] = {
    "add": operator.add,
    "sub": operator.sub,
    "mul": operator.mul,
    "div": operator.truediv,
    "neg": operator.neg,
    "abs": abs,
    "pow": pow,
    "fma": lambda a, b, c: a * b + c,
    "fms": lambda a, b, c: a * b - c,
    "fnma": lambda a, b, c: c - a * b,
}
_RADII = tuple(10.0**k for k in (-12, -11, -10, -9, -8, -7, -6, -5, -4, -3, -2, -1))


@one_line
@dataclass(frozen=True, slots=True)
class PoseProof(Result):
    """What was proven of one assembly.

    Args:
        proven: whether it exists and is the only one near.
        words: one sentence.
        within: how far the true coordinates are from the given ones at most, rad or m.
        alone: radius of the largest box tried around it that holds no other assembly, rad or m.

    >>> PoseProof(False, "open", float("nan"), 0.0).proven
    False
    """

    proven: bool
    words: str
    within: float
    alone: float


@worded
def prove_pose(model: ModelLike, q: Coordinates | None = None) -> PoseProof:
    """Prove that a machine has exactly one assembly near a pose, with its actuators locked there.

    Needs the extra `analysis`.

    Args:
        model: with actuators and a platform: a robot, a mechanism, a file or a shipped model.
        q: all coordinates in order, or some by name, as in `singularity`; an assembly that
            `find_assemblies` has found, say.

    >>> from linkwright import Mechanism
    >>> m = Mechanism("slider crank")
    >>> crank = m.body("crank", rotate="z")
    >>> rod = m.body("rod", parent=crank, at=(1, 0, 0), rotate="z")
    >>> c = m.constrain_points(m.point("tip", rod, (2, 0, 0)), m.origin, "y")
    >>> m.actuate("crank")
    >>> p = m.set_platform("tip")
    >>> found = prove_pose(m, {"crank": 0.5})
    >>> found.proven, found.within < 1e-15, found.alone
    (True, True, 0.1)
    """
    flint = extra("flint", "analysis")
    rates = machine_rates(model)
    n, m, driven = len(rates.names), len(rates.machine.relations), len(rates.driven)
    name = rates.machine.mechanism.name
    if m + driven != n:
        raise DomainError(
            f"{name!r} has {n} coordinates, {m} relations and {driven} actuators; the test needs "
            "as many coordinates as relations and actuators together",
            remedy="cut loops so that no relation is redundant and nothing moves idly",
        )
    at = rates.coordinates(q)
    before = flint.ctx.prec
    flint.ctx.prec = _BITS
    try:
        return _proved(flint, rates, at)
    finally:
        flint.ctx.prec = before


@lru_cache(maxsize=8)
def _code(parts: ProgramParts, actuators: tuple[Expr, ...]) -> tuple[Code, Code]:
    machine = parts.machine
    given = [symbol(f"given{k}", "input", owner="pose_proofs") for k in range(len(actuators))]
    f: list[Expr] = list(parts.relations)
    f += [x - v for x, v in zip(actuators, given, strict=True)]
    rows = [gradient(x, parts.coordinates) for x in f]
    flat = [x for row in rows for x in row]
    q, mechanism = parts.coordinates, machine.mechanism
    values = quantities(mechanism, "assembly", {"f": f}, f, q=q, v=given)
    slopes = quantities(mechanism, "assembly_slopes", {"J": rows}, flat, q=q, v=given)
    return lower(values), lower(slopes)


def _proved(flint: Any, rates: MachineRates, at: Array) -> PoseProof:
    n, name = len(at), rates.machine.mechanism.name
    values, slopes = _code(rates.parts, rates.machine.actuators)

    def balls(code: Code, q: list[Any]) -> list[Any]:
        arrays = {"q": q, "v": [flint.arb(float(at[k])) for k in rates.driven]}
        given = [x for port in code.inputs for x in arrays.get(port.name, [])]
        given += [flint.arb(float(x)) for own in rates.fixed_of(code.inputs) for x in own]
        return execute(code, given, ball_arithmetic)

    point = [flint.arb(float(x)) for x in at]
    middle = np.array([float(x.mid()) for x in balls(slopes, point)]).reshape(n, n)
    try:
        inverse = flint.arb_mat(np.linalg.inv(middle).tolist())
    except (np.linalg.LinAlgError, ValueError):
        return PoseProof(False, f"open: the pose of {name!r} is singular", float("nan"), 0.0)
    left = inverse * flint.arb_mat([[x] for x in balls(values, point)])
    unit = flint.arb_mat(np.eye(n).tolist())
    within, alone = float("nan"), 0.0
    for radius in _RADII:
        around = [flint.arb(0, radius * float(s)) for s in rates.scales]
        box = [x + r for x, r in zip(point, around, strict=True)]
        off = unit - inverse * flint.arb_mat(n, n, balls(slopes, box))
        found = off * flint.arb_mat([[r] for r in around]) - left
        if all(_inside(found[k, 0], radius * float(rates.scales[k])) for k in range(n)):
            reached = max(float(abs(found[k, 0]).upper()) for k in range(n))
            within = reached if np.isnan(within) else min(within, reached)
            alone = radius
        elif alone:
            break
    if not alone:
        return PoseProof(
            False, f"open: the test fails at this pose of {name!r}; it may be singular", within, 0.0
        )
    words = (
        f"proven: {name!r} has exactly one assembly within {alone:g} of this pose with its "
        f"actuators locked, and it is within {within:.1e}"
    )
    return PoseProof(True, words, within, alone)


def _inside(ball: Any, radius: float) -> bool:
    """Whether a ball lies strictly inside one about 0."""
    return bool(abs(ball) < radius * (1 - 1e-12))


def ball_arithmetic(op: str, data: Any, args: list[Any]) -> Any:
    """Return the ball of python-flint of one instruction; one that has no rule is rejected by name.

    Needs the extra `analysis`.
    """
    if op == "const":
        return extra("flint", "analysis").arb(float(data))
    if op in _METHODS:
        return getattr(args[0], op)(*args[1:])
    if op not in _OPERATORS:
        raise DomainError(f"balls have no rule for {op!r}")
    return _OPERATORS[op](*args)
