"""Arms that the benches share: equations of motion of serial chains, written out as Programs.

Recursive Newton-Euler (Luh, Walker and Paul 1980) for inverse dynamics, and the articulated body
algorithm in link coordinates (Featherstone 1983) for forward dynamics. Numbers are folded. Standard
Denavit-Hartenberg frames: link i has its frame at its far end, joint i turns about z of frame i-1.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from linkwright.algebra import PI, Expr, as_expr, cos, sin, symbol
from linkwright.program import Assign, Namer, Program, program

Vec = list[Expr]
Mat = list[list[Expr]]


@dataclass(frozen=True, slots=True)
class Link:
    """One link: DH parameters in m and quarter turns; mass, kg; center, m; inertia, kg*m^2."""

    d: float
    a: float
    quarter_turns: int
    mass: float
    center: tuple[float, float, float]
    inertia: tuple[float, float, float]


PUMA560 = (
    Link(0.67183, 0, 1, 0, (0, 0, 0), (0, 0.35, 0)),
    Link(0, 0.4318, 0, 17.4, (-0.3638, 0.006, 0.2275), (0.13, 0.524, 0.539)),
    Link(0.15005, 0.0203, -1, 4.8, (-0.0203, -0.0141, 0.070), (0.066, 0.086, 0.0125)),
    Link(0.4318, 0, 1, 0.82, (0, 0.019, 0), (1.8e-3, 1.3e-3, 1.8e-3)),
    Link(0, 0, -1, 0.34, (0, 0, 0), (0.3e-3, 0.4e-3, 0.3e-3)),
    Link(0, 0, 0, 0.09, (0, 0, 0.032), (0.15e-3, 0.15e-3, 0.04e-3)),
)


def random_chain(n: int, seed: int = 0) -> tuple[Link, ...]:
    """A chain of n links with seeded dimensions and plausible inertias."""
    rng = np.random.default_rng(seed)
    links = []
    for i in range(n):
        d, a, x, y, z = rng.uniform(0.05, 0.3, 5)
        ix, iy = rng.uniform(0.01, 0.03, 2)
        links.append(
            Link(
                d,
                a,
                int(rng.choice([-1, 0, 1])),
                1.0 + i / n,
                (-x, y / 5, z / 5),
                (ix, iy, ix + iy),
            )
        )
    return tuple(links)


def _cross(a: Vec, b: Vec) -> Vec:
    return [
        a[1] * b[2] - a[2] * b[1],
        a[2] * b[0] - a[0] * b[2],
        a[0] * b[1] - a[1] * b[0],
    ]


def _add(*vectors: Vec) -> Vec:
    return [sum((v[k] for v in vectors[1:]), start=vectors[0][k]) for k in range(3)]


def _apply(m: Mat, v: Vec) -> Vec:
    return [row[0] * v[0] + row[1] * v[1] + row[2] * v[2] for row in m]


def _transposed(m: Mat) -> Mat:
    return [list(column) for column in zip(*m, strict=True)]


def _rotation(link: Link, q: Expr) -> Mat:
    """Axes of frame i in frame i-1, as columns."""
    c, s = cos(q), sin(q)
    alpha = link.quarter_turns * PI / 2
    ca, sa = cos(alpha), sin(alpha)
    zero = as_expr(0)
    return [[c, -s * ca, s * sa], [s, c * ca, -c * sa], [zero, sa, ca]]


def _numbers(values: Sequence[float]) -> Vec:
    return [as_expr(float(x)) for x in values]


class _Writer:
    """Collects assignments, so that vectors and matrices are computed once and shared."""

    def __init__(self) -> None:
        self.statements: list[Assign] = []
        self.namer = Namer(None, "z")

    def hold(self, x: Expr) -> Expr:
        if x.is_atom or (x.op == "scale" and x.args[0].is_atom):
            return x
        name = self.namer()
        self.statements.append(Assign(name, x))
        return name

    def vector(self, v: Vec) -> Vec:
        return [self.hold(x) for x in v]

    def matrix(self, m: Mat) -> Mat:
        return [self.vector(row) for row in m]


def inverse_dynamics(links: Sequence[Link], name: str, gravity: float = 9.81) -> Program:
    """Torques in N m from angles, rates and accelerations."""
    n = len(links)
    q = [symbol(f"q{i + 1}", "coordinate", unit="rad") for i in range(n)]
    u = [symbol(f"u{i + 1}", "speed", unit="rad/s") for i in range(n)]
    a = [symbol(f"a{i + 1}", "acceleration", unit="rad/s^2") for i in range(n)]
    w = _Writer()
    zero = as_expr(0)
    omega, alpha, acc = [zero] * 3, [zero] * 3, _numbers([0, 0, gravity])
    rotations, forces, moments, arms = [], [], [], []
    for link, qi, ui, ai in zip(links, q, u, a, strict=True):
        r = _rotation(link, qi)
        back = _transposed(r)
        spin = [zero, zero, ui]
        alpha = w.vector(_apply(back, _add(alpha, [zero, zero, ai], _cross(omega, spin))))
        omega = w.vector(_apply(back, _add(omega, spin)))
        sa, ca = sin(link.quarter_turns * PI / 2), cos(link.quarter_turns * PI / 2)
        arm = [as_expr(link.a), as_expr(link.d) * sa, as_expr(link.d) * ca]
        acc = w.vector(
            _add(_apply(back, acc), _cross(alpha, arm), _cross(omega, _cross(omega, arm)))
        )
        center = _numbers(link.center)
        at = _add(acc, _cross(alpha, center), _cross(omega, _cross(omega, center)))
        force = w.vector([as_expr(link.mass) * x for x in w.vector(at)])
        inertia = _numbers(link.inertia)
        momentum = [j * x for j, x in zip(inertia, omega, strict=True)]
        moment = _add([j * x for j, x in zip(inertia, alpha, strict=True)], _cross(omega, momentum))
        rotations.append(r)
        arms.append(arm)
        forces.append(force)
        moments.append(moment)
    torques: list[Expr] = [zero] * n
    force, moment = [zero] * 3, [zero] * 3
    for i in reversed(range(n)):
        at = _add(arms[i], _numbers(links[i].center))
        moment = w.vector(_add(moment, _cross(arms[i], force), _cross(at, forces[i]), moments[i]))
        force = w.vector(_add(force, forces[i]))
        moment = w.vector(_apply(rotations[i], moment))
        force = w.vector(_apply(rotations[i], force))
        torques[i] = moment[2]
    return program(name, {"q": q, "u": u, "a": a}, {"tau": torques}, statements=w.statements)


def forward_dynamics(links: Sequence[Link], name: str, gravity: float = 9.81) -> Program:
    """Accelerations in rad/s^2 from angles, rates and torques, by articulated bodies.

    Spatial quantities are taken at the origin of frame i-1 for link i, in the axes of frame i-1
    turned by the joint, so that the joint axis is z: a motion is (w, v), a force (n, f).
    """
    n = len(links)
    q = [symbol(f"q{i + 1}", "coordinate", unit="rad") for i in range(n)]
    u = [symbol(f"u{i + 1}", "speed", unit="rad/s") for i in range(n)]
    tau = [symbol(f"t{i + 1}", "input", unit="N*m") for i in range(n)]
    w = _Writer()
    zero = as_expr(0)
    turns = [_fixed_rotation(links[i - 1]) if i else None for i in range(n)]
    offsets = [(links[i - 1].a, 0.0, links[i - 1].d) if i else (0.0, 0.0, 0.0) for i in range(n)]

    # velocities and bias accelerations, from the base outward
    omega, vel = [zero] * 3, [zero] * 3
    motions, biases = [], []
    for i in range(n):
        omega, vel = _outward(w, turns[i], offsets[i], q[i], omega, vel)
        omega = w.vector([omega[0], omega[1], omega[2] + u[i]])
        biases.append((_cross(omega, [zero, zero, u[i]]), _cross(vel, [zero, zero, u[i]])))
        motions.append((omega, vel))

    # articulated inertias, from the tip inward
    top: list[tuple[Mat, Mat, Mat, Vec, Vec]] = []
    inertia, coupling, mass = _zeros(), _zeros(), _zeros()
    moment, force = [zero] * 3, [zero] * 3
    for i in reversed(range(n)):
        omega, vel = motions[i]
        own_i, own_h, own_m = _own_inertia(links[i])
        momentum = w.vector(_add(_apply(own_i, omega), _apply(own_h, vel)))
        linear = w.vector(_add(_apply(_transposed(own_h), omega), _apply(own_m, vel)))
        inertia, coupling, mass = (
            w.matrix(_matrix_sum(inertia, own_i)),
            w.matrix(_matrix_sum(coupling, own_h)),
            w.matrix(_matrix_sum(mass, own_m)),
        )
        moment = w.vector(_add(moment, _cross(omega, momentum), _cross(vel, linear)))
        force = w.vector(_add(force, _cross(omega, linear)))
        top.append((inertia, coupling, mass, moment, force))
        if i == 0:
            break
        un = [inertia[k][2] for k in range(3)]
        uf = [coupling[2][k] for k in range(3)]
        share = w.hold(1 / un[2])
        drive = w.hold(tau[i] - moment[2])
        gain_n = w.vector([x * share for x in un])
        gain_f = w.vector([x * share for x in uf])
        inertia = w.matrix(_minus_outer(inertia, un, gain_n))
        coupling = w.matrix(_minus_outer(coupling, un, gain_f))
        mass = w.matrix(_minus_outer(mass, uf, gain_f))
        bn, bf = biases[i]
        moment = w.vector(
            _add(moment, _apply(inertia, bn), _apply(coupling, bf), [g * drive for g in gain_n])
        )
        force = w.vector(
            _add(
                force,
                _apply(_transposed(coupling), bn),
                _apply(mass, bf),
                [g * drive for g in gain_f],
            )
        )
        inertia, coupling, mass, moment, force = _inward(
            w, turns[i], offsets[i], q[i], inertia, coupling, mass, moment, force
        )
    top.reverse()

    # accelerations, from the base outward
    alpha, acc = [zero] * 3, _numbers([0, 0, gravity])
    result = []
    for i in range(n):
        alpha, acc = _outward(w, turns[i], offsets[i], q[i], alpha, acc)
        bn, bf = biases[i]
        alpha, acc = w.vector(_add(alpha, bn)), w.vector(_add(acc, bf))
        inertia, coupling, _, moment, _ = top[i]
        un = [inertia[k][2] for k in range(3)]
        uf = [coupling[2][k] for k in range(3)]
        load = sum((x * y for x, y in zip((*un, *uf), (*alpha, *acc), strict=True)), start=zero)
        udot = w.hold((tau[i] - moment[2] - load) / un[2])
        result.append(udot)
        alpha = w.vector([alpha[0], alpha[1], alpha[2] + udot])
    return program(name, {"q": q, "u": u, "tau": tau}, {"a": result}, statements=w.statements)


def _zeros() -> Mat:
    return [[as_expr(0)] * 3 for _ in range(3)]


def _matrix_sum(a: Mat, b: Mat) -> Mat:
    return [[x + y for x, y in zip(r, s, strict=True)] for r, s in zip(a, b, strict=True)]


def _minus_outer(m: Mat, a: Vec, b: Vec) -> Mat:
    return [[m[i][j] - a[i] * b[j] for j in range(3)] for i in range(3)]


def _skew(v: Vec) -> Mat:
    zero = as_expr(0)
    return [[zero, -v[2], v[1]], [v[2], zero, -v[0]], [-v[1], v[0], zero]]


def _product(a: Mat, b: Mat) -> Mat:
    return _transposed([_apply(a, column) for column in _transposed(b)])


def _fixed_rotation(link: Link) -> Mat:
    alpha = link.quarter_turns * PI / 2
    c, s, zero, one = cos(alpha), sin(alpha), as_expr(0), as_expr(1)
    return [[one, zero, zero], [zero, c, -s], [zero, s, c]]


def _joint_rotation(q: Expr) -> Mat:
    c, s, zero, one = cos(q), sin(q), as_expr(0), as_expr(1)
    return [[c, -s, zero], [s, c, zero], [zero, zero, one]]


def _own_inertia(link: Link) -> tuple[Mat, Mat, Mat]:
    """Inertia about the joint's origin, first moment and mass, in the joint's turned axes."""
    fixed = _fixed_rotation(link)
    center = _add(_apply(fixed, _numbers(link.center)), _numbers([link.a, 0, link.d]))
    mass = as_expr(link.mass)
    skew = _skew(center)
    zero = as_expr(0)
    diagonal = [[as_expr(link.inertia[i]) if i == j else zero for j in range(3)] for i in range(3)]
    about = _product(_product(fixed, diagonal), _transposed(fixed))
    steiner = _product(skew, _transposed(skew))
    inertia = _matrix_sum(about, [[mass * x for x in row] for row in steiner])
    coupling = [[mass * x for x in row] for row in skew]
    return inertia, coupling, [[mass if i == j else as_expr(0) for j in range(3)] for i in range(3)]


def _outward(
    w: _Writer, turn: Mat | None, offset: Sequence[float], q: Expr, top: Vec, bottom: Vec
) -> tuple[Vec, Vec]:
    """A motion at the parent's origin, seen at this joint's origin in its turned axes."""
    arm = _numbers(offset)
    bottom = w.vector(_add(bottom, _cross(top, arm)))
    for rotation in (turn, _joint_rotation(q)):
        if rotation is not None:
            back = _transposed(rotation)
            top, bottom = w.vector(_apply(back, top)), w.vector(_apply(back, bottom))
    return top, bottom


def _inward(
    w: _Writer,
    turn: Mat | None,
    offset: Sequence[float],
    q: Expr,
    inertia: Mat,
    coupling: Mat,
    mass: Mat,
    moment: Vec,
    force: Vec,
) -> tuple[Mat, Mat, Mat, Vec, Vec]:
    """An articulated inertia and a force, taken from this joint to the parent's origin and axes."""
    for rotation in (_joint_rotation(q), turn):
        if rotation is None:
            continue
        back = _transposed(rotation)
        inertia, coupling, mass = (
            w.matrix(_product(w.matrix(_product(rotation, m)), back))
            for m in (inertia, coupling, mass)
        )
        moment, force = w.vector(_apply(rotation, moment)), w.vector(_apply(rotation, force))
    skew = _skew(_numbers(offset))
    moved = w.matrix(_matrix_sum(coupling, _product(skew, mass)))
    inertia = w.matrix(
        _matrix_sum(
            _matrix_sum(inertia, _product(skew, _transposed(coupling))),
            _product(moved, _transposed(skew)),
        )
    )
    moment = w.vector(_add(moment, _apply(skew, force)))
    return inertia, moved, mass, moment, force
