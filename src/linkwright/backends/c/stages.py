"""Code in pieces: what depends on parameters alone, the derivative, and the outputs.

The first piece runs once and leaves what the others need in an array of constants; the derivative
leaves what the outputs need of its intermediate results in an array of work (AUTOSIM's /PRCMP/ and
/DYVARS/: Sayers' thesis, section 8.5).
"""

from __future__ import annotations

from collections.abc import Container, Iterable

from linkwright.algebra.expr import Expr
from linkwright.algebra.symbols import symbol
from linkwright.backends.parts import reads
from linkwright.program.code import CONDITIONS, Code, Instruction
from linkwright.program.program import ProgramPort
from linkwright.program.rates import Rate

CONSTANTS = "constants"
WORK = "work"


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


def split_outputs(code: Code, auxiliary: Container[str]) -> tuple[Code, Code]:
    """Return the code of all stages but the output stage, and that of the output stage.

    The first has an output `work` more, which the second takes, where the output stage needs any
    of its values.

    Args:
        code: a lowered Program, or the second half of `split_parameters`.

    >>> from linkwright.algebra import sin, symbol
    >>> from linkwright.program import lower, program
    >>> q = symbol("q", "coordinate")
    >>> p = program("f", {"q": q}, {"a": 2 * sin(q), "y": sin(q) - q}, auxiliary=["y"])
    >>> first, second = split_outputs(lower(p), p.auxiliary)
    >>> [port.name for port, _ in first.outputs], [port.name for port in second.inputs]
    (['a', 'work'], ['q', 'work'])
    """
    leaves = [i for i in code.instructions if i.op in ("const", "input")]
    early_ids = {i.id for i in code.instructions if i.rate < Rate.OUTPUT}
    early_ids |= {i.id for i in code.instructions if i.op == "result" and i.args[0] in early_ids}
    inner = [i for i in code.instructions if i.op not in ("const", "input")]
    early = [i for i in inner if i.id in early_ids]
    late = [i for i in inner if i.id not in early_ids]
    main = [(port, ids) for port, ids in code.outputs if port.name not in auxiliary]
    asked = [(port, ids) for port, ids in code.outputs if port.name in auxiliary]
    wanted = {a for i in late for a in reads(i)} | {a for _, ids in asked for a in ids}
    crossing = [i for i in early if i.id in wanted]
    size = code.size
    ids, given = [], []
    zero = Instruction(size, "const", (), 0.0, Rate.CONSTANT)
    size += 1
    for k, i in enumerate(crossing):
        value, place = i.id, (len(code.inputs), k)
        if i.op in CONDITIONS:
            value, size = size, size + 2
            early.append(Instruction(value, "number", (i.id,), None, i.rate))
            given.append(Instruction(value + 1, "input", (), place, Rate.OUTPUT))
            given.append(Instruction(i.id, "ne", (value + 1, zero.id), None, Rate.OUTPUT))
        else:
            given.append(Instruction(i.id, "input", (), place, Rate.OUTPUT, i.name))
        ids.append(value)
    entries = tuple(_entry(code, k, i, WORK) for k, i in enumerate(crossing))
    work = [ProgramPort(WORK, (len(ids),), entries)] if ids else []
    handed = [(port, tuple(ids)) for port in work]
    first = Code(code.name, code.inputs, (*main, *handed), [*leaves, *early], size)
    second = Code(
        f"{code.name}_output",
        (*code.inputs, *work),
        tuple(asked),
        [*leaves, zero, *given, *late],
        size,
    )
    return first, second


def _entry(code: Code, k: int, i: Instruction, owner: str = CONSTANTS) -> Expr:
    """Return a symbol that names a value as the model does, or by its number."""
    if i.op == "input":
        port, element = i.data
        entry: Expr = code.inputs[port].entries[element]
        return entry
    return symbol(i.name or f"{owner[0]}{k + 1}", "parameter", owner=owner)


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
