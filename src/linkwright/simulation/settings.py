"""What a run is asked for: one table of defaults and one validation, for every way to start one.

`RunSettings()` is that table. The defaults aim at a motion that is right to all digits anyone looks
at: Dormand and Prince's method of order 8 with a relative error of 1e-10 a step takes fewer
evaluations there than one of order 5 with ten times the error, and what it costs natively is less
than reading the model. A thousand samples make a smooth curve on any screen. Whoever needs another
choice takes a named preset (`LIVE` for a run that keeps pace with the clock, `ROUGH` for one that
is only looked at), derived from the same table.
"""

from __future__ import annotations

import math
import sys
from collections.abc import Mapping
from dataclasses import dataclass, replace
from numbers import Integral, Real
from typing import TYPE_CHECKING, Any, TypeGuard

from linkwright.base.errors import Error
from linkwright.simulation.native.methods import Method, method_named

if TYPE_CHECKING:
    from linkwright.algebra.units import Amount
    from linkwright.simulation.native.machine import Settings
    from linkwright.system.phases import Phases

MOST_SECONDS = 1e12
"""The latest end time, s: some 30,000 years."""
MOST_STEPS = 1e11
"""The most steps of one run; the fastest models take hours for them."""
FORMS = ("auto", "independent", "redundant")
"""Forms of the equations of constrained mechanisms; see `linkwright.simulation.switching`."""

_UNTIL = 10.0  # s, where neither the model nor the user says when a run ends
AUTO = "auto"
"""In place of a method: it is chosen for the run (`linkwright.simulation.choosing`)."""

_STEPS = 10_000  # of a method with fixed steps, where neither says how long they are


@dataclass(frozen=True, slots=True)
class RunSettings:
    """How a model is run; what is not given is the same for every way to start a run.

    Args:
        until: end time, s; the model's own by default, or 10 s.
        step: of a method with fixed steps, s; by default the base tick of a System in which
            something is sampled, else the model's own, or the ten-thousandth part of the run.
            Without such a tick, it is the finest interval of samples of an adaptive method.
        method: one of `linkwright.simulation.native.methods.METHODS`, or "auto".
        tolerance: of an adaptive method, relative error of a step.
        absolute: the same where a state is near zero, in the states' own units; by default a
            thousandth of `tolerance`, or `tolerance` times the largest state where that is less, at
            the start and later. Where a state matters that is much smaller than the others, or that
            decays to much less than the start, give it.
        every: steps (of a System in which something is sampled, base ticks) from one sample to the
            next, 0 for none; by default for about `samples` of them.
        samples: how many there are, about.
        seed: of noise.
        form: of the equations of a constrained mechanism: "auto", "independent" or "redundant".
        executor: what runs it: "native", or "python" for reading and checking.
        why: of a method that was chosen for the run, the reason.

    >>> RunSettings().method, RunSettings().tolerance
    ('dop853', 1e-10)
    """

    until: float | None = None
    step: float | None = None
    method: str = "dop853"
    tolerance: float = 1e-10
    absolute: float | None = None
    every: int | None = None
    samples: int = 1000
    seed: int = 0
    form: str = "auto"
    executor: str = "native"
    why: str = ""

    def __post_init__(self) -> None:
        if self.method != AUTO:
            object.__setattr__(self, "method", method_named(self.method, AUTO).name)
        if self.until is not None:
            require_end(self.until)
        if self.step is not None:
            require_step(self.step, self.until)
        if self.every is not None:
            require_every(self.every)
        require_tolerance(self.tolerance)
        if self.absolute is not None and not (is_number(self.absolute) and self.absolute > 0):
            raise Error(f"the absolute tolerance {self.absolute!r} is not above zero")
        for name, least in (("samples", 1), ("seed", None)):
            number: object = getattr(self, name)
            if isinstance(number, bool) or not isinstance(number, Integral):
                raise Error(f"the {name} {number!r} must be an integer")
            if least is not None and number < least:
                raise Error(f"{name} must be {least} or more: got {number}")
        if self.form not in FORMS:
            raise Error(
                f"there is no form {self.form!r}", remedy=f"choose one of {', '.join(FORMS)}"
            )

    @property
    def chosen(self) -> Method:
        """The method; until one is chosen, the usual one."""
        return method_named("dop853" if self.method == AUTO else self.method)

    def recorded(self) -> RunSettings:
        """Return these settings; a run without samples is rejected."""
        if self.every == 0:
            raise Error("every 0 steps cannot be recorded; it must be an integer, 1 or more")
        return self

    def timed(
        self, own: tuple[float, float] | None = None, tick: float | None = None
    ) -> RunSettings:
        """Return settings with nothing left open: end, step and samples.

        Args:
            own: end and step that the model itself says, s.
            tick: the base tick, s, where something is sampled; None where nothing is.

        >>> timed = RunSettings(until=5.0).timed()
        >>> timed.step, timed.every
        (0.005, 1)
        >>> RunSettings(until=5.0, method="rk4").timed(tick=0.001).every
        5
        """
        until = self.until
        if until is None:
            until = _UNTIL if own is None else own[0]
        step = self.step
        if step is None and tick is None:
            usual = until / _STEPS if own is None else own[1]
            count = self.samples if self.chosen.adaptive else max(1, round(until / usual))
            step = until / count
        size = tick if tick is not None else step
        require_step(size if step is None else step, until)
        assert size is not None
        every = self.every
        if every is None:
            every = spacing(divided(until, size)[0], self.samples)
        return replace(self, until=until, step=step, every=every)

    def native(self, phases: Phases) -> Settings:
        """Return the settings of native code for phases, whose base tick is fixed."""
        from linkwright.simulation.native.machine import Settings

        made = self.timed(tick=phases.tick_seconds)
        assert made.until is not None
        assert made.every is not None
        ticks, end = divided(made.until, phases.tick_seconds)
        return Settings(
            made.chosen,
            ticks,
            in_parts(phases.tick_seconds if made.step is None else made.step, self.longest(phases)),
            int(made.every) if phases.output is not None else 0,
            max(made.tolerance, 2.3e-14),
            1e-3 * made.tolerance if made.absolute is None else made.absolute,
            seed=int(made.seed),
            end=end,
            scaled=made.absolute is None,
        )

    def longest(self, phases: Phases) -> float:
        """Return how long a step may be for the end stops of joints, s; adaptive ones may be any.

        >>> from linkwright.system import System
        >>> RunSettings(method="rk4").longest(System(name="s").phases())
        inf
        """
        stops = (phases.meta or {}).get("stops", {})
        return math.inf if self.chosen.adaptive else float(stops.get("longest", math.inf))

    def step_notes(self, phases: Phases) -> list[str]:
        """Return what is to be said of steps that are shorter than asked for, in sentences."""
        step = phases.tick_seconds if self.step is None else self.step
        longest = self.longest(phases)
        said = [f"the method was chosen: {self.why}"] if self.why else []
        if step <= longest:
            return said
        return [
            *said,
            f"steps of {step:g} s are too long for the end stops of joints: they were taken in "
            f"parts of {longest:.2g} s or less (limits=False leaves the stops out)",
        ]

    def metadata(self) -> dict[str, Any]:
        """Return what a recording says of these settings."""
        told: dict[str, Any] = {
            "until": self.until,
            "step": self.step,
            "method": self.method,
            "every": self.every,
            "seed": self.seed,
        }
        if self.chosen.adaptive:
            told["tolerance"] = self.tolerance
            if self.absolute is not None:
                told["absolute"] = self.absolute
        if self.form != "auto":
            told["form"] = self.form
        if self.executor != "native":
            told["executor"] = self.executor
        return told


