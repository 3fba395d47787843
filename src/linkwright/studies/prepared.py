"""Models made ready for native runs, and remembered on disk.

A model becomes phases (`linkwright.system.phases`) with its energies as further channels. What a
run needs of them is kept as plain data in the cache of native code, under a digest of the model and
of this package's code; with the object code beside it, a model that was run once starts without
being derived. Where a smallest Program ships with the model it is the one that is integrated.

Models with constraints that may become singular are not run this way: the form of their equations
changes on the way (`linkwright.simulation.switching`).
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from linkwright.cache import entry_key, open_cache
from linkwright.errors import Error
from linkwright.fingerprint import fingerprint
from linkwright.simulation.described import own_times
from linkwright.simulation.native.stored import from_data, is_storable, to_data
from linkwright.studies.sources import Source
from linkwright.system.phases import Phases

if TYPE_CHECKING:
    from linkwright.formats.robot.ground import Grounded
    from linkwright.mechanism import Mechanism
    from linkwright.system import System

_FORMAT = 2


@dataclass(frozen=True, slots=True, eq=False)
class Prepared:
    """A model that is ready for native runs.

    Args:
        source: where it comes from.
        phases: with the model's own numbers.
        values: of all parameters and inputs, those included that no equation needs.
        timing: end and step, s, where the model says so.
        plain: whether any start and any parameters can be put in as they are: there is no
            constraint and no quaternion.
        clocked: whether it has a base tick of its own, which runs keep.
        stored: whether it comes from the disk cache.
    """

    source: Source
    phases: Phases
    values: Mapping[str, float]
    timing: tuple[float, float] | None
    plain: bool
    clocked: bool = False
    stored: bool = False


def remembered(source: Source) -> Prepared | None:
    """Return a model that was prepared before, or None."""
    store = open_cache() if source.known else None
    entry = None if store is None else store.fetch(_key(source))
    if entry is None:
        return None
    try:
        found = json.loads(entry)
        return Prepared(
            source,
            from_data(found["phases"]),
            {str(n): float(v) for n, v in found["values"].items()},
            (float(found["timing"][0]), float(found["timing"][1])) if found["timing"] else None,
            bool(found["plain"]),
            bool(found["clocked"]),
            stored=True,
        )
    except (ValueError, KeyError, TypeError, Error):
        return None


def remember(prepared: Prepared) -> None:
    """Store a prepared model, where it has a form as plain data."""
    store = open_cache() if prepared.source.known and is_storable(prepared.phases) else None
    if store is None:
        return
    entry = {
        "phases": to_data(prepared.phases),
        "values": dict(prepared.values),
        "timing": prepared.timing,
        "plain": prepared.plain,
        "clocked": prepared.clocked,
    }
    store.put(_key(prepared.source), json.dumps(entry).encode())


def _key(source: Source) -> bytes:
    return entry_key(f"prepared {_FORMAT} {fingerprint()} {source.digest}".encode(), "model")


def prepare(
    source: Source, model: Mechanism | System, ground: Grounded | None = None
) -> Prepared | None:
    """Return a model ready for native runs; None where its equations may become singular."""
    from linkwright.equations.joint_stops import run_notes, with_stops
    from linkwright.equations.poles import poles
    from linkwright.mechanism import mechanism_of
    from linkwright.system import System

    mechanism = mechanism_of(model)
    if isinstance(model, System):  # the work of its members is not among the energies
        phases = model.phases()
    elif not _is_regular(mechanism):
        return None
    elif ground is None:
        phases = System(with_energies(with_stops(mechanism)), base=1000).phases()
    else:  # whose work is not among the energies
        system = System(mechanism, base=1000)
        ground.add_to(system)
        phases = system.phases()
    if turning := [[p.body, p.coordinate, p.repeats] for p in poles(mechanism)]:
        phases = replace(phases, meta={**(phases.meta or {}), "poles": turning})
    own = () if ground is None else ground.notes
    if notes := (*run_notes(mechanism, touching=ground is not None), *own):
        told = {"limits": bool(mechanism.ranges), "notes": list(notes)}
        phases = replace(phases, meta={**(phases.meta or {}), **told})
    if is_driven(mechanism):
        phases = replace(phases, meta={**(phases.meta or {}), "driven": True})
    moving = not mechanism.constraints and not phases.quaternions
    known = {*mechanism.parameters, *mechanism.inputs}
    return Prepared(
        source,
        phases,
        {n: float(v) for n, v in mechanism.values.items() if n in known},
        own_times(mechanism),
        moving and phases.initialize is None and not isinstance(model, System),
        isinstance(model, System) and not model.is_continuous,
    )


def _is_regular(mechanism: Mechanism) -> bool:
    """Whether what constraints eliminate is the same everywhere."""
    from linkwright.algebra import free_symbols, linear_coefficients

    speeds = [s.symbol for s in mechanism.kinematics().speeds]
    fixed = set(mechanism.parameters.values())
    for constraint in mechanism.constraints:
        found, _ = linear_coefficients(constraint.speed, speeds)
        if constraint.position is not None or not set(free_symbols(*found.values())) <= fixed:
            return False
    return True


def is_driven(mechanism: Mechanism) -> bool:
    """Whether a constraint moves by itself, and so does work.

    >>> from linkwright.models import load_model
    >>> is_driven(load_model("car")), is_driven(load_model("four-bar"))
    (True, False)
    """
    from linkwright.algebra import ZERO, linear_coefficients

    speeds = [s.symbol for s in mechanism.kinematics().speeds]
    rests = (linear_coefficients(c.speed, speeds)[1] for c in mechanism.constraints)
    return any(rest is not ZERO for rest in rests)


def with_energies(mechanism: Mechanism) -> Mechanism:
    """Return a view of a mechanism with its energies among its outputs.

    Outputs that have the name of a coordinate or a speed are left out: these are recorded anyway.

    >>> from linkwright.models import load_model
    >>> [o.name for o in with_energies(load_model("pendulum")).outputs][-3:]
    ['energy.kinetic', 'energy.potential', 'energy.power']
    """
    from linkwright.equations.energy import ENERGIES, energy_outputs

    speeds = {s.symbol.name for s in mechanism.kinematics().speeds}
    own = {*mechanism.coordinates, *speeds, *(s.symbol.name for s in mechanism.states), *ENERGIES}
    kept = (o for o in mechanism.outputs if o.name not in own)
    return mechanism.with_outputs([*kept, *energy_outputs(mechanism)])


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
