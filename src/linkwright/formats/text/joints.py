"""The joint that a table of a text model names."""

from __future__ import annotations

from typing import Any

from linkwright.errors import InputError
from linkwright.formats.text import schema
from linkwright.mechanism.joints import (
    Ball,
    Cylindrical,
    Free,
    Joint,
    Planar,
    Prismatic,
    Revolute,
    Screw,
    Universal,
    Weld,
    axes,
)

# Which keys each joint by name needs and may have, beside those of every body.
_KEYS: dict[str, tuple[frozenset[str], frozenset[str]]] = {
    "revolute": (frozenset({"axis"}), frozenset({"body_axis", "reference", "offset"})),
    "prismatic": (frozenset({"axis"}), frozenset()),
    "screw": (frozenset({"axis", "pitch"}), frozenset()),
    "cylindrical": (frozenset({"axis"}), frozenset()),
    "universal": (frozenset({"axes"}), frozenset()),
    "ball": (frozenset(), frozenset({"sequence", "quaternion"})),
    "planar": (frozenset(), frozenset({"axis"})),
    "free": (frozenset(), frozenset({"sequence", "quaternion", "at_origin"})),
    "weld": (frozenset(), frozenset({"matrix"})),
}
_BLOCK = frozenset({"translate", "rotate", "body_axis", "first_axis", "reference", "lead"})
_BLOCK |= {"offset", "matrix", "at_origin"}
_NAMED = frozenset({"axis", "axes", "sequence", "quaternion", "pitch"})


def joint_of(table: schema.Body | schema.Loop) -> Joint:
    """Return the joint of a body or loop.

    >>> joint_of(schema.Body(name="b", joint="planar")).translate
    ('x', 'y')
    """
    given = {
        key
        for key in _BLOCK | _NAMED
        if getattr(table, key, None) is not None and getattr(table, key) is not False
    }
    if table.joint is None:
        assert isinstance(table, schema.Body)
        _refuse(given & (_NAMED - {"quaternion"}), "needs a `joint` by its name")
        return Joint(
            axes(_tuples(table.translate)),
            axes(_tuples(table.rotate)),
            quaternion=table.quaternion,
            body_axis=table.body_axis,
            first_axis=_tuples(table.first_axis),
            reference=_tuples(table.reference),
            lead=0 if table.lead is None else table.lead,
            offset=0 if table.offset is None else table.offset,
            matrix=_tuples(table.matrix),
            at_origin=table.at_origin,
        )
    needed, allowed = _KEYS[table.joint]
    if needed - given:
        key = min(needed - given)
        raise InputError(f"a {table.joint} joint needs the key {key!r}", remedy=f"add {key} = ...")
    _refuse(given - needed - allowed, f"is not a key of a {table.joint} joint")
    return _named(table)


def _refuse(keys: set[str] | frozenset[str], why: str) -> None:
    if keys:
        raise InputError(f"`{min(keys)}` {why}", remedy="see docs/text-models.md")


def _named(table: schema.Body | schema.Loop) -> Joint:
    kind, axis = table.joint, _tuples(table.axis)
    if kind == "revolute":
        more = {k: _tuples(getattr(table, k, None)) for k in ("body_axis", "reference")}
        offset = getattr(table, "offset", None)
        return Revolute(axis, **more, offset=0 if offset is None else offset)
    if kind == "prismatic":
        return Prismatic(axis)
    if kind == "screw":
        return Screw(axis, 0 if table.pitch is None else table.pitch)
    if kind == "cylindrical":
        return Cylindrical(axis)
    if kind == "universal":
        pair = axes(_tuples(table.axes))
        if len(pair) != 2:
            raise InputError(
                "a universal joint has two axes", remedy='write them as axes = ["x", "y"]'
            )
        return Universal(*pair)
    if kind == "planar":
        return Planar("z" if axis is None else axis)
    if kind == "weld":
        return Weld(_tuples(getattr(table, "matrix", None)))
    sequence = "xyz" if table.sequence is None else table.sequence
    if kind == "ball":
        return Ball(sequence, quaternion=table.quaternion)
    at_origin = getattr(table, "at_origin", False)
    return Free(sequence, quaternion=table.quaternion, at_origin=at_origin)


def _tuples(value: Any) -> Any:
    return tuple(_tuples(x) for x in value) if isinstance(value, list) else value
