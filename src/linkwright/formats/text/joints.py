"""The joint that a table of a text model names."""

from __future__ import annotations

from typing import Any

from linkwright.errors import InputError
from linkwright.formats.text import tables
from linkwright.joint_kinds import JOINTS
from linkwright.mechanism.joints import Joint, axis_list

_BLOCK = frozenset({"translate", "rotate", "body_axis", "first_axis", "reference", "lead"})
_BLOCK |= {"offset", "matrix", "at_origin"}
_NAMED = frozenset({"axis", "axes", "sequence", "quaternion", "pitch"})


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
    kind = JOINTS[table.joint]
    needed, allowed = kind.keys
    if needed - given:
        key = min(needed - given)
        raise InputError(f"a {table.joint} joint needs the key {key!r}", remedy=f"add {key} = ...")
    _refuse(given - needed - allowed, f"is not a key of a {table.joint} joint")
    made: Joint = kind.maker(**{key: _tuples(getattr(table, key)) for key in given})
    return made


def _refuse(keys: set[str] | frozenset[str], why: str) -> None:
    if keys:
        raise InputError(f"`{min(keys)}` {why}", remedy="see docs/text-models.md")


def _tuples(value: Any) -> Any:
    return tuple(_tuples(x) for x in value) if isinstance(value, list) else value