def settings_of(given: RunSettings | Amount | None = None, **more: Any) -> RunSettings:
    """Return settings as they are, or those with an end time and what else is given by name.

    End time and step may be texts with a unit, such as "200 ms".

    >>> settings_of("200 ms", method="rk4").until
    0.2
    """
    base = given if isinstance(given, RunSettings) else DEFAULTS
    asked = dict(more)
    if given is not base and given is not None:
        asked["until"] = given
    for name, what in (("until", "the end time"), ("step", "the step")):
        if isinstance(asked.get(name), str):
            from linkwright.algebra.units import span

            asked[name] = span(asked[name], what)
    return replace(base, **asked) if asked else base


def settings_from(metadata: Mapping[str, Any]) -> RunSettings:
    """Return the settings that a recording holds; see `RunSettings.metadata`.

    >>> settings_from(RunSettings(2.0, method="rk4").timed().metadata()).every
    10
    """
    step, absolute = metadata.get("step"), metadata.get("absolute")
    return RunSettings(
        float(metadata["until"]),
        None if step is None else float(step),
        str(metadata["method"]),
        float(metadata.get("tolerance", DEFAULTS.tolerance)),
        None if absolute is None else float(absolute),
        int(metadata["every"]),
        seed=int(metadata.get("seed", 0)),
        form=str(metadata.get("form", "auto")),
        executor=str(metadata.get("executor", "native")),
    )


def divided(until: float, tick: float) -> tuple[int, float]:
    """Return how many ticks there are to an end time, and the end where it cuts the last one short.

    >>> divided(2.0, 0.005), divided(2.333, 0.005)
    ((400, inf), (467, 2.333))
    """
    ticks = round(until / tick)
    if ticks >= 1 and abs(ticks * tick - until) <= 1e-9 * until:
        return ticks, math.inf
    return math.floor(until / tick) + 1, until


