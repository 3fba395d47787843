"""The joint that a table of a text model names."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import reduce
from inspect import signature
from typing import Any, TypeAlias

from linkwright.algebra import Expr
from linkwright.algebra.rotations import matrix_product, simple_cosines
from linkwright.algebra.triples import IDENTITY, Matrix, apply
from linkwright.base.errors import InputError
from linkwright.formats.text import tables
from linkwright.mechanism import joints
from linkwright.mechanism.joint_kinds import JOINTS, OWN_AXIS
from linkwright.mechanism.joints import Joint, axis_list

_BLOCK = frozenset({"translate", "rotate", "body_axis", "first_axis", "reference", "lead"})
_BLOCK |= {"offset", "matrix", "at_origin"}
_NAMED = frozenset({"axis", "axes", "sequence", "quaternion", "pitch"})

Rows: TypeAlias = tuple[tuple[Expr, Expr, Expr], ...]


def joint_of(table: tables.BodyTable | tables.LoopTable) -> Joint:
    """Return the joint of a body or loop.

    >>> joint_of(tables.BodyTable(name="b", joint="planar")).translate
    ('x', 'y')
    """
    given = {
        key
        for key in _BLOCK | _NAMED
        if getattr(table, key, None) is not None and getattr(table, key) is not False
    }
    if table.joint is None:
        assert isinstance(table, tables.BodyTable)
        _refuse(given & (_NAMED - {"quaternion"}), "needs a `joint` by its name")
        return Joint(
            axis_list(_tuples(table.translate)),
            axis_list(_tuples(table.rotate)),
            quaternion=table.quaternion,
            body_axis=table.body_axis,
            first_axis=_tuples(table.first_axis),
            reference=_tuples(table.reference),
            advance_per_radian=0 if table.advance_per_radian is None else table.advance_per_radian,
            offset=0 if table.offset is None else table.offset,
            matrix=_tuples(table.matrix),
            at_origin=table.at_origin,
        )
    word, own = OWN_AXIS.get(table.joint, (table.joint, ""))
    maker = maker_of(word)
    if own:
        _refuse(given, f"is not a key of a {table.joint} joint", ())
        return maker(axis=own)
    needed, allowed = keys_of(word)
    if needed - given:
        key = min(needed - given)
        raise InputError(f"a {table.joint} joint needs the key {key!r}", remedy=f"add {key} = ...")
    own_keys = (*sorted(needed), *sorted(allowed))
    _refuse(given - needed - allowed, f"is not a key of a {table.joint} joint", own_keys)
    return maker(**{key: _tuples(getattr(table, key)) for key in given})


def maker_of(kind: str) -> Callable[..., Joint]:
    """Return the function that makes a joint of a kind."""
    make = JOINTS[kind].make
    found: Callable[..., Joint] = getattr(joints, make) if isinstance(make, str) else make
    return found


def keys_of(kind: str) -> tuple[frozenset[str], frozenset[str]]:
    """Return the keys that a joint needs, and those that it may have besides."""
    given = signature(maker_of(kind)).parameters.values()
    needed = frozenset(p.name for p in given if p.default is p.empty)
    return needed, frozenset(p.name for p in given) - needed


def loop_joint(joint: Joint) -> tuple[str, list[Any]] | None:
    """Return the name and the axes of a joint that closes a loop; None for one without a name.

    >>> from linkwright.mechanism import Universal
    >>> loop_joint(Universal("x", "y"))
    ('universal', ['x', 'y'])
    """
    slides, turns = len(joint.translate), len(joint.rotate)
    if joint.second is not None:
        return "universal", [*joint.rotate, *joint.second.rotate]
    kind = _LOOPS.get((slides, turns))
    if kind is None or joint.matrix is not None:
        return None
    return kind, [] if turns in (0, 3) and not slides else [(*joint.rotate, *joint.translate)[0]]


_LOOPS = {
    (0, 0): "weld",
    (0, 1): "revolute",
    (1, 0): "prismatic",
    (1, 1): "cylindrical",
    (2, 1): "planar",
    (0, 3): "ball",
}


def rotation_of(turns: Sequence[tuple[str, Any]], expr: Callable[[Any], Expr]) -> Rows:
    """Return the rows of the rotation by turns about moving axes, one after another.

    Column k holds axis k of the turned frame, in components of the frame that it was turned from.

    Units: `turns` in rad.

    >>> from linkwright.algebra import as_expr
    >>> rotation_of([("z", as_expr(2) * 0)], as_expr)[0]
    (1, 0, 0)
    """
    steps = [simple_cosines("xyz".index(axis), expr(angle)) for axis, angle in turns]
    start: Matrix = IDENTITY
    cosines = reduce(lambda above, step: matrix_product(step, above), steps, start)
    return tuple(zip(*cosines, strict=True))


def turned_joint(joint: Joint, rows: Rows, expr: Callable[[Any], Expr]) -> Joint:
    """Return a joint whose frame is turned in the parent's by a rotation.

    A rotation about one axis, or three, says where its body's axes are at zero by `body_axis`,
    `first_axis` and `reference`; all else has a matrix.

    >>> from linkwright.algebra import as_expr
    >>> quarter = ((0, -1, 0), (1, 0, 0), (0, 0, 1))
    >>> rows = tuple(tuple(as_expr(x) for x in row) for row in quarter)
    >>> turned_joint(Joint(rotate=("x",)), rows, as_expr).rotate
    ((0, 1, 0),)
    """
    placed = joint.body_axis, joint.first_axis, joint.reference, joint.matrix
    if joint.quaternion or joint.second is not None or any(x is not None for x in placed):
        raise _cannot_turn()
    slides = tuple(_turned(axis, rows, expr) for axis in joint.translate)
    if not joint.rotate:
        return replace(joint, translate=slides, matrix=rows)
    first = joint.rotate[0]
    if first not in ("x", "y", "z"):
        raise _cannot_turn()
    k = "xyz".index(first)
    along, reference = _column(rows, k), _column(rows, (k + 1) % 3)
    if len(joint.rotate) == 3:
        return replace(joint, translate=slides, first_axis=along, reference=reference)
    return replace(joint, translate=slides, rotate=(along,), body_axis=first, reference=reference)


def _column(rows: Rows, k: int) -> tuple[Expr, Expr, Expr]:
    x, y, z = (row[k] for row in rows)
    return x, y, z


def _turned(axis: Any, rows: Rows, expr: Callable[[Any], Expr]) -> tuple[Expr, ...]:
    """Return the components in the parent of an axis of the joint's frame."""
    if isinstance(axis, str) and axis.lstrip("-") in ("x", "y", "z"):
        k, sign = "xyz".index(axis[-1]), -1 if axis[0] == "-" else 1
        return tuple(sign * x for x in _column(rows, k))
    if not isinstance(axis, tuple):
        raise _cannot_turn()
    parts = [expr(x) for x in axis]
    return apply(rows, parts)


def _cannot_turn() -> InputError:
    return InputError(
        "the frame of this joint cannot be turned by `turn`",
        remedy="weld a body without mass to the parent, turn that, and hang this body on it",
        code="R102",
    )


def _refuse(keys: set[str] | frozenset[str], why: str, known: Sequence[str] | None = None) -> None:
    if keys:
        has = "" if known is None else f"it has {', '.join(known) or 'none of its own'}; "
        raise InputError(f"`{min(keys)}` {why}", remedy=f"{has}see the page *Text models*")


def _tuples(value: Any) -> Any:
    return tuple(_tuples(x) for x in value) if isinstance(value, list) else value
