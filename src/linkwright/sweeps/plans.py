"""Plans of sweeps: which runs there are, and what is kept of each.

A plan is plain data, so that a file, a worker of a cluster and a sweep that was interrupted all
read the same. Lists and ranges span a grid, in the order in which they are written, the last one
changing fastest (or go together, one entry a run); distributions are drawn `runs` times at every
point of it, with the same draws at each. A draw depends on the seed, the name and its number alone.
"""

from __future__ import annotations

import hashlib
import json
import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Annotated, Any, Literal

import numpy as np
from numpy.typing import NDArray
from pydantic import Field, StrictStr

from linkwright.algebra.units import MKS
from linkwright.base.errors import Error, InputError
from linkwright.base.files import LARGEST
from linkwright.formats.schema import Amount, Format, Key, read_record, table_of
from linkwright.mechanism import mechanism_of
from linkwright.recording.recording import Array, plain
from linkwright.simulation.settings import DEFAULTS, RunSettings, divided, is_number, spacing
from linkwright.sweeps.reducing import parsed

REDUCTIONS = ("final", "min", "max", "mean", "rms")
"""What can be kept of a channel, besides its value `at T`."""

DISTRIBUTIONS: dict[str, int] = {"normal": 2, "uniform": 2, "lognormal": 2, "triangular": 3}
"""Names of distributions and how many numbers each takes."""

_WHOLE = Field(gt=-(1 << 63), lt=1 << 63)
_ROOM = 64 << 20  # bytes of samples of a part
_LARGEST_PART = 1024
_REDUCED_PART = 1 << 16
_CARD_PART = 1 << 20  # of a card, which needs many at once
_CARD_ROOM = 1 << 30
_MOST = 100_000_000
_MOST_REDUCED = 10_000_000_000
_FAR = 40.0  # deviations that no draw goes beyond
_LARGEST_LOG = 700.0  # of a number that is not infinite


@dataclass(frozen=True, slots=True)
class Plan:
    """A sweep; parameters and initial are by name a number, a list, a range or a distribution."""

    model: Annotated[str, Key("its name with options, or a path")]
    until: Annotated[float, Amount("s", "end time", texts=False)]
    # of a method with fixed steps, else the finest interval of samples; by default as `simulate`
    step: Annotated[float | None, Amount("s", "step, or interval of samples", texts=False)] = None
    method: Annotated[str, Key("of integration")] = DEFAULTS.method
    parameters: Annotated[Mapping[str, Any], Key("values, lists, ranges, distributions")] = field(
        default_factory=dict
    )
    initial: Annotated[Mapping[str, Any], Key("of states, in the same way")] = field(
        default_factory=dict
    )
    channels: Annotated[
        Mapping[str, Sequence[str]], Key("what is kept of each: final, max, 'at T', ...")
    ] = field(default_factory=dict)
    runs: Annotated[int, _WHOLE, Key("draws of each distribution, and of noise")] = 1
    # those after it have the seeds after it
    seed: Annotated[int, _WHOLE, Key("of the first draw and its noise")] = 0
    together: bool = False  # whether lists go together instead of spanning a grid
    every: Annotated[
        int | None, _WHOLE, Key("steps from sample to sample; by default for about a thousand")
    ] = None
    tolerance: Annotated[float, Amount("1", "of an adaptive method", texts=False)] = (
        DEFAULTS.tolerance
    )
    part: Annotated[
        int | None, _WHOLE, Key("runs in a part; by default as many as there is room for")
    ] = None
    absolute: Annotated[
        float | None, Amount("?", "tolerance where a state is near zero", texts=False)
    ] = None
    reduce: Annotated[
        tuple[str, ...],
        Key("what is kept of all runs together: min, mean, quantiles, 'worst 10'..."),
    ] = ()

    @property
    def settings(self) -> RunSettings:
        """How each run goes."""
        return RunSettings(
            self.until,
            self.step,
            self.method,
            self.tolerance,
            self.absolute,
            self.every,
            seed=self.seed,
        )

    def as_data(self) -> dict[str, Any]:
        """Return the plan as plain data."""
        data: dict[str, Any] = plain(asdict(self))
        return data

    @property
    def digest(self) -> str:
        """A digest of the whole plan."""
        text = json.dumps(self.as_data(), sort_keys=True)
        return hashlib.blake2b(text.encode(), digest_size=16).hexdigest()

    @property
    def grid(self) -> tuple[int, ...]:
        """The lengths of the lists; one length where they go together."""
        lengths = self.lengths
        return tuple(lengths[:1] if self.together else lengths)

    @property
    def lengths(self) -> list[int]:
        """The lengths of the lists and ranges, none of which is made for that."""
        given = (*self.parameters.values(), *self.initial.values())
        return [n for n in map(_length, given) if n is not None]

    @property
    def count(self) -> int:
        """How many runs there are."""
        return math.prod(self.grid) * self.runs

    def _axes(self) -> dict[tuple[str, str], Array]:
        found = {}
        for kind, table in (("parameters", self.parameters), ("initial", self.initial)):
            for name, given in table.items():
                axis = _axis(given)
                if axis is not None:
                    found[kind, name] = axis
        return found

    def numbers(self, first: int, last: int) -> tuple[dict[str, Array], dict[str, Array]]:
        """Return parameters and starts of some of the runs."""
        index: NDArray[np.int64] = np.arange(first, last, dtype=np.int64)
        place, draw = index // self.runs, index % self.runs
        columns = _places(place, self.grid)
        found: dict[str, dict[str, Array]] = {"parameters": {}, "initial": {}}
        axes = self._axes()
        for k, ((kind, name), axis) in enumerate(axes.items()):
            found[kind][name] = axis[columns[0 if self.together else k]]
        for kind, table in (("parameters", self.parameters), ("initial", self.initial)):
            for name, given in table.items():
                if (kind, name) in axes:
                    continue
                if isinstance(given, Mapping):
                    found[kind][name] = self._draws(given, name, draw)
                else:
                    found[kind][name] = np.full(len(index), float(given))
        return found["parameters"], found["initial"]

    def _draws(self, given: Mapping[str, Any], name: str, draw: NDArray[np.int64]) -> Array:
        """Return draws by their numbers; where these follow each other, no others are made."""
        if len(draw) and draw[-1] - draw[0] == len(draw) - 1:
            return _drawn(given, self.seed + int(draw[0]), name, len(draw))
        return _drawn(given, self.seed, name, self.runs)[draw]

    @property
    def columns(self) -> list[str]:
        """The names of what is kept of each run."""
        return [f"{name}.{how}" for name, many in self.wanted.items() for how in many]

    @property
    def wanted(self) -> dict[str, tuple[str, ...]]:
        """What is kept of each channel."""
        return {name: tuple(kept) for name, kept in self.channels.items()}


