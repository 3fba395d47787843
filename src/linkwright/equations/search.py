"""The cheapest choices for the bodies of a tree, found by counting.

Coordinate descent: from a few starting points, one setting of one body is changed at a time, and
kept where the operations of M, f and the solution of M u' = f become fewer. The count is that of
the expressions as they are written, in which what depends on parameters alone is free; the solution
is counted by its pattern of zeros. Nothing is random, and the number of trials shrinks with the
size of the mechanism, so that large ones cost no more than a few derivations.
"""

from __future__ import annotations

from collections.abc import Callable, Container, Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, replace
from typing import Any, TypeAlias

from linkwright.algebra import Expr
from linkwright.algebra.triples import remembering
from linkwright.base.cache import entry_key, stored
from linkwright.base.fingerprint import fingerprint
from linkwright.equations.aba import articulated
from linkwright.equations.choices import (
    ABOVE,
    DEFAULT,
    NO_SHIFT,
    SHIFT_ALL,
    SHIFT_TURNING,
    TENSOR,
    Choice,
    Choices,
    options,
    places,
)
from linkwright.equations.constraints import Reduction
from linkwright.equations.crba import composite, with_armatures
from linkwright.equations.inertia import rules_in_force
from linkwright.equations.looped import looped_accelerations
from linkwright.equations.projection import ReducedDynamics, project
from linkwright.equations.writer import Writer
from linkwright.mechanism import Kinematics, Mechanism, MechanismError
from linkwright.mechanism.structure import fingerprint_of
from linkwright.program import Assign
from linkwright.program.linear import elimination_order, kinds, order_cost

_CALL = 8  # a sine weighs as much as so many multiplications
_BUDGET = 40_000  # operations counted in all trials together
_ROUNDS = 3
_BODIES = 100  # beyond which there is no search
_KEPT = 256  # answers that are remembered
_WITH_MATRIX = 40  # speeds up to which articulated bodies come with M and f
_USUAL: dict[str, int | str] = {"axes": DEFAULT.axes, "form": DEFAULT.form, "left": 0, "place": 0}

Step: TypeAlias = Mapping[str, Mapping[str, int | str]]


def weight(
    statements: Iterable[Assign], roots: Iterable[Expr], known: dict[Expr, int] | None = None
) -> int:
    """Return the operations that roots take, through the statements that they need.

    >>> from linkwright.algebra import symbols, sin
    >>> q, u = symbols("q u", "coordinate")
    >>> (k,) = symbols("k", "parameter")
    >>> weight([], [k * q + k * q * u, k**2 + k])
    4
    """
    meaning = {s.target: s.value for s in statements}
    seen: set[Expr] = set()
    stack = list(roots)
    cost = 0
    known = {} if known is None else known
    while stack:
        x = stack.pop()
        if x in seen or x.is_constant:
            continue
        seen.add(x)
        if x.op == "sym":
            value = meaning.get(x)
            if value is not None:
                stack.append(value)
            continue
        own = known.get(x)
        if own is None:
            own = known[x] = _own(x)
        cost += own
        stack.extend(x.args)
    return cost


def _own(x: Expr) -> int:
    """Return the operations of one node, arguments apart."""
    if x.op == "scale":
        return int(x.data != -1)
    if x.op == "prod":
        moving = [abs(e) for b, e in zip(x.args, x.data, strict=True) if not b.is_constant]
        steps = sum(e if e <= 2 else 2 for e in moving)
        return max(steps - 1 + (len(moving) < len(x.args)), _reciprocal(x))
    if x.op == "sum":
        moving_terms = [
            (c, t) for c, t in zip(x.data[1:], x.args, strict=True) if not t.is_constant
        ]
        rest = int(len(moving_terms) < len(x.args) or x.data[0] != 0)
        return len(moving_terms) - 1 + rest + sum(int(abs(c) != 1) for c, _ in moving_terms)
    return _CALL


def _reciprocal(x: Expr) -> int:
    return int(all(e < 0 for e in x.data))


