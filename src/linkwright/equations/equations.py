"""Equations of motion: what dynamics makes of a mechanism.

`derive` goes from a mechanism to explicit rates: kinematical equations q' , elimination of speeds
by constraints, mass matrix and right side of the tree, projection on the independent speeds,
symmetric factorization. Everything is a list of assignments between symbols, which
`Equations.program` turns into a Program.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from copy import copy
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from linkwright.algebra import ZERO, Expr, as_expr, free_symbols, substitute, substitute_all, total
from linkwright.algebra.smallness import current_threshold, terms_kept
from linkwright.base.arguments import worded
from linkwright.base.cache import keep, known
from linkwright.base.errors import Error, InputError
from linkwright.base.lazy import guide
from linkwright.equations.choices import Choices
from linkwright.equations.closure import closed_samples, with_exact_rates
from linkwright.equations.constraints import Elimination, Reduction, choose, reduce
from linkwright.equations.derived_outputs import output_values
from linkwright.equations.formulations import FORMULATIONS, QUICK, resolved
from linkwright.equations.inactive_parameters import idle_parameters
from linkwright.equations.pivots import Array
from linkwright.equations.resistance import refuse_unresisted
from linkwright.equations.shipped import with_shipped
from linkwright.equations.writer import Writer
from linkwright.mechanism import Kinematics, Mechanism, MechanismError, ModelLike, mechanism_of
from linkwright.program import Assign, Loop, Namer, Program, Statement, count_operations, program
from linkwright.program.linear import LinearError, ldlt
from linkwright.program.passes import careful, liveness, optimize
from linkwright.program.passes.replacement import with_reads

if TYPE_CHECKING:
    from linkwright.equations.closed_form import ClosedForm
    from linkwright.equations.worksheets import BodySheet

_NEAR = 1.1
_WORTH_CARE = 200  # operations up to which the slower passes tell formulations apart
_WORTH_OPTIMIZING = 800


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Equations:
    """Equations of motion of a mechanism.

    Args:
        mechanism: what they belong to.
        kinematics: speeds and velocities of its tree.
        formulation: how M and f were formed.
        coordinates: the coordinates q.
        speeds: the independent speeds u.
        reduction: which speeds were eliminated, and how.
        statements: intermediate results, in order.
        rates: q' for each coordinate.
        mass: mass matrix of the independent speeds.
        right: f with M u' = f.
        accelerations: u' for each independent speed.
        dependent_accelerations: the rates of the eliminated speeds.
        outputs: values of the mechanism's outputs.
        state_rates: the rates of the analyst's extra states.
        choices: what was chosen for the bodies by count, where the formulation has choices.

    >>> m = Mechanism("cart")
    >>> b = m.body("b", translate="x", mass="m")
    >>> f = m.force("push", "F", at=b.origin, along="x")
    >>> [p.name for p in derive(m).parameters()]
    ['F', 'm']
    """

    mechanism: Mechanism
    kinematics: Kinematics = field(repr=False)
    formulation: str
    coordinates: tuple[Expr, ...]
    speeds: tuple[Expr, ...]
    reduction: Reduction = field(repr=False)
    statements: tuple[Statement, ...] = field(repr=False)
    rates: tuple[Expr, ...] = field(repr=False)
    mass: tuple[tuple[Expr, ...], ...] = field(repr=False)
    right: tuple[Expr, ...] = field(repr=False)
    accelerations: tuple[Expr, ...] = field(repr=False)
    dependent_accelerations: tuple[Expr, ...] = field(repr=False)
    outputs: tuple[Expr, ...] = field(repr=False)
    state_rates: tuple[Expr, ...] = field(repr=False)
    choices: Choices | None = field(default=None, repr=False)

    if not TYPE_CHECKING:
        __getattr__ = guide

    @property
    def states(self) -> tuple[Expr, ...]:
        """The extra states of the analyst's."""
        return tuple(s.symbol for s in self.mechanism.states)

    @property
    def eliminations(self) -> tuple[Elimination, ...]:
        """What each constraint eliminated."""
        return self.reduction.eliminations

    def parameters(self) -> tuple[Expr, ...]:
        """Return the parameters that have an effect, by name."""
        used = self._used((*self.rates, *self.accelerations, *self.outputs, *self.state_rates))
        return tuple(p for name, p in sorted(self.mechanism.parameters.items()) if p in used)

    def _used(self, roots: Iterable[Expr]) -> set[Expr]:
        """Return the symbols that the roots need, through the statements."""
        definition = {x: s for s in self.statements for x in s.targets}
        seen: set[Expr] = set()
        stack = list(free_symbols(*roots))
        while stack:
            x = stack.pop()
            if x in seen:
                continue
            seen.add(x)
            made = definition.get(x)
            if made is not None:
                seen.update(made.targets)
                stack.extend(y for y in reads_of(made) if y not in seen)
        return seen

    @property
    def assignments(self) -> tuple[Assign, ...]:
        """The intermediate results that are plain assignments: all of them without loops."""
        return tuple(s for s in self.statements if isinstance(s, Assign))

    def with_statements(self, statements: Iterable[Statement]) -> Equations:
        """Return the same equations with other intermediate results."""
        return replace(self, statements=tuple(statements))

    @worded
    def program(
        self, *, outputs: bool = True, parameters: Mapping[str, float] | None = None
    ) -> Program:
        """Return the Program that computes q', u' and, in its output stage, the outputs.

        Args:
            outputs: include the mechanism's outputs.
            parameters: numbers to fold in for parameters, which are then no inputs any more.
        """
        roots = [*self.rates, *self.state_rates, *self.accelerations]
        shown = list(self.outputs) if outputs else []
        return self.assemble(
            self.mechanism.name,
            {"q_dot": [*self.rates, *self.state_rates], "u_dot": list(self.accelerations)},
            {"y": shown} if shown else {},
            roots + shown,
            parameters,
        )

    def inverse_dynamics_program(self) -> Program:
        """Return the Program of the forces `tau` that accelerations `a` take, in one recursion.

        See `linkwright.equations.kernels.inverse_dynamics_program`.
        """
        from linkwright.equations.kernels import inverse_dynamics_program

        return inverse_dynamics_program(self)

    def worksheets(self) -> list[BodySheet]:
        """Return of each body its class, axes, partial velocities and remainders.

        >>> m = Mechanism("cart")
        >>> b = m.body("b", translate="x", mass="m")
        >>> derive(m).worksheets()[0].every[0].velocity
        n.x
        """
        from linkwright.equations.worksheets import body_sheets

        return body_sheets(self)

    def closed_form(self) -> ClosedForm:
        """Return M(q), c(q, u), g(q) and Q with M u' + c + g = Q, intermediate names written out.

        >>> m = Mechanism("cart")
        >>> b = m.body("b", translate="x", mass="m")
        >>> derive(m).closed_form().mass
        ((m,),)
        """
        from linkwright.equations.closed_form import closed_form

        return closed_form(self)

    def latex(self) -> str:
        r"""Return the equations in closed form as LaTeX (`align*` of `amsmath`).

        >>> m = Mechanism("cart")
        >>> b = m.body("x", translate="x", mass="m")
        >>> print(derive(m).latex().splitlines()[3])
        \mathbf{M} &= \begin{bmatrix} m \end{bmatrix} \\
        """
        return self.closed_form().latex()

    def __repr__(self) -> str:
        from linkwright.equations.description import summary

        return f"Equations({self.mechanism.name!r}: {summary(self)}; {self.formulation})"

    @worded
    def assemble(
        self,
        name: str,
        results: Mapping[str, Sequence[object]],
        auxiliary: Mapping[str, Sequence[object]],
        roots: Sequence[Expr],
        parameters: Mapping[str, float] | None = None,
        more: Mapping[str, Sequence[Expr]] | None = None,
    ) -> Program:
        """Return a Program with the usual inputs that computes expressions of these equations.

        Args:
            name: of the Program.
            results: what it computes, by name.
            auxiliary: the same, for its output stage.
            roots: all expressions in them.
            parameters: numbers for parameters, which are then no inputs any more.
            more: further inputs, after coordinates and speeds.
        """
        m = self.mechanism
        used = self._used(roots)
        statements = [s for s in self.statements if any(x in used for x in s.targets)]
        numbers = {m.parameters[k]: v for k, v in (parameters or {}).items()}
        everything: dict[str, Sequence[object]] = {**results, **auxiliary}
        if numbers:
            statements, everything = folded(statements, everything, numbers)
        kept = [p for _, p in sorted(m.parameters.items()) if p in used and p not in numbers]
        inputs: dict[str, list[Expr]] = {
            "q": [*self.coordinates, *self.states],
            "u": list(self.speeds),
            **{key: list(entries) for key, entries in (more or {}).items()},
        }
        if kept:
            inputs["p"] = kept
        given = [x for x in m.inputs.values() if x in used]
        if given:
            inputs["w"] = given
        if m.time in used:
            inputs["t"] = [m.time]
        made = program(name, inputs, everything, statements=statements, auxiliary=list(auxiliary))
        return liveness(made) if any(isinstance(s, Loop) for s in statements) else made


