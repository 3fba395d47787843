"""Six formalisms of displacements of bodies, each operation as it is written.

Two move points: homogeneous transforms, and pairs of a unit quaternion and a vector. Four move
lines (Plücker coordinates l and m = x × l): dual orthogonal 3 x 3 matrices, dual unit quaternions,
dual unitary 2 x 2 matrices and dual Pauli spin operators (Funda and Paul 1988, in section 2.2 of
the force and motion server's report; its digest, section 3.2).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from linkwright.algebra import ZERO, Expr, sqrt
from linkwright.algebra.triples import Hold
from linkwright.base.rotations import quaternion_of, quaternion_product
from linkwright.parallel.dual_numbers import DualNumber, crossed, dotted, held

Array = NDArray[np.float64]

Numbers = Sequence[Expr]
Row = list[DualNumber]


@dataclass(frozen=True, slots=True)
class Formalism:
    """A way to write displacements."""

    name: str  # its name
    moves: str  # "point" or "line"
    storage: int  # numbers that are kept
    transform: Callable[[Hold, Numbers, Numbers], list[Expr]]  # returns a moved point or line
    # returns the first displacement after the second
    compose: Callable[[Hold, Numbers, Numbers], list[Expr]]
    invert: Callable[[Hold, Numbers], list[Expr]]  # returns the displacement back
    # returns the nearest of what rounding has made of a displacement
    normalize: Callable[[Hold, Numbers], list[Expr]]
    # returns a displacement from a rotation and a translation
    encode: Callable[[Array, Array], Array]


# -- parts that formalisms share -------------------------------------------------------------------
def _plain(values: Numbers) -> Row:
    return [DualNumber(x) for x in values]


def _dual(values: Numbers) -> Row:
    """Return dual numbers from all real parts, then all dual parts."""
    half = len(values) // 2
    return [DualNumber(a, b) for a, b in zip(values[:half], values[half:], strict=True)]


def _parts(numbers: Sequence[DualNumber]) -> list[Expr]:
    return [*(x.re for x in numbers), *(x.du for x in numbers)]


def _times(hold: Hold, a: Row, b: Row) -> Row:
    """Return the product of quaternions w, x, y, z."""
    return held(hold, quaternion_product(a, b))


def _turn(hold: Hold, q: Row, x: Row) -> Row:
    """Return what a quaternion adds to a vector that it turns: w t + v × t with t = 2 v × x."""
    t = held(hold, [a.doubled() for a in held(hold, crossed(q[1:], x))])
    return [q[0] * a + b for a, b in zip(t, crossed(q[1:], t), strict=True)]


def _unit(hold: Hold, v: Row) -> Row:
    """Return a vector of dual numbers divided by its length."""
    size = hold(sqrt(dotted(v, v).re))
    real = [hold(x.re / size) for x in v]
    if all(x.du is ZERO for x in v):
        return _plain(real)
    slope = [hold(x.du / size) for x in v]
    along = hold(dotted(_plain(real), _plain(slope)).re)
    return [DualNumber(a, hold(b - along * a)) for a, b in zip(real, slope, strict=True)]


def _orthonormal(hold: Hold, columns: Sequence[Row]) -> list[Row]:
    """Return the first two columns made orthonormal (Gram and Schmidt), and their cross product."""
    x = _unit(hold, columns[0])
    share = dotted(x, columns[1]).held(hold)
    y = _unit(hold, held(hold, [b - share * a for a, b in zip(x, columns[1], strict=True)]))
    return [x, y, held(hold, crossed(x, y))]


def _matrix(values: Sequence[DualNumber]) -> list[Row]:
    return [list(values[3 * i : 3 * i + 3]) for i in range(3)]


def _columns(rows: Sequence[Row]) -> list[Row]:
    return [list(column) for column in zip(*rows, strict=True)]


def _flat(rows: Sequence[Row]) -> Row:
    return [x for row in rows for x in row]


# -- homogeneous transforms: nine numbers of the rotation by rows, then the translation ------------
def _homogeneous_transform(hold: Hold, a: Numbers, x: Numbers) -> list[Expr]:
    rows = _matrix(_plain(a[:9]))
    return [dotted(row, _plain(x)).re + p for row, p in zip(rows, a[9:], strict=True)]


def _homogeneous_compose(hold: Hold, a: Numbers, b: Numbers) -> list[Expr]:
    rows = _matrix(_plain(a[:9]))
    first, second, _ = _columns(_matrix(_plain(b[:9])))
    x, y = (held(hold, [dotted(row, column) for row in rows]) for column in (first, second))
    turned = _columns([x, y, held(hold, crossed(x, y))])
    return [*(e.re for e in _flat(turned)), *_homogeneous_transform(hold, a, b[9:])]


def _homogeneous_invert(hold: Hold, a: Numbers) -> list[Expr]:
    columns = _columns(_matrix(_plain(a[:9])))
    place = [-dotted(column, _plain(a[9:])).re for column in columns]
    return [*(e.re for e in _flat(columns)), *place]


def _homogeneous_normalize(hold: Hold, a: Numbers) -> list[Expr]:
    columns = _orthonormal(hold, _columns(_matrix(_plain(a[:9]))))
    return [*(e.re for e in _flat(_columns(columns))), *a[9:]]


# -- a quaternion and a vector ---------------------------------------------------------------------
def _pair_transform(hold: Hold, a: Numbers, x: Numbers) -> list[Expr]:
    more = _turn(hold, _plain(a[:4]), _plain(x))
    return [e + m.re + p for e, m, p in zip(x, more, a[4:], strict=True)]


def _pair_compose(hold: Hold, a: Numbers, b: Numbers) -> list[Expr]:
    turn = _times(hold, _plain(a[:4]), _plain(b[:4]))
    return [*(e.re for e in turn), *_pair_transform(hold, a, b[4:])]


def _pair_invert(hold: Hold, a: Numbers) -> list[Expr]:
    back = [a[0], -a[1], -a[2], -a[3]]
    more = _turn(hold, _plain(back), _plain(a[4:]))
    return [*back, *(-(e + m.re) for e, m in zip(a[4:], more, strict=True))]


def _pair_normalize(hold: Hold, a: Numbers) -> list[Expr]:
    return [*(e.re for e in _unit(hold, _plain(a[:4]))), *a[4:]]


# -- dual orthogonal 3 x 3 matrices: R and [p] R ---------------------------------------------------
def _matrix_transform(hold: Hold, a: Numbers, line: Numbers) -> list[Expr]:
    return _parts([dotted(row, _dual(line)) for row in _matrix(_dual(a))])


def _matrix_compose(hold: Hold, a: Numbers, b: Numbers) -> list[Expr]:
    rows, columns = _matrix(_dual(a)), _columns(_matrix(_dual(b)))
    return _parts([dotted(row, column) for row in rows for column in columns])


def _matrix_invert(hold: Hold, a: Numbers) -> list[Expr]:
    return _parts(_flat(_columns(_matrix(_dual(a)))))


def _matrix_normalize(hold: Hold, a: Numbers) -> list[Expr]:
    return _parts(_flat(_columns(_orthonormal(hold, _columns(_matrix(_dual(a)))))))


# -- dual unit quaternions -------------------------------------------------------------------------
def _dual_transform(hold: Hold, a: Numbers, line: Numbers) -> list[Expr]:
    lines = _dual(line)
    more = _turn(hold, _dual(a), lines)
    return _parts([x + y for x, y in zip(lines, more, strict=True)])


def _dual_compose(hold: Hold, a: Numbers, b: Numbers) -> list[Expr]:
    return _parts(_times(hold, _dual(a), _dual(b)))


def _dual_invert(hold: Hold, a: Numbers) -> list[Expr]:
    w, *v = _dual(a)
    return _parts([w, *(-x for x in v)])


def _dual_normalize(hold: Hold, a: Numbers) -> list[Expr]:
    return _parts(_unit(hold, _dual(a)))


# -- dual unitary 2 x 2 matrices: four complex entries by rows -------------------------------------
def _complex(values: Numbers) -> Row:
    """Return numbers from all real parts, all dual ones, and the same of imaginary parts."""
    n = len(values) // 4
    cut = [values[k * n : k * n + n] for k in range(4)]
    return [DualNumber(*four) for four in zip(*cut, strict=True)]


def _all_parts(numbers: Sequence[DualNumber]) -> list[Expr]:
    return [x for four in zip(*(e.parts for e in numbers), strict=True) for x in four]


def _product(hold: Hold, a: Row, b: Row) -> Row:
    """Return the product of 2 x 2 matrices."""
    found = [a[2 * i] * b[j] + a[2 * i + 1] * b[2 + j] for i in range(2) for j in range(2)]
    return held(hold, found)


def _adjoint(a: Row) -> Row:
    return [a[k].conjugate() for k in (0, 2, 1, 3)]


def _unitary_transform(hold: Hold, a: Numbers, line: Numbers) -> list[Expr]:
    x, y, z = _dual(line)
    u = _complex(a)
    spin = [z, x - y.turned(), x + y.turned(), -z]
    first, _, second, _ = _product(hold, _product(hold, u, spin), _adjoint(u))
    moved = (second.re, second.im, first.re), (second.du, second.im_du, first.du)
    return [*moved[0], *moved[1]]


def _unitary_compose(hold: Hold, a: Numbers, b: Numbers) -> list[Expr]:
    return _all_parts(_product(hold, _complex(a), _complex(b)))


def _unitary_invert(hold: Hold, a: Numbers) -> list[Expr]:
    return _all_parts(_adjoint(_complex(a)))


def _unitary_normalize(hold: Hold, a: Numbers) -> list[Expr]:
    """Normalize the first row, and write the second from it."""
    first, second = _complex(a)[:2]
    four = [DualNumber(x.re, x.du) for x in (first, second)]
    four += [DualNumber(x.im, x.im_du) for x in (first, second)]
    p, q, r, s = _unit(hold, four)
    one, other = p + r.turned(), q + s.turned()
    return _all_parts([one, other, -other.conjugate(), one.conjugate()])


# -- dual Pauli spin operators: complex coefficients of 1 and of the three Pauli matrices ----------
def _spin_product(hold: Hold, a: Row, b: Row) -> Row:
    """Return (a0 + a·σ)(b0 + b·σ) = a0 b0 + a·b + (a0 b + b0 a + i a × b)·σ."""
    across = [x.turned() for x in crossed(a[1:], b[1:])]
    rest = [a[0] * y + b[0] * x + z for x, y, z in zip(a[1:], b[1:], across, strict=True)]
    return held(hold, [a[0] * b[0] + dotted(a[1:], b[1:]), *rest])


def _pauli_transform(hold: Hold, a: Numbers, line: Numbers) -> list[Expr]:
    u = _complex(a)
    moved = _spin_product(hold, u, [DualNumber(), *_dual(line)])
    return _parts(_spin_product(hold, moved, [x.conjugate() for x in u])[1:])


def _pauli_compose(hold: Hold, a: Numbers, b: Numbers) -> list[Expr]:
    return _all_parts(_spin_product(hold, _complex(a), _complex(b)))


def _pauli_invert(hold: Hold, a: Numbers) -> list[Expr]:
    return _all_parts([x.conjugate() for x in _complex(a)])


def _pauli_normalize(hold: Hold, a: Numbers) -> list[Expr]:
    w, *v = _complex(a)
    four = [DualNumber(w.re, w.du), *(DualNumber(x.im, x.im_du) for x in v)]
    size, *spin = _unit(hold, four)
    return _all_parts([size, *(x.turned() for x in spin)])


# -- from rotations and translations ---------------------------------------------------------------
def _dual_quaternion(r: Array, p: Array) -> tuple[Array, Array]:
    w, x, y, z = q = quaternion_of(r)
    a, b, c = p / 2
    moved = [-a * x - b * y - c * z, a * w + b * z - c * y, b * w + c * x - a * z]
    return q, np.array([*moved, c * w + a * y - b * x])


def _encode_matrix(r: Array, p: Array) -> Array:
    shift = np.array([[0, -p[2], p[1]], [p[2], 0, -p[0]], [-p[1], p[0], 0]]) @ r
    return np.concatenate([r.ravel(), shift.ravel()])


def _encode_unitary(r: Array, p: Array) -> Array:
    real: list[Array] = []
    imaginary: list[Array] = []
    for w, x, y, z in _dual_quaternion(r, p):
        real.append(np.array([w, -y, y, w]))
        imaginary.append(np.array([-z, -x, -x, z]))
    return np.concatenate([*real, *imaginary])


def _encode_pauli(r: Array, p: Array) -> Array:
    real: list[Array] = []
    imaginary: list[Array] = []
    for w, x, y, z in _dual_quaternion(r, p):
        real.append(np.array([w, 0, 0, 0]))
        imaginary.append(np.array([0, -x, -y, -z]))
    return np.concatenate([*real, *imaginary])


FORMALISMS: dict[str, Formalism] = {
    form.name: form
    for form in (
        Formalism(
            "homogeneous", "point", 12, _homogeneous_transform, _homogeneous_compose,
            _homogeneous_invert, _homogeneous_normalize,
            lambda r, p: np.concatenate([r.ravel(), p]),
        ),
        Formalism(
            "quaternion/vector", "point", 7, _pair_transform, _pair_compose, _pair_invert,
            _pair_normalize, lambda r, p: np.concatenate([quaternion_of(r), p]),
        ),
        Formalism(
            "dual 3x3", "line", 18, _matrix_transform, _matrix_compose, _matrix_invert,
            _matrix_normalize, _encode_matrix,
        ),
        Formalism(
            "dual quaternion", "line", 8, _dual_transform, _dual_compose, _dual_invert,
            _dual_normalize, lambda r, p: np.concatenate(_dual_quaternion(r, p)),
        ),
        Formalism(
            "dual unitary 2x2", "line", 16, _unitary_transform, _unitary_compose, _unitary_invert,
            _unitary_normalize, _encode_unitary,
        ),
        Formalism(
            "dual Pauli", "line", 16, _pauli_transform, _pauli_compose, _pauli_invert,
            _pauli_normalize, _encode_pauli,
        ),
    )
}  # fmt: skip
"""All formalisms by their names."""