def spacing(ticks: int, samples: int = 1000) -> int:
    """Return the ticks between samples, for about so many of them and one at the end.

    >>> spacing(15_000), spacing(100), spacing(100_003), spacing(10**15)
    (15, 1, 101, 1000000000000)
    """
    least = max(1, -(-ticks // samples))
    counts = range(ticks // least, max(ticks // (4 * least), 1) - 1, -1)
    fitting = (ticks // count for count in counts if ticks % count == 0)
    found = next(fitting, least)
    return found if found < 4 * least else least


# -- what is refused -------------------------------------------------------------------------------
def require_end(until: object) -> None:
    """Reject an end time that no run can come to.

    >>> require_end(1e300)
    Traceback (most recent call last):
        ...
    linkwright.Error: the end time 1e+300 s is later than 1e+12 s; give it in seconds
    """
    if not is_number(until):
        raise Error(
            f"the end time must be a finite number, not {until!r}", remedy="give it in seconds"
        )
    if not until > 0:
        raise Error(f"the end time {until} is not after the start")
    if until > MOST_SECONDS:
        raise Error(
            f"the end time {until:g} s is later than {MOST_SECONDS:g} s",
            remedy="give it in seconds",
        )


def require_step(step: object, until: float | None = None) -> None:
    """Reject a step that does not lead to the end.

    >>> require_step(1e-12, 1.0)
    Traceback (most recent call last):
        ...
    linkwright.Error: 1 s in steps of 1e-12 s are 1e+12 steps, more than 1e+11; choose a \
longer step
    """
    if not is_number(step):
        raise Error(f"the step must be a finite number, not {step!r}", remedy="give it in seconds")
    if not step > 0:
        raise Error(f"the step {step} is not above zero")
    count = 0.0 if until is None else until / float(step)
    if count > MOST_STEPS:
        raise Error(
            f"{until:g} s in steps of {step:g} s are {count:.3g} steps, more than {MOST_STEPS:g}",
            remedy="choose a longer step",
        )


def require_every(every: object) -> None:
    """Reject an interval of samples that is not an integer, or that no counter holds.

    >>> require_every(-1)
    Traceback (most recent call last):
        ...
    linkwright.Error: every -1 steps cannot be recorded; it must be an integer, 1 or more
    """
    if not is_number(every) or not 0 <= every < 2**62 or not float(every).is_integer():
        raise Error(f"every {every!r} steps cannot be recorded; it must be an integer, 1 or more")


def require_tolerance(tolerance: object) -> None:
    """Reject a tolerance that is not a relative error.

    >>> require_tolerance(-1.0)
    Traceback (most recent call last):
        ...
    linkwright.Error: the tolerance -1.0 is not between 0 and 1
    """
    if not is_number(tolerance) or not 0 < tolerance < 1:
        raise Error(f"the tolerance {tolerance!r} is not between 0 and 1")
    if tolerance < sys.float_info.epsilon:
        raise Error(
            f"the tolerance {tolerance!r} is below rounding, {sys.float_info.epsilon:.2g}",
            remedy="take 1e-13 or more",
        )


def is_number(value: object) -> TypeGuard[float]:
    """Return whether a value is a finite real number, and no truth value.

    >>> is_number(1.5), is_number(True), is_number("1"), is_number(math.nan), is_number(10**400)
    (True, False, False, False, False)
    """
    if isinstance(value, bool) or not isinstance(value, Real):
        return False
    try:
        return math.isfinite(value)
    except OverflowError:  # of a whole number beyond all floats
        return False


FOREVER = 1e7
"""s, after which a run ends that goes on until somebody ends it."""

DEFAULTS = RunSettings()
"""The one table of defaults."""

BATCH = replace(DEFAULTS, every=0)
"""Of many runs at once, of which only the last states are kept unless samples are asked for."""

LIVE = replace(DEFAULTS, until=1e6, method="dopri5", tolerance=1e-6)
"""Of a run that keeps pace with the clock: short steps cost a frame, errors below a pixel do not
show, and interpolated samples do not cut steps."""

LIVE_STEPS = replace(LIVE, method="rk4", step=1 / 2000)
"""The same where something that jumps would make adaptive steps ever shorter."""

LIVE_CONTACT = replace(LIVE, method="semi-implicit", step=1 / 5760)
"""The same on ground: stable while contacts open and close, 24 steps in a tick of 240 Hz."""

ROUGH = replace(DEFAULTS, method="rk4")
"""Of a motion that is only looked at, and takes too long with the defaults."""


def in_parts(step: float, longest: float) -> float:
    """Return a step, or an equal part of it where it may not be as long; samples do not matter.

    >>> in_parts(0.002, 0.0007), in_parts(0.002, float("inf"))
    (0.0006666666666666666, 0.002)
    """
    return step if step <= longest else step / math.ceil(step / longest)
