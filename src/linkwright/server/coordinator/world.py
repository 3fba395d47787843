"""What is known after a scan: a pure function of what was known before it, and of the scan.

Objects are hypotheses. An observation that is in no object's gate starts one; those of one label
are rivals, and the one that most sensors support *now* is the object. So whoever lies alone has a
rival of its own that nobody else supports: the object is not moved, and the liar has a name. Where
an observation is surely of one object it is fused as a Kalman filter fuses it, in information form;
where two objects are possible, each takes it with its probability, and its covariance takes the
spread of what may have been (Bar-Shalom, Daum and Huang 2009, The probabilistic data association
filter).
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from linkwright.blocks import checked
from linkwright.control.covariances import information_form, intersect
from linkwright.server.clocks import SECOND
from linkwright.server.coordinator.association import joint_probabilities
from linkwright.server.coordinator.motions import (
    MotionModel,
    PointMotion,
    PoseMotion,
    WrenchMotion,
)
from linkwright.server.coordinator.observations import Sighting

Array = NDArray[np.float64]
Key = tuple[int, str, int]  # time, source and sequence of the observation that started it
REMEMBERED, JUDGED = 20, 5  # verdicts on a sensor: the newest, and those that it takes at least
MOST_TRACKED, MOST_SENSORS = 200, 256  # beyond, the oldest are dropped


@dataclass(frozen=True, slots=True)
class FusionSettings:
    """What the coordinator takes for granted.

    Args:
        models: how things move, one for each kind.
        gate: probability that an honest observation is in the gate of its object.
        detection: probability that a sensor sees an object that is there.
        clutter: false observations without a label in a cubic meter.
        births: new objects in a cubic meter.
        certain: probability from which on an observation is fused as it is.
        patience: s without support after which a rival is dropped.
        forget: s without support after which an object is dropped.
        history: s that a late observation may be late.

    >>> FusionSettings(gate=0.999).forget
    60.0
    """

    models: Sequence[MotionModel] = (PoseMotion(), PointMotion(), WrenchMotion())
    gate: float = 0.9999
    detection: float = 0.9
    clutter: float = 1e-3
    births: float = 1e-3
    certain: float = 0.99
    patience: float = 1.0
    forget: float = 60.0
    history: float = 2.0

    def __post_init__(self) -> None:
        for name in ("gate", "detection", "certain"):
            checked(getattr(self, name), name, above=0.0, most=1.0 - 1e-12)
        for name in ("clutter", "births", "patience", "forget", "history"):
            checked(getattr(self, name), name, above=0.0)


@dataclass(frozen=True, slots=True, eq=False)
class Tracked:
    """A hypothesis of an object."""

    key: Key  # of the observation that started it
    label: str  # what it is, where sensors know that
    model: MotionModel  # how it moves
    time: int  # ns, of the last observation that was fused
    mean: Array  # at that time
    covariance: Array  # of its error at that time
    score: float  # logarithm of the odds that it is there
    sources: Mapping[str, int]  # who saw it, and when last, ns

    def at(self, time: int) -> tuple[Array, Array]:
        """Return mean and covariance at a time, ns."""
        if time == self.time:
            return self.mean, self.covariance
        return self.model.moved(self.mean, self.covariance, (time - self.time) / SECOND)


@dataclass(frozen=True, slots=True)
class SensorRecord:
    """What is known of a sensor."""

    time: int = 0  # ns, of its newest observation
    interval: float = math.inf  # s between its newest two
    used: int = 0  # how many observations were fused
    rejected: int = 0  # how many were not, because more sensors say otherwise
    verdicts: tuple[bool, ...] = ()  # the newest, True for fused
    # the newest residuals squared in units of their covariance, with their freedom
    squares: tuple[tuple[float, int], ...] = ()
    # which hypothesis of a label it supports, and when it did so last
    where: Mapping[str, tuple[Key, int]] = field(default_factory=dict)

    @property
    def lying(self) -> bool:
        """Whether most of what it says is against what more sensors say."""
        return len(self.verdicts) >= JUDGED and 2 * sum(self.verdicts) < len(self.verdicts)

    @property
    def inconsistent(self) -> bool:
        """Whether its errors are larger than it says, though not large enough to be rejected."""
        freedom = sum(freedom for _, freedom in self.squares)
        whole = sum(square for square, _ in self.squares)
        return len(self.squares) == REMEMBERED and whole > chi_square(0.9999, freedom)


@dataclass(frozen=True, slots=True)
class World:
    """What is known after a scan."""

    tracked: tuple[Tracked, ...] = ()  # hypotheses of objects
    sensors: Mapping[str, SensorRecord] = field(default_factory=dict)  # by name
    # for each label, the hypothesis that is the object
    chosen: Mapping[str, Key] = field(default_factory=dict)


def after_scan(
    world: World, scan: Sequence[Sighting], settings: FusionSettings, *, muted: bool = False
) -> World:
    """Return what is known after a scan.

    >>> from linkwright.server.coordinator.observations import Observation
    >>> told = Observation("camera", 10, "point", (0.1, 0.2, 0.3), (1e-6,) * 3, label="ball")
    >>> seen = Sighting(told, np.array(told.value), np.diag(told.covariance))
    >>> after_scan(World(), [seen], FusionSettings()).chosen
    {'ball': (10, 'camera', 0)}
    """
    source, time = scan[0].told.source, scan[0].told.time
    tracked = {one.key: one for one in world.tracked if _kept(one, world, time, settings)}
    sensor = world.sensors.get(source, SensorRecord())
    chosen = {label: key for label, key in world.chosen.items() if key in tracked}
    elapsed = (time - sensor.time) / SECOND if sensor.time else math.inf
    sensor = replace(sensor, time=time, interval=elapsed)
    sensors = {**world.sensors, source: sensor}
    for label in sorted({(seen.told.kind, seen.told.label) for seen in scan}):
        group = [seen for seen in scan if (seen.told.kind, seen.told.label) == label]
        known = tracked.get(chosen.get(label[1], (0, "", 0)))
        if muted and known is not None:
            sensors[source] = _compared(group, known, sensors[source], settings)
        elif not (muted and label[1] == ""):
            sensors[source] = _fused(group, tracked, sensors, chosen, settings)
    if len(sensors) > MOST_SENSORS:
        newest = sorted(sensors, key=lambda name: -sensors[name].time)[:MOST_SENSORS]
        sensors = {name: sensors[name] for name in newest}
    return World(_newest(tracked, chosen), sensors, chosen)


def _newest(tracked: Mapping[Key, Tracked], chosen: Mapping[str, Key]) -> tuple[Tracked, ...]:
    """Return the hypotheses that are worth their place, where there are too many."""
    if len(tracked) <= MOST_TRACKED:
        return tuple(tracked.values())
    objects = set(chosen.values())
    ranked = sorted(
        tracked.values(),
        key=lambda one: (one.key in objects, confirmed(one), one.time, one.key),
        reverse=True,
    )
    kept = {one.key for one in ranked[:MOST_TRACKED]}
    return tuple(one for one in tracked.values() if one.key in kept)


def _kept(one: Tracked, world: World, time: int, settings: FusionSettings) -> bool:
    """Whether a hypothesis is still worth its place."""
    age = (time - one.time) / SECOND
    firm = world.chosen.get(one.label) == one.key if one.label else confirmed(one)
    return age <= (settings.forget if firm else settings.patience)


def confirmed(one: Tracked) -> bool:
    """Whether an object is there with a probability of 99 %."""
    return one.score > math.log(99.0)


def _fused(
    group: Sequence[Sighting],
    tracked: dict[Key, Tracked],
    sensors: Mapping[str, SensorRecord],
    chosen: dict[str, Key],
    settings: FusionSettings,
) -> SensorRecord:
    """Fuse observations of one kind and label into the hypotheses; return the sensor's record."""
    first = group[0].told
    near = [
        one for one in tracked.values() if (one.label, one.model.kind) == (first.label, first.kind)
    ]
    fits = [[_fit(one, seen, settings) for one in near] for seen in group]
    model = next(model for model in settings.models if model.kind == first.kind)
    # What a sensor has recognized is not clutter: outside of every gate it is a rival.
    nothing = 0.0 if first.label else (settings.clutter + settings.births) / model.volume
    odds = settings.detection / (1 - settings.detection)
    weights = [
        {j: odds * fit.density for j, fit in enumerate(row) if fit is not None} for row in fits
    ]
    favorite = _favorite(first.label, first.time, near, sensors, chosen, settings)
    if favorite is not None:  # what is in its gate is its own
        weights = [{favorite: row[favorite]} if favorite in row else row for row in weights]
    shares = joint_probabilities(weights, nothing)
    sensor = sensors[first.source]
    taken: dict[int, list[tuple[float, _Fit, Sighting]]] = {}
    for seen, row, share in zip(group, fits, shares, strict=True):
        if sum(share.values()) <= 0.5:
            new = _started(seen, model, settings)
            tracked[new.key] = new
            sensor = _placed(sensor, first.label, new.key, first.time)
            continue
        best = max(share, key=lambda j: (share[j], -j))
        for j, p in share.items():
            fit = row[j]
            if fit is not None and p > 1 - settings.certain:
                sure = 1.0 if p >= settings.certain else p
                taken.setdefault(j, []).append((sure, fit, seen))
        told = row[best]
        assert told is not None
        squares = sensor.squares
        if first.label in chosen and near[best].key == chosen[first.label]:
            squares = (*squares, (told.square, model.freedom))[-REMEMBERED:]
        sensor = _placed(sensor, first.label, near[best].key, first.time, squares)
    for j, news in taken.items():
        tracked[near[j].key] = _updated(near[j], news, settings)
    if not first.label:
        return replace(sensor, used=sensor.used + len(group))
    others = {**sensors, first.source: sensor}
    return _judged(sensor, first.label, first.time, tracked, others, chosen, settings)


