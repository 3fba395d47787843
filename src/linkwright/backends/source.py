"""From primitive code to source text that people read: what the C and Python writers share.

A value that is used once, in the stage in which it is computed, is written inside the expression
that uses it, as long as the text stays short; every other value is a statement of its own under a
name from the model, or `z1`, `z2`, ... The order of operations is that of the code: a parenthesis
is left out only where the language groups the same way, or where the operation commutes exactly.
"""

from __future__ import annotations

import re
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from textwrap import wrap
from typing import Any, TypeAlias

from linkwright.backends.arrays import Arrays, ConstantArray, InputArray, Source, StackArray
from linkwright.backends.parts import reads
from linkwright.program import STAGES, Program, Rate, stage_counts
from linkwright.program.code import CONDITIONS, Code, Instruction
from linkwright.program.program import ProgramPort
from linkwright.version import __version__

TERNARY, OR, AND, COMPARE, SUM, PRODUCT, ATOM = range(7)
"""How tightly a text holds together: an operand of a product must be a product or an atom."""

NESTED = 44  # characters up to which a value may stand inside another expression


@dataclass(frozen=True, slots=True)
class Term:
    """The text of a value, and how tightly it holds together."""

    level: int
    text: str

    def at(self, level: int) -> str:
        """Return the text, in parentheses unless it holds together at this level."""
        return self.text if self.level >= level else f"({self.text})"


Scan: TypeAlias = "list[Term] | InputArray | StackArray"
"""What a loop reads, one value a turn: terms, or where they lie."""


def arithmetic(op: str, args: Sequence[Term]) -> Term | None:
    """Return the infix text of a sum, difference, product, quotient or sign, else None.

    >>> a, b, c = Term(ATOM, "a"), Term(ATOM, "b"), Term(ATOM, "c")
    >>> arithmetic("sub", [a, arithmetic("sub", [b, c])]).text
    'a - (b - c)'
    >>> arithmetic("add", [a, arithmetic("add", [b, c])]).text
    'b + c + a'
    """
    if op == "neg":
        return Term(SUM, "-" + args[0].at(PRODUCT))
    if op not in ("add", "sub", "mul", "div"):
        return None
    level, sign = {
        "add": (SUM, " + "),
        "sub": (SUM, " - "),
        "mul": (PRODUCT, "*"),
        "div": (PRODUCT, "/"),
    }[op]
    a, b = args
    looser = op in ("add", "mul") and b.level == level and a.level != level
    if looser or (op == "mul" and a.level == ATOM and b.text[0].isdigit()):
        a, b = b, a
    return Term(level, f"{a.at(level)}{sign}{b.at(level + 1)}")


def call(name: str, args: Iterable[Term]) -> Term:
    """Return the text of a function call."""
    return Term(ATOM, f"{name}({', '.join(a.text for a in args)})")


class Names:
    """Gives out identifiers, each once.

    >>> names = Names(str, ["f"])
    >>> names("f"), names("q"), names("q"), names.fresh("z")
    ('f_2', 'q', 'q_2', 'z1')
    """

    def __init__(
        self,
        identifier: Callable[[str], str],
        taken: Iterable[str] = (),
        model: frozenset[str] = frozenset(),
    ) -> None:
        self._identifier = identifier
        self._taken = set(taken)
        self._model = model
        self._counts: dict[str, int] = {}

    def __call__(self, name: str) -> str:
        """Return an identifier for a name of the model."""
        wanted = self._identifier(name) if name else "v"
        result = wanted
        count = 1
        while result in self._taken:
            count += 1
            result = f"{wanted}_{count}"
        self._taken.add(result)
        return result

    def reserve(self, name: str) -> None:
        """Keep away from an identifier that is used as it is."""
        self._taken.add(name)

    def fresh(self, prefix: str) -> str:
        """Return an invented identifier that starts with a prefix."""
        count = self._counts.get(prefix, 0)
        while True:
            count += 1
            result = f"{prefix}{count}"
            if result not in self._taken and result not in self._model:
                break
        self._counts[prefix] = count
        self._taken.add(result)
        return result

    def taken(self) -> frozenset[str]:
        """Return all identifiers in use."""
        return frozenset(self._taken)


