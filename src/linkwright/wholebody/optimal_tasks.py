"""What a motion is to do: a System with inputs, costs and limits, and its phases."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from linkwright.algebra.units import Amount, amount
from linkwright.base.checks import checked
from linkwright.base.errors import Error, InputError, suggestion, unknown
from linkwright.base.reprs import brief
from linkwright.blocks import Element
from linkwright.doors import load
from linkwright.mechanism.model_like import ModelLike
from linkwright.system import System, system_of
from linkwright.system.forms import Form
from linkwright.system.numbers import numbered
from linkwright.system.phases import Phases
from linkwright.wholebody.collocation import MotionGoal, PointFunctions

Array = NDArray[np.float64]
Range = Amount | tuple[Amount, Amount]
"""A number, or a lower and an upper one."""

MEMBER = "optimized"
"""The member of the System that has the inputs and what is limited."""
LARGEST = 2000
"""Intervals of a mesh."""


@dataclass(frozen=True, slots=True)
class Phase:
    name: str
    shortest: float
    longest: float
    limits: Mapping[str, Range]
    intervals: int


def phases_of(
    until: Range | None, phases: Mapping[str, Mapping[str, Any]] | None, intervals: int
) -> list[Phase]:
    """Return the phases; one where none are given."""
    if phases is not None and until is not None:
        raise InputError(
            "until is given beside phases", remedy='give each phase its own: {"until": (0.1, 1.0)}'
        )
    if not phases:
        if until is None:
            raise InputError(
                "the motion has no end", remedy="give until=2.0, or until=(0.5, 5.0) for a free one"
            )
        phases = {"motion": {"until": until}}
    found = []
    for name, given in phases.items():
        for key in given:
            if key not in ("until", "limits", "intervals"):
                raise InputError(
                    f"phase {name!r} has an unknown key {key!r}",
                    remedy=suggestion(key, ("until", "limits", "intervals"), None),
                )
        if "until" not in given:
            raise InputError(f"phase {name!r} has no end", remedy='give it "until": (0.1, 1.0)')
        low, high = pair(given["until"], f"until of {name!r}")
        if not 0 < low <= high < math.inf:
            raise InputError(
                f"until of {name!r} is {low:g} to {high:g} s", remedy="give finite times above 0"
            )
        count = given.get("intervals", intervals)
        if not (isinstance(count, int) and 2 <= count <= LARGEST):
            raise InputError(f"intervals of {name!r} is {count!r}", remedy=f"give 2 to {LARGEST:,}")
        found.append(Phase(name, low, high, given.get("limits") or {}, count))
    return found


def pair(given: Any, what: str, *, magnitude: bool = False) -> tuple[float, float]:
    """Return a lower and an upper number; texts with units are converted."""
    if isinstance(given, str) or np.ndim(given) == 0:
        number = checked(amount(given, what), what)
        if magnitude and number < 0:
            raise InputError(f"{what} is {number:g}", remedy="give a magnitude of 0 or above")
        return (-number, number) if magnitude else (number, number)
    ends = [amount(x, what) for x in given]
    if len(ends) != 2 or any(math.isnan(x) for x in ends):
        raise InputError(
            f"{what} is {brief(given)}", remedy="give a number, or a lower and an upper one"
        )
    low, high = ends
    if low > high:
        raise InputError(f"{what} goes from {low:g} down to {high:g}")
    return low, high


@dataclass(frozen=True, slots=True)
class OptimalTask:
    """A System with its task, ready to be put on a mesh."""

    system: System
    phases: Phases
    acting: tuple[int, ...]
    states: tuple[str, ...]
    inputs: tuple[str, ...]
    labels: tuple[str, ...]  # of the inputs, as expressions name them
    functions: PointFunctions
    task: MotionGoal
    parts: tuple[Phase, ...]
    bounds: tuple[Array, ...]  # of states and inputs, for each phase (2, both)
    rows: tuple[tuple[tuple[int, float, float], ...], ...]
    scale: Array

    @staticmethod
    def of(
        model: ModelLike,
        act: Any,
        initial: Mapping[str, Range] | None,
        final: Mapping[str, Range] | None,
        minimize: str | None,
        minimize_end: str | None,
        limits: Mapping[str, Range] | None,
        parameters: Mapping[str, float] | None,
        parts: list[Phase],
    ) -> OptimalTask:
        """Put inputs and expressions into a System, and flatten it."""
        made = load(model) if isinstance(model, str) else model
        system = system_of(made).copy()
        system.set_parameters(parameters or {})
        m, own = system.mechanism, {s.name for s in system.phases(()).w}
        member = Element(MEMBER, m, doc="inputs and limits of an optimal motion")
        for output in m.outputs:
            member.alias(output.name, output.value)
        wanted = dict(act) if isinstance(act, Mapping) else dict.fromkeys(_list(act))
        if not wanted:
            raise InputError("nothing acts", remedy="name joints or inputs in act")
        if minimize is None and minimize_end is None:
            raise InputError("nothing is minimized", remedy='give minimize="1" for the least time')
        # inputs, with their limits
        inputs: dict[str, str] = {}  # by what expressions call them
        most: dict[str, tuple[float, float]] = {}
        for name, limit in wanted.items():
            if name not in own and name not in m.coordinates:
                raise unknown("input or coordinate", name, [*own, *m.coordinates])
            label = name if name in own else f"tau_{name}"
            if name not in own:
                effort = member.input(label, 0.0)
                member.effort(f"on_{name}".replace(".", "_"), name, effort)
            inputs[label] = name if name in own else f"{MEMBER}.{label}"
            usual = _file_limit(made, name)
            most[label] = (
                (-usual, usual)
                if limit is None
                else pair(limit, f"the limit of {name!r}", magnitude=True)
            )
        # expressions become outputs
        texts: dict[str, str] = {}
        states = {s.name for s in system.phases(()).x}

        def column(text: str) -> str:
            if text not in texts:
                texts[text] = f"value_{len(texts)}"
                member.output(texts[text], text)
            return texts[text]

        everywhere = [dict(limits or {}) | dict(p.limits) for p in parts]
        asked = [initial or {}, final or {}, *everywhere]
        for text in (t for given in asked for t in given if t not in states | inputs.keys()):
            column(text)
        for cost in (minimize, minimize_end):
            if cost is not None:
                column(cost)
        system.add(member)
        start = {n: v for n, v in (initial or {}).items() if n in states}
        system.set_initial({n: middle(pair(v, f"initial {n!r}")) for n, v in start.items()})
        record = tuple(f"{MEMBER}.{name}" for name in texts.values())
        found = system.flattened(record, form=Form(guarded=False))
        phases = numbered(system, found.phases, found.mechanism)
        _refuse_jumps(phases)
        names = tuple(s.name for s in phases.x)
        place = {s.name: k for k, s in enumerate(phases.w)}
        outputs = {s.name: k for k, s in enumerate(phases.outputs)}

        def of(text: str) -> int:
            return outputs[f"{MEMBER}.{texts[text]}"]

        def ends(given: Mapping[str, Range], what: str, own: Array) -> tuple[Array, Any]:
            bounds, rows = own.copy(), []
            for text, value in given.items():
                low, high = pair(value, f"{what} {text!r}")
                if text in names:
                    bounds[:, names.index(text)] = low, high
                elif text in inputs:
                    raise InputError(f"{what} names the input {text!r}", remedy="give states there")
                else:
                    rows.append((of(text), low, high))
            return bounds, tuple(rows)

        here = np.array([s.value for s in phases.x])
        if m.constraints and any(_is_range(v) for v in start.values()):
            raise InputError(
                f"a start of {system.name!r} is free, and its loops are closed only at known ones",
                remedy="give numbers in initial, without ranges",
            )
        fixed = {n: v for n, v in (initial or {}).items() if n not in names or _is_range(v)}
        begin, begin_rows = ends(fixed, "initial", np.array([here, here]))
        nothing = np.outer([-math.inf, math.inf], np.ones(len(names)))
        end, end_rows = ends(final or {}, "final", nothing)
        bounds, rows = [], []
        for given in everywhere:
            now = np.outer([-math.inf, math.inf], np.ones(len(names) + len(inputs)))
            now[:, len(names) :] = np.array([most[label] for label in inputs]).T
            more = []
            for joint in m.ranges:  # as the model has them
                speed = getattr(m.kinematics().rates.get(joint.coordinate), "name", "")
                most_of = math.inf if joint.speed is None else joint.speed
                low = -math.inf if joint.lower is None else joint.lower
                high = math.inf if joint.upper is None else joint.upper
                for name, ends_of in (
                    (joint.coordinate.name, (low, high)),
                    (speed, (-most_of, most_of)),
                ):
                    if name in names:
                        now[:, names.index(name)] = ends_of
            for text, limit in given.items():
                low, high = pair(limit, f"the limit of {text!r}", magnitude=True)
                if text in names or text in inputs:
                    k = [*names, *inputs].index(text)
                    now[:, k] = max(low, now[0, k]), min(high, now[1, k])
                else:
                    more.append((of(text), low, high))
            bounds.append(now)
            rows.append(tuple(more))
        task = MotionGoal(
            -1 if minimize is None else of(minimize),
            -1 if minimize_end is None else of(minimize_end),
            begin,
            end,
            begin_rows,
            end_rows,
        )
        known = np.vstack([begin, end, *(b[:, : len(names)] for b in bounds)])
        acts = np.vstack([b[:, len(names) :] for b in bounds])
        acting = tuple(place[name] for name in inputs.values())
        return OptimalTask(
            system, phases, acting, names, tuple(inputs.values()), tuple(inputs),
            PointFunctions(phases, acting), task, tuple(parts), tuple(bounds), tuple(rows),
            np.concatenate([_sizes(known), _sizes(acts)]),
        )  # fmt: skip


def _is_range(value: Any) -> bool:
    return not isinstance(value, str) and np.ndim(value) > 0


def _list(names: str | Sequence[str]) -> list[str]:
    return [names] if isinstance(names, str) else list(names)


def middle(pair: tuple[float, float]) -> float:
    """Return a number within limits that may be infinite."""
    low, high = pair
    if math.isfinite(low) and math.isfinite(high):
        return 0.5 * (low + high)
    return min(max(0.0, low), high)


def _sizes(known: Array) -> Array:
    """Return the greatest finite magnitude in each column; 1 for none."""
    found = np.where(np.isfinite(known), np.abs(known), 0.0).max(axis=0)
    return np.where(found > 0, found, 1.0)


def _file_limit(model: Any, name: str) -> float:
    """Return the greatest effort of a joint in a robot's file; infinity for nothing."""
    speeds = list(getattr(model, "speeds", ()))
    efforts = getattr(model, "effort_limits", None)
    if efforts is None or name not in getattr(model, "coordinates", ()):
        return math.inf
    rates = model.mechanism.kinematics().rates
    speed = getattr(rates[model.mechanism.coordinates[name]], "name", "")
    return float(efforts[speeds.index(speed)]) if speed in speeds else math.inf


def _refuse_jumps(phases: Phases) -> None:
    """Reject what has no derivative from start to end."""
    for tick in phases.ticks:
        raise Error(
            f"{tick.name!r} is sampled, and a motion over its instants has no derivative",
            remedy="optimize the model without it, and add it to motion.system()",
        )
    if phases.d:
        raise Error(
            f"{phases.d[0].name!r} is remembered from step to step, which has no derivative",
            remedy="optimize a model without memory (anchors of contacts, hysteresis)",
        )
    for event in phases.event_list:
        if event.action is not None:
            raise Error(
                f"states jump at the event {event.name!r}",
                remedy="give phases, each without the event",
            )
