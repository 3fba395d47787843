"""Programs as plain text: one assignment a line, in the spelling of the expression language.

The text holds statements and outputs only; inputs, tables and foreign functions come from the
Program that it was made from, without which it cannot be read. A line that ends in `# number` is
one call of a foreign function that is called several times; the number says which. A Program is
written only if reading it gives the same one.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable, Mapping
from typing import Any

from linkwright.algebra.expr import Expr, function_node
from linkwright.algebra.language import parse
from linkwright.algebra.language.scope import SymbolScope
from linkwright.algebra.printers.layout import data_name
from linkwright.algebra.printers.text import text
from linkwright.algebra.smallness import KEEP_ALL, smallness_threshold
from linkwright.algebra.spelling import quoted
from linkwright.algebra.symbols import symbol
from linkwright.algebra.walk import postorder
from linkwright.program.passes.names import renamed
from linkwright.program.passes.replacement import replaced
from linkwright.program.program import Assign, Loop, Program, ProgramError, check, walk

_CALLED = ("table1", "table2", "foreign")


def written(program: Program, source: Program) -> dict[str, Any]:
    """Return the statements and outputs of a Program, with its locals renamed, as plain data.

    >>> from linkwright.program import program
    >>> p = program("f", {"x": ["x", "y"]}, {"f": lambda x, y: [x * y + x]})
    >>> written(p, p)
    {'statements': [], 'outputs': {'f': ['x + x*y']}}
    """
    program = renamed(program)
    data = _data(program)
    if read(data, source).fingerprint() != program.fingerprint():
        raise ProgramError(f"the text of {program.name!r} does not read as the same Program")
    return data


def text_digest(program: Program) -> str:
    """Return a digest of the text of a Program and the names of its inputs.

    Other than `Program.fingerprint`, it is the same for a model that is loaded twice, each time
    with foreign functions of its own.

    >>> from linkwright.program import program
    >>> len(text_digest(program("f", {"x": ["x"]}, {"f": lambda x: [2 * x]})))
    32
    """
    inputs = [(p.name, [x.name for x in p.entries]) for p in program.inputs]
    content = repr((program.name, inputs, _data(program)))
    return hashlib.blake2b(content.encode(), digest_size=16).hexdigest()


def _data(program: Program) -> dict[str, Any]:
    lines = _Lines()
    with smallness_threshold(KEEP_ALL):
        for statement in program.statements:
            if not isinstance(statement, Assign):
                kind = type(statement).__name__.lower()
                raise ProgramError(f"{program.name!r} holds a {kind}, which has no text")
            formula = lines.text(statement.value)
            lines.lines.append(f"{quoted(statement.target.name)} = {formula}")
        outputs = {p.name: [lines.text(x) for x in p.entries] for p in program.outputs}
    return {"statements": lines.lines, "outputs": outputs}


class _Lines:
    """Lines so far, and the symbols that stand for calls that are lines of their own."""

    def __init__(self) -> None:
        self.lines: list[str] = []
        self.calls: dict[Expr, Expr] = {}

    def text(self, x: Expr) -> str:
        for node in postorder([x], stop=self.calls.__contains__):
            if node.op == "foreign" and node not in self.calls:
                bare = function_node(node.op, tuple(replaced(node.args, self.calls)), node.data)
                name = f"call{len(self.calls) + 1}"
                self.lines.append(f"{name} = {text(bare)} # {node.data.digest}")
                self.calls[node] = symbol(name, "local")
        return text(replaced([x], self.calls)[0])


def read(data: Mapping[str, Any], source: Program) -> Program:
    """Return the Program of a text.

    >>> from linkwright.program import program
    >>> p = program("f", {"x": ["x", "y"]}, {"f": lambda x, y: [x * y + x]})
    >>> read({"statements": ["a = x + 1"], "outputs": {"f": ["a*y"]}}, p).outputs[0].entries
    (a*y,)
    """
    values: dict[str, object] = {x.name: x for x in source.input_symbols()}
    called = [node for node in postorder(_roots(source)) if node.op in _CALLED]
    plain = {data_name(node): _caller(node) for node in called}
    numbered = {node.data.digest: _caller(node) for node in called}
    statements = []
    with smallness_threshold(KEEP_ALL):
        for line in data["statements"]:
            name, _, rest = line.partition(" = ")
            name = name.strip("`")
            formula, call, number = rest.partition(" # ")
            if call:
                one = dict.fromkeys(plain, numbered[int(number)])
                values[name] = parse(formula, SymbolScope(values, one))
                continue
            target = symbol(name, "local")
            statements.append(Assign(target, parse(formula, SymbolScope(values, plain))))
            values[name] = target
        scope = SymbolScope(values, plain)
        told = [data["outputs"][port.name] for port in source.outputs]
        if [len(texts) for texts in told] != [len(port.entries) for port in source.outputs]:
            raise ProgramError(f"the text of {source.name!r} has more or fewer outputs than it")
        entries = [parse(x, scope) for texts in told for x in texts]
    result = source.with_statements(statements, source.map_outputs(entries))
    check(result)
    return result


def _roots(source: Program) -> Iterable[Expr]:
    for statement in walk(source.statements):
        yield from statement.operands
        if isinstance(statement, Loop):
            yield from statement.inner_operands
    yield from source.output_values()


def _caller(like: Expr) -> Callable[..., object]:
    def call(*args: Expr) -> Expr:
        return function_node(like.op, tuple(args), like.data)

    return call
