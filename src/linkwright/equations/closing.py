"""Closing loops in batches: Newton's loop inside a Program, one pose a lane.

What is known (actuators, the direction or pose of the platform, other coordinates) and the
relations of the loops make one list of residuals g of the unknown coordinates x. Each turn of the
loop takes a step of least squares,

    (J^T J + l 1) dx = -J^T g,

with the exact Jacobian J and a damping l that vanishes with the residual (Levenberg, Marquardt;
Nocedal and Wright, Numerical Optimization, section 10.3). Redundant relations of overconstrained
loops, quaternions, directions given by three components and idle motions need no case of their own:
J may have more rows than columns, and columns that depend on each other share the shortest step.
The matrix is positive definite, so it is solved without pivoting, in an order that uses its zeros.
A step that does not lower the residual is halved. A lane that is closed stays as it is, whatever
its neighbors do.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from linkwright.algebra import (
    ZERO,
    Expr,
    absolute,
    constant,
    free_symbols,
    maximum,
    sqrt,
    symbol,
    total,
    where,
)
from linkwright.algebra.calculus import gradient
from linkwright.algebra.triples import dot
from linkwright.base.errors import InputError
from linkwright.equations.parallel_machine import ParallelMachine
from linkwright.program import (
    Assign,
    Carried,
    Loop,
    Namer,
    Program,
    Scanned,
    Stacked,
    Statement,
    program,
)
from linkwright.program.linear import gram, ldlt

TURNS = 6
"""Turns of Newton's loop in one call."""

KNOWN = ("actuators", "position", "rotation", "direction", "distance")
"""What can be known besides single coordinates."""

ENOUGH = 1e-10
"""Residual up to which loops are closed, as in `assemble`."""

ENOUGH_ON_LINES = 1e-12
"""Residual up to which a pose on a line needs no more turns."""

WAY, STILL = 1.3, 1e-6
"""A pose is on the branch of its start where the way to it is at most so many first steps (at a
fold, where branches meet, it is twice the first step), or so short, rad or m."""

_LAST = ("now", "before", "first")
_OWNER = "closing"
_ROUNDING = 1e-15
_WEAK = 1e-14  # of the mean square of a column: damping that is always there
_FAR = 1e-2  # damping for each unit of the squared residual
_WORST = 1e300
_TINY = 1e-300


def known_entries(machine: ParallelMachine, known: Sequence[str]) -> tuple[str, ...]:
    """Return the names of the numbers that are known, in the order of the input `x`."""
    names: list[str] = []
    for word in known:
        names += [x for x, _ in _entries(machine, word)]
    twice = sorted({n for n in names if names.count(n) > 1})
    if twice:
        raise InputError(f"{', '.join(twice)} is given twice")
    return tuple(names)


def _entries(machine: ParallelMachine, word: str) -> list[tuple[str, Expr]]:
    """Return names and expressions of what a word stands for."""
    if word == "actuators":
        return [(q.name, q) for q in machine.actuators]
    if word == "position":
        return [(f"position.{c}", e) for c, e in zip("xyz", machine.position, strict=True)]
    if word == "direction":
        return [(f"direction.{c}", e) for c, e in zip("xyz", machine.direction, strict=True)]
    if word == "rotation":
        rows = machine.rotation
        return [(f"rotation.{a}{b}", rows[i][j]) for j, b in enumerate("xy") for i, a in
                enumerate("xyz")]  # fmt: skip
    if word == "distance":
        return [("distance", sqrt(total(e**2 for e in machine.position)))]
    group, dot, _ = word.rpartition(".")
    if dot and group in KNOWN:
        found = [entry for entry in _entries(machine, group) if entry[0] == word]
        if found:
            return found
    return [(word, _coordinate(machine, word))]


