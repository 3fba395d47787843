"""Checking a text model beyond its shape: can it be derived, does it close, do its units agree.

What makes the model useless is an error. Units are checked where they are declared, in loads,
relations, states and outputs, and what does not agree is a warning: a number has any unit, and some
parameters may have none.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from linkwright.algebra import Expr, ForeignFunction, free_symbols
from linkwright.algebra.units import Unit, check_units, parse_unit
from linkwright.base.errors import Error
from linkwright.formats.text.document import Document
from linkwright.mechanism import Mechanism, mechanism_of
from linkwright.mechanism.loads import joint_unit
from linkwright.mechanism.plausibility import mechanism_findings, refuse_unreal
from linkwright.mechanism.rigidity import Finding
from linkwright.system import System

if TYPE_CHECKING:
    from linkwright.equations import Equations


@dataclass(frozen=True, slots=True)
class Report:
    """What was found in a model that can be used."""

    facts: tuple[tuple[str, str], ...]
    warnings: tuple[str, ...]
    findings: tuple[Finding, ...] = ()


def check(document: Document, **more: Any) -> Report:
    """Build and derive a model, and return what it is; what makes it useless is raised.

    >>> from linkwright.formats.text.files import parse_model
    >>> text = 'format = 1\\nname = "m"\\n[[body]]\\nname = "b"\\nrotate = "z"\\ninertia = 1\\n'
    >>> check(parse_model(text)).facts[1]
    ('coordinates', 'b')
    """
    build = document.system if document.model.is_system else document.build
    return check_model(build(**more))


def check_model(model: Mechanism | System) -> Report:
    """Derive a mechanism or flatten a System, and return what it is.

    >>> from linkwright.blocks import Integrator
    >>> s = System(name="s")
    >>> added = s.add(Integrator())
    >>> check_model(s).facts[-2:]
    (('member', 'integrator: Integrator, continuous'), ('input', 'integrator.u = 0'))
    """
    from linkwright.formats.text.custom_members import has_code

    m = mechanism_of(model)
    if not isinstance(model, System):
        return check_mechanism(m)
    moves = m.states or m.kinematics().speeds
    found = check_mechanism(m) if moves else Report((), ())
    driven = {x.name for x in model.wires}
    kept = [
        w for w in found.warnings if w not in {f"{n!r} is declared but not used" for n in driven}
    ]
    facts = [("clock", f"{float(1 / model.clock().tick):g} Hz")]
    for name, member in model.members.items():
        facts.append(("member", f"{name}: {member.block.made_with[0]}, {member.rate}"))
        if not has_code(member.block):
            kept.append(
                f"the member {name!r} has no code, so the System can be checked but not run; give "
                f"it in Python with functions={{{name!r}: ...}}, or allow Python code of the file "
                "with --trust"
            )
    facts += [("input", f"{name} = {value:g}") for name, value in model.inputs().items()]
    model.phases()  # what is wrong with wires and loops is raised here
    return Report((*found.facts, *facts), tuple(kept), found.findings)


def check_mechanism(m: Mechanism) -> Report:
    """Derive a mechanism, and return what it is; what makes it useless is raised.

    >>> m = Mechanism("m")
    >>> odd = m.body("odd", rotate="z", mass=1, inertia=(0.1, 0.1, 0.3))
    >>> [(found.part, found.name) for found in check_mechanism(m).findings]
    [('odd', 'triangle inequality')]
    """
    from linkwright.equations import derive
    from linkwright.equations.formulations import QUICK

    warnings = [*unit_warnings(m), *_unused(m), *_without_value(m), *_without_code(m)]
    equations = derive(m, QUICK)
    facts = [
        ("bodies", ", ".join(m.bodies) or "none"),
        ("coordinates", ", ".join(x.name for x in equations.coordinates) or "none"),
        ("speeds", ", ".join(x.name for x in equations.speeds) or "none"),
    ]
    if m.states:
        facts.append(("states", ", ".join(s.symbol.name for s in m.states)))
    facts += [("constraint", line) for line in _eliminations(equations)]
    facts += [("assembly", line) for line in _assembly(m)]
    facts += [("note", line) for line in equations.mechanism.reports]
    findings = tuple(mechanism_findings(m))
    if not any(found.severity == "error" for found in findings):
        refuse_unreal(m)
    return Report(tuple(facts), tuple(warnings), findings)


def _eliminations(equations: Equations) -> Iterator[str]:
    for found in equations.eliminations:
        if found.speed is None:
            yield f"{found.constraint.name}: redundant, those before it imply it"
        else:
            yield f"{found.constraint.name}: eliminates {found.speed.name}"


def _assembly(m: Mechanism) -> Iterator[str]:
    from linkwright.equations.closure import assemble

    missing = [name for name in m.parameters if name not in m.values]
    if missing:
        yield f"not tried, since {', '.join(missing[:5])} have no value"
        return
    unbound = _unbound(m)
    if unbound:
        yield f"not tried, since {', '.join(unbound[:5])} have no code"
        return
    yield from assemble(m).report


def _without_value(m: Mechanism) -> Iterator[str]:
    for name in m.parameters:
        if name not in m.values:
            yield f"the parameter {name!r} has no value"


def _unbound(m: Mechanism) -> list[str]:
    """Return the functions that have a name only."""
    return [
        name
        for name, function in m.functions.items()
        if isinstance(function, ForeignFunction) and not function.is_bound
    ]


def _without_code(m: Mechanism) -> Iterator[str]:
    for name in _unbound(m):
        yield (
            f"the function {name!r} has no code, so the model can be derived but not run; give it "
            f"in Python with functions={{{name!r}: ...}}, or allow C code of the file with --trust"
        )


def _unused(m: Mechanism) -> Iterator[str]:
    roots: list[Expr] = [f.magnitude for f in m.forces] + [t.magnitude for t in m.moments]
    vectors = [m.gravity_vector, *(p.local for p in m.points.values())]
    vectors += [f.direction for f in m.forces] + [t.direction for t in m.moments]
    for b in m.bodies.values():
        roots += [b.inertia.mass, *b.inertia.center, *b.inertia.tensor, b.lead]
        vectors += [b.offset, *(d for _, d in b.translations)]
        roots += [x for row in b.frame.cosines for x in row]
    for c in m.constraints:
        roots += [c.speed, *(() if c.position is None else (c.position,))]
    roots += [s.derivative for s in m.states] + [o.value for o in m.outputs if not o.made]
    roots += [*m.armatures.values(), *m.initial_rules.values()]
    roots += [x for shapes in m.shapes.values() for shape in shapes for x in shape.values()]
    roots += [c for v in vectors for _, c in v.terms]
    roots += [x for x in m.variables.values() if isinstance(x, Expr)]
    roots += [capsule.radius for capsule in m.collision_capsules]
    used = set(free_symbols(*roots))
    for name, x in (*m.parameters.items(), *m.inputs.items()):
        if x not in used:
            yield f"{name!r} is declared but not used"


def unit_warnings(m: Mechanism) -> list[str]:
    """Return what the declared units of a mechanism say against its expressions.

    >>> m = Mechanism("m")
    >>> k = m.parameter("k", 1, unit="N")
    >>> b = m.body("b", translate="x")
    >>> spring = m.force("spring", "-k*b", at=b.origin, along="x")
    >>> unit_warnings(m)
    ["force 'spring': -b*k is in N*m, not in N"]
    """
    warnings: list[str] = []
    m.kinematics()  # speeds get their units
    known = m.known_units()
    for label, value, unit in _quantities(m, known):
        if not free_symbols(value):
            continue  # a number has any unit
        try:
            check_units(value, unit, known)
        except Error as error:
            warnings.append(f"{label}: {error}")
    return warnings


def _quantities(
    m: Mechanism, known: dict[Expr, Unit]
) -> Iterator[tuple[str, Expr, Unit | str | None]]:
    """Yield the expressions whose units can be checked: a label, the value and its unit."""
    passive_loads = {name for passive in m.passives.values() for name in passive.loads}
    for f in m.forces:
        if f.name not in passive_loads:
            yield f"force {f.name!r}", f.magnitude, "N"
    for t in m.moments:
        if t.name not in passive_loads:
            yield f"moment {t.name!r}", t.magnitude, "N*m"
    for body, passive in m.passives.items():  # numbers among its coefficients have their units
        for key in ("damping", "friction", "stiffness", "rest"):
            unit = joint_unit(body, key)
            yield f"{key} of {body.name!r}", getattr(passive, key), None if unit == "?" else unit
    for b in m.bodies.values():
        yield f"mass of {b.name!r}", b.inertia.mass, "kg"
        for x in b.inertia.center:
            yield f"mass center of {b.name!r}", x, "m"
        for x in b.inertia.tensor:
            yield f"inertia of {b.name!r}", x, "kg*m^2"
        for _, x in b.offset.terms:
            yield f"place of {b.name!r}", x, "m"
    for c in m.constraints:
        if c.works:
            continue  # a relation of the mechanism's own, between places that are checked
        yield f"constraint {c.name!r}", c.speed, None
        if c.position is not None:
            yield f"constraint {c.name!r}", c.position, None
    for s in m.states:
        own = known.get(s.symbol)
        rate = None if own is None else own / parse_unit("s")
        yield f"rate of state {s.symbol.name!r}", s.derivative, rate
    for o in m.outputs:
        if not o.made:
            yield f"output {o.name!r}", o.value, None if o.unit == "?" else o.unit