def has_loops(equations: Equations) -> bool:
    """Whether the equations run in loops over like bodies."""
    return any(isinstance(s, Loop) for s in equations.statements)


def reads_of(statement: Statement) -> tuple[Expr, ...]:
    """Return the symbols that a statement reads."""
    if isinstance(statement, Loop):
        return (*free_symbols(*statement.operands), *statement.outer_reads)
    return free_symbols(*statement.operands)


def folded(
    statements: Sequence[Statement],
    results: Mapping[str, Sequence[object]],
    numbers: Mapping[Expr, Expr | float],
) -> tuple[list[Statement], dict[str, Sequence[object]]]:
    """Replace symbols by constants, and names by the constants that they come to."""
    known: dict[Expr, Expr | float] = dict(numbers)
    kept: list[Statement] = []
    for s in statements:
        if not isinstance(s, Assign):
            made = s.with_operands(substitute_all(s.operands, known))
            kept.append(with_reads(made, {x: as_expr(value) for x, value in known.items()}))
            continue
        value = substitute(s.value, known)
        if value.is_atom or (value.op == "scale" and value.args[0].is_atom):
            known[s.target] = value
        else:
            kept.append(Assign(s.target, value, s.note))

    def fold(x: object) -> object:
        if isinstance(x, list | tuple):
            return [fold(y) for y in x]
        return substitute(x, known) if isinstance(x, Expr) else x

    return kept, {k: [fold(x) for x in v] for k, v in results.items()}


