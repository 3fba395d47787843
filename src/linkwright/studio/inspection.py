"""What a mechanism consists of: its tree of bodies, their masses, frames, equations and code.

Everything is plain data that a page shows. Equations are those of the optimized program of all
rates, cut to what concerns the chosen body: `Inspection.part` is that program with nothing but the
rates of the body's own coordinates and speeds as its outputs, and without what these do not need.
Its operations are counted, not guessed (AUTOSIM's convention, see `linkwright.program.counts`).
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field, replace
from html import escape

import numpy as np

from linkwright.algebra import Expr, free_symbols
from linkwright.algebra.printers import latex, latex_name, mathml, mathml_name, text, tree_size
from linkwright.backends.c.file import c_source
from linkwright.backends.python import python_source
from linkwright.base.errors import InputError
from linkwright.base.forking import cached_property
from linkwright.base.rotations import inertia_tensor
from linkwright.equations import Equations, derive
from linkwright.equations.description import joint_words, short
from linkwright.equations.formulations import QUICK
from linkwright.formats.robot.description import Description
from linkwright.mechanism import Body, Mechanism
from linkwright.mechanism.plausibility import implausible
from linkwright.program import Assign, Counts, Program, ProgramPort, count_operations, optimize
from linkwright.program.passes.liveness import liveness
from linkwright.program.program import Call, Loop, Solve, Statement
from linkwright.program.report import ops_table
from linkwright.robots import Robot
from linkwright.scene.body_geometry import Geometry

WHOLE = "Whole model"
_LARGE = 24  # speeds from which on equations are written by articulated bodies
_ROWS = 60  # equations of a group that are shown
_WIDE = 400  # nodes of an expression that is drawn; longer ones are cut texts
_CUT = 500  # characters of these
_SMALL = 3  # unknowns of a linear system that is drawn in full

COUNTED = (
    "Adds (+ −), multiplies (× ÷ √), calls (sin, cos, …) and selections (comparisons, minima, …) "
    "of one evaluation of the rates. “Needed” is what must be computed so that the rates of this "
    "body's own coordinates and speeds are known; most of it serves other bodies as well. “For it "
    "alone” is what would not be computed if nobody asked for these rates. What depends on "
    "parameters only is computed once, and is not counted."
)
"""What is counted, for people who look at the numbers."""


@dataclass(frozen=True, slots=True)
class Twig:
    """A body in the tree."""

    name: str  # of the body
    depth: int  # how far from the ground, which has 0
    mass: float  # kg
    joint: str  # in words
    frames: tuple[str, ...]  # names of points and links that are fixed to it
    warned: bool  # whether the plausibility check says something against it


@dataclass(frozen=True, slots=True)
class EquationGroup:
    """Equations under a title; each as MathML or, where it is long, as a text that is cut."""

    title: str
    count: int
    rows: tuple[str, ...]


@dataclass(eq=False)
class Inspection:
    """What is known of a robot or mechanism; equations are derived when they are asked for.

    >>> from linkwright.models import load_model
    >>> seen = Inspection(Robot(load_model("double-pendulum")))
    >>> seen.names
    ('Whole model', 'upper', 'lower')
    >>> [(t.depth, t.name, t.mass, t.joint) for t in seen.tree()]
    [(1, 'upper', 1.0, 'turns about n.z'), (2, 'lower', 1.0, 'turns about n.z')]
    >>> seen.operations("lower")[1]
    ('operations used', '9', '17', '4', '0')
    """

    robot: Robot = field(repr=False)
    _turn: threading.RLock = field(default_factory=threading.RLock, repr=False)
    _parts: dict[str, Program] = field(default_factory=dict, repr=False)

    @property
    def mechanism(self) -> Mechanism:
        """Whose parts are shown."""
        return self.robot.mechanism

    @cached_property
    def names(self) -> tuple[str, ...]:
        """What can be chosen: the whole, and each body."""
        return (WHOLE, *(b.name for b in self.mechanism.depth_first()))

    @cached_property
    def _geometry(self) -> Geometry:
        return Geometry(self.mechanism)

    # -- bodies ------------------------------------------------------------------------------------
    def tree(self) -> list[Twig]:
        """Return the bodies, each after what it hangs on."""
        m = self.mechanism
        depth: dict[Body, int] = {m.ground: 0}
        warned = "\n".join(self.warnings())
        made = []
        for body in m.depth_first():
            assert body.parent is not None
            depth[body] = depth[body.parent] + 1
            bad = f"{body.name}:" in warned or repr(body.name) in warned
            mass = float(self._geometry.mass(body))
            frames = tuple(n for n, _ in self._frames(body))
            made.append(Twig(body.name, depth[body], mass, joint_words(body), frames, bad))
        return made

    def body(self, name: str) -> list[tuple[str, str]]:
        """Return mass, mass center, inertia, joint and frames of a body, or a summary of all."""
        if name == WHOLE:
            return self._summary()
        m, g = self.mechanism, self._geometry
        body = self._body(name)
        tensor = np.asarray(g.numbers(body.inertia.tensor), float)
        rows = [
            ("joint", joint_words(body)),
            (
                "parent",
                "ground" if body.parent is m.ground else str(body.parent and body.parent.name),
            ),
            ("offset", str(body.offset)),
            ("coordinates", self._coordinates(body)),
            ("mass", f"{g.mass(body):.6g} kg" + _symbol(body.inertia.mass)),
            ("center of mass", _numbers(g.center(body)) + " m"),
            ("inertia xx, yy, zz", _numbers(tensor[:3]) + " kg·m²"),
            ("inertia xy, yz, zx", _numbers(tensor[3:]) + " kg·m²"),
            ("principal moments", _numbers(np.linalg.eigvalsh(inertia_tensor(tensor))) + " kg·m²"),
        ]
        frames = self._frames(body)
        if frames:
            shown = [f"{n} at {where}" for n, where in frames[:_ROWS]]
            rows.append(("frames", "\n".join(shown)))
        if body.doc and body.doc != name:
            rows.insert(0, ("description", body.doc))
        return rows

    def _body(self, name: str) -> Body:
        if name not in self.mechanism.bodies:
            raise InputError(f"there is no body {name!r}")
        return self.mechanism.bodies[name]

    def _coordinates(self, body: Body) -> str:
        units = self.mechanism.units
        limits = {}
        if isinstance(self.robot.source, Description):
            limits = {
                j.coordinates[0].name: j.limits
                for j in self.robot.assembled.joints
                if len(j.coordinates) == 1
            }
        made = []
        for q in body.coordinates:
            words = f"{q.name} [{units.get(q.name, '?')}]"
            limit = limits.get(q.name)
            if limit is not None and limit.lower is not None and limit.upper is not None:
                words += f", {limit.lower:.4g} to {limit.upper:.4g}"
            made.append(words)
        return "\n".join(made) or "none"

    def _frames(self, body: Body) -> list[tuple[str, str]]:
        """Return names of what is fixed to a body, with places in its axes, m."""
        made = {
            p.name: str(p.local) or "its origin"
            for p in self.mechanism.points.values()
            if p.body is body
        }
        if isinstance(self.robot.source, Description):
            for n, (b, place) in self.robot.assembled.places.items():
                if b is body:
                    made.setdefault(n, f"({_numbers(place.position)}) m")
        return list(made.items())

    def _summary(self) -> list[tuple[str, str]]:
        m = self.mechanism
        kinematics = m.kinematics()
        whole = sum(self._geometry.mass(b) for b in m.depth_first())
        return [
            ("description", m.doc or m.name),
            ("bodies", str(len(m.depth_first()))),
            ("coordinates", str(len(m.coordinates))),
            ("speeds", str(len(kinematics.speeds))),
            ("constraints", str(len(m.constraints))),
            ("applied forces", str(len(m.forces) + len(m.moments))),
            ("mass", f"{whole:.6g} kg"),
            ("parameters", str(len(m.parameters))),
        ]

    def warnings(self) -> list[str]:
        """Return what the plausibility check says against the model."""
        return [*implausible(self.mechanism), *self.mechanism.reports]

    # -- equations ---------------------------------------------------------------------------------
    @cached_property
    def equations(self) -> Equations:
        """The equations of motion, derived without a search."""
        m = self.mechanism
        large = len(m.kinematics().speeds) > _LARGE and not m.constraints
        return derive(m, "articulated" if large else QUICK)

    @cached_property
    def program(self) -> Program:
        """The optimized program of the rates."""
        return optimize(self.equations.program(outputs=False))

    def _rates(self) -> dict[str, list[str]]:
        """Return the names of what the outputs of the program are the rates of."""
        e = self.equations
        return {
            "q_dot": [x.name for x in (*e.coordinates, *e.states)],
            "u_dot": [x.name for x in e.speeds],
        }

    def _own(self, name: str) -> set[str]:
        """Return the coordinates and speeds of a body."""
        body = self._body(name)
        rates = self.mechanism.kinematics().rates
        own = {q.name for q in body.coordinates}
        return own | {x.name for q in body.coordinates for x in free_symbols(rates[q])}

    def part(self, name: str) -> Program:
        """Return the program of the rates of a body, with nothing that these do not need."""
        with self._turn:
            if name == WHOLE:
                return self.program
            if name not in self._parts:
                own = self._own(name)
                self._parts[name] = self._restricted(name, lambda n: n in own)
            return self._parts[name]

    def _restricted(self, name: str, wanted: Callable[[str], bool]) -> Program:
        outputs = []
        for port, names in self._rates().items():
            if port not in [p.name for p in self.program.outputs]:
                continue
            entries = self.program.port(port).entries
            some = tuple(x for n, x in zip(names, entries, strict=True) if wanted(n))
            if some:
                outputs.append(ProgramPort(port, (len(some),), some))
        word = "".join(c if c.isalnum() and c.isascii() else "_" for c in name)
        cut = replace(self.program, name=f"{self.program.name}_{word}", outputs=tuple(outputs))
        return liveness(cut)

    def operations(self, name: str) -> list[tuple[str, ...]]:
        """Return a table of operations: columns first, then rows."""
        with self._turn:
            if name == WHOLE:
                return ops_table(self.program)
            own = self._own(name)
            needed, whole = count_operations(self.part(name)), count_operations(self.program)
            others = count_operations(self._restricted(name, lambda n: n not in own))
        alone = Counts(
            whole.add - others.add,
            whole.mul - others.mul,
            whole.call - others.call,
            whole.select - others.select,
        )
        info = (
            ("operations used", needed),
            ("exclusive to this body", alone),
            (WHOLE, whole),
        )
        return [("operations", "add", "mul", "call", "select"), *(_counted(w, c) for w, c in info)]

    def equations_of(self, name: str) -> list[EquationGroup]:
        """Return the equations of a body's motion with what they need, or those of all."""
        with self._turn:
            part, rates = self.part(name), self._rates()
        own = None if name == WHOLE else self._own(name)
        constants = [s for s in part.statements if _is_constant(s)]
        others = [s for s in part.statements if not _is_constant(s)]
        groups = []
        for title, port in (("dynamical equations", "u_dot"), ("kinematical equations", "q_dot")):
            if port in [p.name for p in part.outputs]:
                names = [n for n in rates[port] if own is None or n in own]
                pairs = list(zip(names, part.port(port).entries, strict=True))
                rows = tuple(_equation(f"{n}'", x) for n, x in pairs[:_ROWS])
                groups.append(EquationGroup(title, len(pairs), rows))
        groups += [_group("intermediate results", others), _group("constants", constants)]
        return [g for g in groups if g.count]

    # -- code --------------------------------------------------------------------------------------
    def code(self, name: str, language: str) -> str:
        """Return the generated code of the rates of a body, or of all."""
        if language not in LANGUAGES:
            raise InputError(f"no code is written in {language!r}", remedy=", ".join(LANGUAGES))
        with self._turn:
            part = self.part(name)
            if not part.outputs:
                return ""
            if language == "LaTeX":
                return self._latex(name, part)
            return c_source(part) if language == "C" else python_source(part)

    def _latex(self, name: str, part: Program) -> str:
        own = None if name == WHOLE else self._own(name)
        lines = [r"\begin{align*}"]
        for s in part.statements:
            if isinstance(s, Assign):
                lines.append(rf"  {latex_name(s.target.name)} &= {_latex(s.value)} \\")
            else:
                lines.append(rf"  &\text{{{_words(s)}}} \\")
        for port, names in self._rates().items():
            if port in [p.name for p in part.outputs]:
                wanted = [n for n in names if own is None or n in own]
                for n, x in zip(wanted, part.port(port).entries, strict=True):
                    rate = latex_name(f"{n}_dot")
                    lines.append(rf"  {rate} &= {_latex(x)} \\")
        return "\n".join([*lines, r"\end{align*}", ""])


