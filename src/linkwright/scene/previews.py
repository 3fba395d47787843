"""Motions that are made for a model to be looked at.

A mechanism is simulated as `linkwright.simulate` does it, as long as it says or is asked for; where
that takes too long, with rough steps, as far as it has come. A robot file says nothing of how it
moves: its joints swing one after another within their limits. So do the actuators of a
machine with a platform, and its loops stay closed: without its drives it would only fall.
"""

from __future__ import annotations

import math
import time
from collections.abc import Mapping
from dataclasses import dataclass, field, replace

import numpy as np
from numpy.typing import NDArray

from linkwright.base.errors import DomainError, Error
from linkwright.equations.batch_closing import Closing
from linkwright.equations.parallel_machine import parallel_machine
from linkwright.mechanism import Mechanism
from linkwright.mechanism.provenance import named
from linkwright.models.starts import STARTS
from linkwright.recording import Channel, Recording
from linkwright.recording.generic import generic_name
from linkwright.scene.scene import Scene
from linkwright.simulation.described import own_times, phase_channels
from linkwright.simulation.settings import DEFAULTS, ROUGH, RunSettings

Array = NDArray[np.float64]
PATIENCE = 15.0
"""Seconds on the wall after which a run that nobody asked for is shown as far as it has come."""

_ROUGHEST = 1 / 60  # s
_SHARES = (1.0, 0.5, 0.25, 0.12, 0.06, 0.03)
_BREAK = 0.3  # rad or m from frame to frame: another branch

SHOWN_FOR: dict[str, float] = {"stanford-arm": 0.7}
"""Seconds that are shown of a model which flies apart later: nothing holds the arm's hand."""


@dataclass(frozen=True, slots=True)
class PreviewOptions:
    """What a user asks of a motion that is made for a model to be looked at.

    >>> bool(PreviewOptions()), bool(PreviewOptions(until=2.0))
    (False, True)
    """

    # how long it lasts, s; by default as long as the model says, or ten seconds
    until: float | None = None
    values: Mapping[str, float] = field(default_factory=dict)
    initial: Mapping[str, float] = field(default_factory=dict)

    def __bool__(self) -> bool:
        return self.until is not None or bool(self.values) or bool(self.initial)


def simulated_story(mechanism: Mechanism, made: Recording, asked: PreviewOptions) -> str:
    """Return where a motion that was made by `simulated` comes from."""

    def listed(numbers: Mapping[str, float]) -> str:
        units = {n: mechanism.units.get(n, "?") for n in numbers}
        shown = {n: "" if u in ("?", "1", "") else f" {u}" for n, u in units.items()}
        return ", ".join(f"{n} = {v:g}{shown[n]}" for n, v in numbers.items())

    push = "" if asked.initial else listed(STARTS.get(mechanism.name, {}))
    start = f"from {listed(asked.initial)}" if asked.initial else "from the default initial state"
    start += f" with a push ({push})" if push else ""
    changed = f", with {listed(asked.values)}" if asked.values else ""
    how = f"{made.metadata['method']}, adaptive steps"
    if made.metadata["method"] == ROUGH.method:
        how = f"RK4, step {1000 * made.metadata['step']:.3g} ms"
    if "given_up" in made.metadata:
        how += f"; stopped after {made.metadata['given_up']:g} s of computing, use --until for more"
    return f"{_plain(made.metadata['until'])} s {start}{changed} · {how}"


def _plain(seconds: float) -> str:
    return f"{seconds:,.0f}" if seconds >= 1000 else f"{seconds:.3g}"


def simulated(
    mechanism: Mechanism, asked: PreviewOptions | None = None, patience: float = PATIENCE
) -> Recording:
    """Return a run of a mechanism as long as it says itself, ten seconds otherwise.

    It starts where `STARTS` says, if nobody asks otherwise. Where it would take too long, it takes
    rough steps, and ends where it is when time is over.
    """
    asked = asked or PreviewOptions()
    settings = replace(DEFAULTS, until=asked.until or SHOWN_FOR.get(mechanism.name))
    settings = settings.timed(own_times(mechanism))
    end, step = float(settings.until or 0.0), float(settings.step or 0.0)
    try:
        found = _run(mechanism, asked, settings, patience, 0.1 * patience)
        if "given_up" not in found.metadata:
            return found
    except Error:
        pass
    fine = min(mechanism.timing.step / 2 if mechanism.timing is not None else 1e-3, step)
    coarse = max(fine, min(_ROUGHEST, 16 * fine))
    wait = patience if asked.until is None else math.inf
    try:
        return _run(mechanism, asked, _rough(end, coarse), wait)
    except Error:  # such steps are too long for it
        return _run(mechanism, asked, _rough(end, fine), wait)


def _rough(end: float, step: float) -> RunSettings:
    return replace(ROUGH, until=end, step=end / max(1, round(end / step)))


