"""The coordinator without network and clock: observations in, objects and frames out.

Observations are put at their times. What is known is a fold over scans in the order of their times
(`world.after_scan`), and what was known after each scan of the last seconds is kept: a late
observation takes the fold back to its place and on again, so the answer does not depend on the
order of arrival. Nobody is waited for; what is not reported does not stop the others, and what
nobody sees gets older, with a covariance that grows.
"""

from __future__ import annotations

import bisect
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from linkwright.server.clocks import SECOND
from linkwright.server.coordinator.motions import checked_pose
from linkwright.server.coordinator.observations import WORLD, Observation, Sighting, in_world
from linkwright.server.coordinator.world import (
    JUDGED,
    MOST_SENSORS,
    FusionSettings,
    Key,
    SensorRecord,
    Tracked,
    World,
    after_scan,
    chi_square,
    confirmed,
    supporters,
)
from linkwright.server.face import RefusedError

Array = NDArray[np.float64]
NEVER = 2**63 - 1
MOST_SCANS = 20_000
"""That the history holds; a flood beyond is rejected."""


@dataclass(frozen=True, slots=True, eq=False)
class FusedObject:
    """An object, or a frame, as all sensors together see it.

    Args:
        name: its label; without one, its kind and a number.
        kind: "pose", "point" or "wrench".
        time: ns, for which everything is given.
        value: place in m and unit quaternion w, x, y, z; or place; or force and moment.
        rate: speed in m/s and angular velocity in rad/s, in the axes of the world.
        covariance: of the error of value and rate: see `coordinator.motions` for its rows.
        sources: who sees it, within the patience.
        age: s since anything was fused into it.
        disputed: whether it is not decided who is right, because as many sensors say otherwise, or
            sensors that have only begun to speak do not fit together.
    """

    name: str
    kind: str
    time: int
    value: Array
    rate: Array
    covariance: Array = field(repr=False)
    sources: tuple[str, ...]
    age: float
    disputed: bool

    @property
    def deviation(self) -> float:
        """Root of the mean variance of its place, m (of its force, N)."""
        return float(np.sqrt(np.trace(self.covariance[:3, :3]) / 3))


@dataclass(frozen=True, slots=True)
class SensorReport:
    """How a sensor does.

    Args:
        name: of the sensor.
        age: s since the time of its newest observation.
        interval: s between its newest two.
        used: how many observations were fused.
        rejected: how many were not, because more sensors say otherwise.
        refused: how many could not be taken, by reason.
        lying: whether most of its newest observations were rejected.
        inconsistent: whether its errors are larger than it says.
    """

    name: str
    age: float
    interval: float
    used: int
    rejected: int
    refused: Mapping[str, int]
    lying: bool
    inconsistent: bool