def _favorite(
    label: str,
    time: int,
    near: Sequence[Tracked],
    sensors: Mapping[str, SensorRecord],
    chosen: Mapping[str, Key],
    settings: FusionSettings,
) -> int | None:
    """Return the place of the hypothesis that more sensors support than any other, if there is."""
    key = chosen.get(label) if label else None
    if key is None:
        return None
    votes = supporters(label, time, sensors.values(), settings)
    if votes.pop(key, 0) <= max(votes.values(), default=0):
        return None
    return next((j for j, one in enumerate(near) if one.key == key), None)


def _compared(
    group: Sequence[Sighting], known: Tracked, sensor: SensorRecord, settings: FusionSettings
) -> SensorRecord:
    """Return the record of a sensor that is not believed: whether it would be right by now."""
    verdicts = [_fit(known, seen, settings) is not None for seen in group]
    return replace(
        sensor,
        rejected=sensor.rejected + len(group),
        verdicts=(*sensor.verdicts, *verdicts)[-REMEMBERED:],
        where={label: place for label, place in sensor.where.items() if label != known.label},
    )


def _placed(
    sensor: SensorRecord,
    label: str,
    key: Key,
    time: int,
    squares: tuple[tuple[float, int], ...] | None = None,
) -> SensorRecord:
    where = {**sensor.where, label: (key, time)} if label else sensor.where
    return replace(sensor, where=where, squares=sensor.squares if squares is None else squares)


