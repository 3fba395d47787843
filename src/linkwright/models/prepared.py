"""Models made ready for native runs, and remembered on disk.

A model becomes phases (`linkwright.system.phases`). What a run needs of them is kept as plain data
in the cache of native code, under a digest of the model and of this package's code; with the object
code beside it, a model that was run once starts without being derived.

Models with constraints that may become singular are not remembered: the form of their equations
changes on the way (`linkwright.simulation.switching`).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from linkwright.base.cache import entry_key, keep, known
from linkwright.base.fingerprint import fingerprint
from linkwright.models.sources import Source
from linkwright.simulation.described import own_times
from linkwright.simulation.native.stored import from_data, is_storable, to_data
from linkwright.system.phases import Phases

if TYPE_CHECKING:
    from linkwright.system import System


@dataclass(frozen=True, slots=True, eq=False)
class Prepared:
    """A model that is ready for native runs."""

    source: Source  # where it comes from
    phases: Phases  # with the model's own numbers
    # of all parameters and inputs, those included that no equation needs
    values: Mapping[str, float]
    timing: tuple[float, float] | None  # end and step, s, where the model says so
    # whether any start and any parameters can be put in as they are: there is no constraint and no
    # quaternion
    plain: bool
    clocked: bool = False  # whether it has a base tick of its own, which runs keep


def remembered(source: Source) -> Prepared | None:
    """Return a model that was prepared before, or None."""

    def read(data: Any) -> Prepared:
        return Prepared(
            source,
            from_data(data["phases"]),
            {str(n): float(v) for n, v in data["values"].items()},
            (float(data["timing"][0]), float(data["timing"][1])) if data["timing"] else None,
            bool(data["plain"]),
            bool(data["clocked"]),
        )

    return known(_key(source), read) if source.known else None


def remember(prepared: Prepared) -> None:
    """Store a prepared model, where it has a form as plain data."""
    if prepared.source.known and is_storable(prepared.phases):
        fields = ("values", "timing", "plain", "clocked")
        entry = {name: getattr(prepared, name) for name in fields}
        keep(_key(prepared.source), {"phases": to_data(prepared.phases), **entry})


def _key(source: Source) -> bytes:
    return entry_key(f"prepared {fingerprint('models')} {source.digest}".encode(), "model")


def prepare(source: Source, system: System) -> Prepared:
    """Return a System whose equations hold everywhere, ready for native runs."""
    from linkwright.simulation.runs import all_values_of

    mechanism, phases = system.mechanism, system.phases()
    moving = not mechanism.constraints and not phases.quaternions
    return Prepared(
        source,
        phases,
        all_values_of(system),
        own_times(mechanism),
        moving and phases.initialize is None and not system.members,
        not system.is_continuous,
    )


def numbered(prepared: Prepared, values: Mapping[str, float], initial: Mapping[str, float]) -> Any:
    """Return phases with other numbers, where they can be put in as they are; otherwise None."""
    if (values or initial) and not prepared.plain:
        return None
    if not (
        set(values) <= set(prepared.values) and set(initial) <= {s.name for s in prepared.phases.x}
    ):
        return None  # an unknown name, which the mechanism itself tells about
    phases = prepared.phases
    return replace(
        phases,
        x=tuple(replace(s, value=initial.get(s.name, s.value)) for s in phases.x),
        p=tuple(replace(s, value=values.get(s.name, s.value)) for s in phases.p),
        w=tuple(replace(s, value=values.get(s.name, s.value)) for s in phases.w),
    )
