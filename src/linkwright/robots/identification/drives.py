"""Parameters of a joint's drive from recordings of its voltage, current and encoders.

Least squares give a start (`linkwright.robots.identification.balances`); then the parameters with
the greatest likelihood are found, all together (`linkwright.robots.identification.likelihood`).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from linkwright.base.arguments import worded
from linkwright.base.errors import suggestion
from linkwright.control.step_model import Measurement
from linkwright.elements.drives import PD, Chain, Ideal
from linkwright.recording import Recording
from linkwright.robots.identification.balances import (
    CHANNELS,
    FrictionCurve,
    first_values,
    found_data,
    measured_friction,
)
from linkwright.robots.identification.likelihood import (
    FittedParameter,
    IdentificationError,
    RecordedFilter,
    SystemFit,
    fit_recorded,
    recorded_data,
    recorded_rate,
)
from linkwright.system import System

if TYPE_CHECKING:
    from linkwright.formats.catalog.schema import MotorEntry

Array = NDArray[np.float64]

FREE = (
    "motor.R", "motor.L", "motor.kt", "motor.J", "motor.b", "motor.coulomb", "train.stiffness",
    "train.damping", "train.gap", "train.hysteresis", "train.drag", "train.viscous", "load.J",
    "load.b",
)  # fmt: skip
"""What is looked for, unless something else is asked, where a drive has it."""


@dataclass(frozen=True, slots=True, eq=False)
class DriveFit(SystemFit):
    """A drive that explains a recording best.

    Args:
        parameters: what was found.
        nis: mean of the innovations squared, in units of their variance; 1 where all fits.
        samples: how many were used.
        rounds: of the search.
        chain: the drive with what was found, driven by a voltage.
        filter: what goes through recordings.
        rate: of the recording, Hz.

    `fit_drive` returns one.

    >>> DriveFit.__mro__[1].__name__
    'SystemFit'
    """

    chain: Chain
    filter: RecordedFilter
    rate: float

    def validated(
        self, recording: Recording, channels: Mapping[str, str] | None = None
    ) -> Validation:
        """Return how well the drive that was found predicts another recording.

        Args:
            recording: of another motion, at the same rate.
            channels: names of its channels by what they are: "voltage", "current", "angle",
                "load_angle"; as `fit_drive` finds them by default.
        """
        ratio = float(self.chain.parts.train.ratio)
        data, start = _samples(self.filter, recording, channels or {}, ratio)
        values = self.filter.values.copy()
        for p in self.parameters:
            values[self.filter.names.index(f"joint.{p.name}")] = p.value
        e, _, _ = self.filter.run(data, values[None, :], start)
        _, _, away = self.filter.run(data, values[None, :], start, free=True)
        errors = np.sqrt(np.mean(away[0] ** 2, axis=0))
        sizes = np.std(data[:, : errors.size], axis=0)
        return Validation(
            float(np.mean(e**2)),
            {n: float(v) for n, v in zip(self.filter.sensors, errors, strict=True)},
            {n: float(v) for n, v in zip(self.filter.sensors, sizes, strict=True)},
        )

    def friction_curve(
        self, recording: Recording, bins: int = 20, channels: Mapping[str, str] | None = None
    ) -> FrictionCurve:
        """Return the friction of the motor over its speed, as a recording has it.

        Args:
            recording: such as the one that was fitted.
            bins: of speed.
            channels: as for `validated`.

        Where there is no second encoder, losses of gear and load are part of it.
        """
        recording, names = found_data(recording, channels or {})
        return measured_friction(recording, names, self.chain, bins)

    def catalog_entry(
        self,
        name: str,
        like: MotorEntry | None = None,
        known: Mapping[str, str | float] | None = None,
    ) -> str:
        """Return the motor as an entry of a catalog, in TOML.

        Args:
            name: of the entry.
            like: an entry with the numbers that a motion does not determine: torques, heat.
            known: such numbers by name, in place of those of `like`.
        """
        from linkwright.formats.catalog.reader import parse_catalog
        from linkwright.formats.catalog.schema import MotorEntry
        from linkwright.formats.catalog.writer import entry_lines

        found: dict[str, Any] = {}
        if like is not None:
            found = {k: v for k, v in like.model_dump().items() if v is not None}
        names = {"R": "R", "L": "L", "kt": "kt", "J": "J", "coulomb": "friction", "b": "damping"}
        for own, theirs in names.items():
            value = getattr(self.chain.parts.motor, own, None)
            if value is not None:
                found[theirs] = float(value)
        found |= {"source": f"fitted to {self.samples} samples at {self.rate:g} Hz"}
        found |= known or {}
        found.pop("ke", None)
        needed = [k for k, f in MotorEntry.model_fields.items() if f.is_required()]
        missing = [k for k in needed if k not in found]
        if missing:
            raise IdentificationError(
                f"the recording does not determine {', '.join(missing)} of the motor",
                remedy="give them in known={...}, or an entry that has them as like=...",
                code="R654",
            )
        lines = [f"[motor.{name}]", *entry_lines(MotorEntry, found)]
        text = "\n".join(lines) + "\n"
        parse_catalog(f'format = 1\nname = "fitted"\n{text}')
        return text


@dataclass(frozen=True, slots=True)
class Validation:
    """How well a drive predicts a recording that it was not fitted to.

    Args:
        nis: mean of the innovations squared, in units of their variance; 1 where all fits.
        errors: root mean square errors of a simulation from the first sample on, by channel.
        sizes: standard deviations of what was measured, by channel.

    >>> Validation(1.0, {"i": 0.1}, {"i": 2.0}).shares
    {'i': 0.05}
    """

    nis: float
    errors: Mapping[str, float]
    sizes: Mapping[str, float]

    @property
    def shares(self) -> dict[str, float]:
        """The errors as shares of what was measured."""
        return {
            n: e / s if s else np.inf
            for (n, e), s in zip(self.errors.items(), self.sizes.values(), strict=True)
        }


@worded
def fit_drive(
    recording: Recording,
    chain: Chain,
    *,
    free: Sequence[str] | None = None,
    voltage: str = "",
    current: str = "",
    angle: str = "",
    load_angle: str = "",
    sensors: Mapping[str, Measurement] | None = None,
    disturbance: float = 0.0,
    floor: float = 1e-3,
    rounds: int = 25,
) -> DriveFit:
    """Return the drive that explains a recording best, with 95 % intervals.

    Args:
        recording: of voltage (which holds from sample to sample), current and motor angle, and the
            load's angle where there is a second encoder; at one rate.
        chain: the drive as far as it is known: its motor, train and load; where the search begins
            for what least squares do not determine.
        free: names of what is looked for, such as "motor.R"; by default all that the chain has
            above zero, without the load behind a rigid gear, which looks like the motor's inertia.
        voltage: name of the channel; "amplifier.v", also after the name of a drive, by default.
        current: name of the channel; "motor.i" by default.
        angle: name of the channel; "motor.angle" by default.
        load_angle: name of the channel; "load.angle", where there is one, by default.
        sensors: how well "current", "angle" and "load_angle" are measured; by default as their
            steps and their roughness report.
        disturbance: density of the torque that the model does not know, N*m for the root of a Hz.
        floor: share of a value that no model of a drive promises; it is part of the deviation.
        rounds: of the search, at most.

    >>> from linkwright.elements.drives import DC, Elastic, Inertia, Lag
    >>> try:
    ...     fit_drive(
    ...         Recording([0.0, 1.0], [], [[], []]),
    ...         Chain(PD(1, 0), Ideal(1), DC(1, 1e-3, 0.1, 1e-4), Elastic(1, 9), Inertia(1)),
    ...     )
    ... except IdentificationError as error:
    ...     print(error.code)
    R650
    """
    given = {"voltage": voltage, "current": current, "angle": angle, "load_angle": load_angle}
    recording, names = found_data(recording, given)
    rate = recorded_rate(recording)
    recorded_data(recording, list(names.values()))
    parts = chain.parts
    if parts.load is None:
        raise IdentificationError(
            "the drive has no load of its own",
            remedy="give a Chain with a load, such as Inertia(J)",
            code="R652",
        )
    system = System(name="drive")
    open_chain = Chain(PD(1.0, 0.0), Ideal(1.0), parts.motor, parts.train, parts.load, closed=False)
    system.add(open_chain, name="joint")
    quality = dict(sensors or {})
    seen = {
        names[k]: (f"joint.{CHANNELS[k]}", quality.get(k) or _quality(recording[names[k]]))
        for k in ("current", "angle", "load_angle")
        if k in names
    }
    ratio, density = float(parts.train.ratio), disturbance / float(parts.motor.J)
    states = [f"joint.{x.name}" for x in open_chain.states]
    process = _process(recording, names, ratio, density, float(rate))
    covariance = _covariance(recording, names, ratio, float(rate))
    f = RecordedFilter(
        system,
        seen,
        {"joint.reference": names["voltage"]},
        rate,
        process={n: v for n, v in process.items() if n in states},
        covariance={n: v for n, v in covariance.items() if n in states},
    )
    known = {n.removeprefix("joint."): v for n, v in zip(f.names, f.values, strict=True)}
    rigid = parts.train.rigid
    usual = [n for n in FREE if known.get(n, 0.0) > 0.0 and not (rigid and n.startswith("load."))]
    wanted = usual if free is None else list(free)
    for name in wanted:
        if name not in known:
            raise IdentificationError(
                f"the drive has no {name!r}",
                remedy=suggestion(name, known, f"it has {', '.join(known)}"),
                code="R652",
            )
    begin = {n: v for n, v in first_values(recording, names, chain).items() if n in wanted}
    data, start = _samples(f, recording, given, ratio)
    found = fit_recorded(
        f,
        data,
        [f"joint.{n}" for n in wanted],
        values={f"joint.{n}": v for n, v in begin.items()},
        start=start,
        floor=floor,
        rounds=rounds,
    )
    told = tuple(replace(p, name=p.name.removeprefix("joint.")) for p in found.parameters)
    return DriveFit(
        told,
        found.nis,
        found.samples,
        found.rounds,
        _with_parts(open_chain, told),
        f,
        float(rate),
    )


# -- what was recorded -----------------------------------------------------------------------------
def _quality(values: Array) -> Measurement:
    """Return how well something was measured, from its steps and its roughness."""
    steps = np.abs(np.diff(np.unique(values)))
    steps = steps[steps > 1e-9 * max(float(np.ptp(values)), 1e-300)]
    quantum = float(steps.min()) if steps.size and len(steps) < len(values) / 3 else 0.0
    rough = np.abs(np.diff(values, 5))
    noise = float(np.median(rough)) / 0.6745 / np.sqrt(252.0)  # of the fifth differences
    least = 1e-6 * float(np.std(values)) + 1e-12
    rest = max(noise**2 - quantum**2 / 12, 0.0 if quantum else least**2)
    return Measurement(_rounded(float(np.sqrt(rest)), 2), quantum=_rounded(quantum, 6))


def _rounded(value: float, digits: int) -> float:
    """Return a number with few digits, so that like recordings have the same filter."""
    return float(f"{value:.{digits - 1}e}")


def _slope(values: Array, rate: float) -> float:
    """Return the speed at the first sample, from the first of them."""
    part = values[: min(len(values), 12)]
    return float(np.polyfit(np.arange(len(part)) / rate, part, 1)[0])


def _shafts(
    recording: Recording, names: Mapping[str, str], ratio: float
) -> Iterator[tuple[str, Array, float]]:
    """Yield motor and load, what reports their angle, and by what that is divided."""
    yield "motor", recording[names["angle"]], 1.0
    if "load_angle" in names:
        yield "load", recording[names["load_angle"]], 1.0
    else:
        yield "load", recording[names["angle"]], ratio


def _samples(
    f: RecordedFilter, recording: Recording, given: Mapping[str, str], ratio: float
) -> tuple[Array, Array]:
    """Return the samples of a recording, and the memory of the filter at the first of them."""
    recording, names = found_data(recording, given)
    rate = float(recorded_rate(recording))
    wanted = [names[k] for k in ("current", "angle", "load_angle", "voltage") if k in names]
    data = recorded_data(recording, wanted)
    if data.shape[1] != len(f.channels):
        raise IdentificationError(
            f"the recording has {len(wanted)} of {len(f.channels)} channels that the fit had",
            remedy=f"record what the fit had: {', '.join(f.channels)}",
            code="R650",
        )
    begin = {"joint.motor.i": float(recording[names["current"]][0])}
    for role, values, by in _shafts(recording, names, ratio):
        begin[f"joint.{role}.angle"] = float(values[0]) / by
        begin[f"joint.{role}.speed"] = _slope(values, rate) / by
    return data, f.start({n: v for n, v in begin.items() if n in f.states})


def _spread(values: Array) -> float:
    """Return the deviation of one sample."""
    return float(np.sqrt(_quality(values).variance))


def _covariance(
    recording: Recording, names: Mapping[str, str], ratio: float, rate: float
) -> dict[str, float]:
    """Return how well the states are known at the first sample."""
    found = {"joint.motor.i": _spread(recording[names["current"]]) ** 2}
    for role, values, by in _shafts(recording, names, ratio):
        spread = _spread(values) / by
        found[f"joint.{role}.angle"] = spread**2
        found[f"joint.{role}.speed"] = (spread * rate) ** 2
    return {name: _rounded(value, 1) for name, value in found.items()}


def _process(
    recording: Recording, names: Mapping[str, str], ratio: float, density: float, rate: float
) -> dict[str, float]:
    """Return what a step adds to the speeds: the disturbance, and a trace of their own size."""
    own = {}
    for role, values, by in _shafts(recording, names, ratio):
        trace = 1e-5 * float(np.std(np.diff(values))) * rate
        own[f"joint.{role}.speed"] = max(density / np.sqrt(rate), trace) / by
    return {name: 10.0 ** round(np.log10(max(value, 1e-12))) for name, value in own.items()}


# -- what was found --------------------------------------------------------------------------------
def _with_parts(chain: Chain, found: Sequence[FittedParameter]) -> Chain:
    """Return a chain with parameters that were found."""
    parts = chain.parts
    new: dict[str, Any] = {}
    for role in ("motor", "train", "load"):
        part = getattr(parts, role)
        own = {f.name for f in fields(part)}
        given = {p.name.partition(".")[2]: p.value for p in found if p.name.startswith(f"{role}.")}
        new[role] = replace(part, **{n: v for n, v in given.items() if n in own})
    return Chain(
        PD(1.0, 0.0),
        Ideal(1.0),
        new["motor"],
        new["train"],
        new["load"],
        closed=False,
        name="drive",
    )
