"""Code in pieces: what depends on parameters alone, and the rest.

The first piece runs once and leaves what the other needs in an array of constants (AUTOSIM's
/PRCMP/: Sayers' thesis, section 8.5).
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from linkwright.algebra.expr import Expr
from linkwright.algebra.symbols import symbol
from linkwright.backends.parts import reads
from linkwright.program.code import CONDITIONS, Code, Instruction
from linkwright.program.program import ProgramPort
from linkwright.program.rates import Rate

CONSTANTS = "constants"


def split_parameters(code: Code) -> tuple[Code, Code]:
    """Return the code of the parameter stage, and that of all other stages, which takes its result.

    >>> from linkwright.algebra import symbol
    >>> from linkwright.program import lower, program
    >>> k, q = symbol("k"), symbol("q", "coordinate")
    >>> first, second = split_parameters(
    ...     lower(program("f", {"k": k, "q": q}, {"f": 2 * k * q}))
    ... )
    >>> [port.name for port in first.inputs], [port.name for port in second.inputs]
    (['k'], ['q', 'constants'])
    """
    early = {i.id: i for i in code.instructions if i.op != "const" and i.rate <= Rate.PARAMETER}
    constants = [i for i in code.instructions if i.op == "const"]
    late = [i for i in code.instructions if i.id not in early and i.op != "const"]
    wanted = dict.fromkeys(
        a for group in (*map(reads, late), code.output_ids()) for a in group if a in early
    )
    crossing = [i for i in code.instructions if i.id in wanted]
    size = code.size
    first, given, ids = list(early.values()), [], []
    for i in crossing:
        value = i.id
        if i.op in CONDITIONS:
            first.append(Instruction(size, "number", (value,), None, i.rate))
            value, size = size, size + 1
        ids.append(value)
    port = ProgramPort(
        CONSTANTS, (len(ids),), tuple(_entry(code, k, i) for k, i in enumerate(crossing))
    )
    early_ports = [
        p for p, _ in enumerate(code.inputs) if any(i.data[0] == p for i in _inputs(early.values()))
    ]
    late_ports = [
        p
        for p, _ in enumerate(code.inputs)
        if p not in early_ports or any(i.data[0] == p for i in _inputs(late))
    ]
    zero = Instruction(size, "const", (), 0.0, Rate.CONSTANT)
    size += 1
    for k, i in enumerate(crossing):
        place = (len(late_ports), k)
        if i.op in CONDITIONS:
            given.append(Instruction(size, "input", (), place, Rate.PARAMETER))
            given.append(Instruction(i.id, "ne", (size, zero.id), None, Rate.PARAMETER))
            size += 1
        else:
            given.append(Instruction(i.id, "input", (), place, Rate.PARAMETER, i.name))
    inputs = tuple(code.inputs[p] for p in early_ports)
    prepare = Code(
        f"{code.name}_prepare",
        inputs,
        ((port, tuple(ids)),),
        [*constants, *_moved(first, early_ports)],
        size,
    )
    rest = (*(code.inputs[p] for p in late_ports), port)
    body = [*constants, zero, *given, *_moved(late, late_ports)]
    return prepare, Code(code.name, rest, code.outputs, body, size)


def trimmed(code: Code) -> Code:
    """Return code without the inputs that it does not read.

    >>> from linkwright.program import lower, program
    >>> made = trimmed(
    ...     lower(program("f", {"x": ["x"], "y": ["y"]}, {"f": lambda x, y: [2 * y]}))
    ... )
    >>> [port.name for port in made.inputs]
    ['y']
    """
    used = sorted({i.data[0] for i in code.walk() if i.op == "input"})
    inputs = tuple(code.inputs[p] for p in used)
    return replace(code, inputs=inputs, instructions=_moved(code.instructions, used))


def _entry(code: Code, k: int, i: Instruction) -> Expr:
    """Return a symbol that names a value as the model does, or by its number."""
    if i.op == "input":
        port, element = i.data
        entry: Expr = code.inputs[port].entries[element]
        return entry
    return symbol(i.name or f"{CONSTANTS[0]}{k + 1}", "parameter", owner=CONSTANTS)


def _inputs(instructions: Iterable[Instruction]) -> list[Instruction]:
    return [i for i in instructions if i.op == "input"]


def _moved(instructions: list[Instruction], ports: list[int]) -> list[Instruction]:
    """Return the instructions with inputs numbered as in the shorter list of ports."""
    return [
        Instruction(i.id, i.op, i.args, (ports.index(i.data[0]), i.data[1]), i.rate, i.name)
        if i.op == "input"
        else i
        for i in instructions
    ]
