"""Phases as plain data, for a run whose native code is in the disk cache.

Of each Program only its fingerprint and the sizes of its outputs are kept, which is all that a run
needs where the code is there. Where it is not, `Forgotten` is raised, and the caller has to flatten
the System again. Phases with foreign functions or a Program for the start have no such form.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, cast

from linkwright.algebra import symbol
from linkwright.base.cache import stored
from linkwright.base.errors import Error
from linkwright.program import Program
from linkwright.simulation.native.session import Session
from linkwright.simulation.settings import RunSettings
from linkwright.system.phases import Event, Phases, Signal, Tick

Tell = Callable[[str], None]
"""What takes lines for whoever waits."""

_PROGRAMS = ("derivative", "accepted", "output", "events", "turns", "terms", "breaks")


class Forgotten(Error):
    """A stored Program whose native code is not in the cache any more."""


@dataclass(frozen=True, slots=True)
class _Size:
    """The size of an output."""

    size: int


class StoredProgram:
    """What is kept of a Program."""

    def __init__(self, digest: str, sizes: tuple[int, ...]) -> None:
        self.digest = digest
        self.outputs = tuple(_Size(n) for n in sizes)
        self.statements = ()  # none in which a foreign function could be called

    def fingerprint(self) -> str:
        """Return the fingerprint of the Program."""
        return self.digest

    def output_values(self) -> tuple[()]:
        """Return no expression, because none is kept."""
        return ()

    def __getattr__(self, name: str) -> Any:
        raise Forgotten(f"only a digest of this Program is kept, so it has no {name}")


def prepared(
    key: bytes,
    settings: RunSettings,
    build: Callable[[], Phases],
    what: str,
    tell: Tell | None = None,
) -> Session:
    """Return a run of the phases that are stored under a key; of those that are built otherwise."""
    built: list[Phases] = []

    def make() -> Session:
        if tell is not None:
            tell(f"preparing the equations of {what}; the next start is quick")
        built.append(build())
        return Session(built[0], settings)

    def write(_: Session) -> dict[str, Any] | None:
        return to_data(built[0]) if is_storable(built[0]) else None

    return stored(key, lambda data: Session(from_data(data), settings), make, write)


def is_storable(phases: Phases) -> bool:
    """Whether phases have a form as plain data."""
    from linkwright.backends.foreign import foreign_functions
    from linkwright.simulation.native.bundle import phase_programs

    if phases.initialize is not None or any(tick.foreign for tick in phases.ticks):
        return False
    return not any(foreign_functions(made) for _, made in phase_programs(phases))


def to_data(phases: Phases) -> dict[str, Any]:
    """Return phases as plain data."""
    return {
        "name": phases.name,
        **{
            array: [_signal(s) for s in getattr(phases, array)]
            for array in ("x", "d", "p", "w", "outputs")
        },
        "tick_seconds": phases.tick_seconds,
        "programs": {name: _program(getattr(phases, name)) for name in _PROGRAMS},
        "ticks": [
            [t.name, _program(t.program), t.slots, t.every, t.offset, t.streams, t.exchanged]
            for t in phases.ticks
        ],
        "event_list": [
            [e.name, e.direction, e.terminal, _program(e.action), e.guard, e.at_start]
            for e in phases.event_list
        ],
        "quaternions": phases.quaternions,
        "meta": dict(phases.meta or {}),
    }


def from_data(data: Mapping[str, Any]) -> Phases:
    """Return the phases that `to_data` wrote; `Forgotten` for anything else."""
    from linkwright.simulation.native.machine import require_fit

    try:
        found = _from_data(data)
        require_fit(found)
        return found
    except (ArithmeticError, LookupError, TypeError, ValueError, AttributeError, Error):
        raise Forgotten("what was stored of a System is something else") from None


def _from_data(data: Mapping[str, Any]) -> Phases:
    programs = data["programs"]
    quaternions = []
    for a, b, c, d in data["quaternions"]:
        quaternions.append((int(a), int(b), int(c), int(d)))
    ticks = [
        Tick(
            str(name),
            _needed(made),
            tuple(map(int, slots)),
            int(every),
            int(offset),
            tuple(map(int, streams)),
            exchanged=bool(exchanged),
        )
        for name, made, slots, every, offset, streams, exchanged in data["ticks"]
    ]
    events = [
        Event(str(name), int(direction), bool(terminal), _stored(action), bool(guard), bool(start))
        for name, direction, terminal, action, guard, start in data["event_list"]
    ]
    x, d, p, w, outputs = (
        tuple(_read_signal(s) for s in data[array]) for array in ("x", "d", "p", "w", "outputs")
    )
    return Phases(
        str(data["name"]),
        x,
        d,
        p,
        w,
        symbol("t", "time"),
        _seconds(data["tick_seconds"]),
        _needed(programs["derivative"]),
        tuple(ticks),
        _stored(programs["accepted"]),
        _stored(programs["output"]),
        outputs,
        _stored(programs["events"]),
        tuple(events),
        turns=_stored(programs["turns"]),
        terms=_stored(programs["terms"]),
        breaks=_stored(programs["breaks"]),
        quaternions=tuple(quaternions),
        meta=_meta(data["meta"]),
    )


def _meta(found: Any) -> dict[str, Any]:
    meta = dict(found)
    return meta | {"rotations": int(meta["rotations"])} if "rotations" in meta else meta


def _seconds(found: Any) -> float:
    if not 0 < found < math.inf:
        raise ValueError(found)
    return float(found)


def _signal(s: Signal) -> list[Any]:
    return [s.name, s.value, s.unit, s.kind, s.long_name, s.body]


def _read_signal(found: Any) -> Signal:
    name, value, unit, kind, long_name, body = found
    return Signal(str(name), None, float(value), str(unit), str(kind), str(long_name), str(body))


def _program(made: Program | None) -> list[Any] | None:
    return None if made is None else [made.fingerprint(), [port.size for port in made.outputs]]


def _stored(found: Any) -> Program | None:
    return None if found is None else _needed(found)


def _needed(found: Any) -> Program:
    digest, sizes = found
    # it stands for a Program wherever the code is there, and raises where it is not
    return cast("Program", StoredProgram(str(digest), tuple(int(n) for n in sizes)))