LANGUAGES: dict[str, str] = {"C": ".c", "Python": ".py", "LaTeX": ".tex"}
"""What code is written in, and how names of its files end."""


def _counted(words: str, c: Counts) -> tuple[str, ...]:
    return (words, str(c.add), str(c.mul), str(c.call), str(c.select))


def _is_constant(s: Statement) -> bool:
    return isinstance(s, Assign) and s.value.is_constant


def _group(title: str, statements: Sequence[Statement]) -> EquationGroup:
    rows = tuple(_statement(s) for s in statements[:_ROWS])
    return EquationGroup(title, len(statements), rows)


def _statement(s: Statement) -> str:
    """Return a statement as HTML."""
    if isinstance(s, Assign):
        return _equation(s.target.name, s.value)
    if isinstance(s, Solve) and s.size <= _SMALL and len(s.right) == s.size:
        big = sum(tree_size(x) for x in s.operands)
        if big <= _WIDE:
            return _system(s)
    return f"<span>{escape(_words(s))}</span>"


def _words(s: Statement) -> str:
    """Return what a statement other than an assignment does."""
    names = [x.name for x in s.targets]
    shown = ", ".join(names[:6]) + (f" and {len(names) - 6} more" if len(names) > 6 else "")
    if isinstance(s, Solve):
        return f"{shown}: solution of a linear system of {s.size} equations"
    if isinstance(s, Call):
        return f"{shown}: what {s.program.name} gives for {len(s.arguments)} arguments"
    assert isinstance(s, Loop)
    return f"{shown}: {s.count} turns of a loop over {len(s.body)} statements"