class Search:
    """Trials of choices for one mechanism."""

    def __init__(
        self,
        kinematics: Kinematics,
        price: Callable[[Choices], int],
        *,
        budget: int = _BUDGET,
    ) -> None:
        self.kinematics, self.price, self.budget = kinematics, price, budget
        self._places = places(kinematics)
        self._costs: dict[tuple[object, ...], int] = {}

    def cost(self, choices: Choices) -> int:
        """Return the operations with these choices."""
        key = (choices.shift, *sorted((k, c) for k, c in _settings(choices)))
        found = self._costs.get(key)
        if found is None:
            found = self._costs[key] = self.price(choices)
            self.budget -= found
        return found

    # -- descent -----------------------------------------------------------------------------------
    def best(self) -> Choices:
        """Return the cheapest choices that were found."""
        with remembering():
            return self._descent(Choices())

    def first(self) -> Choices:
        """Return good choices, what pays most often tried first.

        Two things pay for robots whose parameters are numbers: to let the origin of a body slide
        along its joint's axis to where the parent's origin is nearest, which brings axes that meet
        to one point; and to write a last link along the axes of the one that carries it.
        """
        with remembering():
            found = Choices()
            for trial in self._likely():
                if self.budget < self.cost(found):
                    return found
                changed = _merged(found, trial)
                if self.cost(changed) < self.cost(found):
                    found = changed
            return self._descent(found)

    def _likely(self) -> Iterator[Step]:
        """Yield what pays most often, from the ground outward."""
        bodies = self.kinematics.mechanism.depth_first()
        for body in bodies:
            inner = body.parent is not None and body.parent.parent is not None
            if inner and len(self._places[body]) > 1:
                yield {body.name: {"place": len(self._places[body]) - 1}}
        for body in bodies:
            alone = not self.kinematics.motions[body].absolute and len(body.rotations) == 1
            if alone and not self.kinematics.mechanism.children(body):
                yield {body.name: {"axes": ABOVE}}

    def _descent(self, found: Choices) -> Choices:
        for start in self._starts():
            if len(self._places) > _BODIES or self.budget < self.cost(found):
                return found
            found = min(found, start, key=self.cost)
        for _ in range(_ROUNDS):
            before = found
            for trial in self._steps():
                if self.budget <= 0:
                    return found
                changed = _merged(found, trial)
                if self.cost(changed) < self.cost(found):
                    found = changed
            if found == before:
                break
        return found

    def _starts(self) -> list[Choices]:
        """Return choices with one setting changed everywhere."""
        bodies = self.kinematics.mechanism.bodies.values()
        offers = {b.name: options(self.kinematics, b, self._places[b]) for b in bodies}
        inner = {b.parent.name for b in bodies if b.parent is not None}

        def everywhere(key: str, value: int | str, among: Container[str]) -> Choices:
            named = [n for n, offer in offers.items() if value in offer.get(key, ()) if n in among]
            return Choices({n: replace(DEFAULT, **{key: value}) for n in named})  # type: ignore[arg-type]

        found = [
            everywhere("form", TENSOR, offers),
            everywhere("axes", ABOVE, inner),
            everywhere("axes", ABOVE, offers),
        ]
        return [s for k, s in enumerate(found) if s not in found[:k]]

    def _shifts(self) -> tuple[str, ...]:
        if not any(m.absolute for m in self.kinematics.motions.values()):
            return ()
        heavy = not self.kinematics.mechanism.gravity_vector.is_zero
        return (SHIFT_TURNING, SHIFT_ALL) if heavy else (SHIFT_TURNING,)

    def _steps(self) -> Iterator[Step]:
        """Yield changes: body and settings; the shift has no body."""
        for shift in (NO_SHIFT, *self._shifts()):
            yield {"": {"shift": shift}}
        for body in reversed(self.kinematics.mechanism.depth_first()):
            offer = options(self.kinematics, body, self._places[body])
            parent = body.parent
            if parent in self._places and len(self._places[parent]) > 1 and "place" in offer:
                for i in range(1, len(self._places[parent])):
                    for j in offer["place"]:
                        yield {parent.name: {"place": i}, body.name: {"place": j}}
            for key in ("place", "axes", "form", "left"):
                for value in (_USUAL[key], *offer[key]) if key in offer else ():
                    yield {body.name: {key: value}}
            for left in offer.get("left", ()):
                yield {body.name: {"form": TENSOR, "left": left}}


def _settings(choices: Choices) -> Sequence[tuple[str, tuple[int | str, ...]]]:
    return [
        (name, (c.axes, c.form, c.left, c.place))
        for name, c in choices.bodies.items()
        if c != DEFAULT
    ]


def _merged(choices: Choices, step: Step) -> Choices:
    for name, settings in step.items():
        if not name:
            choices = replace(choices, shift=str(settings["shift"]))
            continue
        old = choices.bodies.get(name, DEFAULT)
        choices = choices.with_body(name, replace(old, **settings))  # type: ignore[arg-type]
    return choices


def dynamics(
    kinematics: Kinematics, reduction: Reduction, writer: Writer, choices: Choices
) -> ReducedDynamics:
    """Return M and f for the independent speeds with some choices."""
    tree = with_armatures(kinematics, composite(kinematics, writer, choices))
    return replace(project(kinematics, reduction, tree, writer), choices=choices)


