"""The documentation at the head of a written program (Sayers' thesis, section 8.5).

It lists what the model consists of in the analyst's own names: bodies with parents, coordinates and
speeds, constraints with what each eliminated, forces and moments, parameters, operation counts.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from textwrap import wrap

from linkwright.backends.source import plain
from linkwright.codegen.content import Content, InputItem
from linkwright.program import STAGES, count_operations, stage_counts
from linkwright.version import __version__

_WIDTH = 92


def origin(content: Content) -> str:
    """Return one line that says what wrote the program, and from which equations."""
    return (
        f"Written by Linkwright {__version__}; program {content.phases.derivative.fingerprint()}."
    )


def documentation(content: Content) -> list[str]:
    """Return the lines of the documentation, harmless in comments of any language."""
    return [plain(line) for line in _lines(content)]


def _lines(content: Content) -> Iterator[str]:
    m = content.mechanism
    yield f"{content.system.name}: {m.doc or content.system.name}"
    yield ""
    yield origin(content)
    yield ""
    yield (
        f"{len(content.phases.x)} ordinary differential equations, {len(m.bodies)} bodies, "
        f"{len(content.speeds)} independent speeds."
    )
    for name, member in content.system.members.items():
        about = f": {member.block.doc}" if member.block.doc else ""
        yield from _wrapped(f"{name}, {member.rate}{about}")
    if m.bodies:
        yield ""
        yield "BODIES"
    for body in m.bodies.values():
        assert body.parent is not None
        moved = ", ".join(q.name for q in body.coordinates) or "none, fixed to its parent"
        about = f" ({body.doc})" if body.doc else ""
        yield from _wrapped(f"{body.name}{about}: parent {body.parent.name}; coordinates: {moved}")
    yield from _items("COORDINATES, array q", content.coordinates, "Q")
    yield from _items("SPEEDS, array u", content.speeds, "U")
    yield from _items("STATES OF MEMBERS", content.states)
    yield from _items("DISCRETE STATES AND HELD OUTPUTS, array d", content.memory)
    for name, rule in m.initial_rules.items():
        yield from _wrapped(f"The start of {name} is a number here; in the model it is {rule}")
    yield from _constraints(content)
    yield from _loads(content)
    yield from _items("PARAMETERS, array p, with defaults", content.parameters)
    yield from _items("INPUTS, array w, with defaults", content.inputs)
    yield ""
    yield "OUTPUTS, array y"
    for c in content.channels:
        yield from _wrapped(f"{c.name} ({c.unit}): {c.doc}")
    yield ""
    yield from operations(content)


def operations(content: Content) -> Iterator[str]:
    """Yield the table of operation counts, by stage."""
    yield "OPERATIONS OF THE DERIVATIVE, BY STAGE (parameter: once)"
    yield f"  {'':14}{'add':>8}{'mul':>8}{'call':>8}{'select':>8}"
    derivative = content.phases.derivative
    counts = stage_counts(derivative)
    for rate in STAGES:
        c = counts[rate]
        if c.total or c.call or c.select:
            yield f"  {rate.label:14}{c.add:8}{c.mul:8}{c.call:8}{c.select:8}"
    c = count_operations(derivative)
    yield f"  {'derivative':14}{c.add:8}{c.mul:8}{c.call:8}{c.select:8}"


def _items(heading: str, items: Sequence[InputItem], letter: str = "") -> Iterator[str]:
    if not items:
        return
    yield ""
    yield heading
    for k, item in enumerate(items, 1):
        number = f"{letter}({k}) " if letter else ""
        yield from _wrapped(f"{number}{item.name} = {item.shown!r} {item.unit}: {item.doc}")


def _constraints(content: Content) -> Iterator[str]:
    eliminations = () if content.equations is None else content.equations.eliminations
    if not eliminations:
        return
    yield ""
    yield "CONSTRAINTS"
    for e in eliminations:
        done = f"eliminates {e.speed}" if e.speed is not None else "is redundant, and left out"
        yield from _wrapped(f"{e.constraint.name}: 0 = {e.constraint.speed}; it {done}")
    if content.computed:
        names = ", ".join(content.coordinates[k].name for k in content.computed)
        yield from _wrapped(f"Computed at the start from the relations of position: {names}")


def _loads(content: Content) -> Iterator[str]:
    m = content.mechanism
    if m.forces:
        yield ""
        yield "FORCES"
    for f in m.forces:
        where = f"on {f.point.body.name} at {f.point.name}, from {f.reaction.name}"
        yield from _wrapped(f"{f.name}{_doc(f.doc)}: {f.magnitude} along {f.direction}, {where}")
    if m.moments:
        yield ""
        yield "MOMENTS"
    for c in m.moments:
        where = f"on {c.body.name}, from {c.reaction.name}"
        yield from _wrapped(f"{c.name}{_doc(c.doc)}: {c.magnitude} about {c.direction}, {where}")


def _doc(doc: str) -> str:
    return f" ({doc})" if doc else ""


def _wrapped(text: str) -> list[str]:
    text = text if len(text) <= 4000 else text[:4000] + " ..."
    return wrap(text, _WIDTH, initial_indent="  ", subsequent_indent="      ")