def _places(place: NDArray[np.int64], grid: tuple[int, ...]) -> tuple[Any, ...]:
    return tuple(np.unravel_index(place, grid)) if grid else ()


def _length(given: Any) -> int | None:
    """Return the number of values of a list or a range; None for what is neither."""
    if isinstance(given, Mapping):
        return int(given["count"]) if "from" in given else None
    return len(given) if isinstance(given, list | tuple | np.ndarray) else None


def _axis(given: Any) -> Array | None:
    """Return the values of a list or a range; None for what is neither."""
    if isinstance(given, Mapping):
        if "from" not in given:
            return None
        start, end, count = float(given["from"]), float(given["to"]), int(given["count"])
        if given.get("log"):
            return np.asarray(np.geomspace(start, end, count), dtype=np.float64)
        return np.asarray(np.linspace(start, end, count), dtype=np.float64)
    if isinstance(given, list | tuple | np.ndarray):
        return np.asarray(given, dtype=np.float64)
    return None


def _drawn(given: Mapping[str, Any], seed: int, name: str, count: int) -> Array:
    """Return draws from a distribution, one for each seed in a row; each is that of its seed."""
    kind, numbers = next(iter(given.items()))
    key = hashlib.blake2b(name.encode(), digest_size=16).digest()
    random = np.random.Philox(key=np.frombuffer(key, np.uint64), counter=seed)
    words = random.random_raw(4 * count).reshape(count, 4)  # four for each value of the counter
    u, v = ((words[:, :2] >> np.uint64(11)) + 0.5).T / 2**53
    if kind == "uniform":
        return np.asarray(numbers[0] + (numbers[1] - numbers[0]) * u)
    if kind == "triangular":
        low, mode, high = numbers
        up = np.sqrt(u * (high - low) * (mode - low))
        down = np.sqrt((1 - u) * (high - low) * (high - mode))
        return np.asarray(np.where(u * (high - low) < mode - low, low + up, high - down))
    normal = numbers[0] + numbers[1] * np.sqrt(-2 * np.log(u)) * np.cos(2 * math.pi * v)
    return np.asarray(np.exp(normal) if kind == "lognormal" else normal)