def _run(
    mechanism: Mechanism,
    asked: PreviewOptions,
    settings: RunSettings,
    patience: float,
    glance: float = math.inf,
) -> Recording:
    """Return a run as far as it comes in some seconds."""
    from linkwright.simulation.runs import give, metadata_of, session_of
    from linkwright.system import System

    system = System(mechanism)
    give(system, asked.initial or STARTS.get(mechanism.name), asked.values)
    session, settings = session_of(system, settings)
    end, since, steps = float(settings.until or 0.0), time.monotonic(), 200
    about = metadata_of(system, session.phases, settings)
    while not session.done:
        begun, before = time.monotonic(), session.steps
        session.collect(steps)
        now = time.monotonic()
        steps = max(20, int(0.1 * (session.steps - before) / max(now - begun, 1e-4)))
        slow = now - since > glance and (now - since) * end > 2 * patience * session.time
        if len(session.collected().times) > 1 and (now - since > patience or slow):
            about |= {"given_up": patience, "until": session.time}
            break
    if session.stop is not None and session.stop.failed:
        raise DomainError(session.stop.reason)
    if session.stop is not None:
        about["stopped"] = session.stop.told()
    samples = session.collected()
    return Recording(samples.times, phase_channels(session.phases), samples.values, about, system)


def swing(scene: Scene, seconds: float = 20.0) -> Recording:
    """Return a motion in which each joint swings within its limits, one after another.

    What has no joint stands still.
    """
    names = scene.poses.coordinates
    times, rest = _times(seconds), resting(scene)
    q = np.tile(rest, (len(times), 1))
    single = [
        names.index(j.coordinates[0].name)
        for j in scene.robot.assembled.joints
        if len(j.coordinates) == 1 and j.coordinates[0].name in names
    ]
    q[:, single] += _in_turn(times, rest[single], limits_of(scene)[single])
    return _kinematic(scene, times, q, "joints swing in turn")


def actuate(scene: Scene, seconds: float = 20.0) -> Recording | None:
    """Return a motion in which each actuator of a machine moves its platform in turn.

    None where it has no actuators or no platform, or where loops cannot be closed around the start.
    """
    mechanism, names = scene.robot.mechanism, scene.poses.coordinates
    if not mechanism.actuators or mechanism.platform is None:
        return None
    try:
        closing = Closing(parallel_machine(mechanism))
        start = closing.start
    except Error:
        return None
    times = _times(seconds)
    places = [closing.names.index(n) for n in closing.entries]
    limits = limits_of(scene)[[names.index(closing.names[k]) for k in places]]
    ways = _in_turn(times, start[places], limits)
    for share in _SHARES:  # of the way: as far as the loops close without a break
        found = closing.follow(start[places] + share * ways, start)
        if found.closed.all() and np.abs(np.diff(found.q, axis=0)).max() < _BREAK:
            q = np.stack([found.q[:, closing.names.index(n)] for n in names], axis=1)
            return _kinematic(scene, times, q, "actuators move in turn")
    return None


def _times(seconds: float) -> Array:
    return np.linspace(0.0, seconds, max(2, round(30 * seconds) + 1))


def _in_turn(times: Array, rest: Array, limits: Array) -> Array:
    """Return how far each of some coordinates is from rest while they swing one after another."""
    each = float(times[-1]) / (len(rest) + 3)
    away = np.zeros((len(times), len(rest)))
    for k, (low, high) in enumerate(limits):
        phase = np.clip((times - k * each) / (4 * each), 0, 1)
        wave = np.sin(2 * math.pi * phase) * np.sin(math.pi * phase) ** 0.5
        up, down = min(high - rest[k], 0.9), min(rest[k] - low, 0.9)
        away[:, k] = 0.85 * np.where(wave > 0, up, down) * wave
    return away


def _kinematic(scene: Scene, times: Array, q: Array, words: str) -> Recording:
    """Return a recording of coordinates alone."""
    m, names = scene.robot.mechanism, scene.poses.coordinates
    channels = [
        Channel(n, u, generic=generic_name(u)) for n in names for u in [m.units.get(n, "?")]
    ]
    return Recording(times, channels, q, {"model": named(m), "motion": words}, m)


def limits_of(scene: Scene) -> Array:
    """Return the lowest and highest value of each coordinate of a scene, infinite where none is."""
    names = scene.poses.coordinates
    found = np.tile([-np.inf, np.inf], (len(names), 1))
    for joint in scene.robot.assembled.joints:
        if len(joint.coordinates) == 1 and joint.coordinates[0].name in names:
            k = names.index(joint.coordinates[0].name)
            low, high = joint.limits.lower, joint.limits.upper
            found[k] = (-np.inf if low is None else low, np.inf if high is None else high)
    return found


def resting(scene: Scene) -> Array:
    """Return a configuration to begin with: the start, moved into the limits."""
    limits = limits_of(scene)
    margin = 0.1 * np.where(np.isfinite(limits).all(axis=1), np.ptp(limits, axis=1), 0.0)
    low, high = limits[:, 0], limits[:, 1]
    start = scene.poses.start
    outside = (start <= low) | (start >= high)
    moved = np.clip(start, low + margin, high - margin)
    return np.asarray(np.where(outside, moved, start))
