"""``linkwright model describe``: what a model consists of, and its equations."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from linkwright.cli.options import Formulation, Model, Set, open_model, own
from linkwright.cli.results import CommandResult, TextTable
from linkwright.cli.terminal import echo

if TYPE_CHECKING:
    from linkwright.equations import Equations
    from linkwright.mechanism import Mechanism

CLOSED = "Print M, c, g and Q of M u' + c + g = Q instead."
LATEX = "Write a LaTeX report instead; with --closed-form only the equations. - is the terminal."
SHEETS = "Show bodies as Kane's method takes them, and the order of the solve, instead."
BASE = "Show the base inertial parameters, and how they group, instead."

_NUMBERS = ("value", "start")
Text = Iterator[str | TextTable]


def command(
    model: Model,
    equations: Annotated[bool, own(None, "Also print the equations.", "--equations")] = False,
    closed: Annotated[bool, own(None, CLOSED, "--closed-form")] = False,
    latex: Annotated[Path | None, own("FILE", LATEX)] = None,
    formulation: Formulation = "auto",
    base: Annotated[bool, own(None, BASE, "--base-parameters")] = False,
    sheets: Annotated[bool, own(None, SHEETS, "--worksheets")] = False,
    settings: Set = None,
) -> CommandResult:
    """Describe a model: bodies, joints, coordinates, constraints, forces, parameters.

    \b
    Examples:
      linkwright model describe pendulum
      linkwright model describe swing.toml --latex report.tex
    """
    from linkwright.equations import derive
    from linkwright.equations.description import describe
    from linkwright.mechanism import mechanism_of

    opened = open_model(model, settings)
    mechanism = mechanism_of(opened)
    is_system = opened is not mechanism
    if is_system and not mechanism.states and not mechanism.kinematics().speeds:
        return _outcome(mechanism.name, list(_members(opened)), model)
    if base:
        return CommandResult({"model": mechanism.name}, _base(mechanism))
    derived = derive(mechanism, formulation)
    if latex is not None:
        return _latex(latex, derived, closed)
    if closed:
        return CommandResult({"model": mechanism.name}, _closed(derived))
    if sheets:
        return _outcome(mechanism.name, list(_worksheets(derived)), model)
    sections = [TextTable(s.columns, s.rows, s.title, _NUMBERS) for s in describe(derived)]
    members = list(_members(opened)) if is_system else []
    text = _model(mechanism, derived, sections, members, equations)
    return _outcome(mechanism.name, [*sections, *members], model, text)


def _outcome(name: str, tables: list[Any], model: str, text: Text | None = None) -> CommandResult:
    """Return tables as they are printed, and as data: each by its title, in rows by columns."""
    data = {
        _key(table.title): [
            dict(zip(map(_key, table.columns), row, strict=True)) for row in table.rows
        ]
        for table in tables
        if isinstance(table, TextTable)
    }
    return CommandResult({"model": name, **data}, text or tables, next=f"simulate {model}")


def _key(head: str) -> str:
    """Return the head of a column as a key of JSON.

    >>> _key("acceleration (m/s^2)")
    'acceleration_m_s2'
    """
    return re.sub(r"[^a-z0-9]+", "_", head.lower().replace("^", "")).strip("_")


def _model(
    mechanism: Mechanism,
    derived: Equations,
    sections: list[TextTable],
    members: list[str | TextTable],
    equations: bool,
) -> Text:
    from linkwright.algebra.printers import text
    from linkwright.cli.commands.check import mobility_of
    from linkwright.equations.description import summary, written_out

    yield f"{mechanism.name}: {mechanism.doc}" if mechanism.doc else mechanism.name
    yield summary(derived)
    counted = mobility_of(mechanism)
    if counted is not None:
        yield counted.words
    for section in sections:
        yield from ("", section)
    if members:
        yield from ("", *members)
    if equations:
        for title, rows in written_out(derived).items():
            yield f"\n{title}"
            yield from (f"  {name} = {text(value)}" for name, value in rows)


def _members(system: Any) -> Text:
    """Yield the members of a System, what drives them, and what it is open to."""
    from linkwright.system.numbers import parameters

    members = system.members.values()
    rows = [
        (m.name, m.block.made_with[0], str(m.rate), ", ".join(m.block.inputs),
         ", ".join(m.block.outputs))
        for m in members
    ]  # fmt: skip
    yield TextTable(("member", "kind", "rate", "inputs", "outputs"), rows, "Members")
    values = parameters(system)
    numbers = [
        (f"{m.name}.{name}", f"{values[f'{m.name}.{name}']:g}", p.unit, p.doc)
        for m in members
        for name, p in m.block.parameters.items()
    ]
    yield ""
    columns = ("parameter", "value", "unit", "meaning")
    yield TextTable(columns, numbers, "Parameters of members", _NUMBERS)
    wires = [(x.name, str(wire.value)[:80]) for x, wire in system.wires.items()]
    wires += [(name, f"{value:g} (input)") for name, value in system.inputs().items()]
    yield ""
    yield TextTable(("port", "driven by"), wires, "Wires")


def _base(mechanism: Mechanism) -> Text:
    """Yield the base parameters, what is counted with each, and what has no effect."""
    from linkwright.equations.base_parameters import base_parameters

    found = base_parameters(mechanism)
    everything = len(found.base) + len(found.regrouped) + len(found.idle)
    yield (
        f"{mechanism.name}: {everything} inertial parameters, {len(found.base)} base parameters; "
        f"{len(found.regrouped)} are counted with them, {len(found.idle)} have no effect"
    )
    yield "m: mass; mx, my, mz: first moments; Jxx ... Jzx: about the body's origin\n"
    rows = [(name, ", ".join(found.gathered(name))) for name in found.base]
    yield TextTable(("base parameter", "counted with it"), rows)
    if found.idle:
        yield f"\nwithout effect: {', '.join(found.idle)}"


def _worksheets(derived: Equations) -> Iterator[TextTable]:
    """Yield bodies, their worksheets, and the order in which accelerations are solved for."""
    from linkwright.equations.worksheets import worksheet_sections

    for section in worksheet_sections(derived):
        yield TextTable(section.columns, section.rows, section.title)


def _closed(derived: Equations) -> Text:
    """Yield the closed form, entry by entry; those that are zero are left out."""
    from linkwright.algebra import ZERO
    from linkwright.algebra.printers import text

    found = derived.closed_form()
    yield "M u' + c + g = Q, u = (" + ", ".join(u.name for u in found.speeds) + ")"
    n = len(found.speeds)
    rows = [(f"M[{i + 1},{j + 1}]", found.mass[i][j]) for i in range(n) for j in range(i + 1)]
    for letter, parts in (("c", found.bias), ("g", found.gravity), ("Q", found.forces)):
        rows += [(f"{letter}[{k + 1}]", x) for k, x in enumerate(parts)]
    rows += [(f"{q.name}'", x) for q, x in found.rates.items()]
    rows += [(u.name, x) for u, x in found.dependent.items()]
    yield from (f"  {name} = {text(value)}" for name, value in rows if value is not ZERO)


def _latex(path: Path, derived: Equations, closed: bool) -> CommandResult:
    from linkwright.base.files import write_text
    from linkwright.equations.latex_report import latex_report

    source = f"{derived.latex()}\n" if closed else latex_report(derived)
    if str(path) == "-":
        echo(source, nl=False)
        return CommandResult({})
    write_text(path, source, replace=True)
    return CommandResult({}, files={"report": path})