# -- checking --------------------------------------------------------------------------------------
def checked(plan: Plan) -> Plan:
    """Return a plan that is sound, or raise an error that says what is not.

    >>> checked(Plan("car", 5.0, parameters={"SPEED": [700, 900]}, runs=3)).count
    6
    """
    try:
        plan.settings.recorded()
    except Error as error:
        raise InputError(error.what, remedy=error.remedy) from None
    if plan.runs < 1 or (plan.part or 1) < 1:
        raise InputError("runs and part must be 1 or more")
    for table in (plan.parameters, plan.initial):
        for name, given in table.items():
            _check_spec(name, given)
    lengths = set(plan.lengths)
    if plan.together and len(lengths) > 1:
        raise InputError(
            f"lists that go together have one length, not {sorted(lengths)}",
            remedy="make them equally long, or let them span a grid",
        )
    most = _MOST_REDUCED if plan.reduce else _MOST
    if plan.count > most:
        raise InputError(
            f"{plan.count:,} runs are too many; {most:,} are possible",
            remedy=None if plan.reduce else "give reduce = [...]: ten thousand million runs then",
        )
    for kind in plan.reduce:
        parsed(kind)
    for name, kept in plan.channels.items():
        for reduction in kept:
            _check_reduction(plan, name, reduction)
    return plan


def _check_spec(name: str, given: Any) -> None:
    if isinstance(given, bool) or not isinstance(given, Mapping | list | tuple | float | int):
        raise InputError(f"{name} is neither a number, a list, a range nor a distribution")
    if not isinstance(given, Mapping):
        values = given if isinstance(given, list | tuple) else [given]
        if not values:
            raise InputError(f"the list of {name} is empty")
        if not all(map(is_number, values)):
            raise InputError(f"{name} holds something that is not a finite number")
        return
    if "from" in given:
        unknown = set(given) - {"from", "to", "count", "log"}
        if unknown or "to" not in given or "count" not in given:
            raise InputError(f"the range of {name} is {{ from, to, count }}, and log if wanted")
        count, ends = given["count"], (given["from"], given["to"])
        if isinstance(count, bool) or not isinstance(count, int) or not 1 <= count <= _MOST:
            raise InputError(f"the range of {name} has no count from 1 to {_MOST:,}")
        if not all(map(is_number, ends)) or not math.isfinite(float(ends[1]) - float(ends[0])):
            raise InputError(f"the range of {name} has ends that are not finite numbers")
        if not isinstance(given.get("log", False), bool):
            raise InputError(f"log of the range of {name} is true or false")
        if given.get("log") and min(ends) <= 0:
            raise InputError(f"the range of {name} is logarithmic, but does not stay above zero")
        return
    kinds = [k for k in given if k in DISTRIBUTIONS]
    if len(given) != 1 or len(kinds) != 1:
        raise InputError(
            f"{name} has no distribution {', '.join(map(str, given)) or 'at all'}",
            remedy=f"choose one of {', '.join(DISTRIBUTIONS)}, or a range {{ from, to, count }}",
        )
    numbers = given[kinds[0]]
    size = DISTRIBUTIONS[kinds[0]]
    if not isinstance(numbers, list | tuple) or len(numbers) != size:
        raise InputError(f"{kinds[0]} of {name} takes {size} numbers")
    if not all(map(is_number, numbers)):
        raise InputError(f"{kinds[0]} of {name} holds something that is not a finite number")
    if not _can_be_drawn(kinds[0], [float(x) for x in numbers]):
        raise InputError(f"{kinds[0]} of {name} cannot have the numbers {list(numbers)}")


def _can_be_drawn(kind: str, numbers: list[float]) -> bool:
    """Return whether all draws from a distribution are finite numbers."""
    if kind in ("normal", "lognormal"):
        largest = abs(numbers[0]) + _FAR * numbers[1]
        return numbers[1] >= 0 and largest < (_LARGEST_LOG if kind == "lognormal" else math.inf)
    spread = numbers[-1] - numbers[0]
    ordered = numbers == sorted(numbers) and math.isfinite(spread)
    return ordered and (spread > 0 or kind == "uniform")


def _check_reduction(plan: Plan, name: str, reduction: str) -> None:
    if reduction in REDUCTIONS:
        return
    t = time_of(reduction)
    if t is None or not 0 <= t <= plan.until:
        raise InputError(
            f"{reduction!r} cannot be kept of {name}",
            remedy=f"choose {', '.join(REDUCTIONS)}, or 'at T' with a time of the run in s",
        )


def time_of(reduction: str) -> float | None:
    """Return the time of a reduction `at T`, s; None for another.

    >>> time_of("at 1.5"), time_of("max")
    (1.5, None)
    """
    word, _, number = reduction.partition(" ")
    try:
        return float(number) if word == "at" else None
    except ValueError:
        return None


def ticks_of(plan: Plan, tick: float) -> tuple[int, int]:
    """Return the ticks of a run, and those from sample to sample.

    >>> ticks_of(Plan("car", 5.0, channels={"r": ["max"]}), 0.025)
    (200, 1)
    >>> ticks_of(Plan("car", 5.0, channels={"r": ["final"]}), 0.025)
    (200, 200)
    """
    count, _ = divided(plan.until, tick)
    only_final = all(kept == ("final",) for kept in plan.wanted.values())
    every = plan.every or (count if only_final else spacing(count))
    for kept in plan.wanted.values():
        for t in filter(None, map(time_of, kept)):
            place = t / (every * tick)
            if abs(place - round(place)) > 1e-6:
                raise InputError(
                    f"no sample falls on t = {t} s; they come every {every * tick:g} s",
                    remedy="choose another step or every",
                )
    return count, every