class Coordinator:
    """Fuses what sensors see, wherever and whenever they see it.

    Args:
        frames: poses of frames in the world, in which sensors speak: x, y, z in m and a unit
            quaternion w, x, y, z.
        settings: what is taken for granted.

    >>> c = Coordinator({"camera": (0, 0, 2, 1, 0, 0, 0)})
    >>> for k in range(3):
    ...     seen = Observation(
    ...         "eye", k * 10_000_000, "point", (0.1, 0, -1), (1e-6,) * 3, "camera", "ball"
    ...     )
    ...     c.take(seen, now=seen.time)
    >>> (ball,) = c.objects(now=30_000_000)
    >>> ball.name, ball.value.round(6).tolist(), ball.age, ball.sources
    ('ball', [0.1, 0.0, 1.0], 0.01, ('eye',))
    """

    def __init__(
        self,
        frames: Mapping[str, Sequence[float]] | None = None,
        settings: FusionSettings | None = None,
    ) -> None:
        self.settings = settings or FusionSettings()
        self._models = {model.kind: model for model in self.settings.models}
        self._frames = {
            name: checked_pose(pose, f"frame {name!r}") for name, pose in (frames or {}).items()
        }
        self._keys: list[tuple[int, str]] = []
        self._scans: list[dict[int, Sighting]] = []
        self._worlds: list[World] = []  # after each scan, as far as they are known
        self._ground = World()  # after everything that is older than the history
        self._floor = -NEVER
        self._refused: dict[str, dict[str, int]] = {}
        self._names: dict[Key, str] = {}
        self._mutes: dict[str, tuple[int, int]] = {}  # between which times a liar is not believed

    @property
    def frames(self) -> tuple[str, ...]:
        """In which sensors may speak."""
        return (WORLD, *self._frames)

    def take(self, told: Observation, now: int) -> None:
        """Take an observation, or raise `RefusedError`.

        Args:
            told: the observation.
            now: ns on the cell's clock; what is said to be later than now is rejected.
        """
        try:
            seen = self._checked(told, now)
        except RefusedError as error:
            known = told.source in self._refused or len(self._refused) < MOST_SENSORS
            counts = self._refused.setdefault(told.source if known else "others", {})
            counts[error.name] = counts.get(error.name, 0) + 1
            raise
        key = (told.time, told.source)
        place = bisect.bisect_left(self._keys, key)
        if place == len(self._keys) or self._keys[place] != key:
            self._keys.insert(place, key)
            self._scans.insert(place, {})
        self._scans[place][told.sequence] = seen
        del self._worlds[place:]
        self._let_go(now - round(self.settings.history * SECOND))

    def objects(self, now: int | None = None) -> tuple[FusedObject, ...]:
        """Return all objects, by name.

        Args:
            now: ns on the cell's clock; None gives each as of its own newest observation.
        """
        world = self._world()
        found = [
            self._object(one, world, one.time if now is None else now)
            for one in world.tracked
            if self._shown(one, world)
        ]
        forget = self.settings.forget
        return tuple(sorted((o for o in found if o.age <= forget), key=lambda one: one.name))

    def sensors(self, now: int) -> tuple[SensorReport, ...]:
        """Return how all sensors do at a time, ns on the cell's clock, by name."""
        known = self._world().sensors
        return tuple(
            self._report(name, known.get(name), now) for name in sorted({*known, *self._refused})
        )

    def _checked(self, told: Observation, now: int) -> Sighting:
        who = f"observation {told.sequence} of {told.source!r}"
        if told.time - now > told.bound * SECOND:
            raise RefusedError(
                "future",
                f"{who} is {(told.time - now) / SECOND:g} s ahead of the cell's clock",
                remedy="synchronize the node's clock",
            )
        if told.time < max(self._floor, now - round(self.settings.history * SECOND)):
            raise RefusedError(
                "late", f"{who} is {(now - told.time) / SECOND:g} s old, beyond the history"
            )
        if len(self._keys) >= MOST_SCANS:
            raise RefusedError("full", f"{MOST_SCANS} scans of the last seconds are kept already")
        place = bisect.bisect_left(self._keys, (told.time, told.source))
        there = self._keys[place : place + 1] == [(told.time, told.source)]
        if there and told.sequence in self._scans[place]:
            raise RefusedError("repeated", f"{who} was reported before")
        return in_world(told, self._models, self._frames)

    def _world(self) -> World:
        """Return what is known after all scans.

        Who turns out to lie was believed until then: the history is filtered again without it.
        """
        world = self._filtered()
        liars = {name for name, sensor in world.sensors.items() if sensor.lying}
        silent = {name for name, (_, end) in self._mutes.items() if end == NEVER}
        for name in silent - liars:
            known = world.sensors.get(name)
            self._mutes[name] = (self._mutes[name][0], known.time if known else self._floor)
        if not liars - silent:
            return world
        for name in liars - silent:
            self._mutes[name] = (self._mutes.get(name, (0, -NEVER))[1], NEVER)
        self._worlds.clear()
        return self._filtered()

    def _filtered(self) -> World:
        for place in range(len(self._worlds), len(self._scans)):
            before = self._worlds[-1] if self._worlds else self._ground
            scan, (time, source) = self._scans[place], self._keys[place]
            first, end = self._mutes.get(source, (0, -NEVER))
            seen = [scan[k] for k in sorted(scan)]
            self._worlds.append(after_scan(before, seen, self.settings, muted=first <= time <= end))
        return self._worlds[-1] if self._worlds else self._ground

    def _let_go(self, floor: int) -> None:
        """Keep no more scans than the history needs."""
        count = bisect.bisect_left(self._keys, (floor, ""))
        if count == 0:
            return
        self._world()
        self._ground = self._worlds[count - 1]
        del self._keys[:count], self._scans[:count], self._worlds[:count]
        self._floor = floor
        self._mutes = {n: (first, end) for n, (first, end) in self._mutes.items() if end >= floor}
        alive = {one.key for one in self._ground.tracked}
        self._names = {
            key: name for key, name in self._names.items() if key in alive or key[0] >= floor
        }

    def _shown(self, one: Tracked, world: World) -> bool:
        if one.label and world.chosen.get(one.label) != one.key:
            return False
        return confirmed(one)

    def _object(self, one: Tracked, world: World, now: int) -> FusedObject:
        mean, covariance = one.at(max(now, one.time))
        patience, last = self.settings.patience, max(now, one.time)
        votes = supporters(one.label, last, world.sensors.values(), self.settings)
        mine = votes.pop(one.key, 0)
        return FusedObject(
            name=one.label or self._name(one),
            kind=one.model.kind,
            time=last,
            value=one.model.value(mean),
            rate=one.model.rate(mean),
            covariance=covariance,
            sources=tuple(
                sorted(
                    name for name, time in one.sources.items() if (last - time) / SECOND <= patience
                )
            ),
            age=(last - one.time) / SECOND,
            disputed=bool(one.label) and self._disputed(one, votes, mine, world),
        )

    def _disputed(self, one: Tracked, others: Mapping[Key, int], mine: int, world: World) -> bool:
        """Whether it is not decided who is right: as many against it, or too few words yet."""
        if max(others.values(), default=0) >= max(mine, 1):
            return True
        seeing = [sensor for sensor in world.sensors.values() if one.label in sensor.where]
        young = any(len(sensor.verdicts) < JUDGED for sensor in seeing)
        return len(seeing) > 1 and young and (bool(others) or _uneasy(seeing))

    def _name(self, one: Tracked) -> str:
        if one.key not in self._names:
            taken = set(self._names.values())
            number = 1
            while f"{one.model.kind} {number}" in taken:
                number += 1
            self._names[one.key] = f"{one.model.kind} {number}"
        return self._names[one.key]

    def _report(self, name: str, record: SensorRecord | None, now: int) -> SensorReport:
        known = record or SensorRecord()
        return SensorReport(
            name=name,
            age=(now - known.time) / SECOND if record else float("inf"),
            interval=known.interval,
            used=known.used,
            rejected=known.rejected,
            refused=dict(self._refused.get(name, {})),
            lying=known.lying,
            inconsistent=known.inconsistent,
        )


def _uneasy(sensors: Sequence[SensorRecord]) -> bool:
    """Whether what several sensors say fits together worse than by chance, one time in 100."""
    found = [pair for sensor in sensors for pair in sensor.squares]
    freedom = sum(count for _, count in found)
    return freedom > 0 and sum(square for square, _ in found) > chi_square(0.99, freedom)
