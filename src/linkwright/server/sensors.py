"""Sensor nodes: any function of time, sampled at a rate, as observations for the coordinator.

Simulated sensors see a given truth: a function of time, or of a cell's state. Their noise depends
on seed and sample alone, so the same node says the same again, in whatever order it is asked.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from linkwright.base.errors import InputError, unknown
from linkwright.base.reprs import brief
from linkwright.base.rotations import exponential, quaternion_matrix, quaternion_product
from linkwright.blocks import checked, checked_all
from linkwright.server.clocks import SECOND
from linkwright.server.coordinator.motions import checked_pose
from linkwright.server.coordinator.observations import WORLD, Observation

if TYPE_CHECKING:
    from linkwright.server.network import Credentials
    from linkwright.server.node_link import NodeLink

Array = NDArray[np.float64]
Truth = Callable[[float], ArrayLike]
SIZES = {"point": (3, 3), "pose": (7, 6), "wrench": (6, 6)}
"""Of each kind: how many numbers a value has, and the freedom of its error."""


@dataclass(frozen=True, slots=True)
class Sight:
    """What a sensor sees at one time.

    Args:
        value: its numbers.
        covariance: of its error: a matrix row by row, or its diagonal; empty for the node's own.
        label: what it is; empty for the node's own.

    >>> Sight((0.1, 0.2, 0.3), label="ball").label
    'ball'
    """

    value: tuple[float, ...]
    covariance: tuple[float, ...] = ()
    label: str = ""


Looking = Callable[[float], Any]


@dataclass(frozen=True, slots=True)
class SensorNode:
    """A sensor: what it sees at its times; made by `sensor`.

    Args:
        name: of the node.
        function: what it sees, of time in s on the cell's clock.
        rate: samples in a second.
        kind: "pose", "point" or "wrench".
        label: of what it sees.
        frame: in which it speaks.
        covariance: of the error of a value.
        independent: whether its errors are independent of those of others.

    >>> node = sensor(lambda t: (t, 0, 0), 10, name="eye", kind="point", covariance=1e-6)
    >>> [one.value for one in node.sampled(0.25)]
    [(0.0, 0.0, 0.0), (0.1, 0.0, 0.0), (0.2, 0.0, 0.0)]
    """

    name: str
    function: Looking
    rate: float
    kind: str = "pose"
    label: str = ""
    frame: str = WORLD
    covariance: tuple[float, ...] = ()
    independent: bool = True

    def seen(self, time: int, first: int = 0, *, bound: float = 0.0) -> tuple[Observation, ...]:
        """Return what it sees at a time.

        Args:
            time: ns on the cell's clock.
            first: sequence of the first observation; the others follow.
            bound: s, by how much the time may be wrong.
        """
        sights = _sights(self.function(time / SECOND), self.name)
        return tuple(
            Observation(
                source=self.name,
                time=time,
                kind=self.kind,
                value=self._numbers(sight),
                covariance=tuple(map(float, sight.covariance or self.covariance)),
                frame=self.frame,
                label=sight.label or self.label,
                sequence=first + k,
                bound=bound,
                independent=self.independent,
            )
            for k, sight in enumerate(sights)
        )

    def sampled(self, until: float, start: int = 0) -> Iterator[Observation]:
        """Yield what it sees in virtual time, sample by sample.

        Args:
            until: s after the start, not included.
            start: ns on the cell's clock.
        """
        count = 0
        for n in range(math.ceil(until * self.rate - 1e-9)):
            for one in self.seen(start + round(n * SECOND / self.rate), count):
                yield one
                count += 1

    def feed(self, cell: str, *, credentials: Credentials | None = None) -> NodeLink:
        """Sample and send in a thread of its own, until the link is closed.

        Args:
            cell: whose coordinator is fed: its name on this machine, or the coordinator's address.
            credentials: for TLS.
        """
        from linkwright.server.node_link import NodeLink

        return NodeLink(self, cell, credentials)

    def _numbers(self, sight: Sight) -> tuple[float, ...]:
        numbers, freedom = SIZES[self.kind]
        given = checked_all(sight.value, f"what {self.name!r} sees", count=numbers)
        covariance = sight.covariance or self.covariance
        if len(covariance) not in (freedom, freedom**2):
            raise InputError(
                f"{self.name!r} gives a covariance of {len(covariance)} numbers",
                remedy=f"give one number, {freedom}, or {freedom} by {freedom}",
            )
        return given


def sensor(
    function: Looking,
    rate: float,
    *,
    name: str = "sensor",
    kind: str = "pose",
    label: str = "",
    frame: str = WORLD,
    covariance: ArrayLike = (),
    independent: bool = True,
) -> SensorNode:
    """Make a sensor node of any function.

    Args:
        function: of time in s on the cell's clock. It returns the numbers of one value; a `Sight`
            with a covariance and a label of its own; several of them; or None where it sees
            nothing.
        rate: samples in a second.
        name: of the node.
        kind: "pose" (x, y, z in m and a unit quaternion w, x, y, z), "point" (x, y, z) or
            "wrench" (force in N, moment in N m).
        label: of what it sees, such as the name of a sensed frame; empty where it is to be found
            out which object it is.
        frame: in which it speaks, one of the coordinator's.
        covariance: of the error of a value, in the axes of the frame: a matrix, its diagonal, or
            one number for all; the error of an orientation is a rotation vector.
        independent: whether its errors are independent of those of others; those of something that
            has been filtered are not.

    >>> eye = sensor(
    ...     lambda t: (0.5 * t, 0, 0, 1, 0, 0, 0), 50, label="conveyor", covariance=1e-6
    ... )
    >>> eye.seen(2_000_000_000)[0].value[0]
    1.0
    """
    if kind not in SIZES:
        raise unknown("kind of observation", kind, SIZES)
    if not callable(function):
        raise InputError(
            f"{brief(function)} is not a function", remedy="give a function of time in s"
        )
    freedom = SIZES[kind][1]
    try:
        given = np.asarray(covariance, dtype=float)
    except (TypeError, ValueError):
        raise InputError(
            f"the covariance of {name!r} is {brief(covariance)}", remedy="give numbers"
        ) from None
    spread = np.full(freedom, float(given)) if given.ndim == 0 else given.ravel()
    return SensorNode(
        name,
        function,
        checked(rate, f"the rate of {name!r}", above=0.0),
        kind,
        label,
        frame,
        tuple(map(float, spread)),
        independent,
    )


def merged(nodes: Iterable[SensorNode], until: float) -> list[Observation]:
    """Return what several nodes see in virtual time, in the order of time.

    Args:
        nodes: with different names.
        until: s, not included.

    >>> nodes = [
    ...     sensor(lambda t: (t, 0, 0), 2, name=n, kind="point", covariance=1) for n in "ba"
    ... ]
    >>> [(one.source, one.time // 1_000_000) for one in merged(nodes, 1.0)]
    [('a', 0), ('b', 0), ('a', 500), ('b', 500)]
    """
    found = [one for node in nodes for one in node.sampled(until)]
    return sorted(found, key=lambda one: (one.time, one.source, one.sequence))


# -- simulated sensors -----------------------------------------------------------------------------
def camera(
    truth: Truth,
    pose: Sequence[float],
    *,
    rate: float = 60.0,
    name: str = "camera",
    label: str = "",
    kind: str = "pose",
    pixel: float = 5e-4,
    baseline: float = 0.1,
    turn: float = 5e-3,
    view: float = 0.6,
    reach: float = 5.0,
    bias: Sequence[float] = (0.0, 0.0, 0.0),
    seed: int = 0,
) -> SensorNode:
    """Make a simulated stereo camera, which speaks in the frame of its own name.

    Args:
        truth: what is there, of time in s: a pose in the world, or a point.
        pose: of the camera in the world; it looks along its z axis.
        rate: pictures in a second.
        name: of the node, and of its frame.
        label: of what it sees.
        kind: "pose" or "point".
        pixel: angle of a pixel, rad. Across it errs by depth times this, along its axis by depth²
            times this over the baseline (Matthies and Shafer 1987, Error modeling in stereo
            navigation).
        baseline: distance of its two eyes, m.
        turn: deviation of the orientation that it finds, rad.
        view: half of its opening angle, rad; beyond, it sees nothing.
        reach: how far it sees, m.
        bias: by how much it lies, m, in its own axes.
        seed: of its noise.

    >>> above = (0, 0, 2, 0, 1, 0, 0)  # 2 m up, looking down
    >>> eye = camera(lambda t: (0.1, 0, 0), above, kind="point", rate=30, label="ball")
    >>> len(list(eye.sampled(1.0))), len(list(camera(lambda t: (9, 0, 0), above).sampled(1.0)))
    (30, 0)
    """
    place = checked_pose(pose, f"{name!r}")
    R, back = quaternion_matrix(place[3:]), place[3:] * np.array([1.0, -1.0, -1.0, -1.0])
    lie = np.array(checked_all(bias, f"the bias of {name!r}", count=3))
    angle = checked(pixel, "pixel", above=0.0)
    base, wide = checked(baseline, "baseline", above=0.0), checked(view, "view", above=0.0)
    spin = checked(turn, "turn", above=0.0)

    def look(t: float) -> Sight | None:
        there = np.asarray(truth(t), dtype=float)
        seen = R.T @ (there[:3] - place[:3])
        depth = float(seen[2])
        if (
            depth <= 0
            or float(seen @ seen) > reach**2
            or math.hypot(*seen[:2]) > depth * math.tan(wide)
        ):
            return None
        deviation = np.array([depth * angle, depth * angle, depth**2 * angle / base])
        noise = _noise(seed, t, 6)
        value = seen + lie + deviation * noise[:3]
        if kind == "point":
            return Sight(tuple(value), tuple(deviation**2))
        q = quaternion_product(exponential(spin * noise[3:]), quaternion_product(back, there[3:]))
        return Sight((*value, *q), (*deviation**2, *[spin**2] * 3))

    return sensor(look, rate, name=name, kind=kind, label=label, frame=name)


def tracker(
    truth: Truth,
    *,
    rate: float = 250.0,
    name: str = "tracker",
    label: str = "",
    place: float = 5e-5,
    turn: float = 2e-4,
    bias: Sequence[float] = (0.0, 0.0, 0.0),
    seed: int = 0,
) -> SensorNode:
    """Make a simulated tracker of poses, which speaks in the world.

    Args:
        truth: the pose that is there, of time in s.
        rate: samples in a second.
        name: of the node.
        label: of what it follows.
        place: deviation of its places, m.
        turn: deviation of its orientations, rad.
        bias: by how much it lies, m.
        seed: of its noise.

    >>> follow = tracker(lambda t: (t, 0, 0, 1, 0, 0, 0), label="tool", place=1e-9)
    >>> round(follow.seen(1_000_000_000)[0].value[0], 6)
    1.0
    """
    lie = np.array(checked_all(bias, f"the bias of {name!r}", count=3))
    away = checked(place, "place", above=0.0)
    spin = checked(turn, "turn", above=0.0)

    def look(t: float) -> Sight:
        there = np.asarray(truth(t), dtype=float)
        noise = _noise(seed, t, 6)
        q = quaternion_product(exponential(spin * noise[3:]), there[3:])
        return Sight((*(there[:3] + lie + away * noise[:3]), *q))

    spread = [away**2] * 3 + [spin**2] * 3
    return sensor(look, rate, name=name, label=label, covariance=spread)


def force_sensor(
    truth: Truth,
    *,
    rate: float = 1000.0,
    name: str = "force",
    label: str = "wrench",
    frame: str = WORLD,
    force: float = 0.1,
    moment: float = 0.01,
    bias: Sequence[float] = (0.0,) * 6,
    seed: int = 0,
) -> SensorNode:
    """Make a simulated sensor of force and moment.

    Args:
        truth: force in N and moment in N m in the axes of its frame, of time in s.
        rate: samples in a second.
        name: of the node.
        label: of what it feels.
        frame: in which it speaks.
        force: deviation of its forces, N.
        moment: deviation of its moments, N m.
        bias: by how much it lies, N and N m.
        seed: of its noise.

    >>> feel = force_sensor(lambda t: (0, 0, -9.81, 0, 0, 0), force=1e-6, moment=1e-6)
    >>> round(feel.seen(0)[0].value[2], 3)
    -9.81
    """
    lie = np.array(checked_all(bias, f"the bias of {name!r}", count=6))
    deviation = np.repeat(
        [checked(force, "force", above=0.0), checked(moment, "moment", above=0.0)], 3
    )

    def look(t: float) -> Array:
        found: Array = np.asarray(truth(t), dtype=float) + lie + deviation * _noise(seed, t, 6)
        return found

    return sensor(
        look,
        rate,
        name=name,
        kind="wrench",
        label=label,
        frame=frame,
        covariance=deviation**2,
    )


def _noise(seed: int, t: float, count: int) -> Array:
    """Return normal numbers that depend on seed and time alone."""
    key = [int(seed) & (1 << 64) - 1, round(t * SECOND) & (1 << 64) - 1]
    return np.random.Generator(np.random.Philox(key=np.array(key, dtype=np.uint64))).normal(
        size=count
    )


def _sights(found: Any, name: str) -> tuple[Sight, ...]:
    """Return what a function gave as sights."""
    if found is None:
        return ()
    if isinstance(found, Sight):
        return (found,)
    try:
        several = list(found)
        if several and all(isinstance(one, Sight) for one in several):
            return tuple(several)
        return (Sight(tuple(map(float, several))),) if several else ()
    except (TypeError, ValueError):
        raise InputError(
            f"{name!r} sees {brief(found)}", remedy="return numbers, Sights, or None"
        ) from None