@worded
def derive(
    model: ModelLike,
    formulation: str = "auto",
    *,
    closed_at: Mapping[Expr, float] | None = None,
    dependent: Collection[Expr] | None = None,
    parameters: Mapping[str, float] | None = None,
    choices: Choices | None = None,
) -> Equations:
    """Return the equations of motion of a mechanism.

    Args:
        model: a mechanism, a robot, a file or the name of a shipped model.
        formulation: one of `FORMULATIONS`, "auto" for the one with the fewest operations, or
            "quick" for the smallest that ships, or else one that is derived without a search.
        closed_at: coordinates near which its loops are closed and speeds are chosen; by default
            the mechanism's start values.
        dependent: the speeds that constraints may eliminate; all by default.
        parameters: numbers of parameters to choose by, in place of the mechanism's.
        choices: for the bodies, with the composite formulation; by default they are searched for.

    >>> m = Mechanism("pendulum")
    >>> rod = m.body("rod", rotate="z", mass="m", com=("L", 0, 0), inertia=0)
    >>> m.gravity(along=-m.y)
    >>> [u.name for u in derive(m).speeds]
    ['rod_dot']
    """
    if formulation not in ("auto", QUICK, *FORMULATIONS):
        there = ", ".join(FORMULATIONS)
        raise MechanismError(
            f"there is no formulation {formulation!r}; there are auto, {QUICK}, {there}"
        )
    model = mechanism_of(model, "derive")
    if current_threshold() <= model.small_order:
        with terms_kept(model.small_order):
            return derive(
                model,
                formulation,
                closed_at=closed_at,
                dependent=dependent,
                parameters=parameters,
                choices=choices,
            )
    kinematics = model.kinematics()
    if not kinematics.speeds and not model.states:
        raise MechanismError(f"{model.name!r} has nothing that moves")
    known = {**model.values, **(parameters or {})}
    samples = closed_samples(model, known, closed_at)
    model = with_exact_rates(model, samples)
    kinematics = model.kinematics()
    if isinstance(dependent, str):
        raise InputError("dependent is a collection of speeds, not a text")
    eliminations = choose(kinematics, known, samples, dependent)
    eliminated = sum(e.speed is not None for e in eliminations)
    start = _start(model, eliminations, known, samples)
    if choices is not None:
        return _derived(model, "composite", start, choices)
    names = resolved(formulation, kinematics, eliminated)
    try:
        made = _derived(model, names[0], start) if len(names) == 1 else _best(model, names, start)
    except Error as error:
        if isinstance(error, LinearError):
            _derived(model, "kane", start)  # names what moves no mass
        refuse_unresisted(model, values=known)
        raise
    return with_shipped(made) if formulation == QUICK else made