def _system(s: Solve) -> str:
    """Return a small linear system as MathML: matrix, unknowns, right side."""
    n = s.size
    matrix = _matrix([s.matrix[n * k : n * k + n] for k in range(n)])
    unknowns = _table([[mathml_name(x.name)] for x in s.targets])
    return f"<math>{matrix}{unknowns}<mo>=</mo>{_matrix([[x] for x in s.right])}</math>"


def _matrix(rows: Iterable[Sequence[Expr]]) -> str:
    return _table([[mathml(x) for x in row] for row in rows])


def _table(rows: Iterable[Sequence[str]]) -> str:
    cells = "".join("<mtr>" + "".join(f"<mtd>{x}</mtd>" for x in row) + "</mtr>" for row in rows)
    return f"<mrow><mo>[</mo><mtable>{cells}</mtable><mo>]</mo></mrow>"


def _equation(name: str, value: Expr) -> str:
    """Return an equation as MathML, or as a text that is cut where it is long."""
    if tree_size(value) > _WIDE:
        return f"<code>{escape(name)} = {escape(text(value, limit=_CUT))}</code>"
    return f'<math displaystyle="true">{mathml_name(name)}<mo>=</mo>{mathml(value)}</math>'


def _latex(x: Expr) -> str:
    if tree_size(x) > 20 * _WIDE:
        return r"\ldots"
    return latex(x)


def _numbers(values: object) -> str:
    return ", ".join(f"{float(v) + 0.0:.5g}" for v in np.asarray(values, float).ravel())


def _symbol(x: Expr) -> str:
    return "" if x.is_constant else f" ({short(x)})"