def model_names(code: Code, identifier: Callable[[str], str]) -> frozenset[str]:
    """Return the identifiers of every name that the code has from the model."""
    names = [port.name for port in code.inputs] + [port.name for port, _ in code.outputs]
    names += [x.name for port in code.inputs for x in port.entries]
    for i in code.walk():
        if i.name:
            names.append(i.name)
        if i.op == "loop":
            names.extend(i.data.names)
    return frozenset(identifier(name) for name in names if name)


def all_instructions(code: Code) -> Iterator[Instruction]:
    """Yield the instructions of some code, of its loops, and of all programs that it calls."""
    pending, seen = [code], {code}
    while pending:
        for i in pending.pop().walk():
            yield i
            if i.op == "call" and i.data not in seen:
                seen.add(i.data)
                pending.append(i.data)


# -- what is written inside what -----------------------------------------------------------------
def stage(i: Instruction) -> Rate:
    """Return the stage in which an instruction is written."""
    return max(i.rate, Rate.PARAMETER)


def by_stage(instructions: Iterable[Instruction]) -> list[Instruction]:
    """Return the instructions ordered by stage, within a stage as they were."""
    return sorted(instructions, key=stage)


def nested(instructions: Sequence[Instruction], ends: Iterable[int]) -> set[int]:
    """Return the ids of the values that may be written inside the one expression that uses them."""
    uses: dict[int, int] = {}
    reader: dict[int, Rate | None] = {}
    for i in instructions:
        weight = 2 if i.op == "loop" else 1
        for a in reads(i):
            uses[a] = uses.get(a, 0) + weight
            reader[a] = stage(i)
    for a in ends:
        uses[a] = uses.get(a, 0) + 1
        reader[a] = None
    return {
        i.id
        for i in instructions
        if uses.get(i.id) == 1
        and not i.name
        and i.op != "foreign"
        and reader[i.id] in (None, stage(i))
    }


def leaves_of(code: Code) -> dict[int, Instruction]:
    """Return the constants and inputs of some code, which are fetched by those that read them."""
    return {i.id: i for i in code.instructions if i.op in ("const", "input")}


class SourceWriter(ABC):
    """The lines of one function while they are written; a language gives the hooks at its end."""

    def __init__(
        self, code: Code, names: Names, indent: int, leaves: Mapping[int, Instruction]
    ) -> None:
        self.code = code
        self.names = names
        self.indent = indent
        self.leaves = leaves
        self.terms: dict[int, Term] = {}
        self.results: dict[int, list[Term]] = {}
        self.stacks: dict[int, list[str]] = {}
        self.in_place: Arrays | None = None
        self.lines: list[str] = []

    def line(self, text: str) -> None:
        """Add a line at the present indentation."""
        self.lines.append("    " * self.indent + text)

    def block(self, instructions: Sequence[Instruction], ends: Iterable[int]) -> None:
        """Write instructions; constants and inputs are fetched by those that read them."""
        inside = nested(instructions, ends)
        for i in instructions:
            if i.id in self.leaves:
                continue
            self.before(i)
            if i.op == "loop":
                self.loop(i)
            elif i.op == "call":
                self.call(i)
            else:
                self.value(i, inside)
            self.after(i)

    def value(self, i: Instruction, inside: set[int]) -> None:
        """Write one value: as a statement, or as the text that its reader takes in."""
        if i.op == "result":
            self.terms[i.id] = self.results[i.args[0]][i.data]
            return
        term = self.expression(i.op, i.data, [self.ref(a) for a in i.args])
        if i.id in inside and len(term.text) <= NESTED:
            self.terms[i.id] = term
            return
        name = self.names(i.name) if i.name else self.names.fresh("z")
        self.statement(name, term, i.op in CONDITIONS)
        self.terms[i.id] = Term(ATOM, name)

    def ref(self, i: int) -> Term:
        """Return the term of a value."""
        if i not in self.terms:
            leaf = self.leaves[i]
            self.terms[i] = self.literal(leaf.data) if leaf.op == "const" else self.input(leaf)
        return self.terms[i]

    def loop_inputs(self, i: Instruction) -> tuple[list[Term], list[Scan]]:
        """Return the initial values of a loop's carried ones, and its scanned arrays."""
        data, carried = i.data, len(i.data.carried)
        sources: Sequence[Source | None] = [None] * len(data.scanned)
        if self.in_place is not None:
            sources = self.in_place.sources(i)
        arrays: list[Scan] = []
        for k, source in enumerate(sources):
            if isinstance(source, InputArray | StackArray):
                arrays.append(source)
            elif isinstance(source, ConstantArray):
                arrays.append([self.literal(v) for v in source.values])
            else:
                first = carried + k * data.count
                arrays.append([self.ref(a) for a in i.args[first : first + data.count]])
        return [self.ref(a) for a in i.args[:carried]], arrays

    def place(self, source: InputArray | StackArray, index: str) -> str:
        """Return the text of the place of an array that a loop reads in some turn."""
        turn = index if abs(source.step) == 1 else f"{abs(source.step)}*{index}"
        if source.step > 0:
            return f"{source.first} + {turn}" if source.first else turn
        return f"{source.first} - {turn}"

    def before(self, i: Instruction) -> None:
        """Do what has to precede an instruction; nothing unless a language says otherwise."""
        return

    def after(self, i: Instruction) -> None:
        """Do what has to follow an instruction; nothing unless a language says otherwise."""
        return

    # -- what a language says ----------------------------------------------------------------------
    @abstractmethod
    def literal(self, value: float) -> Term:
        """Return a constant."""

    @abstractmethod
    def input(self, i: Instruction) -> Term:
        """Return an entry of an input."""

    @abstractmethod
    def expression(self, op: str, data: Any, args: Sequence[Term]) -> Term:
        """Return the text of an operation."""

    @abstractmethod
    def statement(self, name: str, term: Term, condition: bool) -> None:
        """Write the definition of a value."""

    @abstractmethod
    def loop(self, i: Instruction) -> None:
        """Write a loop."""

    @abstractmethod
    def call(self, i: Instruction) -> None:
        """Write the call of another program."""