def closing_program(
    machine: ParallelMachine,
    known: Sequence[str] = ("actuators",),
    unknown: Iterable[str] | None = None,
    *,
    turns: int = TURNS,
) -> Program:
    """Return the Program that closes the loops of a machine.

    Its inputs are `start` (all coordinates), `x` (what is known, see `known_entries`)
    and, where the relations have them, `p` (parameters), `w` (inputs) and `t`; its outputs `q`
    (the best coordinates), `residual` (the largest relation that is left over the size of the
    Jacobian), `worst` (the number of that relation, see `residual_names`), `first` and `moved`
    (the lengths of the first step and of the whole way).

    >>> from linkwright.equations.parallel_machine import parallel_machine
    >>> from linkwright.mechanism import Mechanism
    >>> m = Mechanism("m")
    >>> a = m.body("a", rotate="z")
    >>> b = m.body("b", parent=a, at=(1, 0, 0), rotate="z")
    >>> c = m.constrain_distance(m.point("p", b, (1, 0, 0)), m.point("o2", at=(1, 1, 0)), 1)
    >>> m.actuate("a")
    >>> [p.name for p in closing_program(parallel_machine(m, platform="b")).outputs]
    ['q', 'residual', 'worst', 'first', 'moved']
    """
    newton = _Newton(machine, known, unknown, turns)
    start = [symbol(f"{q.name}_0", "input", owner=_OWNER) for q in machine.coordinates]
    given = dict(zip(machine.coordinates, start, strict=True))
    statements: list[Statement] = [Assign(q, given[q]) for q in newton.held]
    finals: dict[Expr, Expr] = {}
    residual = worst = first = moved = ZERO
    if newton.computed:
        loop, finals = newton.loop(given)
        statements.append(loop)
        residual, worst, first = (newton.end(name) for name in ("residual", "worst", "first"))
        moved = sqrt(total((finals[q] - given[q]) ** 2 for q in given if q in newton.computed))
    else:  # the relations hold or they do not
        for k, e in enumerate(newton.g):
            worst = where(absolute(e) > residual, k, worst)
            residual = maximum(absolute(e), residual)
    outputs = {
        "q": [finals.get(q, q) for q in machine.coordinates],
        "residual": [residual],
        "worst": [worst],
        "first": [first],
        "moved": [moved],
    }
    inputs = {"start": start, "x": newton.x, **newton.constants}
    return program(f"{machine.mechanism.name}_closing", inputs, outputs, statements=statements)


def line_program(
    machine: ParallelMachine,
    known: Sequence[str],
    unknown: Iterable[str] | None,
    places: int,
    *,
    turns: int,
) -> Program:
    """Return the Program that closes a line of poses, each from those before it.

    Its inputs are `now`, `before` and `first` (coordinates of the last three poses), `length` (how
    many of them are known), `x` (what is known at each place, one row after the other) and those of
    `closing_program`; its outputs `q`, `residual`, `worst` and `good` (whether it closed on the
    branch) for each place, and where the line ends: `now_end`, `before_end`, `first_end`,
    `length_end`. Where a pose does not close, the next one starts from the last that did.
    """
    newton = _Newton(machine, known, unknown, turns)
    computed = newton.computed
    before: dict[str, list[Expr]] = {
        name: [symbol(f"{q.name}_{name}", "input", owner=_OWNER) for q in computed]
        for name in _LAST
    }
    inside = {
        name: [symbol(f"{q.name}_{name}_in", "local", owner=_OWNER) for q in computed]
        for name in _LAST
    }
    count, count_in = (symbol(n, "local", owner=_OWNER) for n in ("length", "length_in"))
    body: list[Statement] = []
    guess: dict[Expr, Expr] = {}
    for k, q in enumerate(computed):
        now, last, first = (inside[name][k] for name in _LAST)
        curved, straight = 3 * (now - last) + first, 2 * now - last
        guess[q] = symbol(f"{q.name}_0", "local", owner=_OWNER)
        value = where(count_in >= 3, curved, where(count_in >= 2, straight, now))
        body.append(Assign(guess[q], value))
    loop, finals = newton.loop(guess)
    body.append(loop)
    moved = sqrt(total((finals[q] - guess[q]) ** 2 for q in computed))
    good = symbol("good", "local", owner=_OWNER)
    near = moved <= WAY * newton.end("first") + STILL
    body.append(
        Assign(good, where(newton.end("residual") <= ENOUGH_ON_LINES, where(near, 1, 0), 0))
    )
    return _line(machine, newton, places, body, good, before, inside, (count, count_in), finals)


