"""What all laws of force share: their ports, the tool's Jacobian, and axes by name.

Frames and signs. The six axes are those of the flange, the body or frame that carries the wrist; of
a rigid tool, its own: "x y z" along them and "rx ry rz" about them, at the tool's reference point
(its origin at rest). The port `wrench` is what the surroundings put on the tool, so a tool that
presses with 5 N along z feels -5 N there. The Jacobian has its rows along these axes too: J u is
the velocity of the reference point and the angular velocity of the flange, as the flange sees them.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol, SupportsFloat, TypeAlias, runtime_checkable

import numpy as np

from linkwright.algebra import ZERO, Expr, substitute_all
from linkwright.algebra.triples import (
    IDENTITY,
    Matrix,
    Triple,
    apply,
    dot,
    held_rows,
    matrix_product,
    transposed,
)
from linkwright.blocks import Block, BlockError, Element, Parameter, checked
from linkwright.blocks.places import AXES, Places
from linkwright.blocks.rotation_vectors import rotation_vector
from linkwright.control.joints import JointController, PerJoint, carrying_joints, motion_rows
from linkwright.mechanism import Body, Mechanism, Point, mechanism_of

PerAxis: TypeAlias = float | Sequence[float] | Mapping[str, float]
"""One number for all axes, six in the order of `AXES`, or by the name of the axis."""


@runtime_checkable
class WristLike(Protocol):
    """A wrist between flange and tool, as force laws see it."""

    @property
    def flange(self) -> Point:
        """What carries the wrist: a point of a body, with axes of its own where it is a frame."""
        ...

    @property
    def tool(self) -> Point:
        """The reference point of the tool."""
        ...

    @property
    def stiffness(self) -> Sequence[Expr]:
        """Six parameters of the wrist: N/m, N*m/rad."""
        ...

    @property
    def damping(self) -> Sequence[Expr]:
        """Six parameters of the wrist: N*s/m, N*m*s/rad."""
        ...

    @property
    def deflection(self) -> Sequence[Expr]:
        """Six expressions, along the flange's axes: m, rad; zero where the tool is not free."""
        ...

    @property
    def parameters(self) -> Mapping[str, Parameter]:
        """The parameters of the wrist by name, with their values."""
        ...


WristOrBody: TypeAlias = WristLike | Body | Point | str
"""A wrist; or, where the tool is rigid, the body or frame whose origin is its reference point."""


def selection(axes: str, what: str = "force") -> tuple[int, ...]:
    """Return the places of axes that are named, in the order of `AXES`.

    >>> selection("z rx ry")
    (2, 3, 4)
    """
    if not isinstance(axes, str):
        raise BlockError(f"{what} is {axes!r}", remedy=f"name axes, as in {what}='z rx ry'")
    words = axes.replace(",", " ").split()
    _known(words, what)
    if len(set(words)) < len(words):
        raise BlockError(f"{what}={axes!r} names an axis twice")
    if not words:
        raise BlockError(f"{what} selects no axis", remedy=f"name one or more of {' '.join(AXES)}")
    return tuple(k for k, axis in enumerate(AXES) if axis in words)


def _known(words: Iterable[str], what: str) -> None:
    unknown = [word for word in words if word not in AXES]
    if unknown:
        raise BlockError(
            f"{what} names {', '.join(map(repr, unknown))}, which is not an axis",
            remedy=f"the axes are {' '.join(AXES)}",
        )


def per_axis(given: PerAxis, what: str, *, least: float = -float("inf")) -> list[float]:
    """Return a number for each of the six axes; those that are not named get zero.

    >>> per_axis({"z": 5}, "push")
    [0.0, 0.0, 5.0, 0.0, 0.0, 0.0]
    """
    given = plain(given)
    if isinstance(given, Mapping):
        _known(given, what)
        found = [given.get(axis, 0.0) for axis in AXES]
    elif isinstance(given, SupportsFloat):
        found = [float(given)] * len(AXES)
    elif not _is_list(given):
        raise BlockError(f"{what} is {given!r}", remedy="give a number, six, or numbers by axis")
    elif len(given) != len(AXES):
        raise BlockError(f"{what} has {len(given)} numbers for {len(AXES)} axes")
    else:
        found = list(given)
    rows = zip(found, AXES, strict=True)
    return [checked(value, f"{what} of {axis!r}", least=least) for value, axis in rows]


def plain(given: PerAxis | np.ndarray) -> PerAxis:
    """Return numbers by axis with lists in place of NumPy's arrays."""
    if isinstance(given, np.ndarray):
        listed: PerAxis = given.tolist()
        return listed
    return given