# -- the heading of a file -------------------------------------------------------------------------
def heading(program: Program, code: Code) -> list[str]:
    """Return lines that say what a generated file is: inputs, outputs, counts, origin."""
    lines = [
        plain(program.name),
        "",
        f"Written by Linkwright {__version__}; program {program.fingerprint()}.",
        "",
        "Inputs",
        *_ports(program.inputs, entries=True),
        "Outputs",
        *_ports(program.outputs, entries=False),
        "Operations of each stage",
        f"  {'':14}{'add':>8}{'mul':>8}{'call':>8}{'select':>8}",
    ]
    counts = stage_counts(code)
    for rate in STAGES:
        c = counts[rate]
        if c.total or c.call or c.select:
            lines.append(f"  {rate.label:14}{c.add:8}{c.mul:8}{c.call:8}{c.select:8}")
    return lines


def _ports(ports: Iterable[ProgramPort], *, entries: bool) -> Iterator[str]:
    for port in ports:
        shape = "".join(f"[{n}]" for n in port.shape)
        yield f"  {plain(port.name)}{shape}"
        if not entries:
            continue
        told = [x for x in port.entries if x.data.doc or x.data.unit != "?"]
        silent = [plain(x.name) for x in port.entries if x not in set(told)]
        if silent and (len(silent) > 1 or silent[0] != plain(port.name)):
            yield from wrap(
                ", ".join(silent), 90, initial_indent="      ", subsequent_indent="      "
            )
        for x in told:
            unit = f" ({x.data.unit})" if x.data.unit != "?" else ""
            doc = f": {x.data.doc}" if x.data.doc else ""
            yield plain(f"      {x.name}{unit}{doc}")
    if not ports:
        yield "  none"


_UNSAFE = re.compile(r"[^\w .,:;()\[\]+*/^='|<>?-]|\?\?|\*/|/\*|\"\"\"", re.ASCII)


def plain(text: str) -> str:
    r"""Return a text that can stand in a comment of any language: one line, nothing that ends it.

    >>> plain("a */ b\n\\ θ")
    'a <2a><2f> b<a><5c> <3b8>'
    """
    return _UNSAFE.sub(lambda m: "".join(f"<{ord(c):x}>" for c in m[0]), text)
