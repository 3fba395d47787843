"""Elastic bodies: beams of rigid segments or of assumed modes, and reduced finite elements.

The finite-segment method (Winget and Huston, Computers and Structures 6, 1976): a beam of length L
is cut into n rigid parts of length h = L/n that turn relative to each other about one axis. A joint
between two parts has the stiffness EI/h, the clamped end 2 EI/h, since half a part bends there;
all are larger by 1/(2 n^2), with which the deflection under a load at the tip is that of the beam.
Parts turn as far as they like, so that the stiffening of a beam that is spun up comes out by
itself.

By modes, a point of the body is displaced by sum_k phi_k q_k + 1/2 sum_jk h_jk q_j q_k in the
frame that the body belongs to (floating frame of reference). The modes phi come from a file, such
as those of a Craig-Bampton reduction, or are those of a clamped beam; the second order h is how far
a bent beam draws its points back, without which a beam that spins would bend away without end
(Kane, Ryan, Banerjee, Journal of Guidance 10, 1987).

The kinetic energy of all points depends on the mass of the products of 1, x, phi and h alone. The
matrix of these products is factored, J = B B', and a reflection makes the first row of B constant:
its columns are then particles of equal mass with the energy of all points, at most as many as there
are fields (4 + 3 n without h). They are bodies whose coordinates follow those of the modes, so that
loads, constraints, equations and written programs are those of any mechanism.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np
import numpy.typing as npt

from linkwright.algebra import ONE, ZERO, Expr, as_expr, constant, diff, total
from linkwright.base.reprs import brief
from linkwright.mechanism.joints import MechanismError, Weld
from linkwright.mechanism.parts import Body, Constraint, Value
from linkwright.mechanism.transactions import builder

if TYPE_CHECKING:
    from linkwright.mechanism.mechanism import Mechanism

Array: TypeAlias = npt.NDArray[np.float64]

_NEEDED = ("nodes", "mass", "modes", "stiffness")
_OPTIONAL = ("damping", "second", "reduced_mass")
_LARGEST = 200_000_000  # bytes of a file
_MOST = 12  # modes
_MOST_SEGMENTS = 100
_MOST_OF_BEAM = 5
_APART = 0.02  # of the reduced mass: what the masses at nodes may differ by
_RANK = 1e-12


@dataclass(frozen=True, slots=True, eq=False)
class FlexibleBody:
    """An elastic body in a mechanism: the coordinates of its modes, and bodies at its nodes."""

    modes: tuple[Expr, ...]
    nodes: dict[str, Body]
    particles: tuple[Body, ...]


@builder
def beam(
    m: Mechanism,
    name: str,
    parent: Body | str | None = None,
    *,
    length: Value,
    mass: Value,
    bending: Value,
    segments: int = 10,
    at: Sequence[Value] = (0, 0, 0),
    bends: str = "z",
    doc: str = "",
) -> list[Body]:
    """Add an elastic beam that is clamped at one end and lies along x of its parent.

    Args:
        name: of its segments, with their numbers.
        parent: the body that it is clamped to; the ground by default.
        length: m.
        mass: of the whole beam, kg.
        bending: stiffness in bending EI, N*m^2.
        segments: how many rigid parts it is cut into.
        at: its clamped end on the parent, m.
        bends: the parent's axis about which it bends, "y" or "z".
        doc: what it is.

    >>> from linkwright.mechanism import Mechanism
    >>> m = Mechanism("board")
    >>> parts = m.beam("b", length=2, mass=8, bending="EI", segments=4)
    >>> [p.name for p in parts], m.moments[1].magnitude
    (['b1', 'b2', 'b3', 'b4'], -2.0625*EI*b2)
    """
    if type(segments) is not int or not 1 <= segments <= _MOST_SEGMENTS:
        raise MechanismError(f"a beam has 1 to {_MOST_SEGMENTS} segments, not {brief(segments)}")
    if bends not in ("y", "z"):
        raise MechanismError(f"a beam along x bends about y or z, not {brief(bends)}")
    whole, weight, stiffness = m.expr(length, "m"), m.expr(mass, "kg"), m.expr(bending, "N*m^2")
    part, share = whole / segments, weight / segments
    stiffer = stiffness * constant(Fraction(2 * segments**2 + 1, 2 * segments**2))
    across = share * part**2 / 12
    inertia = (0, across, across)
    made: list[Body] = []
    above: Body | str | None = parent
    for k in range(1, segments + 1):
        body = m.body(
            f"{name}{k}",
            parent=above,
            at=at if k == 1 else (part, 0, 0),
            rotate=bends,
            mass=share,
            com=(part / 2, 0, 0),
            inertia=inertia,
            doc=doc,
        )
        spring = stiffer / part * (2 if k == 1 else 1)
        m.moment(
            f"{name}{k} bending",
            -spring * body.coordinates[0],
            on=body,
            about=getattr(body, bends),
            reaction=body.parent,
        )
        made.append(body)
        above = body
    return made


@builder
def flexible(
    m: Mechanism,
    name: str,
    parent: Body | str | None = None,
    *,
    source: Path | str | Mapping[str, Any],
    at: Sequence[Value] = (0, 0, 0),
    interfaces: Mapping[str, int] | None = None,
    doc: str = "",
) -> FlexibleBody:
    """Add an elastic body of finite elements that were reduced to modes.

    Its points move by modes in the frame of the parent, which has no mass of its own unless it
    is given one. Arrays of the source: `nodes` (N, 3), places in m; `mass` (N), kg; `modes`
    (N, 3, n), or (N, 6, n) with rotations; `stiffness` (n, n). Optional: `damping` (n, n);
    `second` (N, 3, n, n), the second derivatives of displacements by the modes, 1/m;
    `reduced_mass` (n, n), with which the masses at the nodes are compared.

    Args:
        name: of the body, and of its coordinates with their numbers.
        parent: the body whose frame it moves in; the ground by default.
        source: a file (.npz or .json) of the arrays, or the arrays.
        at: where its frame is on the parent, m.
        interfaces: names of nodes at which other bodies may be attached, with their numbers
            from 0; each becomes a body without mass.
        doc: what it is.

    >>> from linkwright.mechanism import Mechanism
    >>> m = Mechanism("plate")
    >>> panel = {
    ...     "nodes": [[0, 0, 0], [1, 0, 0]],
    ...     "mass": [1, 2],
    ...     "stiffness": [[50]],
    ...     "modes": [[[0], [0], [0]], [[0], [1], [0]]],
    ... }
    >>> body = m.flexible("panel", source=panel, interfaces={"edge": 1})
    >>> body.modes, body.nodes["edge"].name
    ((panel1,), 'panel_edge')
    """
    data = _arrays(name, source)
    nodes, modes = data["nodes"], data["modes"]
    n = modes.shape[2]
    second = data.get("second", np.zeros((len(nodes), 3, n, n)))
    body = _Builder(m, name, parent, at, n, doc)
    body.spring(data["stiffness"], data.get("damping"))
    fields = _particles(nodes, data["mass"], modes[:, :3], second)
    made = [
        body.follower(f"{name}_p{k}", x, phi, h, mass=float(share))
        for k, (share, x, phi, h) in enumerate(zip(*fields, strict=True), 1)
    ]
    ends = {}
    for key, index in dict(interfaces or {}).items():
        if type(index) is not int or not 0 <= index < len(nodes):
            raise MechanismError(f"{name!r} has nodes 0 to {len(nodes) - 1}, not {brief(index)}")
        turns = modes[index, 3:] if modes.shape[1] == 6 else None
        place = nodes[index], modes[index, :3], second[index]
        ends[key] = body.follower(f"{name}_{key}", *place, turns=turns)
    return FlexibleBody(body.q, ends, tuple(made))


@builder
def modal_beam(
    m: Mechanism,
    name: str,
    parent: Body | str | None = None,
    *,
    length: Value,
    mass: Value,
    bending: Value,
    modes: int = 3,
    at: Sequence[Value] = (0, 0, 0),
    bends: str = "z",
    doc: str = "",
) -> FlexibleBody:
    """Add an elastic beam that is clamped at one end, by the modes of a cantilever.

    It lies along x of its parent. Its points are drawn back as it bends, so that it stiffens when
    it spins; deflections are to be below some tenth of its length. `nodes["tip"]` is a body without
    mass at its tip, to which others may be attached.

    Args:
        name: of the beam, and of its coordinates with their numbers.
        parent: the body that it is clamped to; the ground by default.
        length: m.
        mass: of the whole beam, kg.
        bending: stiffness in bending EI, N*m^2.
        modes: how many of a cantilever's modes, 1 to 5.
        at: its clamped end on the parent, m.
        bends: the parent's axis about which it bends, "y" or "z".
        doc: what it is.

    >>> from linkwright.mechanism import Mechanism
    >>> m = Mechanism("board")
    >>> board = m.modal_beam("b", length="L", mass=8, bending="EI", modes=2)
    >>> board.modes, board.nodes["tip"].name
    ((b1, b2), 'b_tip')
    """
    if type(modes) is not int or not 1 <= modes <= _MOST_OF_BEAM:
        raise MechanismError(f"a beam has 1 to {_MOST_OF_BEAM} modes, not {brief(modes)}")
    if bends not in ("y", "z"):
        raise MechanismError(f"a beam along x bends about y or z, not {brief(bends)}")
    whole, weight, stiff = m.expr(length, "m"), m.expr(mass, "kg"), m.expr(bending, "N*m^2")
    points, shares = _gauss(2 * modes + 3)
    dense, weights = _gauss(40)
    curvature = _cantilever(dense, modes)[2]
    across, turn = (1, 1.0) if bends == "z" else (2, -1.0)
    body = _Builder(m, name, parent, at, modes, doc)
    body.spring(np.diag((weights[:, None] * curvature**2).sum(0)), None, stiff / whole**3)

    def fields(x: float) -> tuple[list[Expr], Array, Array]:
        shape, back = np.zeros((3, modes)), np.zeros((3, modes, modes))
        shape[across] = _cantilever(np.array([x]), modes)[0][0]
        slopes = _cantilever(dense * x, modes)[1]
        back[0] = -x * np.einsum("i,ij,ik->jk", weights, slopes, slopes)
        return [whole * x, ZERO, ZERO], shape, back

    made = [
        body.follower(f"{name}_p{k}", *fields(float(x)), mass=weight * float(share), per=whole)
        for k, (x, share) in enumerate(zip(points, shares, strict=True), 1)
    ]
    slope = np.zeros((3, modes))
    slope[3 - across] = turn * _cantilever(np.array([1.0]), modes)[1][0]
    tip = body.follower(f"{name}_tip", *fields(1.0), turns=slope, per=whole)
    return FlexibleBody(body.q, {"tip": tip}, tuple(made))


class _Builder:
    """The frame of an elastic body, and sliders without mass whose places are its modes."""

    def __init__(
        self,
        m: Mechanism,
        name: str,
        parent: Body | str | None,
        at: Sequence[Value],
        count: int,
        doc: str,
    ) -> None:
        self.m, self.name = m, name
        self.frame = m.body(name, parent=parent, at=at, joint=Weld(), mass=0, inertia=0, doc=doc)
        self.sliders = [
            m.body(f"{name}{k}", parent=self.frame, translate="x", mass=0, inertia=0)
            for k in range(1, count + 1)
        ]
        self.q = tuple(b.coordinates[0] for b in self.sliders)

    def spring(self, stiffness: Array, damping: Array | None, scale: Expr = ONE) -> None:
        """Add the elastic loads of the modes, and those that damp them."""
        rates = [self._rate(q, "m/s") for q in self.q]
        for k, slider in enumerate(self.sliders):
            load = -scale * _combined(stiffness[k], self.q)
            if damping is not None:
                load = load - _combined(damping[k], rates)
            self.m.force(
                f"{slider.name} elastic", load, at=slider, along=self.frame.x, reaction=self.frame
            )

    def follower(
        self,
        name: str,
        place: Sequence[Value] | Array,
        shape: Array,
        second: Array,
        *,
        mass: Value = 0,
        turns: Array | None = None,
        per: Expr = ONE,
    ) -> Body:
        """Add a body that moves as a point of the elastic body does."""
        shift = [
            _combined(shape[a], self.q)
            + total(
                as_expr(float(second[a, j, k])) * (as_expr(0.5) if j == k else ONE) * x * y / per
                for j, x in enumerate(self.q)
                for k, y in enumerate(self.q[j:], j)
                if second[a, j, k]
            )
            for a in range(3)
        ]
        angles = [ZERO] * 3 if turns is None else [_combined(t, self.q) / per for t in turns]
        steps = [("xy"[a], f, "m") for a, f in enumerate(shift[:2]) if f is not ZERO]
        blocks = [steps] if steps else []
        blocks += [[("z", shift[2], "m")]] if shift[2] is not ZERO else []
        blocks += [[(a, f, "rad")] for a, f in zip("xyz", angles, strict=True) if f is not ZERO]
        above, at = self.frame, [float(x) if isinstance(x, float) else x for x in place]
        if not blocks:
            return self.m.body(name, parent=above, at=at, joint=Weld(), mass=mass, inertia=0)
        for k, block in enumerate(blocks, 1):
            last = k == len(blocks)
            axes = "".join(axis for axis, _, _ in block)
            turning = block[0][2] == "rad"
            above = self.m.body(
                name if last else f"{name}_{k}",
                parent=above,
                at=at if k == 1 else (0, 0, 0),
                mass=mass if last else 0,
                inertia=0,
                translate=None if turning else axes,
                rotate=axes if turning else None,
            )
            for q, (_, follows, unit) in zip(above.coordinates, block, strict=True):
                self._follow(q, follows, unit)
        return above

    def _rate(self, q: Expr, unit: str) -> Expr:
        return self.m.speed_symbol(f"{q.name}_dot", unit, 0)

    def _follow(self, q: Expr, follows: Expr, unit: str) -> None:
        """Let a coordinate be an expression of those of the modes.

        Velocities stay open, so that further bodies may come: the rate of the coordinate of a
        slider or a hinge is its speed.
        """
        speed = self._rate(q, f"{unit}/s") - total(
            diff(follows, x) * self._rate(x, "m/s") for x in self.q
        )
        zero = q - follows
        self.m.constraints.append(
            Constraint(f"{q.name} of {self.name}", speed, zero, None, q, (), mechanism=self.m)
        )


def _combined(factors: Array, of: Sequence[Expr]) -> Expr:
    """Return the sum of products, without those whose factor is zero beside the others."""
    least = 1e-13 * float(np.abs(factors).max(initial=0.0))
    return total(
        as_expr(float(f)) * x for f, x in zip(factors, of, strict=True) if abs(float(f)) > least
    )


def _gauss(count: int) -> tuple[Array, Array]:
    """Return places and weights of Gauss and Legendre on 0 to 1."""
    x, w = np.polynomial.legendre.leggauss(count)
    return (x + 1) / 2, w / 2


def _cantilever(x: Array, count: int) -> tuple[Array, Array, Array]:
    """Return modes of a cantilever of unit length and mass with their first two derivatives."""
    k = np.array([1.875] + [(j - 0.5) * math.pi for j in range(2, count + 1)])
    for _ in range(20):  # Newton, of cos k + 1 / cosh k
        k = k - (np.cos(k) + 1 / np.cosh(k)) / (-np.sin(k) - np.tanh(k) / np.cosh(k))
    s = (np.cosh(k) + np.cos(k)) / (np.sinh(k) + np.sin(k))
    a = np.outer(x, k)
    even, odd = np.cosh(a) - np.cos(a), np.sinh(a) - np.sin(a)
    rise, both = np.sinh(a) + np.sin(a), np.cosh(a) + np.cos(a)
    return even - s * odd, k * (rise - s * even), k**2 * (both - s * rise)


def _particles(
    nodes: Array, mass: Array, modes: Array, second: Array
) -> tuple[Array, Array, Array, Array]:
    """Return masses, places, modes and second orders of few points with the energy of all.

    Points without mass are left out; where the fields are more than the points, these stay.
    """
    heavy = mass > 0
    nodes, mass, modes, second = (x[heavy] for x in (nodes, mass, modes, second))
    n = modes.shape[2]
    j, k = np.triu_indices(n)
    parts = [np.ones((len(nodes), 1)), nodes, modes.reshape(len(nodes), -1)]
    z = np.hstack([*parts, second[:, :, j, k].reshape(len(nodes), -1)])
    root = _root((z * mass[:, None]).T @ z)
    count = root.shape[1]
    if count >= len(nodes):
        return mass, nodes, modes, second
    whole = float(mass.sum())
    mirror = root[0] - math.sqrt(whole / count)
    if mirror @ mirror > 0:
        root = root - 2 * np.outer(root @ mirror, mirror) / (mirror @ mirror)
    z = (root / root[0]).T
    fewer = np.zeros((count, 3, n, n))
    fewer[:, :, j, k] = fewer[:, :, k, j] = z[:, 4 + 3 * n :].reshape(count, 3, -1)
    shapes = z[:, 4 : 4 + 3 * n].reshape(count, 3, n)
    return np.full(count, whole / count), z[:, 1:4], shapes, fewer


def _root(gram: Array) -> Array:
    """Return B with B B' = gram and as few columns as its rank, the first row of one entry alone.

    The factorization of Cholesky, with the largest pivots after the first.
    """
    size = np.sqrt(np.where(np.diag(gram) > 0, np.diag(gram), 1.0))
    left = gram / np.outer(size, size)
    columns: list[Array] = []
    while True:
        pivot = int(np.argmax(np.diag(left))) if columns else 0
        if left[pivot, pivot] < _RANK:
            return np.stack(columns, axis=1) * size[:, None]
        columns.append(left[:, pivot] / math.sqrt(left[pivot, pivot]))
        left = left - np.outer(columns[-1], columns[-1])


def _arrays(name: str, source: Path | str | Mapping[str, Any]) -> dict[str, Array]:
    """Return the arrays of an elastic body, with sizes that fit."""
    given = source if isinstance(source, Mapping) else _read(Path(source))
    label = repr(name) if isinstance(source, Mapping) else str(source)
    known = (*_NEEDED, *_OPTIONAL)
    if unknown := sorted(set(given) - set(known)):
        raise MechanismError(
            f"{label} has an array {unknown[0]!r}", remedy=f"known are {', '.join(known)}"
        )
    if missing := [key for key in _NEEDED if key not in given]:
        raise MechanismError(f"{label} has no array {missing[0]!r}")
    try:
        data = {key: np.array(value, dtype=float) for key, value in given.items()}
    except (TypeError, ValueError) as error:
        raise MechanismError(f"{label} has an array that is not of numbers: {error}") from None
    count, n = data["mass"].size, (1, *data["modes"].shape)[-1]
    sizes: dict[str, tuple[int, ...]] = {
        "nodes": (count, 3),
        "mass": (count,),
        "second": (count, 3, n, n),
    }
    six = data["modes"].shape == (count, 6, n)
    sizes["modes"] = (count, 6, n) if six else (count, 3, n)
    for key, value in data.items():
        wanted = sizes.get(key, (n, n))
        if value.shape != wanted:
            raise MechanismError(f"{key!r} of {label} has the shape {value.shape}, not {wanted}")
        if not np.isfinite(value).all():
            raise MechanismError(f"{key!r} of {label} has a number that is not finite")
    if not 1 <= n <= _MOST:
        raise MechanismError(f"{label} has {n} modes", remedy=f"give 1 to {_MOST}")
    if (data["mass"] < 0).any() or not data["mass"].sum() > 0:
        raise MechanismError(f"the masses of {label} are not all positive or zero")
    for key in ("stiffness", "damping"):
        if key in data and not np.allclose(data[key], data[key].T, atol=1e-9 * _size(data[key])):
            raise MechanismError(f"{key!r} of {label} is not symmetric")
    if "reduced_mass" in data:
        shape = data["modes"][:, :3]
        moving = np.einsum("i,iaj,iak->jk", data["mass"], shape, shape)
        off = float(np.abs(moving - data["reduced_mass"]).max()) / _size(data["reduced_mass"])
        if off > _APART:
            raise MechanismError(
                f"the masses at nodes of {label} differ by {100 * off:.2g} % from 'reduced_mass'",
                remedy="give more nodes, or masses that were lumped as those of the modes",
            )
    return data


def _size(x: Array) -> float:
    return float(np.abs(x).max(initial=1e-300))


def _read(path: Path) -> dict[str, Any]:
    """Return the arrays of a file by their names."""
    import io
    import json
    import zipfile

    from linkwright.base.files import read_bytes

    content = read_bytes(path, _LARGEST)
    try:
        if path.suffix == ".npz":
            with np.load(io.BytesIO(content), allow_pickle=False) as file:
                return {key: file[key] for key in file.files}
        if path.suffix == ".json" and isinstance(found := json.loads(content), dict):
            return found
    except (EOFError, ValueError, zipfile.BadZipFile) as error:
        raise MechanismError(f"{path} cannot be read: {error}") from None
    raise MechanismError(f"{path} holds no arrays by name", remedy="give a .npz or .json file")