def _line(
    machine: ParallelMachine,
    newton: _Newton,
    places: int,
    body: list[Statement],
    good: Expr,
    before: Mapping[str, Sequence[Expr]],
    inside: Mapping[str, Sequence[Expr]],
    count: tuple[Expr, Expr],
    finals: Mapping[Expr, Expr],
) -> Program:
    """Return the loop over places around one of them."""
    computed = newton.computed
    ends = {
        name: [symbol(f"{q.name}_{name}_end", "local", owner=_OWNER) for q in computed]
        for name in _LAST
    }
    newer = {
        "now": [finals[q] for q in computed],
        "before": inside["now"],
        "first": inside["before"],
    }
    ok = good > 0
    carried = [
        Carried(own, start, where(ok, new, own), end)
        for name in _LAST
        for own, start, new, end in zip(
            inside[name], before[name], newer[name], ends[name], strict=True
        )
    ]
    length, length_in = count
    length_end = symbol("length_end", "local", owner=_OWNER)
    longer = where(ok, where(length_in >= 3, 3, length_in + 1), 0)
    carried.append(Carried(length_in, length, longer, length_end))
    stacks: list[Stacked] = []

    def stacked(name: str, values: Sequence[Expr]) -> list[list[Expr]]:
        rows = [
            [symbol(f"{name}_{t}[{k}]", "local", owner=_OWNER) for k in range(len(values))]
            for t in range(places)
        ]
        stacks.extend(
            Stacked(value, tuple(row[k] for row in rows)) for k, value in enumerate(values)
        )
        return rows

    scanned = []
    given = [
        [symbol(f"{e.name}_{t}", "input", owner=_OWNER) for e in newton.x] for t in range(places)
    ]
    for k, e in enumerate(newton.x):
        scanned.append(Scanned(e, tuple(row[k] for row in given)))
    whole = [finals.get(q, q) for q in machine.coordinates]
    singles = {"residual": newton.end("residual"), "worst": newton.end("worst"), "good": good}
    outputs: dict[str, Sequence[object]] = {"q": stacked("q", whole)}
    for name, value in singles.items():
        outputs[name] = [row[0] for row in stacked(name, [value])]
    outputs |= {f"{name}_end": ends[name] for name in _LAST}
    outputs["length_end"] = [length_end]
    loop = Loop(places, tuple(carried), tuple(scanned), tuple(stacks), tuple(body))
    inputs = {**before, "length": [length], "x": given, **newton.constants}
    return program(f"{machine.mechanism.name}_line", inputs, outputs, statements=[loop])


def _coordinate(machine: ParallelMachine, name: str) -> Expr:
    found = next((q for q in machine.coordinates if q.name == name), None)
    if found is None:
        known = [*KNOWN, *(q.name for q in machine.coordinates)]
        machine.mechanism.unknown(name, known, "coordinate")
    assert found is not None
    return found


def residuals(machine: ParallelMachine, known: Sequence[str], x: Sequence[Expr]) -> list[Expr]:
    """Return what vanishes where the loops are closed and what is known holds."""
    rest = iter(x)
    asked = [(e, next(rest)) for e in known_expressions(machine, known)]
    return [*machine.relations, *(e - value for e, value in asked if e is not value)]


def known_expressions(machine: ParallelMachine, known: Sequence[str]) -> list[Expr]:
    """Return the expressions of what is known, in the order of `known_entries`."""
    return [e for word in known for _, e in _entries(machine, word)]


def residual_names(machine: ParallelMachine, known: Sequence[str]) -> tuple[str, ...]:
    """Return the names of the residuals."""
    coordinates = {q.name for q in machine.coordinates}
    asked = [n for n in known_entries(machine, known) if n not in coordinates]
    return (*machine.names, *asked)


class _Newton:
    """Newton's loop for what is known of a machine."""

    def __init__(
        self,
        machine: ParallelMachine,
        known: Sequence[str],
        unknown: Iterable[str] | None,
        turns: int,
    ) -> None:
        by_name = {q.name: q for q in machine.coordinates}
        given = known_entries(machine, known)
        if unknown is None:
            self.computed = [q for q in machine.coordinates if q.name not in given]
        else:
            self.computed = [_coordinate(machine, name) for name in unknown]
        if fixed := [q.name for q in self.computed if q.name in given]:
            raise InputError(f"{', '.join(fixed)} cannot be known and computed at once")
        self.turns = turns
        self.x = [by_name.get(n, symbol(f"x.{n}", "input", owner=_OWNER)) for n in given]
        self.g = g = residuals(machine, known, self.x)
        used, taken = set(free_symbols(*g)), {*self.x, *self.computed}
        self.held = [q for q in machine.coordinates if q not in taken]
        mechanism = machine.mechanism
        found = {
            "p": [p for p in machine.parameters if p in used],
            "w": [w for w in mechanism.inputs.values() if w in used],
            "t": [mechanism.time] if mechanism.time in used else [],
        }
        self.constants = {name: entries for name, entries in found.items() if entries}
        outside = [s for entries in self.constants.values() for s in entries]
        if self.computed:
            self.turn = _Turn(mechanism.name, g, self.computed, [*self.x, *outside, *self.held])

    def end(self, name: str) -> Expr:
        """Return the symbol of a carried value after the loop."""
        return self.turn.end(name)

    def loop(self, start: Mapping[Expr, Expr]) -> tuple[Loop, dict[Expr, Expr]]:
        """Return the loop from given starts, and the symbols of the coordinates after it."""
        ends = [symbol(f"{q.name}_end", "local", owner=_OWNER) for q in self.computed]
        finals = dict(zip(self.computed, ends, strict=True))
        carried = self.turn.carried(start, finals)
        return Loop(self.turns, carried, (), (), tuple(self.turn.statements)), finals


