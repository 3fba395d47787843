"""Tasks: what a researcher writes to let the robot do something.

A task is a class in a file. `init` is called beside the loop before it starts, `run` once in each
tick of the task servo, `change` where its parameters are to be changed, `draw` where the scene is
drawn.

    class Wave(Task):
        frequency = parameter(1.0, unit="Hz", lower=0, upper=5)
        native = True

        def init(self, lab):
            self.middle = lab.robot.limits.mean(axis=1)

        def run(self, t, state, desired):
            desired.q = self.middle + 0.1 * sin(2 * pi * self.frequency * t)

A `parameter` changes while the task runs, at one tick. A `state` is a number that the task
remembers from tick to tick; a `channel` is one that is recorded. With `native`, `run` is called
once with symbols and compiled; numbers of `self` are constants then, and what `run` remembers has
to be a `state`. Arrays that `run` is given are views: copy what is to be kept.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, ClassVar, overload

import numpy as np

from linkwright.base.arguments import worded
from linkwright.base.errors import Error, nearest, suggestion
from linkwright.lab.slot import CHANNELS, MEMORIES, PARAMETERS

_OWN = ("__dict__", "_numbers", "_running")
_PLACES = {"parameter": PARAMETERS, "state": MEMORIES, "channel": CHANNELS}


@dataclass(frozen=True, slots=True)
class TaskParameter:
    """A number of a task that may be changed while it runs."""

    name: str  # of it
    default: float  # what it is at first
    unit: str = "1"  # as text
    low: float = -math.inf  # least value
    high: float = math.inf  # greatest value
    doc: str = ""  # what it is

    @property
    def bounds(self) -> str:
        """Its bounds in words.

        >>> TaskParameter("f", 1.0, "Hz", 0.0, 5.0).bounds
        'from 0 to 5 Hz'
        """
        unit = "" if self.unit in ("1", "?") else f" {self.unit}"
        if math.isinf(self.low) and math.isinf(self.high):
            return f"any number{unit and ' of' + unit}"
        if math.isinf(self.high):
            return f"{self.low:g}{unit} or more"
        if math.isinf(self.low):
            return f"{self.high:g}{unit} or less"
        return f"from {self.low:g} to {self.high:g}{unit}"

    def checked(self, value: Any, task: str) -> float:
        """Return a value for it, or reject it in words.

        Args:
            value: a finite number within the bounds.
            task: whose parameter it is, for messages.
        """
        try:
            number = float(value)
        except (TypeError, ValueError):
            raise Error(f"{self.name} of {task!r} is {value!r}", remedy="give a number") from None
        if not math.isfinite(number) or not self.low <= number <= self.high:
            raise Error(f"{self.name} of {task!r} is {number:g}", remedy=f"it is {self.bounds}")
        return number


class _Number:
    """A declared number of a task: where it stands among those of its kind."""

    kind = ""

    def __init__(self, initial: Any = 0.0) -> None:
        values = np.asarray(initial, dtype=float)
        if values.ndim > 1 or not values.size or not np.isfinite(values).all():
            raise Error(f"a {self.kind} of a task is a number or a row of numbers, not {initial!r}")
        self.initial, self.shape = values.ravel(), values.shape
        self.name = ""

    def __set_name__(self, owner: type, name: str) -> None:
        self.name = name

    def get(self, task: Task) -> Any:
        place = task.places[self.kind][self.name]
        found = task.numbers[self.kind]
        return found[place] if self.shape else found.item(place.start)

    def set(self, task: Task, value: Any) -> None:
        place = task.places[self.kind][self.name]
        try:
            task.numbers[self.kind][place] = value
        except ValueError:
            raise Error(
                f"{self.name} of {task.name!r} has {place.stop - place.start} numbers, "
                f"not {np.size(value)}"
            ) from None

    @overload
    def __get__(self, task: None, owner: type) -> _Number: ...
    @overload
    def __get__(self, task: Task, owner: type) -> Any: ...
    def __get__(self, task: Task | None, owner: type) -> Any:
        return self if task is None else self.get(task)

    def __set__(self, task: Task, value: Any) -> None:
        self.set(task, value)


class _Parameter(_Number):
    kind = "parameter"

    def __init__(self, default: float, unit: str, low: float, high: float, doc: str) -> None:
        super().__init__(default)
        if self.shape:
            raise Error("a parameter of a task is one number", remedy="declare several")
        self.unit, self.low, self.high, self.doc = unit, float(low), float(high), doc

    def __set_name__(self, owner: type, name: str) -> None:
        super().__set_name__(owner, name)
        self.about = TaskParameter(
            name, float(self.initial[0]), self.unit, self.low, self.high, self.doc
        )

    def set(self, task: Task, value: Any) -> None:
        if task.running:
            raise Error(
                f"{task.name!r} changes its parameter {self.name} in run",
                remedy="declare it as a state(...), or change it from outside",
            )
        super().set(task, self.about.checked(value, task.name))


class _State(_Number):
    kind = "state"


class _Channel(_Number):
    kind = "channel"

    def __init__(self, unit: str, doc: str) -> None:
        super().__init__(0.0)
        self.unit, self.doc = unit, doc


@worded
def parameter(
    default: float,
    *,
    unit: str = "1",
    lower: float = -math.inf,
    upper: float = math.inf,
    doc: str = "",
) -> Any:
    """Declare a number of a task that may be changed while it runs.

    Args:
        default: what it is at first.
        unit: as text.
        lower: least value.
        upper: greatest value.
        doc: what it is.

    >>> class Wave(Task):
    ...     frequency = parameter(1.0, unit="Hz", lower=0, upper=5)
    >>> Wave().frequency
    1.0
    """
    return _Parameter(default, unit, lower, upper, doc)


def state(initial: Any = 0.0) -> Any:
    """Declare a number, or a row of numbers, that a task remembers from tick to tick.

    Args:
        initial: what it is when the task starts; `init` may give another value.

    >>> class Counter(Task):
    ...     count = state(0)
    >>> Counter().count
    0.0
    """
    return _State(initial)


@dataclass(frozen=True, slots=True)
class TaskSetting:
    """What a task is started with, and that stays while it runs: a word, a file, a row."""

    name: str  # of it
    default: Any  # what it is unless it is given
    doc: str = ""  # what it is


class _Setting:
    """A declared setting; the value is in the task itself."""

    def __init__(self, default: Any, doc: str) -> None:
        self.default, self.doc = default, doc

    def __set_name__(self, owner: type, name: str) -> None:
        self.about = TaskSetting(name, self.default, self.doc)

    def __get__(self, task: Task | None, owner: type) -> Any:
        return self if task is None else self.default


def setting(default: Any, *, doc: str = "") -> Any:
    """Declare something that a task is started with, and that stays while it runs.

    Args:
        default: what it is unless it is given.
        doc: what it is.

    >>> class Play(Task):
    ...     file = setting("default.traj", doc="what is played")
    >>> Play().file
    'default.traj'
    """
    return _Setting(default, doc)


def channel(unit: str = "1", *, doc: str = "") -> Any:
    """Declare a number that `run` sets, and that is recorded.

    Args:
        unit: as text.
        doc: what it is.

    >>> class Push(Task):
    ...     force = channel("N")
    >>> Push().force
    0.0
    """
    return _Channel(unit, doc)


class Task:
    """What a robot is to do.

    `name` is the class's in small letters unless it is given; `native` says whether `run` is
    compiled. In `init` and `change`, parameters and states are set as attributes.

    >>> Task().name
    'task'
    """

    __slots__ = ("__dict__", "_numbers", "_running")

    _numbers: dict[str, Any]
    _running: str
    name: ClassVar[str] = "task"
    native: ClassVar[bool] = False
    places: ClassVar[Mapping[str, Mapping[str, slice]]] = {kind: {} for kind in _PLACES}

    def __init_subclass__(cls, **options: Any) -> None:
        super().__init_subclass__(**options)
        if "name" not in vars(cls):
            cls.name = re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "-", cls.__name__).lower()
        cls.places = _placed(cls)

    @property
    def numbers(self) -> dict[str, Any]:
        """Its declared numbers by kind, which are what they are declared to be at first."""
        try:
            found: dict[str, Any] = self._numbers
        except AttributeError:
            made: dict[str, Any] = {kind: np.zeros(count) for kind, count in _PLACES.items()}
            for number in _declared(type(self)):
                made[number.kind][self.places[number.kind][number.name]] = number.initial
            self._numbers = found = made
        return found

    @property
    def running(self) -> str:
        """How it is in `run`: "python" or "native" (with symbols); "" where it is not."""
        return getattr(self, "_running", "")

    def stand_in(self, how: str, numbers: dict[str, Any]) -> Task:
        """Return a task that shares everything with this one but its declared numbers.

        Args:
            how: it is in `run`.
            numbers: by kind.
        """
        made = type(self).__new__(type(self))
        made.__dict__ = self.__dict__
        made._numbers, made._running = numbers, how
        return made

    def __setattr__(self, name: str, value: Any) -> None:
        declared = isinstance(getattr(type(self), name, None), _Number) or name in _OWN
        if not declared and self.running == "native":
            raise Error(
                f"{self.name!r} changes self.{name} in run, which is not a declared state",
                remedy=f"write {name} = state(...) in the class, or leave out native = True",
            )
        object.__setattr__(self, name, value)

    # -- what a researcher writes ------------------------------------------------------------------
    def init(self, lab: Any) -> bool | None:
        """Prepare, beside the loop; False aborts the start.

        Args:
            lab: the laboratory; it may be moved and asked.
        """

    def run(self, t: Any, state: Any, desired: Any) -> None:
        """Say what is wanted at a tick.

        Args:
            t: time since the start of the task, s.
            state: the robot as it is.
            desired: what is wanted; what is not set stays.
        """

    def change(self, lab: Any) -> None:
        """Ask for other parameters, beside the loop.

        Args:
            lab: the laboratory.
        """

    def draw(self, scene: Any, state: Any) -> None:
        """Draw in the scene; never in the control path.

        Args:
            scene: what is drawn in.
            state: the robot as it is.
        """

    # -- parameters --------------------------------------------------------------------------------
    @classmethod
    def parameters(cls) -> dict[str, TaskParameter]:
        """Return its parameters by name.

        >>> Task.parameters()
        {}
        """
        return {n.name: n.about for n in _declared(cls) if isinstance(n, _Parameter)}

    @classmethod
    def settings(cls) -> dict[str, TaskSetting]:
        """Return its settings by name.

        >>> Task.settings()
        {}
        """
        found = {k: v for base in reversed(cls.__mro__) for k, v in vars(base).items()}
        return {k: v.about for k, v in found.items() if isinstance(v, _Setting)}

    @classmethod
    def channels(cls) -> dict[str, str]:
        """Return the units of its channels by name.

        >>> Task.channels()
        {}
        """
        return {n.name: n.unit for n in _declared(cls) if isinstance(n, _Channel)}

    @property
    def values(self) -> dict[str, float]:
        """The values of its parameters by name."""
        return {name: float(getattr(self, name)) for name in self.parameters()}

    def checked(self, values: Mapping[str, Any]) -> dict[str, float]:
        """Return values for parameters, all of them checked; one that is wrong rejects all.

        Args:
            values: by name.
        """
        known = self.parameters()
        for name in values:
            if name in self.settings():
                raise Error(
                    f"{name} of {self.name!r} stays while the task runs",
                    remedy="give it where the task is started",
                )
            if name not in known:
                raise self._unknown(name, list(known))
        return {name: known[name].checked(value, self.name) for name, value in values.items()}

    def set(self, values: Mapping[str, Any]) -> None:
        """Give parameters and settings other values, all or none, before it is started.

        Args:
            values: by name.
        """
        settings, parameters = self.settings(), self.parameters()
        for name in values:
            if name not in settings and name not in parameters:
                raise self._unknown(name, [*parameters, *settings])
        given = self.checked({n: v for n, v in values.items() if n not in settings})
        for name, value in {**{n: values[n] for n in values if n in settings}, **given}.items():
            setattr(self, name, value)

    def _unknown(self, name: str, known: list[str]) -> Error:
        there = ", ".join(known) or "it has none"
        return Error(
            f"{self.name!r} has no parameter {name!r}",
            remedy=suggestion(name, known, f"its parameters: {there}"),
        )


def require_run(cls: type[Task]) -> None:
    """Reject a task that does nothing, as where `run` is misspelled; one may only draw.

    >>> class Wave(Task):
    ...     def rnu(self, t, state, desired): ...
    >>> require_run(Wave)
    Traceback (most recent call last):
    linkwright.Error: the task 'wave' has no run; rename its rnu
    """
    methods = ("init", "change", "draw")
    near = nearest("run", [x for x in vars(cls) if x not in methods and not x.startswith("_")])
    others = any(getattr(cls, name) is not getattr(Task, name) for name in methods)
    if cls.run is not Task.run or (others and not near):
        return
    raise Error(
        f"the task {cls.name!r} has no run",
        remedy=f"rename its {near}" if near else "write def run(self, t, state, desired): ...",
    )


def _declared(cls: type[Task]) -> Iterator[_Number]:
    """Yield the declared numbers of a class, those of its bases first."""
    found: dict[str, _Number] = {}
    for base in reversed(cls.__mro__):
        for name, value in vars(base).items():
            found.pop(name, None)
            if isinstance(value, _Number):
                found[name] = value
    yield from found.values()


def _placed(cls: type[Task]) -> dict[str, dict[str, slice]]:
    """Return where the declared numbers of a class stand, by kind and name."""
    places: dict[str, dict[str, slice]] = {kind: {} for kind in _PLACES}
    for number in _declared(cls):
        if isinstance(number, _Parameter):
            number.about.checked(number.about.default, cls.name)
        taken = sum(p.stop - p.start for p in places[number.kind].values())
        places[number.kind][number.name] = slice(taken, taken + len(number.initial))
        if taken + len(number.initial) > _PLACES[number.kind]:
            raise Error(
                f"the task {cls.name!r} has more than {_PLACES[number.kind]} numbers of the kind "
                f"{number.kind}",
                remedy="keep others in self, in a task that is not native",
            )
    return places