def part_size(plan: Plan, samples: int, device: str = "cpu") -> int:
    """Return how many runs go together.

    >>> part_size(Plan("car", 5.0, channels={"r": ["max"]}), 201)
    1024
    """
    if plan.part is not None:
        return plan.part
    few = _REDUCED_PART if plan.reduce else _LARGEST_PART
    largest, memory = (few, _ROOM) if device == "cpu" else (_CARD_PART, _CARD_ROOM)
    room = memory // max(8 * samples * max(len(plan.channels), 1), 1)
    return int(max(8, min(room // 8 * 8, largest)))


# -- files -----------------------------------------------------------------------------------------
PlanFile = table_of(
    Plan,
    format=(Format, 1),
    model=(StrictStr | None, Key("its name with options, or a file beside this one"), None),
    until=(float | None, Amount("s", "end time", texts=False), None),
    combine=(Literal["grid", "together"], Key("whether lists span a grid"), "grid"),
    parameters=(dict[str, Any], Key("values, lists, ranges, distributions"), {}),
    initial=(dict[str, Any], Key("of states, in the same way"), {}),
    channels=(dict[str, Any], Key("what is kept of each: final, max, 'at T', ..."), {}),
)


def read_plan(path: Path) -> Plan:
    """Return the plan of a text file."""
    record, source = read_record(path, PlanFile, "a sweep", most=LARGEST)
    for key in ("model", "until"):
        if getattr(record, key) is None:
            raise source.error((), f"the sweep has no {key}", f"add {key} = ...")
    tables = {key: _table(getattr(record, key), key) for key in ("parameters", "initial")}
    try:
        plan = record.made(
            model=_beside(record.model, path.parent),
            channels={n: _kept(v) for n, v in _table(record.channels, "channels").items()},
            together=record.combine == "together",
            **tables,
        )
        return _in_si(checked(plan))
    except InputError as error:
        raise InputError(error.what, file=path, remedy=error.remedy) from None


def _in_si(plan: Plan) -> Plan:
    """Return a plan of a file in SI units; its numbers are in those in which the model prints."""
    from linkwright.models import opened

    if Path(plan.model).suffix.lower() not in ("", ".toml"):
        return plan
    m = mechanism_of(opened(plan.model))
    if m.display is MKS:
        return plan
    m.kinematics()  # speeds get their units

    def taken(table: Mapping[str, Any]) -> dict[str, Any]:
        return {n: _scaled(x, m.display.printed(m.units.get(n, "?"))[1]) for n, x in table.items()}

    return replace(plan, parameters=taken(plan.parameters), initial=taken(plan.initial))


def _scaled(given: Any, factor: float) -> Any:
    """Return a number, list, range or distribution times a factor."""
    if isinstance(given, list | tuple):
        return [factor * x for x in given]
    if not isinstance(given, Mapping):
        return factor * given
    if "lognormal" in given:
        mean, deviation = given["lognormal"]
        return {"lognormal": [mean + math.log(factor), deviation]}
    kept = {key: given[key] for key in ("count", "log") if key in given}
    return {key: _scaled(x, factor) for key, x in given.items() if key not in kept} | kept


def _beside(model: str, folder: Path) -> str:
    """Return where a model is: beside the plan, if there is such a file."""
    try:
        there = (folder / model.partition(":")[0]).is_file()
    except (OSError, ValueError):  # no name of a file
        there = False
    return str(folder / model) if there else model


def _table(given: Mapping[str, Any], key: str) -> dict[str, Any]:
    """Return a table by names, those with dots in them put together again."""
    flat: dict[str, Any] = {}
    for name, value in given.items():
        flat.update(_flattened(name, value, key))
    return flat


def _flattened(name: str, given: Any, key: str) -> Iterable[tuple[str, Any]]:
    known = {"from", *DISTRIBUTIONS}
    if isinstance(given, Mapping) and key != "channels" and not known & set(given):
        inner = [(f"{name}.{k}", v) for k, v in given.items()]
        if inner and all(isinstance(v, Mapping | list | int | float) for _, v in inner):
            return [pair for n, v in inner for pair in _flattened(n, v, key)]
    if isinstance(given, Mapping) and key == "channels":
        return [pair for k, v in given.items() for pair in _flattened(f"{name}.{k}", v, key)]
    return [(name, given)]


def _kept(given: Any) -> tuple[str, ...]:
    found = [given] if isinstance(given, str) else given
    if not isinstance(found, list | tuple) or not all(isinstance(x, str) for x in found):
        raise InputError("what is kept of a channel is a text, or a list of them")
    return tuple(found)