def _judged(
    sensor: SensorRecord,
    label: str,
    time: int,
    tracked: Mapping[Key, Tracked],
    sensors: Mapping[str, SensorRecord],
    chosen: dict[str, Key],
    settings: FusionSettings,
) -> SensorRecord:
    """Choose the hypothesis that most sensors support, and count for or against this sensor."""
    votes = supporters(label, time, sensors.values(), settings)
    before = chosen.get(label)
    rivals = [one.key for one in tracked.values() if one.label == label]
    best = max(
        rivals, key=lambda key: (votes.get(key, 0), key == before, tracked[key].score, -key[0])
    )
    chosen[label] = best
    mine = sensor.where[label][0]
    if mine == best:
        return replace(
            sensor, used=sensor.used + 1, verdicts=(*sensor.verdicts, True)[-REMEMBERED:]
        )
    if votes.get(best, 0) > votes.get(mine, 0):
        sensor = replace(sensor, verdicts=(*sensor.verdicts, False)[-REMEMBERED:])
    return replace(sensor, rejected=sensor.rejected + 1)


def supporters(
    label: str, time: int, sensors: Iterable[SensorRecord], settings: FusionSettings
) -> dict[Key, int]:
    """Return how many sensors support each hypothesis of a label at a time.

    >>> supporters(
    ...     "ball", 0, [SensorRecord(where={"ball": ((1, "a", 0), 0)})], FusionSettings()
    ... )
    {(1, 'a', 0): 1}
    """
    votes: dict[Key, int] = {}
    for one in sensors:
        key, last = one.where.get(label, (None, 0))
        if key is not None and (time - last) / SECOND <= settings.patience:
            votes[key] = votes.get(key, 0) + 1
    return votes