def forward_price(
    kinematics: Kinematics, reduction: Reduction, writer: Writer
) -> Callable[[Choices], int]:
    """Return the function that counts M, f and the solution of M u' = f for some choices."""
    solutions: dict[tuple[tuple[int, ...], ...], int] = {}
    names: dict[Expr, Expr] = {}
    costs: dict[Expr, int] = {}

    def price(choices: Choices) -> int:
        trial = writer.trial(names)
        made = dynamics(kinematics, reduction, trial, choices)
        pattern = tuple(tuple(row) for row in kinds(made.mass))
        if pattern not in solutions:
            solutions[pattern] = order_cost(pattern, elimination_order(pattern)) or 0
        roots = [*made.right, *made.shift, *(x for row in made.mass for x in row)]
        roots += [x for row in reduction.matrix for x in row]
        shifted = sum(not s.is_constant for s in made.shift)
        return weight(trial.statements, roots, costs) + solutions[pattern] + shifted

    return price


# What searches found in this process; digests keep nothing alive.
_found: dict[tuple[object, ...], Choices] = {}


def question(asked: tuple[object, ...], mechanism: Mechanism) -> bytes:
    """Return the key on disk of what is asked of a mechanism."""
    told = fingerprint("choices"), asked, fingerprint_of(mechanism), rules_in_force()
    return entry_key(repr(told).encode(), "choices")


def remembered(
    kind: str, kinematics: Kinematics, given: Iterable[Expr], search: Callable[[], Choices]
) -> Choices:
    """Return what a search finds, which is made once for the same question and kept on disk."""
    told = fingerprint_of(kinematics.mechanism), rules_in_force()
    key = kind, told, tuple(x.key for x in given)
    found = _found.get(key)
    if found is None:
        entry = question((kind, *key[2]), kinematics.mechanism)
        found = stored(entry, lambda data: choices_from(data, kinematics), search, asdict)
        if len(_found) >= _KEPT:
            _found.clear()
        _found[key] = found
    return found


def fits(choices: Choices, kinematics: Kinematics) -> bool:
    """Whether choices name bodies of a mechanism, and places that those have."""
    offered = {body.name: len(found) for body, found in places(kinematics).items()}
    return all(0 <= c.place < offered.get(name, 0) for name, c in choices.bodies.items())


def choices_from(data: dict[str, Any], kinematics: Kinematics) -> Choices:
    """Return choices that were stored; a `ValueError` says that they are of another mechanism."""
    bodies = {name: Choice(**choice) for name, choice in data.pop("bodies").items()}
    choices = Choices(bodies, **data)
    if not fits(choices, kinematics):
        raise ValueError(choices)
    return choices


def reduced_by(reduction: Reduction, statements: Iterable[Assign]) -> list[Expr]:
    """Return the expressions that say how speeds are eliminated, and what was written before."""
    rows = [*reduction.matrix, reduction.independent, reduction.drift]
    written = [(s.target, s.value) for s in statements]
    return [x for row in (*rows, *written) for x in row]


def searched(kinematics: Kinematics, reduction: Reduction, writer: Writer) -> ReducedDynamics:
    """Return M and f with the cheapest choices that were found."""

    def search() -> Choices:
        return Search(kinematics, forward_price(kinematics, reduction, writer)).best()

    given = reduced_by(reduction, writer.statements)
    chosen = remembered("forward", kinematics, given, search)
    return dynamics(kinematics, reduction, writer, chosen)


def articulated_bodies(
    kinematics: Kinematics, reduction: Reduction, writer: Writer
) -> ReducedDynamics:
    """Return the accelerations of a tree without constraints; M and f too if it is not large."""
    _refuse_constraints(kinematics, reduction)

    names: dict[Expr, Expr] = {}
    costs: dict[Expr, int] = {}

    def price(choices: Choices) -> int:
        trial = writer.trial(names)
        return weight(trial.statements, articulated(kinematics, trial, choices), costs)

    given = reduced_by(reduction, writer.statements)
    chosen = remembered("articulated", kinematics, given, Search(kinematics, price).best)
    accelerations = articulated(kinematics, writer, chosen)
    if len(accelerations) > _WITH_MATRIX:
        return ReducedDynamics((), (), accelerations=accelerations, choices=chosen)
    made = dynamics(kinematics, reduction, writer, Choices(chosen.bodies))
    return replace(made, accelerations=accelerations)


def looped_bodies(kinematics: Kinematics, reduction: Reduction, writer: Writer) -> ReducedDynamics:
    """Return the accelerations of a tree without constraints, in loops over like bodies.

    M and f come beside, if it is not large.
    """
    _refuse_constraints(kinematics, reduction)
    accelerations = looped_accelerations(kinematics, writer)
    if len(accelerations) > _WITH_MATRIX:
        return ReducedDynamics((), (), accelerations=accelerations)
    made = dynamics(kinematics, reduction, writer, Choices())
    return replace(made, accelerations=accelerations, choices=None)


def _refuse_constraints(kinematics: Kinematics, reduction: Reduction) -> None:
    if reduction.dependent:
        raise MechanismError(
            f"{kinematics.mechanism.name!r} has constraints, which articulated bodies do not take",
            remedy='use the formulation "auto"',
        )
