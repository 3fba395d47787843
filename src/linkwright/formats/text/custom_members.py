"""Members that a text model writes out itself: a block of formulas, and a Python function.

A block says its ports, parameters and states, each with its formula. A Python function is code: a
file may hold its source, which is run only where the reader is allowed to trust the file, or Python
gives it (`functions={...}`). Without either the System can be checked and drawn, but not run.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from typing import Annotated, Any, Literal

from pydantic import Field, StrictInt, StrictStr

from linkwright.algebra import Expr, evaluate, free_symbols
from linkwright.algebra.printers import text
from linkwright.base.errors import InputError
from linkwright.blocks import Block, BlockError, BlockState, Foreign, Port
from linkwright.formats.text.arguments import RATE, Unwritable
from linkwright.formats.text.tables import Input, MemberTable, ParameterTable, Record
from linkwright.formats.text.values import Argument, Expression, Name, constant

_RATE = Annotated[Any, *RATE.annotations("instants; without, it is continuous")]


class InputPort(Input):
    """An input port of a block; `u = 0` gives only its default."""

    size: Annotated[StrictInt, Field(description="of an array, how many entries", ge=0)] = 0


class OutputPort(Record):
    """An output port of a block; `y = "2*u"` gives only its value."""

    value: Annotated[Argument, Field(description="a formula; of an array, a list of them")]
    unit: Annotated[StrictStr, Field(description="its unit")] = "?"
    initial: Annotated[Expression, Field(description="what it holds before the first instant")] = 0
    doc: Annotated[StrictStr, Field(description="what it is")] = ""

    @classmethod
    def from_short(cls, data: Any) -> Any:
        """Return the table of `y = "2*u"`."""
        return data if isinstance(data, dict | Record) else {"value": data}


class BlockStateTable(Record):
    """A state of a block."""

    rate: Annotated[Expression, Field(description="its time derivative, or its next value")]
    initial: Annotated[Expression, Field(description="where it starts")] = 0
    unit: Annotated[StrictStr, Field(description="its unit")] = "?"
    doc: Annotated[StrictStr, Field(description="what it is")] = ""


class CustomBlock(MemberTable):
    """A block of formulas over its own ports, parameters and states, `t` and `period`."""

    kind: Annotated[Literal["Block"], Field(description="what it is")]
    name: Annotated[Name, Field(description="its name, of which its ports have theirs")]
    rate: _RATE = None
    doc: Annotated[StrictStr, Field(description="one line that says what it is")] = ""
    inputs: Annotated[dict[StrictStr, InputPort], Field(description="what goes in")] = Field({})
    parameters: Annotated[dict[StrictStr, ParameterTable], Field(description="numbers")] = Field({})
    noise: Annotated[
        list[Name], Field(description="names of standard normal numbers, new at each instant")
    ] = Field([])
    states: Annotated[
        dict[StrictStr, BlockStateTable], Field(description="continuous states; `rate` is the rate")
    ] = Field({})
    discrete_states: Annotated[
        dict[StrictStr, BlockStateTable],
        Field(description="discrete states; `rate` is the next value"),
    ] = Field({})
    outputs: Annotated[dict[StrictStr, OutputPort], Field(description="what comes out")] = Field({})


class PythonFunction(MemberTable):
    """A Python function that is called at its instants, with its arguments as ports.

    An argument named as something of the mechanism reads that, `q` and `u` are all coordinates and
    speeds, and `t` is the time. It returns the value of its output, or of several a tuple.
    """

    kind: Annotated[Literal["Python"], Field(description="what it is")]
    name: Annotated[Name, Field(description="its name, and that of the function in its source")]
    rate: _RATE
    arguments: Annotated[list[Name], Field(description="names of its arguments")] = Field([])
    inputs: Annotated[
        dict[StrictStr, StrictInt],
        Field(description="sizes of arguments that are arrays; 0: a number set from outside"),
    ] = Field({})
    outputs: Annotated[
        dict[StrictStr, StrictInt], Field(description="its outputs with their sizes; 0: a number")
    ] = Field({})
    source: Annotated[
        StrictStr, Field(description="its definition in Python, run only where it is trusted")
    ] = ""


CUSTOM: dict[str, type[MemberTable]] = {"Block": CustomBlock, "Python": PythonFunction}
"""The kinds that are not made from a signature."""


# -- blocks ----------------------------------------------------------------------------------------
def custom_block(record: CustomBlock) -> Block:
    """Return the block that a table of formulas describes.

    >>> table = {"kind": "Block", "name": "twice", "inputs": {"u": 0}, "outputs": {"y": "2*u"}}
    >>> custom_block(CustomBlock(**table))
    Block(twice: u -> y)
    """
    block = Block(record.name, doc=record.doc)
    for name, port in record.inputs.items():
        value = constant(port.value)
        if port.size:
            block.input_vector(name, port.size, value, unit=port.unit, doc=port.doc)
        else:
            block.input(name, value, unit=port.unit, doc=port.doc)
    for name, p in record.parameters.items():
        given = block.expr(0.0 if p.value is None else p.value)
        number = given if free_symbols(given) else float(evaluate(given))
        block.parameter(name, number, unit=p.unit, sign=p.sign, doc=p.doc)
    for name in record.noise:
        block.alias(name, block.noise(name))
        for stream in block.noises:
            block.alias(stream.first.name, stream.first)
            block.alias(stream.second.name, stream.second)
    follow: list[tuple[Callable[[Expr, Any], None], Expr, Any]] = []
    for name, s in record.states.items():
        made = block.state(name, None, s.initial, unit=s.unit, doc=s.doc)
        follow.append((block.derivative, made, s.rate))
    for name, s in record.discrete_states.items():
        made = block.discrete_state(name, None, s.initial, unit=s.unit, doc=s.doc)
        follow.append((block.update, made, s.rate))
    for name, out in record.outputs.items():
        more: dict[str, Any] = {"unit": out.unit, "initial": constant(out.initial), "doc": out.doc}
        if isinstance(out.value, list):
            block.output_vector(name, out.value, **more)
        else:
            block.output(name, out.value, **more)
    for say, state, value in follow:  # which may use any state and output
        say(state, value)
    return block


def block_table(block: Block, name: str) -> dict[str, Any]:
    """Return the table of a block that was described in Python."""
    if block.statements or block.crossings or block.function is not None:
        raise Unwritable(
            f"the member {name!r} has partial results or events, which have no text form",
            remedy="write its formulas out",
        )
    return {
        "kind": "Block",
        "name": name,
        "doc": block.doc,
        "inputs": {n: _input(port, name) for n, port in block.inputs.items()},
        "parameters": {
            n: {
                "value": p.value if p.default is None else text(p.default),
                "unit": p.unit,
                "sign": p.symbol.data.sign,
                "doc": p.doc,
            }
            for n, p in block.parameters.items()
        },
        "noise": [stream.name for stream in block.noises],
        "states": {x.name: _state(s, name) for x, s in block.states.items()},
        "discrete_states": {x.name: _state(s, name) for x, s in block.discrete_states.items()},
        "outputs": {
            n: {
                "value": [text(x) for x in p.values] if p.shape else text(p.values[0]),
                "unit": p.unit,
                "initial": p.initial,
                "doc": p.doc,
            }
            for n, p in block.outputs.items()
        },
    }


def _input(port: Port, name: str) -> dict[str, Any]:
    first = port.values[0]
    if len(port.shape) > 1 or any(x is not first or x.op != "num" for x in port.values):
        raise Unwritable(
            f"the port {port.name!r} of {name!r} has several defaults, or one that is not a number",
            remedy="connect what drives it",
        )
    size = len(port.symbols) if port.shape else 0
    return {"value": float(first.data), "unit": port.unit, "size": size, "doc": port.doc}


def _state(state: BlockState, name: str) -> dict[str, Any]:
    if state.following is None:
        raise BlockError(f"block {name!r} does not say how {state.symbol} goes on")
    rate, start = text(state.following), text(state.initial)
    return {"rate": rate, "initial": start, "unit": state.unit, "doc": state.doc}


# -- Python functions ------------------------------------------------------------------------------
def python_function(
    record: PythonFunction, given: Callable[..., Any] | None, trust: bool, file: str = ""
) -> Callable[..., Any]:
    """Return the function of a member: the one given, that of trusted source, or one without code.

    >>> table = {"kind": "Python", "name": "ramp", "rate": 10, "arguments": ["t"]}
    >>> python_function(PythonFunction(**table), lambda t: 2 * t, trust=False)(3)
    6
    """
    if given is None and trust and record.source:
        given = _trusted(record, file)
    if given is None:
        return _without_code(record)
    names = list(inspect.signature(given).parameters)
    if names != record.arguments:
        raise InputError(
            f"the function of {record.name!r} has the arguments {', '.join(names) or 'none'}",
            remedy=f"write arguments = [{', '.join(map(repr, names))}]".replace("'", '"'),
        )
    return given


def _trusted(record: PythonFunction, file: str) -> Callable[..., Any]:
    """Return the function of source that the reader trusts; nothing else runs code of a file."""
    space: dict[str, Any] = {"__name__": f"linkwright.member.{record.name}"}
    try:
        exec(compile(record.source, f"{file or 'model'}:{record.name}", "exec"), space)  # noqa: S102 - the reader trusts the file
    except Exception as error:
        raise InputError(
            f"the source of {record.name!r} cannot be run: {type(error).__name__}: {error}"
        ) from error
    found = space.get(record.name)
    if not callable(found):
        raise InputError(
            f"the source of {record.name!r} defines no function {record.name!r}",
            remedy=f"write def {record.name}({', '.join(record.arguments)}): ...",
        )
    function: Callable[..., Any] = found
    return function


def _without_code(record: PythonFunction) -> Callable[..., Any]:
    def call(**arguments: Any) -> Any:
        raise BlockError(
            f"the function of {record.name!r} has no code here",
            remedy="give it in Python with functions={...}, or allow code of the file with --trust",
        )

    kind = inspect.Parameter.POSITIONAL_OR_KEYWORD
    ports = [inspect.Parameter(name, kind) for name in record.arguments]
    call.__dict__["__signature__"] = inspect.Signature(ports)
    call.__dict__["without_code"] = True
    return call


def has_code(block: Block) -> bool:
    """Whether a block can run: all but a Python function that a text only names.

    >>> has_code(Block("b"))
    True
    """
    return not getattr(block.function, "without_code", False)


def require_code(members: Mapping[str, Any]) -> None:
    """Reject to run members of a System that have no code."""
    for name, member in members.items():
        if not has_code(member.block):
            raise InputError(
                f"the function of {name!r} has no code here",
                remedy="look at the source in the file, and allow it with --trust",
            )


def python_table(block: Foreign, name: str) -> dict[str, Any]:
    """Return the table of a Python function that came from a text."""
    kind, given = block.made_with
    if kind != "Python":
        raise Unwritable(
            f"the member {name!r} is a Python function, whose code no text can hold",
            remedy='write it in the text, as a member of kind "Python" with its source',
        )
    return {**given, "name": name}
