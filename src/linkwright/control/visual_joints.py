"""What image-based laws share: joints that move a camera so that errors in its picture die out.

With e the errors of what is seen and J their rates for each joint's speed (the interaction matrix
times the camera's Jacobian), joint rates are -gain (J' J + d^2)^-1 J' e, damped least squares, so
that they stay small where the joints cannot do what is asked.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from linkwright.algebra import Expr, sqrt, where
from linkwright.algebra.triples import Triple, apply, dot
from linkwright.base.rotations import exact
from linkwright.blocks import (
    BlockError,
    Element,
    Location,
    Rate,
    Sampled,
    checked_all,
    checked_rotation,
)
from linkwright.control.joints import carrying_joints, driven_joints, motion_rows
from linkwright.control.visual_compensator import sightings
from linkwright.mechanism import Body, Mechanism

UNTURNED = ((1.0, 0.0, 0.0), (0.0, 1.0, 0.0), (0.0, 0.0, 1.0))


class ImageLaw(Element):
    """A law that moves a camera by joints; base of the image-based laws.

    Its outputs are `command` and `command_rate` for each joint, to be connected to `target` and
    `target_rate` of a servo; `twist`, the camera's motion that these make (m/s and rad/s, along its
    own axes); `distance`, the length of the vector of errors; `missed` and `lost` as those of
    `VisualCompensator`. Rates hold over fields that are missed, and are zero once it is lost.

    Args:
        name: of the element.
        mechanism: what is driven.
        at: where the camera sits: a point, a body for its origin, or a name.
        joints: names of the coordinates; by default all that move the camera.
        rotation: rows of the matrix from the camera's axes to those of where it sits.
        focal: of the camera as the law believes it to be, pixels along u and v.
        center: where its axis meets the picture, pixels.
        pixels: width and height of the picture; twice the center by default.
        gain: how fast errors die out, 1/s; less than 1 over the time of all delays together.
        damping: d, of the least squares.
        patience: instants for which rates are held where nothing is seen.
    """

    def __init__(
        self,
        name: str,
        mechanism: Any,
        at: Location,
        joints: Iterable[str] | None,
        *,
        rotation: Sequence[Sequence[float]],
        focal: Sequence[float],
        center: Sequence[float],
        pixels: Sequence[float] | None,
        gain: float,
        damping: float,
        patience: float,
    ) -> None:
        probe = Element("probe", mechanism)
        self.camera = probe.point_at(at)
        chosen = _movers(probe.mechanism, self.camera.body) if joints is None else list(joints)
        super().__init__(name, mechanism)
        self.joints = [q for q, _ in driven_joints(self.mechanism, chosen)]
        self.q = self.input_vector("q", len(self.joints), self.joints, doc="measured coordinates")
        self._turn = checked_rotation(rotation, f"rotation of {name!r}")
        lens = checked_all(focal, f"focal of {name!r}", count=2, least=1e-9)
        axis = checked_all(center, f"center of {name!r}", count=2)
        whole = [2 * x for x in axis] if pixels is None else pixels
        self._size = checked_all(whole, f"pixels of {name!r}", count=2, least=1)
        self._lens = [
            self.parameter(f"focal_{c}", x, unit="1", sign="positive")
            for c, x in zip("uv", lens, strict=True)
        ]
        self._axis = [
            self.parameter(f"center_{c}", x, unit="1") for c, x in zip("uv", axis, strict=True)
        ]
        self._gain = self.parameter("gain", gain, unit="1/s", lower=0.0)
        self.require(self._gain * self.period < 2, "or errors grow from instant to instant")
        self._damping = self.parameter("damping", damping, lower=0.0)
        self._missed, self._fresh, self._lost = sightings(self, patience)
        tip = self.position(self.camera)
        self.jacobian = motion_rows(
            self, self.joints, (self.camera.body, tip), self.places, self._inward
        )

    @property
    def needs_rate(self) -> bool:
        """It works at instants."""
        return True

    def check_rate(self, rate: Rate) -> None:
        """Reject a rate with which the errors grow from instant to instant."""
        super().check_rate(rate)
        gain = self.parameters["gain"].value
        if isinstance(rate, Sampled) and gain * float(rate.period) >= 2:
            raise BlockError(
                f"the gain of {self.name!r}, {gain:g} 1/s, is too much for a period of "
                f"{float(rate.period):g} s",
                remedy=f"give less than {2 / float(rate.period):g}, and less with delays",
            )

    def check_goal(self, u: float, v: float) -> None:
        """Reject a goal that lies outside the picture, where nothing is ever seen.

        Args:
            u: along the lines, pixels.
            v: across them.
        """
        wide, high = self._size
        if not (0 <= u <= wide and 0 <= v <= high):
            raise BlockError(
                f"wanted of {self.name!r} has ({u:g}, {v:g}), outside the picture of {wide:g} by "
                f"{high:g} pixels",
                remedy="give a goal inside, or the camera's size as pixels=",
            )

    def slopes(self, u: Expr, v: Expr) -> tuple[Expr, Expr]:
        """Return a place in the picture as slopes.

        Args:
            u: along the lines, pixels.
            v: across them.
        """
        (fx, fy), (cx, cy) = self._lens, self._axis
        return self.intermediate((u - cx) / fx), self.intermediate((v - cy) / fy)

    def _inward(self, v: Sequence[Expr]) -> Triple:
        """Return components along the camera's axes from those along the ground's."""
        inside = self.places.inward(self.camera, v)
        return apply([[exact(e) for e in row] for row in zip(*self._turn, strict=True)], inside)

    def close(self, errors: Sequence[Expr], rows: Sequence[Sequence[Expr]]) -> None:
        """Say the errors and their interaction matrix, and put out what the joints do.

        Args:
            errors: what is seen less what is wanted.
            rows: six numbers for each error.
        """
        hold, n = self.intermediate, len(self.joints)
        columns = list(zip(*self.jacobian, strict=True))
        J = [[hold(dot(row, column)) for column in columns] for row in rows]
        square = [[hold(dot(a, b)) for b in zip(*J, strict=True)] for a in zip(*J, strict=True)]
        for k in range(n):
            square[k][k] = square[k][k] + self._damping**2
        right = [hold(dot(column, errors)) for column in zip(*J, strict=True)]
        (way,) = self._solved(square, right)
        rates, commands = [], []
        begun = self.discrete_state("begun", 1.0, unit="1")
        for k, q in enumerate(self.q):
            kept = self.discrete_state(f"rate{k}_kept")
            place = self.discrete_state(f"place{k}")
            rate = hold(
                where(self._fresh > 0, -self._gain * way[k], where(self._lost > 0, 0, kept))
            )
            now = hold(where(begun > 0, place, q))
            self.update(kept, rate)
            self.update(place, now + self.period * rate)
            rates.append(rate)
            commands.append(now)
        self.output_vector("command", commands, doc="wanted coordinates")
        self.output_vector("command_rate", rates, doc="wanted speeds")
        twist = [dot(row, rates) for row in self.jacobian]
        self.output_vector("twist", twist, doc="of the camera, along its own axes")
        away = self.discrete_state("away")  # of the last field; 0 before the first
        distance = hold(where(self._fresh > 0, sqrt(dot(errors, errors)), away))
        self.update(away, distance)
        self.output("distance", distance, doc="length of the errors")
        self.output("missed", self._missed, unit="1", doc="instants without a field")
        self.output("lost", self._lost, unit="1", doc="1 where nothing has been seen for too long")


def _movers(m: Mechanism, body: Body) -> list[str]:
    """Return the coordinates that move a body."""
    found = carrying_joints(m, body)
    if not found:
        raise BlockError(
            f"no joint of {m.name!r} moves {body.name!r}",
            remedy="put the camera on a body that joints move, or name them as joints=",
        )
    return found
