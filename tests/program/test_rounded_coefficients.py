"""Small Programs whose float coefficients cancel only to rounding keep their values in every pass.

Oracle: the Program as it was written, interpreted in doubles with a running bound on its rounding.
Such Programs come from machines of slides and from turned bases: products of rotations whose
entries should be 0 or 1 and are not quite, beside constants such as weights.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable
from functools import partial

import numpy as np
import pytest

from linkwright.algebra import Expr, constant, cos, sin, symbol
from linkwright.program import Assign, Program, lower, program
from linkwright.program.interpret import interpret_with_bound
from linkwright.program.passes import PASSES, careful, fast, optimize
from linkwright.program.passes.reciprocals import shared_reciprocals
from linkwright.program.search import thorough
from linkwright.program.search.removal import swept
from tests.seeds import cases, seeds

X = [symbol(f"x{k}", "coordinate") for k in range(3)]
M = symbol("m", sign="positive")
DIVIDED = (1175, 1193)
"""Seeds of slides where what is left of a sum was divided by, and was another number in doubles."""

REWRITES: dict[str, Callable[[Program], Program]] = {
    **PASSES,
    "fast": fast,
    "fast and brief": partial(fast, brief=True),
    "swept": swept,
    "swept twice": lambda p: swept(swept(p)),
    "swept after fast": lambda p: swept(fast(p)),
    "optimize": optimize,
    "all passes": partial(optimize, passes=tuple(PASSES)),
    "careful": careful,
    "reciprocals": lambda p: shared_reciprocals(optimize(p)),
    "thorough": partial(thorough, moves=40),
}


def rotation(draw: np.random.Generator) -> list[list[float]]:
    """A turn about a random axis, or by right angles, or about an axis of the frame."""
    angle = draw.choice([draw.uniform(-3, 3), 0.3, np.pi / 2, np.pi / 3])
    axis = draw.choice(3)
    c, s = float(np.cos(angle)), float(np.sin(angle))
    turn = np.zeros((3, 3))
    i, j = [k for k in range(3) if k != axis]
    turn[axis, axis], turn[i, i], turn[j, j], turn[i, j], turn[j, i] = 1, c, c, -s, s
    return turn.tolist()


def turned(turn: list[list[float]], v: list[Expr], *, back: bool = False) -> list[Expr]:
    """A vector in another frame."""
    return [
        sum((constant(turn[j][i] if back else turn[i][j]) * v[j] for j in range(3)), constant(0))
        for i in range(3)
    ]


def chain(seed: int) -> Program:
    """Vectors turned to and fro along a chain, with weights, gravity and masses in between."""
    draw = np.random.default_rng(seed)
    statements: list[Assign] = []

    def held(v: list[Expr]) -> list[Expr]:
        """The same vector in local symbols, where chance says so."""
        if draw.random() < 0.3:
            return v
        names = [symbol(f"t{len(statements) + k}", "local") for k in range(3)]
        statements.extend(Assign(x, y) for x, y in zip(names, v, strict=True))
        return names

    v: list[Expr] = [constant(0), constant(0), constant(9.81)]
    turns = [rotation(draw) for _ in range(int(draw.integers(2, 4)))]
    for k, turn in enumerate(turns):
        v = held(turned(turn, v, back=True))
        v = [y + (X[k] if i == draw.integers(3) else 0) for i, y in enumerate(v)]
    force: list[Expr] = [constant(0)] * 3
    outputs = []
    for turn in reversed(turns):
        mass = draw.choice(np.array([M, constant(2), constant(float(draw.uniform(0.1, 5)))]))
        force = held([f + mass * y for f, y in zip(force, v, strict=True)])
        outputs.append(force[int(draw.integers(3))] * draw.choice(np.array([1, cos(X[0]), X[1]])))
        force = turned(turn, force)
        v = turned(turn, v)
    outputs += [v[0], sin(v[1]), force[2] / (2 + v[2] ** 2)][: int(draw.integers(0, 4))]
    return program("chain", {"x": X, "m": M}, {"y": outputs}, statements=statements)


def slides(seed: int) -> Program:
    """Newton's law along axes of which some are parallel or at right angles, but for rounding."""
    draw = np.random.default_rng(seed)
    frame = np.array(rotation(draw)) @ np.array(rotation(draw))
    axes = [frame[:, int(k)] * draw.choice([-1.0, 1.0]) for k in draw.integers(3, size=3)]
    statements: list[Assign] = []

    def held(v: list[Expr]) -> list[Expr]:
        names = [symbol(f"t{len(statements) + k}", "local") for k in range(3)]
        statements.extend(Assign(x, y) for x, y in zip(names, v, strict=True))
        return names

    v: list[Expr] = [constant(0), constant(0), constant(-9.81)]
    speeds = []
    for x, axis in zip(X, axes, strict=True):
        v = held([y + float(d) * x for y, d in zip(v, axis, strict=True)])
        speeds.append(v)
    force: list[Expr] = [constant(0)] * 3
    outputs = []
    for v, axis in zip(reversed(speeds), reversed(axes), strict=True):
        mass = M if draw.random() < 0.2 else constant(float(draw.integers(1, 6)))
        force = held([f + mass * y for f, y in zip(force, v, strict=True)])
        outputs.append(sum((float(d) * f for d, f in zip(axis, force, strict=True)), constant(0)))
    return program("slides", {"x": X, "m": M}, {"y": outputs}, statements=statements)


def residues(seed: int) -> Program:
    """Sums of products of floats, of which some add up to rounding errors, beside constants."""
    draw = np.random.default_rng(seed)
    a, b = (float(x) for x in draw.uniform(0.1, 9, 2))
    z = [symbol(f"z{k}", "local") for k in range(3)]
    c, s = (float(f(draw.uniform(0, 3))) for f in (np.cos, np.sin))
    statements = [
        Assign(z[0], c * X[0] + s * X[1] + a),
        Assign(z[1], -s * z[0] + c * X[2] + b * draw.choice([0, 1])),
        Assign(z[2], c * z[0] - s * z[1] - a * c * float(draw.choice([1, 3]))),
    ]
    weights = draw.choice([-1.0, 0.1, 0.3, 1.0, 3.0, s, c, s * c, 1 - c * c - s * s], size=(3, 4))
    factors: list[Expr] = [constant(1), M, X[1]]
    outputs = [
        sum((float(w) * x for w, x in zip(row, (*z, X[0]), strict=True)), constant(0)) * k
        for row, k in zip(weights, factors, strict=True)
    ]
    return program("residues", {"x": X, "m": M}, {"y": outputs}, statements=statements)


def differences(p: Program, made: Program, seed: int) -> np.ndarray:
    """How far the values are apart, in bounds on their rounding, over some random states."""
    draw = np.random.default_rng(seed)
    inputs = [draw.uniform(0.5, 1.5, (5, *port.shape)) for port in p.inputs]
    (expected,), (allowed,) = interpret_with_bound(lower(p), inputs)
    (found,), (more,) = interpret_with_bound(lower(made), inputs)
    return np.asarray(np.abs(found - expected) / (allowed + more + 1e-15))


REWRITTEN = list(itertools.product(REWRITES, [slides, chain, residues]))


@pytest.mark.parametrize(("name", "make"), cases(REWRITTEN, daily=REWRITTEN[::2]))
def test_no_constant_is_lost(make: Callable[[int], Program], name: str) -> None:
    for seed in (*seeds(2 if name == "thorough" else 18, daily=2), *DIVIDED):
        p = make(seed)
        off = differences(p, REWRITES[name](p), seed)
        assert np.all(off < 5), f"seed {seed}: {off.max(axis=0)}"
