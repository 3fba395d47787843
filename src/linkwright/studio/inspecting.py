"""What a mechanism consists of, in words and tables for the Inspect panel.

The texts are Markdown. Equations are those of `linkwright show --equations`, cut to what concerns
the chosen body; operations are counted by AUTOSIM's convention, see `linkwright.program.counts`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property

from linkwright.algebra import Expr, free_symbols
from linkwright.algebra.printers import text
from linkwright.backends.c.file import c_source
from linkwright.equations import Equations, derive
from linkwright.equations.description import joint_words, short, written_out
from linkwright.equations.formulations import QUICK
from linkwright.formats.description import Description
from linkwright.mechanism import Body, Mechanism
from linkwright.mechanism.plausibility import implausible
from linkwright.program import Program, count, optimise
from linkwright.program.report import ops_table
from linkwright.robots import Robot
from linkwright.studio.colouring import coloured
from linkwright.studio.geometry import Geometry

WHOLE = "the whole model"
_LARGE = 24  # speeds from which on equations are written by articulated bodies
_ROWS = 60
_LINES = 400


@dataclass(eq=False)
class Inspection:
    """What can be told of a robot or mechanism; equations are derived when they are asked for.

    Args:
        robot: with its mechanism.

    >>> from linkwright.models import load_model
    >>> seen = Inspection(Robot(load_model("double-pendulum")))
    >>> seen.names
    ('the whole model', 'upper', 'lower')
    >>> print(seen.tree())
    - **ground**
      - **upper** · 1 kg · turns about n.z
        - **lower** · 1 kg · turns about n.z
    """

    robot: Robot = field(repr=False)

    @property
    def mechanism(self) -> Mechanism:
        """Whose parts are told."""
        return self.robot.mechanism

    @property
    def names(self) -> tuple[str, ...]:
        """What can be chosen: the whole, and each body."""
        return (WHOLE, *(b.name for b in self.mechanism.depth_first()))

    @cached_property
    def equations(self) -> Equations:
        """The equations of motion, derived without a search."""
        m = self.mechanism
        large = len(m.kinematics().speeds) > _LARGE and not m.constraints
        return derive(m, "articulated" if large else QUICK)

    @cached_property
    def program(self) -> Program:
        """The optimised program of the rates."""
        return optimise(self.equations.program(outputs=False))

    @cached_property
    def _geometry(self) -> Geometry:
        return Geometry(self.mechanism)

    # -- bodies ------------------------------------------------------------------------------------
    def tree(self) -> str:
        """Return the bodies with masses and joints, indented below what they hang on."""
        m = self.mechanism
        depth: dict[Body, int] = {m.ground: 0}
        lines = ["- **ground**"]
        for body in m.depth_first():
            assert body.parent is not None
            depth[body] = depth[body.parent] + 1
            parts = [f"**{body.name}**", f"{self._geometry.mass(body):.4g} kg", joint_words(body)]
            lines.append("  " * depth[body] + "- " + " · ".join(parts))
        return "\n".join(lines)

    def body(self, name: str) -> str:
        """Return mass, mass centre, inertia, joint and frames of a body, or a summary of all.

        Args:
            name: of a body, or `WHOLE`.
        """
        if name == WHOLE:
            return self._summary()
        m, g = self.mechanism, self._geometry
        body = m.bodies[name]
        tensor = g.numbers(body.inertia.tensor)
        rows = [
            ("joint", joint_words(body)),
            ("on", "ground" if body.parent is m.ground else str(body.parent and body.parent.name)),
            ("at", str(body.offset)),
            ("coordinates", _units(m, body.coordinates)),
            ("mass", f"{g.mass(body):.6g} kg" + _symbol(body.inertia.mass)),
            ("mass centre", _numbers(g.centre(body)) + " m"),
            ("inertia xx, yy, zz", _numbers(tensor[:3]) + " kg·m²"),
            ("inertia xy, yz, zx", _numbers(tensor[3:]) + " kg·m²"),
            ("frames", self._frames(body)),
        ]
        if body.doc:
            rows.insert(0, ("what", body.doc))
        return table(("", name), rows)

    def _frames(self, body: Body) -> str:
        own = [p.name for p in self.mechanism.points.values() if p.body is body]
        if isinstance(self.robot.source, Description):
            own += [n for n, (b, _) in self.robot.assembled.places.items() if b is body]
        return ", ".join(own) or "its own"

    def _summary(self) -> str:
        m = self.mechanism
        kinematics = m.kinematics()
        whole = sum(self._geometry.mass(b) for b in m.depth_first())
        rows = [
            ("what", m.doc or m.name),
            ("bodies", str(len(m.depth_first()))),
            ("coordinates", str(len(m.coordinates))),
            ("speeds", str(len(kinematics.speeds))),
            ("constraints", str(len(m.constraints))),
            ("loads", str(len(m.forces) + len(m.moments))),
            ("mass", f"{whole:.6g} kg"),
            ("parameters", str(len(m.parameters))),
        ]
        return table(("", m.name), rows)

    def warnings(self) -> list[str]:
        """Return what the plausibility check says against the model."""
        return [*implausible(self.mechanism), *self.mechanism.reports]

    # -- equations ---------------------------------------------------------------------------------
    def equations_of(self, name: str) -> str:
        """Return the equations of a body's motion with what they need, or those of all.

        Args:
            name: of a body, or `WHOLE`.
        """
        groups = self._written
        if name != WHOLE:
            groups = _concerning(groups, self._states(name))
        if not groups:
            return f"*{name} adds no equation of its own: its motion follows from other bodies.*"
        parts = []
        for title, rows in groups.items():
            shown = [f"{n} = {text(x, limit=400)}" for n, x in rows[:_ROWS]]
            more = len(rows) - _ROWS
            if more > 0:
                shown.append(f"# and {more} more")
            parts.append(f"**{title.capitalize()}** ({len(rows)})\n\n" + code("\n".join(shown)))
        return "\n\n".join(parts)

    @cached_property
    def _written(self) -> dict[str, list[tuple[str, Expr]]]:
        return written_out(self.equations)

    def _states(self, name: str) -> set[str]:
        body = self.mechanism.bodies[name]
        own = {q.name for q in body.coordinates}
        rates = self.mechanism.kinematics().rates
        own |= {x.name for q in body.coordinates for x in free_symbols(rates[q])}
        return {f"{n}'" for n in own}

    def operations(self, name: str) -> str:
        """Return the operations of one evaluation, by stage; of a body, those its motion needs.

        Args:
            name: of a body, or `WHOLE`.
        """
        if name == WHOLE:
            columns, *rows = ops_table(self.program)
            return table(columns, rows, numbers=True)
        needed = _concerning(self._written, self._states(name))
        statements = sum(len(rows) for rows in needed.values())
        of_all = count(self.program)
        return (
            f"{statements} of {sum(len(r) for r in self._written.values())} assignments lead to "
            f"the motion of **{name}**; the whole model takes {of_all.add} adds, {of_all.mul} "
            f"multiplies and {of_all.call} calls."
        )

    # -- code --------------------------------------------------------------------------------------
    def c_code(self) -> str:
        """Return the first few hundred lines of the generated C, as HTML with syntax colours."""
        lines = c_source(self.program).splitlines()
        cut = lines[:_LINES]
        if len(lines) > _LINES:
            cut.append(f"/* ... and {len(lines) - _LINES} more lines: linkwright write */")
        return coloured("\n".join(cut))


def _concerning(
    groups: dict[str, list[tuple[str, Expr]]], wanted: set[str]
) -> dict[str, list[tuple[str, Expr]]]:
    """Return the equations of some rates, and all assignments that lead to them."""
    assigned = {n: x for rows in groups.values() for n, x in rows if not n.endswith("'")}
    kept = {n for rows in groups.values() for n, _ in rows if n in wanted}
    work = [x for rows in groups.values() for n, x in rows if n in wanted]
    while work:
        for used in free_symbols(work.pop()):
            if used.name in assigned and used.name not in kept:
                kept.add(used.name)
                work.append(assigned[used.name])
    made = {title: [(n, x) for n, x in rows if n in kept] for title, rows in groups.items()}
    return {title: rows for title, rows in made.items() if rows}


def table(columns: Sequence[str], rows: Sequence[Sequence[str]], *, numbers: bool = False) -> str:
    """Return a table in Markdown.

    Args:
        columns: their titles.
        rows: their texts.
        numbers: whether all but the first column stand to the right.

    >>> print(table(("a", "b"), [("x", "2")]))
    | a | b |
    |---|---|
    | x | 2 |
    """
    rule = "---:" if numbers else "---"
    head = [_row(columns), "|" + "|".join(["---", *[rule] * (len(columns) - 1)]) + "|"]
    return "\n".join([*head, *map(_row, rows)])


def _row(cells: Sequence[str]) -> str:
    return "| " + " | ".join(str(c).replace("|", "\\|") for c in cells) + " |"


def code(source: str, language: str = "python") -> str:
    """Return a block of code in Markdown.

    Args:
        source: the code.
        language: whose words are coloured.
    """
    return f"```{language}\n{source}\n```"


def _units(m: Mechanism, coordinates: Sequence[Expr]) -> str:
    named = [f"{q.name} [{m.units.get(q.name, '?')}]" for q in coordinates]
    return ", ".join(named) or "none"


def _numbers(values: Sequence[float] | object) -> str:
    import numpy as np

    return ", ".join(f"{float(v):.5g}" for v in np.asarray(values, float).ravel())


def _symbol(x: Expr) -> str:
    return "" if x.is_constant else f" ({short(x)})"