# -- one object ------------------------------------------------------------------------------------
@dataclass(frozen=True, slots=True, eq=False)
class _Fit:
    """How an observation fits an object: everything at its time."""

    mean: Array
    covariance: Array
    residual: Array
    noise: Array
    square: float
    density: float


def _fit(one: Tracked, seen: Sighting, settings: FusionSettings) -> _Fit | None:
    """Return how an observation fits, or None where it is outside of the gate."""
    model, most = one.model, chi_square(settings.gate, one.model.freedom)
    # r'S⁻¹r is at least the square of any one residual over its variance.
    after = (seen.told.time - one.time) / SECOND
    place, variance = model.ahead(one.mean, one.covariance, after)
    variance = variance + seen.covariance.diagonal()[:3]
    if seen.told.bound > 0.0:
        variance = variance + (seen.told.bound * model.rate(one.mean)[:3]) ** 2
    if ((seen.value[:3] - place) ** 2 > most * variance).any():
        return None
    mean, P = one.at(seen.told.time)
    residual = model.residual(mean, seen.value)
    R = seen.covariance
    if seen.told.bound > 0.0:
        rate = model.rate(mean)
        R = R + seen.told.bound**2 * np.outer(rate, rate)
    H = model.seen
    S = H @ P @ H.T + R
    square = float(residual @ np.linalg.solve(S, residual))
    if square > most:
        return None
    size = float(np.linalg.slogdet(S)[1])
    density = math.exp(-(square + size + model.freedom * math.log(2 * math.pi)) / 2)
    return _Fit(mean, P, residual, R, square, density)


def _corrected(fit: _Fit, model: MotionModel, independent: bool) -> tuple[Array, Array]:
    """Return the error that an observation corrects, and the covariance after it."""
    if independent:
        new, gain = information_form(fit.covariance, model.seen, fit.noise)
        return gain @ fit.residual, new
    zero = np.zeros(len(fit.covariance))
    both = intersect(zero, fit.covariance, fit.residual, model.seen, fit.noise)
    return both.x, both.covariance


def _updated(
    one: Tracked, news: Sequence[tuple[float, _Fit, Sighting]], settings: FusionSettings
) -> Tracked:
    """Return an object after observations that are its own with some probability."""
    model, (_, fit, seen) = one.model, news[0]
    told = seen.told
    if len(news) == 1 and news[0][0] == 1.0:
        error, P = _corrected(fit, model, told.independent)
    else:
        left = max(0.0, 1.0 - sum(p for p, _, _ in news))
        after = [(p, *_corrected(f, model, s.told.independent)) for p, f, s in news]
        error = np.sum([p * e for p, e, _ in after], axis=0)
        P = left * (fit.covariance + np.outer(error, error))
        for p, e, new in after:
            P = P + p * (new + np.outer(e - error, e - error))
        P = (P + P.T) / 2
    gain = sum(
        p * math.log(settings.detection * f.density * model.volume / settings.clutter)
        for p, f, _ in news
    )
    return replace(
        one,
        time=told.time,
        mean=model.shifted(fit.mean, error),
        covariance=P,
        score=min(one.score + gain, 30.0),
        sources={**one.sources, told.source: told.time},
    )


def _started(seen: Sighting, model: MotionModel, settings: FusionSettings) -> Tracked:
    told = seen.told
    mean, P = model.started(seen.value, seen.covariance)
    score = math.log(settings.births / settings.clutter)
    key = (told.time, told.source, told.sequence)
    return Tracked(key, told.label, model, told.time, mean, P, score, {told.source: told.time})


@lru_cache(maxsize=256)
def chi_square(probability: float, freedom: int) -> float:
    """Return what a chi-square variable stays below with a probability.

    >>> round(chi_square(0.95, 3), 3)
    7.815
    """
    from scipy.special import gammaincinv

    return 2.0 * float(gammaincinv(freedom / 2, probability))
