"""What a mechanism computes and names beside its motion: states, channels, sensors, files.

Coordinates, speeds, accelerations and loads are quantities with names, units and descriptions that
are short enough for the labels of a channel (Sayers' thesis, appendix A: "Rot. of A rel. to N, axis
#3").
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from linkwright.algebra import Expr, symbol
from linkwright.algebra.units import Amount, amount, checked_unit, parse_unit, unit_text
from linkwright.mechanism.joints import MechanismError
from linkwright.mechanism.parts import Body, Output, Sensor, State, Timing, Value
from linkwright.mechanism.symbols import changed, refuse_taken, require_name, si_only
from linkwright.mechanism.transactions import builder

if TYPE_CHECKING:
    from linkwright.mechanism.mechanism import Mechanism

KINDS = ("coordinates", "speeds", "accelerations", "forces", "moments")
DERIVED = ("energies", "reactions")  # found by `linkwright.equations.derived_outputs`


@dataclass(frozen=True, slots=True)
class MechanismQuantity:
    """A quantity of a mechanism: its expression, unit, description and body."""

    name: str
    value: Expr
    unit: str
    doc: str
    body: str = ""


def quantities_of(mechanism: Mechanism, kind: str) -> tuple[MechanismQuantity, ...]:
    """Return all quantities of a kind, with units and descriptions.

    >>> from linkwright.mechanism import Mechanism
    >>> m = Mechanism("m")
    >>> b = m.body("b", translate="xy")
    >>> [q.doc for q in quantities_of(m, "coordinates")]
    ['Trans. of b rel. to n, axis x', 'Trans. of b rel. to n, axis y']
    """
    if kind == "coordinates":
        return tuple(_coordinates(mechanism))
    if kind == "speeds":
        return tuple(_speeds(mechanism))
    if kind == "accelerations":
        rates = mechanism.kinematics().accelerations
        return tuple(
            MechanismQuantity(
                rates[s.value].name, rates[s.value], per_second(s.unit), s.doc, s.body
            )
            for s in _speeds(mechanism)
        )
    if kind == "forces":
        return tuple(
            MechanismQuantity(f.name, f.magnitude, "N", f.doc or f.name, f.point.body.name)
            for f in mechanism.forces
        )
    if kind == "moments":
        return tuple(
            MechanismQuantity(c.name, c.magnitude, "N*m", c.doc or c.name, c.body.name)
            for c in mechanism.moments
        )
    raise MechanismError(
        f"there are no quantities {kind!r}; there are {', '.join((*KINDS, *DERIVED))}"
    )


def _coordinates(mechanism: Mechanism) -> Iterator[MechanismQuantity]:
    for body in mechanism.depth_first():
        for q, text in _joint_texts(body):
            doc = mechanism.docs.get(q.name, text)
            yield MechanismQuantity(q.name, q, mechanism.units.get(q.name, "?"), doc, body.name)
    for state in mechanism.states:
        name = state.symbol.name
        doc = mechanism.docs.get(name, f"State {name}")
        yield MechanismQuantity(name, state.symbol, mechanism.units.get(name, "?"), doc)


def _joint_texts(body: Body) -> Iterator[tuple[Expr, str]]:
    assert body.parent is not None
    ends = f"of {body.name} rel. to {body.parent.name}"
    for k, (q, _) in enumerate(body.translations):
        yield q, f"Trans. {ends}, {_axis(body.joint.translate[k])}"
    for k, q in enumerate(body.rotations):
        if body.joint.quaternion:
            yield q, f"Rot. {ends}, quaternion {k}"
        else:
            which = "Rot." if len(body.rotations) == 1 else f"Rot. {k + 1}"
            yield q, f"{which} {ends}, {_axis(body.joint.rotate[k])}"


def _axis(axis: object) -> str:
    text = str(axis)
    if text.lstrip("-+") in ("1", "2", "3"):
        text = text.replace("1", "x").replace("2", "y").replace("3", "z")
    return f"axis {text}" if text.lstrip("-+") in ("x", "y", "z") else "inclined axis"


def _speeds(mechanism: Mechanism) -> Iterator[MechanismQuantity]:
    rates = {u: q for q, u in mechanism.kinematics().rates.items()}
    for s in mechanism.kinematics().speeds:
        name = s.symbol.name
        text = f"Rate of {rates[s.symbol]}" if s.symbol in rates else s.doc
        doc = mechanism.docs.get(name, text)
        yield MechanismQuantity(name, s.symbol, mechanism.units.get(name, "?"), doc, s.body.name)


def per_second(unit: str) -> str:
    """Return the unit of the rate of what is in a unit."""
    return "?" if unit == "?" else unit_text(parse_unit(unit) / parse_unit("s"))


@builder
def state(
    m: Mechanism, name: str, derivative: Value, initial: Amount = 0.0, *, unit: str = "?"
) -> Expr:
    """Add a first-order state of your own.

    Args:
        name: its name.
        derivative: its rate; the text may use the state itself.
        initial: its value at the start.
        unit: its unit.

    >>> from linkwright.mechanism import Mechanism
    >>> m = Mechanism("m")
    >>> m.state("z", "-k*z")
    z
    """
    require_name(name, "a state")
    refuse_taken(m, name)
    initial = amount(initial, f"the start of {name!r}", unit)
    z = symbol(name, "coordinate", owner=m.name)
    m.coordinates[name] = z
    m.units[name] = si_only(unit, name)
    m.states.append(State(z, m.expr(derivative, per_second(unit)), initial))
    changed(m)
    return z


@builder
def sensor(m: Mechanism, name: str, kind: str, on: str) -> None:
    """Declare a sensor, for robot files; it adds no channel and costs nothing in runs.

    Args:
        name: its name.
        kind: what it measures, in MJCF's words: "jointpos", "gyro", "force".
        on: name of the coordinate, body or point that it is on.

    >>> from linkwright.mechanism import Mechanism
    >>> m = Mechanism("m")
    >>> b = m.body("b", rotate="z")
    >>> m.sensor("encoder", "jointpos", "b")
    >>> m.sensors[0].on
    'b'
    """
    require_name(name, "a sensor")
    if any(name == given.name for given in m.sensors):
        raise MechanismError(f"{m.name!r} has a sensor {name!r} already")
    known = ("n", *m.coordinates, *m.bodies, *m.points)
    if on not in known and not any(q.startswith(f"{on}.") for q in m.coordinates):
        m.unknown(on, known, "coordinate, body or point")
    m.sensors.append(Sensor(name, kind, on))


@builder
def output(
    m: Mechanism,
    name: str,
    value: Value,
    *,
    unit: str = "?",
    doc: str = "",
    body: Body | str | None = None,
) -> Output:
    """Add a channel of results.

    Args:
        name: its name.
        value: an expression; accelerations may occur in it.
        unit: its unit.
        doc: a longer name.
        body: the body that it belongs to, or its name.

    >>> from linkwright.mechanism import Mechanism
    >>> m = Mechanism("m")
    >>> b = m.body("b", rotate="z")
    >>> m.output("rate", b.omega @ m.z, unit="rad/s").value
    b_dot
    """
    require_name(name, "an output")
    if any(name == o.name for o in m.outputs):
        raise MechanismError(f"{m.name!r} has an output {name!r} already")
    checked_unit(unit, name)
    owner = "" if body is None else m.body_of(body, name, placed=False).name
    made = Output(name, m.expr(value), unit, doc or name, owner)
    m.outputs.append(made)
    return made


@builder
def output_all(m: Mechanism, *kinds: str) -> None:
    """Add channels for all quantities of some kinds, under their own names, each once.

    Args:
        kinds: "coordinates", "speeds", "accelerations", "forces", "moments"; "energies"
            (energy.kinetic, energy.potential, J, and energy.power of the loads, W);
            "reactions" (for the joint of each body b the force b.Fx to b.Fz, N, and the moment
            b.Mx to b.Mz, N*m, that its parent puts on it, along its axes and about its origin,
            of a robot file those of the link;
            "force of NAME" for a constraint). The last two follow loads that come later.

    >>> from linkwright.mechanism import Mechanism
    >>> m = Mechanism("m")
    >>> b = m.body("b", rotate="z", doc="rod")
    >>> m.output_all("coordinates", "speeds")
    >>> [(o.name, o.unit, o.doc) for o in m.outputs]
    [('b', 'rad', 'Rot. of b rel. to n, axis z'), ('b_dot', 'rad/s', 'Rate of b')]
    """
    for kind in kinds:
        known = {o.name for o in m.outputs}
        found: Sequence[Output]
        if kind in DERIVED:
            from linkwright.base.hooks import derived_outputs

            found = derived_outputs[kind](m)
        else:
            found = [Output(q.name, q.value, q.unit, q.doc, q.body) for q in quantities_of(m, kind)]
        m.outputs.extend(o for o in found if o.name not in known)


@builder
def set_timing(m: Mechanism, until: float, *, step: float | None = None, every: int = 1) -> None:
    """Say how long a run is, and in which steps, by default.

    Args:
        until: end time, s.
        step: of a method with fixed steps, s; a ten-thousandth of the run, of which every tenth
            is recorded, by default.
        every: steps from one record to the next.

    >>> from linkwright.mechanism import Mechanism
    >>> m = Mechanism("m")
    >>> m.set_timing(2, step=0.025, every=2)
    >>> m.timing
    Timing(until=2, step=0.025, every=2)
    """
    if step is None:
        step, every = until / 10_000, max(every, 10)
    if not 0 < step <= until or every < 1:
        raise MechanismError(f"a run of {until} s cannot go in steps of {step} s")
    m.timing = Timing(until, step, every)


@builder
def set_files(m: Mechanism, *, scene: str = "", task: str = "") -> None:
    """Name the files that belong to the mechanism, in the folder of its own file.

    Args:
        scene: a scene file that it is drawn with; none where empty.
        task: a task file that says what it has to do; none where empty.

    >>> from linkwright.mechanism import Mechanism
    >>> m = Mechanism("m")
    >>> m.set_files(task="reach.toml")
    >>> m.files
    {'task': 'reach.toml'}
    """
    given = {k: v for k, v in (("scene", scene), ("task", task)) if v}
    for kind, name in given.items():
        if Path(name).is_absolute() or ".." in Path(name).parts:
            raise MechanismError(
                f"the {kind} {name!r} is not in the folder of the model",
                remedy="put it beside the model, and give its name",
                code="R118",
            )
    m.files = given


def file_beside(m: Mechanism, kind: str) -> str:
    """Return the path of a file that the mechanism names, or nothing where it names none.

    Args:
        kind: "scene" or "task".

    >>> from linkwright.mechanism import Mechanism
    >>> Mechanism("m").file_beside("task")
    ''
    """
    name = m.files.get(kind, "")
    home = "" if m.provenance is None else m.provenance.file
    return str(Path(home).parent / name) if name and home else name


@builder
def function(m: Mechanism, name: str, callable_: Callable[..., object]) -> None:
    """Make a function known to texts: a table, a foreign function, a Python callable.

    Args:
        name: how texts call it.
        callable_: expressions to an expression.

    >>> from linkwright.mechanism import Mechanism
    >>> m = Mechanism("m")
    >>> m.function("twice", lambda x: 2 * x)
    >>> m.expr("twice(a)")
    2*a
    """
    m.functions[name] = callable_


def equations(m: Mechanism, formulation: str = "auto") -> Any:
    """Return the equations of motion; short for `linkwright.derive`, one layer up.

    Args:
        formulation: how they are formed; "auto" takes the one with the fewest operations.

    >>> from linkwright.mechanism import Mechanism
    >>> m = Mechanism("m")
    >>> b = m.body("b", translate="x", mass=2)
    >>> f = m.force("push", "F", at=b.origin, along="x")
    >>> [str(u) for u in m.equations().speeds]
    ['b_dot']
    """
    from linkwright.base.hooks import derive

    return derive(m, formulation)