@dataclass(frozen=True, slots=True, eq=False)
class _Start:
    """What all formulations have in common: rates of coordinates, and eliminated speeds."""

    writer: Writer
    namer: Namer
    rates: dict[Expr, Expr]
    reduction: Reduction


def _start(
    mechanism: Mechanism,
    eliminations: Sequence[Elimination],
    known: Mapping[str, float],
    samples: Mapping[Expr, Array] | None,
) -> _Start:
    kinematics = mechanism.kinematics()
    writer = Writer(mechanism.name)
    namer = Namer(None, "s")
    rates = _rate_names(kinematics, writer)
    reduction = reduce(kinematics, eliminations, rates, writer, namer, known, samples)
    return _Start(writer, namer, rates, reduction)


def _derived(
    mechanism: Mechanism, formulation: str, start: _Start, choices: Choices | None = None
) -> Equations:
    """Return the equations of motion in one formulation."""
    kinematics, reduction, rates = mechanism.kinematics(), start.reduction, start.rates
    writer, namer = start.writer.copy(), copy(start.namer)
    if choices is None:
        reduced = FORMULATIONS[formulation](kinematics, reduction, writer)
    else:
        from linkwright.equations.search import dynamics

        reduced = dynamics(kinematics, reduction, writer, choices)
    mass, right = reduced.mass, reduced.unshifted()
    if reduced.accelerations is not None:
        accelerations = reduced.accelerations
    elif mass:
        _refuse_massless(reduction.independent, mass)
        statements, solutions = ldlt(mass, [list(reduced.right)], namer)
        writer.statements.extend(statements)
        accelerations = tuple(solutions[0])
        if reduced.shift:
            pairs = zip(accelerations, reduced.shift, strict=True)
            accelerations = tuple(writer.hold(y - s) for y, s in pairs)
    else:
        accelerations = ()
    dependent = tuple(
        total(
            [
                reduction.drift[i],
                *(a * x for a, x in zip(reduction.matrix[i], accelerations, strict=True)),
            ]
        )
        for i in range(len(reduction.dependent))
    )
    made = _finished(
        mechanism,
        kinematics,
        formulation,
        reduction,
        writer,
        rates,
        mass,
        right,
        accelerations,
        dependent,
    )
    return replace(made, choices=reduced.choices)


def _best(mechanism: Mechanism, names: Sequence[str], start: _Start) -> Equations:
    """Return the smallest of several formulations; which one it is, is kept on disk."""
    from linkwright.equations.search import question, reduced_by

    given = reduced_by(start.reduction, start.writer.statements)
    key = question((*names, *(x.key for x in given)), mechanism)
    best = known(key, lambda name: names[names.index(name)])
    if best is not None:
        return _derived(mechanism, best, start)
    made = _smallest([_derived(mechanism, name, start) for name in names])
    keep(key, made.formulation)
    return made


def _refuse_massless(speeds: Sequence[Expr], mass: Sequence[Sequence[Expr]]) -> None:
    """Reject speeds with which no inertia moves."""
    idle = [u.name for k, u in enumerate(speeds) if mass[k][k] is ZERO]
    if idle:
        raise MechanismError(
            f"nothing that has mass moves with {', '.join(idle)}, so no acceleration can be found",
            remedy="give the bodies that move a mass and, where they turn, an inertia",
        )


def _smallest(found: Sequence[Equations]) -> Equations:
    """Return the equations with the fewest operations; near ones are distinguished by
    optimizing."""
    programs = [e.program(outputs=False) for e in found]
    totals = [count_operations(p).total for p in programs]
    near = [k for k, x in enumerate(totals) if x <= _NEAR * min(totals)]
    largest = max(totals[k] for k in near)
    if len(near) > 1 and largest <= _WORTH_OPTIMIZING:
        smaller = careful if largest <= _WORTH_CARE else optimize
        return found[min(near, key=lambda k: count_operations(smaller(programs[k])).total)]
    return found[totals.index(min(totals))]