class _Turn:
    """One turn of the loop: residuals and Jacobian, a damped step, and which of two is better."""

    def __init__(
        self, name: str, g: Sequence[Expr], computed: Sequence[Expr], around: Sequence[Expr]
    ) -> None:
        from linkwright.program.passes import optimize

        rows = [gradient(e, computed) for e in g]
        body = program(f"{name}_turn", {"q": computed, "around": around}, {"g": g, "J": rows})
        if not around:
            body = program(f"{name}_turn", {"q": computed}, {"g": g, "J": rows})
        body = optimize(body, rounds=1)
        values = body.output_values()
        self.computed = computed
        self.statements: list[Statement] = list(body.statements)
        self._namer = Namer(body, "c")
        self.g = [self.hold(e) for e in values[: len(g)]]
        flat = [self.hold(e) for e in values[len(g) :]]
        n = len(computed)
        self.jacobian = [flat[k * n : k * n + n] for k in range(len(g))]

    def hold(self, value: Expr) -> Expr:
        """Return a name for a value."""
        if value.is_atom:
            return value
        target = self._namer()
        self.statements.append(Assign(target, value))
        return target

    def end(self, name: str) -> Expr:
        """Return the symbol of a carried value after the loop."""
        return symbol(f"{name}_end", "local", owner=f"{_OWNER} {name}")

    def carried(
        self, start: Mapping[Expr, Expr], finals: Mapping[Expr, Expr]
    ) -> tuple[Carried, ...]:
        """Write the rest of the turn, and return what goes on to the next."""
        hold = self.hold
        computed, n = self.computed, len(self.computed)
        best = [symbol(f"{q.name}_best", "local", owner=_OWNER) for q in computed]
        least, residual, worst, first = (
            symbol(name, "local", owner=_OWNER) for name in ("least", "residual", "worst", "first")
        )
        norm = hold(total(e**2 for e in self.g))
        better = hold(norm < least)
        columns = list(zip(*self.jacobian, strict=True))
        matrix = gram(hold, columns)
        scale = hold(total(matrix[i][i] for i in range(n)) * constant(1.0 / n))
        damping = hold(constant(_WEAK) * scale + constant(_FAR) * norm)
        for i in range(n):
            matrix[i][i] = hold(matrix[i][i] + damping)
        right = [hold(-dot(column, self.g)) for column in columns]
        solved, (step,) = ldlt(matrix, [right], self._namer)
        self.statements.extend(solved)
        largest, number = absolute(self.g[0]), ZERO
        for k, e in enumerate(self.g[1:], 1):
            size = hold(absolute(e))
            larger = hold(size > largest)
            number = hold(where(larger, k, number))
            largest = hold(where(larger, size, largest))
        left = hold(largest / sqrt(scale + constant(_TINY)))
        done = hold(left <= _ROUNDING)
        pairs = [
            Carried(q, start[q], following, self.end(f"{q.name}_trial"))
            for q, following in zip(
                computed,
                [
                    where(better, where(done, q, q + dx), constant(0.5) * (q + b))
                    for q, dx, b in zip(computed, step, best, strict=True)
                ],
                strict=True,
            )
        ]
        pairs += [
            Carried(b, start[q], where(better, q, b), finals[q])
            for q, b in zip(computed, best, strict=True)
        ]
        length = hold(sqrt(total(dx**2 for dx in step)))
        unset = hold(first < 0)
        pairs += [
            Carried(least, constant(_WORST), where(better, norm, least), self.end("least")),
            Carried(
                residual, constant(_WORST), where(better, left, residual), self.end("residual")
            ),
            Carried(worst, ZERO, where(better, number, worst), self.end("worst")),
            Carried(first, constant(-1), where(unset, length, first), self.end("first")),
        ]
        return tuple(pairs)
