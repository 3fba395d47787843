"""Files that describe a loop with random sampling: plant, feedback, intervals, and a map.

A file has a table `[plant]` with A and B, `[feedback]` with a gain or with poles, `[intervals]`
with a distribution by its kind, and, for a map, `[map]` with two ranges.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from inspect import signature
from pathlib import Path
from typing import Annotated, Any, Literal

import numpy as np
from pydantic import Field

from linkwright.algebra.units import amount
from linkwright.base.errors import Error, InputError, suggestion
from linkwright.formats.schema import Amount, Format, Key, read_record
from linkwright.formats.text.document import TextSource
from linkwright.formats.text.tables import Record
from linkwright.sampling.answers import Answers
from linkwright.sampling.assignment import arranged
from linkwright.sampling.designs import UnitCurve, design, scales
from linkwright.sampling.distributions import DISTRIBUTIONS, Distribution
from linkwright.sampling.loops import Loop
from linkwright.sampling.maps import RateMap, rate_map
from linkwright.sampling.regimes import Array
from linkwright.sampling.runs import RandomRuns, random_runs
from linkwright.sampling.streams import RateCertificate, SampleStream, certify

_SIZE = 2**22
_MOST = 1000  # rows or columns of a map
_MEASURED = ("ages", "befores")  # of what was recorded; no file gives them

Matrix = list[list[float]]
Span = tuple[float | str, float | str, int]
Pole = float | tuple[float, float]


class PlantTable(Record):
    """What is controlled."""

    a: Annotated[Matrix, Key("A, by rows")]
    b: Annotated[Matrix, Key("B, by rows")]
    integral: Annotated[Matrix | None, Key("rows of what is integrated")] = None
    delayed: Annotated[bool, Key("what is computed counts at the next sample")] = False
    names: Annotated[list[str], Key("of states")] = Field(default_factory=list)


class FeedbackTable(Record):
    """A gain, or the poles of a design."""

    gain: Annotated[Matrix | None, Key("K, by rows")] = None
    poles: Annotated[list[Pole], Key("a complex one as two numbers")] = Field(default_factory=list)
    period: Annotated[float | None, Amount("s", "interval of the design; else searched")] = None
    procedure: Annotated[
        Literal["report", "strongest", "fastest"] | None, Key("by which it is searched")
    ] = None


class MapTable(Record):
    """What the rows and the columns of a map are: from, to, count."""

    gain: Annotated[Span | None, Key("rows, times that of the file")] = None
    period: Annotated[Span | None, Key("rows, the interval of the design")] = None
    intervals: Annotated[dict[str, Span], Key("columns, one number of the distribution")]


class LoopFile(Record):
    """A loop whose samples come at random."""

    format: Format
    name: Annotated[str, Key("of the loop; that of the file")] = ""
    plant: Annotated[PlantTable, Key("what is controlled")]
    feedback: Annotated[FeedbackTable, Key("a gain, or poles")]
    intervals: Annotated[dict[str, Any] | None, Key("distribution of the intervals")] = None
    map: Annotated[MapTable | None, Key("ranges of a map")] = None


@dataclass(frozen=True, slots=True, eq=False)
class LoopTask:
    """What a file asks of a loop.

    Args:
        name: of the loop.
        loop: the plant with its form of feedback.
        gain: K, or none where poles are given.
        poles: of the design, or none where a gain is given.
        period: interval of the design, s; none to search it.
        procedure: by which it is searched.
        intervals: the table of the distribution; none where they are measured.
        source: the file, for messages.
        spans: of the map: what its rows and its columns are.

    >>> from linkwright.sampling.distributions import Uniform
    >>> task = LoopTask.joint()
    >>> round(task.answers(Uniform(0.010, 0.030)).contraction, 3)
    -0.226
    """

    name: str
    loop: Loop
    gain: Array | None
    poles: tuple[complex, ...]
    period: float | None
    procedure: Any
    intervals: Mapping[str, Any] | None = None
    source: TextSource = field(default_factory=lambda: TextSource(None), repr=False)
    spans: MapTable | None = field(default=None, repr=False)

    @staticmethod
    def joint() -> LoopTask:
        """Return a joint under computed torque, with poles at 0.4 and 0.7."""
        return LoopTask("joint", Loop([[0, 1], [0, 0]], [[0], [1]]), None, (0.4, 0.7), None, None)

    @property
    def distribution(self) -> Distribution:
        """The distribution of the intervals."""
        if self.intervals is None:
            raise InputError(
                "the file has no intervals",
                remedy='write [intervals] with kind = "uniform", low = "10 ms", high = "30 ms"',
                code="R632",
            )
        return distribution_of(self.intervals, self.source)

    def answers(self, distribution: Distribution | None = None) -> Answers:
        """Return the four answers, of the gain that is given or designed.

        Args:
            distribution: of the intervals; that of the file by default.
        """
        rates = distribution or self.distribution
        if self.gain is not None:
            return self.loop.answers(rates, self.gain)
        return self.loop.design(rates, self.poles, period=self.period, procedure=self.procedure)

    @property
    def curve(self) -> UnitCurve:
        """gamma and g over the ratio of intervals, where they depend on nothing else."""
        if not self.poles or not scales(self.loop):
            raise InputError(
                f"gamma of {self.name} does not depend on the ratio of intervals alone",
                remedy="give a double integrator with poles",
            )
        return UnitCurve(self.loop, self.poles)

    def runs(
        self, *, until: float = 2.0, streams: int = 50, seed: int = 0
    ) -> tuple[RandomRuns, Array]:
        """Return runs of the loop from where its first state is 1, and their gain.

        Args:
            until: end, s.
            streams: how many.
            seed: of the intervals.
        """
        given, gain = self.distribution, self.gain
        if gain is None:
            gain = design(self.loop, given, self.poles, self.period, self.procedure).gain
        start = np.eye(len(self.loop.a))[0]
        found = random_runs(self.loop, given, gain, start, until=until, streams=streams, seed=seed)
        return found, np.asarray(gain)

    def certify(self, stream: SampleStream, ages: bool = True) -> RateCertificate:
        """Return whether the loop is stable at the rate at which samples came.

        Poles are placed for the interval of the file, or else for the median of what was measured.

        Args:
            stream: when samples came.
            ages: whether ages count as delays.
        """
        gain, transform = self.gain, None
        if gain is None:
            period = self.period or float(np.median(stream.intervals)) or None
            if period is not None:
                gain, transform = self.loop.gain_for(self.poles, period)
        if gain is None:
            raise InputError(
                f"the stream {stream.name!r} has no intervals", remedy="record for longer"
            )
        return certify(self.loop, gain, stream, transform=transform, ages=ages)

    def map(self, steps: int = 256) -> RateMap:
        """Return the map that the file asks for.

        Args:
            steps: of each stream of the Monte Carlo.
        """
        if self.spans is None:
            raise InputError(
                "the file has no map",
                remedy='write [map] with period = ["8 ms", "20 ms", 40] (or gain = [0.5, 2, 40]) '
                'and [map.intervals] with high = ["15 ms", "80 ms", 40]',
                code="R632",
            )
        if self.spans.period is not None and not self.poles:
            raise self.source.error(
                ("map", "period"), "gains for periods need poles", "give poles in [feedback]"
            )
        key, columns, rates, rows = self._ranges(self.spans)
        transforms = None
        if self.spans.period is not None:
            made = [self.loop.gain_for(self.poles, float(t)) for t in rows]
            gains, transforms = [k for k, _ in made], [t for _, t in made]
            label, scale = "interval of the design (ms)", 1e3
        else:
            gain = self.answers().gain
            gains = [factor * gain for factor in rows]
            label, scale = "gain, times that of the file", 1.0
        timed = key in ("low", "high", "first", "second", "between")
        across_label = f"{key} (ms)" if timed else key
        return rate_map(
            self.loop,
            gains,
            rates,
            transforms=transforms,
            rows=rows * scale,
            columns=columns * (1e3 if timed else 1.0),
            labels=(label, across_label),
            steps=steps,
        )

    def _ranges(self, spans: MapTable) -> tuple[str, Array, list[Distribution], Array]:
        """Return the name and values of columns, the distributions that they make, and rows."""
        if (spans.gain is None) == (spans.period is None):
            raise self.source.error(
                ("map",), "a map has either gains or periods as rows", "give one of gain and period"
            )
        if self.intervals is not None:
            distribution_of(self.intervals, self.source)  # what is wrong there is told there
        key, *more = spans.intervals or [""]
        if more or key not in (self.intervals or {}):
            raise self.source.error(
                ("map", "intervals"),
                f"a map is over one number of the intervals, not {', '.join(spans.intervals)}",
                f"choose one of {', '.join(k for k in self.intervals or {} if k != 'kind')}",
            )
        at, across = ("map", "intervals", key), spans.intervals[key]
        columns = self._span(across, at, "s" if isinstance(across[0], str) else "?")
        rates = [
            distribution_of({**(self.intervals or {}), key: float(x)}, self.source, at)
            for x in columns
        ]
        if spans.period is not None:
            return key, columns, rates, self._span(spans.period, ("map", "period"), "s")
        assert spans.gain is not None
        return key, columns, rates, self._span(spans.gain, ("map", "gain"), "1")

    def _span(self, given: Span, at: tuple[str, ...], unit: str) -> Array:
        try:
            low, high = (amount(v, at[-1], unit) for v in given[:2])
        except Error as error:
            raise self.source.error(at, error.what, error.remedy) from None
        if not (0 < given[2] <= _MOST and low < high):
            raise self.source.error(
                at,
                f"from {low:g} to {high:g} in {given[2]} values is not a range",
                f"give the smaller one first, and a count of 1 to {_MOST}",
            )
        return np.linspace(low, high, given[2])


def read_loop(path: str | os.PathLike[str]) -> LoopTask:
    """Return what a file asks of a loop.

    Args:
        path: of a TOML file.

    >>> import tempfile
    >>> from pathlib import Path
    >>> text = "format = 1\\n[plant]\\na = [[0, 1], [0, 0]]\\nb = [[0], [1]]\\n"
    >>> text += "[feedback]\\ngain = [[-1065, -62.31]]\\n"
    >>> text += '[intervals]\\nkind = "uniform"\\nlow = "10 ms"\\nhigh = "30 ms"\\n'
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     place = Path(folder) / "loop.toml"
    ...     _ = place.write_text(text)
    ...     read_loop(place).distribution
    Uniform(low=0.01, high=0.03)
    """
    record, source = read_record(path, LoopFile, "a loop", most=_SIZE)
    plant, feedback = record.plant, record.feedback
    try:
        loop = Loop(
            plant.a, plant.b, integral=plant.integral, delayed=plant.delayed, names=plant.names
        )
    except Error as error:
        raise source.error(("plant",), error.what, error.remedy) from None
    if (feedback.gain is None) == (not feedback.poles):
        raise source.error(
            ("feedback",), "a loop has either a gain or poles", "give one of gain and poles"
        )
    gain = None
    if feedback.gain is not None:
        try:
            gain = loop.gain_of(feedback.gain)
        except Error as error:
            raise source.error(("feedback", "gain"), error.what, error.remedy) from None
    poles = tuple(complex(*p) if isinstance(p, tuple) else complex(p) for p in feedback.poles)
    if poles:
        try:
            arranged(poles, loop.size, loop.inputs)
        except Error as error:
            raise source.error(("feedback", "poles"), error.what, error.remedy) from None
    task = LoopTask(
        name=record.name or Path(path).stem,
        loop=loop,
        gain=gain,
        poles=poles,
        period=feedback.period,
        procedure=feedback.procedure,
        intervals=record.intervals,
        source=source,
        spans=record.map,
    )
    if record.map is not None and record.intervals is not None:
        task._ranges(record.map)
    return task


def distribution_of(
    table: Mapping[str, Any], source: TextSource, at: tuple[str | int, ...] = ("intervals",)
) -> Distribution:
    """Return the distribution that a table of a file describes."""
    given = dict(table)
    kind = given.pop("kind", None)
    if kind not in DISTRIBUTIONS:
        hint = suggestion(str(kind), DISTRIBUTIONS, f"one of {', '.join(DISTRIBUTIONS)}")
        raise source.error(at, f"there is no distribution {kind!r}", hint)
    made = DISTRIBUTIONS[kind]
    takes = [name for name in signature(made).parameters if name not in _MEASURED]
    unknown = [key for key in given if key not in takes]
    if unknown:
        raise source.error(
            (*at, unknown[0]), f"{kind} does not know {unknown[0]!r}", f"it has {', '.join(takes)}"
        )
    if "parts" in given:
        given["parts"] = [
            distribution_of(_table(part, source, (*at, "parts")), source, (*at, "parts", i))
            for i, part in enumerate(given["parts"])
        ]
    if isinstance(given.get("between"), Mapping):
        given["between"] = distribution_of(given["between"], source, (*at, "between"))
    try:
        return made(**given)
    except Error as error:
        raise source.error(at, error.what, error.remedy) from None
    except TypeError:
        missing = [key for key in takes if key not in given]
        raise source.error(
            at, f"{kind} lacks {', '.join(missing)}", f"it has {', '.join(takes)}"
        ) from None


def _table(part: object, source: TextSource, at: tuple[str | int, ...]) -> Mapping[str, Any]:
    if not isinstance(part, Mapping):
        raise source.error(at, f"{part!r} is not a distribution", 'such as { kind = "uniform", … }')
    return part