def _rate_names(kinematics: Kinematics, writer: Writer) -> dict[Expr, Expr]:
    """Return the rates of the coordinates, compound ones as a name that is defined later."""
    states = {s.symbol for s in kinematics.mechanism.states}
    return {
        q: rate if rate.is_atom else writer.fresh(rate)
        for q, rate in kinematics.rates.items()
        if q not in states
    }


def _finished(
    mechanism: Mechanism,
    kinematics: Kinematics,
    formulation: str,
    reduction: Reduction,
    writer: Writer,
    rates: Mapping[Expr, Expr],
    mass: Sequence[Sequence[Expr]],
    right: Sequence[Expr],
    accelerations: tuple[Expr, ...],
    dependent: tuple[Expr, ...],
) -> Equations:
    """Put the pieces together; names of rates and constant speeds get their values."""
    steady = {
        u: value
        for u, value in ((u, _value_of(writer, u)) for u in reduction.dependent)
        if value is not None and value.is_constant
    }
    definitions = [
        Assign(name, kinematics.rates[q])
        for q, name in rates.items()
        if name.roles and name is not kinematics.rates[q]
    ]
    statements = in_order([*writer.statements, *writer.loops, *definitions], steady)

    def settled(exprs: Iterable[Expr]) -> tuple[Expr, ...]:
        return tuple(substitute_all(exprs, steady)) if steady else tuple(exprs)

    acceleration_of = dict(
        zip(
            (kinematics.accelerations[u] for u in (*reduction.independent, *reduction.dependent)),
            (*accelerations, *dependent),
            strict=True,
        )
    )
    outputs = substitute_all(output_values(mechanism), acceleration_of)
    coordinates = tuple(
        q for q in kinematics.rates if q not in {s.symbol for s in mechanism.states}
    )
    made = Equations(
        mechanism,
        kinematics,
        formulation,
        coordinates,
        reduction.independent,
        reduction,
        tuple(statements),
        settled(rates[q] for q in coordinates),
        tuple(settled(row) for row in mass),
        settled(right),
        settled(accelerations),
        settled(dependent),
        settled(outputs),
        settled(substitute_all((s.derivative for s in mechanism.states), acceleration_of)),
    )
    return _without_idle(made)


def _without_idle(equations: Equations) -> Equations:
    """Return the equations with parameters that cancel in them set to zero."""
    e, reduction = equations, equations.reduction
    results = (
        *(e.rates, e.right, e.accelerations, e.dependent_accelerations, e.outputs, e.state_rates),
        *(*e.mass, *reduction.matrix, reduction.offset, reduction.drift),
    )
    statements = e.assignments
    if len(statements) < len(e.statements):
        return equations  # what a loop does to a parameter is not followed
    present = set(free_symbols(*(s.value for s in statements)))
    candidates = [p for p in e.mechanism.parameters.values() if p in present]
    idle = idle_parameters(statements, [x for row in results for x in row], candidates)
    if not idle:
        return equations
    zeros = dict.fromkeys(idle, ZERO)
    values = substitute_all((s.value for s in statements), zeros)
    return equations.with_statements(
        replace(s, value=value) for s, value in zip(statements, values, strict=True)
    )


def _value_of(writer: Writer, u: Expr) -> Expr | None:
    for s in writer.statements:
        if s.target is u:
            return s.value
    return None


def in_order(
    statements: Sequence[Statement], steady: Mapping[Expr, Expr] | None = None
) -> list[Statement]:
    """Return the statements with constant speeds put in, each after those it reads."""
    steady = steady or {}
    values: list[Statement] = []
    for s in statements:
        if isinstance(s, Assign) and s.target in steady:
            continue
        values.append(s.with_operands(substitute_all(s.operands, steady)) if steady else s)
    makers = {x: s for s in values for x in s.targets}
    order: list[Statement] = []
    done: set[Expr] = set()
    for root in values:
        stack = [(root, False)]
        while stack:
            s, ready = stack.pop()
            if s.targets[0] in done:
                continue
            if ready:
                done.update(s.targets)
                order.append(s)
                continue
            stack.append((s, True))
            stack.extend((makers[y], False) for y in reads_of(s) if y in makers and y not in done)
    return order