def _is_list(given: object) -> bool:
    return hasattr(given, "__len__") and not isinstance(given, str)


@dataclass(frozen=True, slots=True)
class ToolPlacement:
    """Where the tool's rest place is, for some values of the joints.

    Args:
        rotation: rows of the matrix from the flange's axes to the ground's.
        position: of the reference point in the ground's axes, m.
        jacobian: six rows along the flange's axes, one column for each joint.
    """

    rotation: Matrix
    position: Triple
    jacobian: tuple[tuple[Expr, ...], ...]


class ForceLaw(JointController):
    """A law that feels a wrench on a tool; base of the laws of force.

    Beside the ports of joint controllers it has `wrench` (6: N, N*m): what the surroundings put on
    the tool, along the flange's axes, about the tool's reference point. With a compliant wrist it
    is the wrist's output of that name, stiffness times deflection, unless a sensor is connected.

    Args:
        name: of the element.
        mechanism: what is driven.
        wrist: a compliant wrist; or the body, link or frame that is the tool, where it is rigid
            and a sensor gives the wrench.
        joints: names of the coordinates; by default all that can be driven up to the flange.
        target: where the joints should be, rad or m.
        stiffness: of the wrist as the law believes it to be, N/m and N*m/rad; the wrist's own by
            default.
        axes: that the joints can move, such as "x y rz" for a planar arm; by default those that
            they move at all.

    >>> import linkwright as lw
    >>> m = lw.Mechanism("press")
    >>> slide = m.body("slide", translate="z", mass=1)
    >>> law = ForceLaw("law", m, slide, None, None)
    >>> law.inputs["wrench"].shape, [AXES[k] for k in law.moved]
    ((6,), ['z'])
    """

    def __init__(
        self,
        name: str,
        mechanism: Any,
        wrist: WristOrBody,
        joints: Iterable[str] | None,
        target: PerJoint | None,
        *,
        stiffness: PerAxis | None = None,
        axes: str | None = None,
    ) -> None:
        m = mechanism_of(mechanism)
        self.flange, self.tool = _ends(m, wrist)
        chosen = _joints_to(m, self.flange.body) if joints is None else list(joints)
        super().__init__(name, mechanism, chosen, target)
        self.wrist = wrist if isinstance(wrist, WristLike) else None
        given = _stiffness(self.wrist) if stiffness is None else stiffness
        self.stiffness: tuple[Expr, ...] = ()
        if given is not None:
            self.stiffness = self._stiff(per_axis(given, "stiffness", least=0.0))
        if stiffness is None and isinstance(self.wrist, Block):
            for k, own in zip(self.stiffness, self.wrist.stiffness, strict=True):
                self.default_source(k.name, self.wrist, own.name)
        self.wrench = self.input_vector(
            "wrench", 6, doc="what the surroundings put on the tool, N and N*m"
        )
        if isinstance(self.wrist, Block):
            self.default_source("wrench", self.wrist, "wrench")
        self.frame = self.tool_frame(self.q)
        self.moved = self._moved(axes)

    def _stiff(self, numbers: Sequence[float]) -> tuple[Expr, ...]:
        rows = zip(AXES, numbers, ("N/m",) * 3 + ("N*m/rad",) * 3, strict=True)
        return tuple(
            self.parameter(f"stiffness_{axis}", k, unit=unit, lower=0.0) for axis, k, unit in rows
        )

    def believed_deflection(self) -> list[Expr]:
        """Return the wrench over the stiffness: the deflection of the wrist, m and rad."""
        if not self.stiffness:
            raise BlockError(
                f"{self.name!r} knows no stiffness of a wrist",
                remedy="give a CompliantWrist, or stiffness=[...] of the six axes",
            )
        soft = [x for x, k in zip(AXES, self.stiffness, strict=True) if not self._value(k)]
        if soft:
            raise BlockError(
                f"{self.name!r} is given a stiffness of zero for {' '.join(soft)}, which says "
                "nothing of the deflection there",
                remedy="give stiffnesses above zero",
            )
        return [w / k for w, k in zip(self.wrench, self.stiffness, strict=True)]

    def _value(self, parameter: Expr) -> float:
        return self.parameters[parameter.name].value

    # -- kinematics --------------------------------------------------------------------------------
    def tool_frame(self, at: Sequence[Expr]) -> ToolPlacement:
        """Return the tool's rest place and its Jacobian, as named partial results.

        Args:
            at: values of the joints; for those that are measured, `frame` is it already.
        """
        known: dict[Expr, Expr | float] = dict(zip(self.joints, at, strict=True))
        known |= {s.symbol: 0.0 for s in self.mechanism.kinematics().speeds}
        for body in self.tool.body.ancestors():  # at rest the tool's own coordinates are zero
            if body is self.flange.body:
                break
            known |= dict.fromkeys(body.coordinates, 0.0)

        def name(x: Expr) -> Expr:
            (found,) = substitute_all([x], known)
            return found if found.is_atom else self.intermediate(found)

        places = Places(name)
        axes = [places.outward(self.flange, unit) for unit in IDENTITY]
        position = self._triple(substitute_all(places.position(self.tool), known))
        rotation = held_rows(
            self.intermediate, [substitute_all(row, known) for row in zip(*axes, strict=True)]
        )
        inward = tuple(zip(*rotation, strict=True))
        rows = motion_rows(
            self,
            self.joints,
            (self.flange.body, position),
            places,
            lambda v: apply(inward, v),
            lambda v: substitute_all(v, known),
        )
        return ToolPlacement(rotation, position, rows)

    def turn_between(self, start: Matrix, end: Matrix) -> Triple:
        """Return the rotation vector from some axes to others, along the former, rad.

        Args:
            start: rows of the matrix from the former axes to the ground's.
            end: rows of the matrix from the latter axes to the ground's.
        """
        between = held_rows(self.intermediate, matrix_product(transposed(start), end))
        return self._triple(rotation_vector(between, self._one))

    def _one(self, x: Expr) -> Expr:
        return x if x.is_atom else self.intermediate(x)

    def _moved(self, axes: str | None) -> tuple[int, ...]:
        """Return the axes along which the joints move the tool."""
        n = len(self.joints)
        if axes is not None:
            chosen = selection(axes, "axes")
        else:
            rows = self.frame.jacobian
            chosen = tuple(k for k in range(6) if any(x is not ZERO for x in rows[k]))
        if len(chosen) > n:
            names = " ".join(AXES[k] for k in chosen)
            raise BlockError(
                f"{self.name!r} has {n} joint{'s' * (n != 1)} for the {len(chosen)} axes {names}",
                remedy=f"name at most {n} of them as axes=",
            )
        return chosen

    def joint_motion(
        self, frame: ToolPlacement, motion: Sequence[Expr], damping: Expr | None = None
    ) -> list[Expr]:
        """Return the motion of the joints that moves the tool, J^-1 times it.

        With more joints than axes it is the smallest one. Damping d makes it
        J' (J J' + d^2)^-1 times the motion (damped least squares), which stays small at a singular
        pose.

        Args:
            frame: where the tool is.
            motion: along the six axes; those that the joints cannot move do not count.
            damping: m; none by default.
        """
        rows = [frame.jacobian[k] for k in self.moved]
        right = [motion[k] for k in self.moved]
        n = len(rows)
        if damping is None and n == len(self.joints):
            return self.solved(rows, right)
        square = [[self.intermediate(dot(a, b)) for b in rows] for a in rows]
        if damping is not None:
            for k in range(n):
                square[k][k] = square[k][k] + damping**2
        part = self.solved(square, right)
        columns = zip(*rows, strict=True)
        return [self.intermediate(dot(column, part)) for column in columns]

    def solved(self, matrix: Sequence[Sequence[Expr]], right: Sequence[Expr]) -> list[Expr]:
        """Return the solution of a small system, with pivoting at run time.

        Args:
            matrix: its rows.
            right: the right side.
        """
        if len(matrix) == 1:
            return [self.intermediate(right[0] / matrix[0][0])]
        return list(self._solved(matrix, right)[0])


def _ends(m: Mechanism, wrist: Any) -> tuple[Point, Point]:
    """Return the flange and the reference point of the tool."""
    if isinstance(wrist, WristLike):
        return wrist.flange, wrist.tool
    if not isinstance(wrist, Body | Point | str):
        raise BlockError(
            f"{wrist!r} is not a wrist", remedy="give a CompliantWrist, or a body for a rigid tool"
        )
    tool = Element("tool", m).point_at(wrist)
    if tool.body is m.ground:
        raise BlockError(f"the flange {tool.name!r} is not a body of {m.name!r} that moves")
    return tool, tool


def _joints_to(m: Mechanism, flange: Body) -> list[str]:
    """Return the coordinates that can be driven and that carry the flange."""
    found = carrying_joints(m, flange)
    if not found:
        raise BlockError(
            f"no joint that can be driven carries {flange.name!r}",
            remedy="name the joints of the arm as joints=[...]",
        )
    return found


def _stiffness(wrist: WristLike | None) -> list[float] | None:
    """Return the numbers of a wrist's stiffness."""
    return None if wrist is None else [wrist.parameters[k.name].value for k in wrist.stiffness]
