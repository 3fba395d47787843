"""A family of systems of equations: as many equations as unknowns, with complex parameters.

The equations are rational in the unknowns and analytic in the parameters, so that the number of
their isolated solutions is the same for almost all values of the parameters (Sommese and Wampler,
*The Numerical Solution of Systems of Polynomials*, section 7.1): what is known of one member of the
family is carried to any other one.

A solution is known by its features: two solutions with the same features are the same thing in two
charts (a quaternion and its negative, two sets of Euler angles of one rotation).
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import lru_cache

import numpy as np
import numpy.typing as npt

from linkwright.algebra import Expr, substitute_all, symbol
from linkwright.backends.kernel import Kernel, compile as compiled
from linkwright.base.errors import InputError
from linkwright.program import Program, Solve, program
from linkwright.program.derivatives import derivative
from linkwright.program.passes import optimize
from linkwright.program.passes.complex_pairs import complex_pairs
from linkwright.program.program import ProgramPort, check

Complex = npt.NDArray[np.complex128]
Real = npt.NDArray[np.float64]

_DIFFERENCE = 1e-5
_TURNED_OVER = 1e-6

IMAGINARY = symbol("i", owner="complex numbers")
"""The square root of -1 in the equations of a family."""


@dataclass(frozen=True, slots=True, eq=False)
class Family:
    """Equations that share their structure, with values of parameters to be given.

    >>> x, p = symbol("x", "coordinate"), symbol("p")
    >>> Family("roots", (x,), (p,), (x**3 - p,), (x,)).size
    1
    """

    name: str  # what it is
    unknowns: tuple[Expr, ...]  # symbols
    parameters: tuple[Expr, ...]  # symbols
    # expressions that vanish at a solution; a path needs as many as unknowns
    equations: tuple[Expr, ...] = field(repr=False)
    # expressions by which two solutions are told apart
    features: tuple[Expr, ...] = field(repr=False)
    # places of the parameters that are exp(i angle): never zero, of size one
    turns: tuple[int, ...] = ()
    # places of the parameters in which the equations are polynomials; the trace test moves these
    pencil: tuple[int, ...] = ()
    # expressions that are 1 or -1 at every solution; those with 1 are meant. They never change
    # along a path, so the solutions with one pattern of signs are a family.
    signs: tuple[Expr, ...] = ()

    @property
    def size(self) -> int:
        """The number of unknowns."""
        return len(self.unknowns)

    def program(self) -> Program:
        """Return the Program of the equations and the features, over complex numbers."""
        return program(
            "equations",
            {"z": list(self.unknowns), "p": list(self.parameters)} | _unit(),
            {"f": list(self.equations), "features": list(self.features)},
        )

    def fingerprint(self) -> str:
        """Return a digest of the equations, the same in every process."""
        own = self.program().fingerprint()
        return own + self.sign_program().fingerprint() if self.signs else own

    def sign_program(self) -> Program:
        """Return the Program of the signs, over complex numbers."""
        given = {"z": list(self.unknowns), "p": list(self.parameters)} | _unit()
        return program("signs", given, {"signs": list(self.signs)})


def _unit() -> dict[str, Expr]:
    return {"unit": IMAGINARY}


def _without_unit(made: Program) -> Program:
    """Return a Program whose input `unit`, the imaginary one, is not an input any more."""
    inputs = tuple(p for p in made.inputs if p.name != "unit")
    return Program(made.name, inputs, made.outputs, made.statements, made.slow, made.auxiliary)


def _as_pairs(made: Program, real: tuple[str, ...] = ()) -> Program:
    """Return a Program over complex numbers that reads `unit` as one over pairs."""
    return complex_pairs(_without_unit(made), real=real, imaginary=IMAGINARY)


def newton_program(family: Family) -> Program:
    """Return the Program of Newton's step and of the slope of a path, over pairs.

    It takes a place `z`, the time `t` from 0 to 1, and the values of the parameters at the `start`
    and at the `end` of the straight line on which they move; it gives Newton's `step` to the path
    and the `slope` dz/dt.
    """
    t = symbol("t", "input", owner="path")
    starts, ends = (
        [symbol(f"{name}{k}", "input", owner="path") for k in range(len(family.parameters))]
        for name in ("start", "end")
    )
    moving = {p: a + t * (b - a) for p, a, b in zip(family.parameters, starts, ends, strict=True)}
    equations = substitute_all(family.equations, moving)
    made = program(
        "path",
        {"z": list(family.unknowns), "t": t, "start": starts, "end": ends} | _unit(),
        {"f": list(equations)},
    )
    n = family.size
    if n != len(family.equations):
        raise InputError(f"{family.name!r} has {len(family.equations)} equations for {n} unknowns")
    slopes = derivative(made, "f", ["z", "t"], mode="reverse", values=True)
    f, by_z, by_t = (port.entries for port in slopes.outputs)
    targets = tuple(symbol(f"step{k}", "local", owner="path") for k in range(2 * n))
    solve = Solve(n, by_z, tuple(-x for x in (*f, *by_t)), targets)
    ports = (ProgramPort("step", (n,), targets[:n]), ProgramPort("slope", (n,), targets[n:]))
    whole = Program("newton", slopes.inputs, ports, (*slopes.statements, solve))
    check(whole)
    return optimize(_as_pairs(whole, real=("t",)), rounds=1, brief=True)


@lru_cache(maxsize=32)
def value_kernel(family: Family) -> Kernel:
    """Return the kernel of equations and features at a place, over pairs."""
    return compiled(_as_pairs(family.program()))


@lru_cache(maxsize=32)
def _sign_kernel(family: Family) -> Kernel:
    return compiled(_as_pairs(family.sign_program()))


def is_meant(family: Family, z: Complex, p: Complex) -> bool:
    """Return whether no sign of a solution is -1."""
    if not family.signs:
        return True
    found = from_pairs(_sign_kernel(family)(pairs_of(z), pairs_of(p)))
    return bool(np.abs(found + 1).min() > _TURNED_OVER)


def pairs_of(z: npt.ArrayLike) -> Real:
    """Return complex numbers as pairs, along a new last axis.

    >>> pairs_of([1 + 2j]).tolist()
    [[1.0, 2.0]]
    """
    values = np.ascontiguousarray(z, dtype=complex)
    return values.view(np.float64).reshape(*values.shape, 2)


def from_pairs(pairs: Real) -> Complex:
    """Return pairs along the last axis as complex numbers.

    >>> from_pairs(np.array([[1.0, 2.0]]))
    array([1.+2.j])
    """
    return np.ascontiguousarray(pairs).view(np.complex128)[..., 0]


def residuals(family: Family, z: Complex, p: Complex) -> Real:
    """Return the largest equation at each of several places."""
    f, _ = value_kernel(family)(pairs_of(z), pairs_of(p))
    return np.asarray(np.abs(from_pairs(f)).max(axis=-1))


def features(family: Family, z: Complex, p: Complex) -> Complex:
    """Return what several solutions are distinguished by, one row each."""
    _, found = value_kernel(family)(pairs_of(z), pairs_of(p))
    return from_pairs(found)


def slopes(family: Family, z: Complex, p: Complex) -> tuple[Complex, Complex, Complex]:
    """Return the equations at a place, and their derivatives by unknowns and by parameters.

    By differences along complex directions: for ranks and for a first configuration, not for paths.
    """
    count = len(z)
    at = np.concatenate([z, p])
    steps = np.diag(_DIFFERENCE * (1 + np.abs(at)))
    rows = np.concatenate([at + steps, at - steps, [at]])
    f, _ = value_kernel(family).batch(pairs_of(rows[:, :count]), pairs_of(rows[:, count:]))
    values = from_pairs(f)
    n = len(at)
    found = ((values[:n] - values[n : 2 * n]) / (2 * np.diag(steps))[:, None]).T
    return values[-1], found[:, :count], found[:, count:]


def conditions(family: Family, z: Complex, p: Complex) -> Real:
    """Return the smallest by the largest singular value of the derivatives at several places.

    Unknowns count by their sizes, and each equation by its largest derivative: a solution far out
    in its chart is not singular for that.
    """
    count, n = z.shape
    steps = _DIFFERENCE * (1 + np.abs(z))[:, :, None] * np.eye(n)
    rows = np.stack([z[:, None] + steps, z[:, None] - steps], axis=1).reshape(-1, n)
    f, _ = value_kernel(family).batch(pairs_of(rows), pairs_of(p))
    values = from_pairs(f).reshape(count, 2, n, -1)
    found = values[:, 0] - values[:, 1]
    found = np.where(np.isfinite(found), found, 0)
    found /= np.maximum(np.abs(found).max(axis=1, keepdims=True), 1e-300)
    singular = np.linalg.svd(found, compute_uv=False)
    return np.asarray(singular[:, -1] / np.maximum(singular[:, 0], 1e-300))
