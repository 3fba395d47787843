"""Plain NumPy source from a Program: for reading, and for checking the other backends.

The source is one module with one function; it takes arrays whose last axes have the inputs' shapes,
any axes before those being a batch, and returns an array or a tuple of arrays. Statements are those
of the C source, in the same order.

Only source that is written here is executed, and nothing of a model goes into it but numbers,
identifiers made by `python_identifier`, and text that `plain` has made harmless.
"""

from __future__ import annotations

import builtins
import math
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from textwrap import indent
from typing import Any

import numpy as np

from linkwright.algebra.foreign import ForeignCall, ForeignFunction
from linkwright.algebra.functions import FUNCTIONS
from linkwright.algebra.printers.names import python_identifier
from linkwright.backends.arrays import Arrays, InputArray, StackArray
from linkwright.backends.foreign import bound_functions, same_call, with_python
from linkwright.backends.llvm.signature import (
    Argument,
    Array,
    as_values,
    check_apart,
    check_output,
    checked_size,
)
from linkwright.backends.lookup import lookup
from linkwright.backends.parts import results_at_their_source
from linkwright.backends.source import (
    ATOM,
    COMPARE,
    SUM,
    Names,
    Scan,
    SourceWriter,
    Term,
    arithmetic,
    by_stage,
    call,
    heading,
    leaves_of,
    model_names,
    plain,
)
from linkwright.backends.threads import checked_threads
from linkwright.base.arguments import worded
from linkwright.base.errors import CompileError, ShapeError
from linkwright.base.forking import cached_property
from linkwright.program import Program, ProgramPort, lower
from linkwright.program.code import Code, Instruction, LoopCode

_LITERAL = re.compile(r"-?(\d+(\.\d+)?(e[+-]?\d+)?|np\.inf|np\.nan)\Z")
_USED = frozenset({"range", "len", "enumerate", "int", "batch"})
_BUILTINS = frozenset(dir(builtins))
_COMPARE = {"lt": "<", "le": "<=", "eq": "==", "ne": "!="}

_PREAMBLE = """import numpy as np

lw_real = np.{dtype}


def lw_input(array, shape):
    array = np.asarray(array, lw_real)
    lead = array.shape[: array.ndim - len(shape)]
    return array.reshape((*lead, int(np.prod(shape))))


def lw_output(entries, shape, batch):
    array = np.empty((*batch, len(entries)), lw_real)
    for k, entry in enumerate(entries):
        array[..., k] = entry
    return array.reshape((*batch, *shape))
"""

_LOOKUP = """
def lw_polynomial(coefficients, t):
    value = coefficients[..., -1]
    for k in range(coefficients.shape[-1] - 2, -1, -1):
        value = coefficients[..., k] + t*value
    return value


def lw_table1(x, points, origins, c):
    piece = np.searchsorted(points, x, side="right")
    return lw_real(lw_polynomial(c[piece], x - origins[piece]))


def lw_table2(x, y, points_x, origins_x, points_y, origins_y, c):
    x, y = np.broadcast_arrays(x, y)
    row = np.searchsorted(points_x, x, side="right")
    column = np.searchsorted(points_y, y, side="right")
    in_y = lw_polynomial(c[row, column], (y - origins_y[column])[..., None])
    return lw_real(lw_polynomial(in_y, x - origins_x[row]))
"""


@dataclass(slots=True)
class Module:
    """A module while it is written."""

    dtype: str
    names: Names = field(default_factory=lambda: Names(python_identifier, _USED))
    functions: list[str] = field(default_factory=list)
    called: dict[Code, str] = field(default_factory=dict)
    tables: dict[Any, tuple[str, list[str]]] = field(default_factory=dict)
    foreign: dict[str, tuple[str, ForeignFunction]] = field(default_factory=dict)

    def table(self, table: Any) -> str:
        """Return the name of a table's numbers, a tuple of arrays."""
        if table not in self.tables:
            name = self.names(f"table_{table.name}")
            data = lookup(table)
            lines = [f"{name} = (  # {plain(table.name)}: {table.kind}, outside {table.outside}"]
            pairs = zip(data.points, data.origins, strict=True)
            arrays = [*(a for pair in pairs for a in pair), data.coefficients]
            lines += [f"    np.array({a.tolist()!r})," for a in arrays]
            self.tables[table] = (name, [*lines, ")"])
        return self.tables[table][0]

    def call(self, data: ForeignCall) -> str:
        """Return the name under which a foreign function is given to the module."""
        name = data.function.name
        if name not in self.foreign:
            own = f"user_{name}" if name in _BUILTINS else name
            self.foreign[name] = (self.names(own), data.function)
        return self.foreign[name][0]

    def text(self, about: Sequence[str]) -> str:
        """Return the whole module."""
        documentation = "\n".join(["", *about, ""])
        parts = [f'r"""{documentation}"""', "", _PREAMBLE.format(dtype=self.dtype)]
        if self.tables:
            parts.append(_LOOKUP)
        for _, lines in self.tables.values():
            parts += ["", *lines]
        for name in self.foreign:
            parts += ["", f"# the foreign function {plain(name)} is given from outside"]
        return "\n".join([*parts, "", "\n\n".join(self.functions)])


def _over_arrays(function: ForeignFunction) -> Callable[..., Any]:
    """Return a function of numbers or arrays that gives the output, or all, of a foreign one."""
    callable_ = with_python(function)

    def call_it(*args: Any) -> Any:
        if any(np.ndim(x) for x in args):
            found = callable_.arrays(*args)
        else:
            found = callable_.numbers(*(float(x) for x in args))
        return found[0] if function.outputs == 1 else found

    return call_it


@worded
def python_source(program: Program, *, dtype: str = "float64") -> str:
    """Return a module of plain NumPy with one function `NAME(*inputs)`.

    Args:
        program: what the function computes.
        dtype: "float64" or "float32".

    >>> from linkwright.algebra import sin, symbol
    >>> from linkwright.program import program
    >>> q = symbol("q1", "coordinate", unit="rad")
    >>> text = python_source(program("pendulum", {"q": [q]}, {"a": [-9.81 * sin(q)]}))
    >>> print(text[text.index("def pendulum") :])
    def pendulum(q):
        q = lw_input(q, (1,))
        batch = np.broadcast_shapes(q.shape[:-1])
        q1 = q[..., 0]
        a = [-9.81*np.sin(q1)]
        return lw_output(a, (1,), batch)
    <BLANKLINE>
    """
    return _write(program, dtype)[1]


def python_functions(
    codes: Mapping[str, Code], about: Sequence[str]
) -> tuple[str, dict[str, ForeignFunction]]:
    """Return a module with a function for each code, and the foreign functions by what it calls.

    The functions take a sequence of numbers for each input, and return a tuple of lists.

    >>> from linkwright.algebra import symbol
    >>> from linkwright.program import program
    >>> q = symbol("q1", "coordinate")
    >>> code = lower(program("spring", {"q": [q]}, {"a": [-3 * q]}))
    >>> text, _ = python_functions({"rates": code}, [])
    >>> print(text[text.index("def rates") :])
    def rates(q):
        q1 = q[0]
        a = [-3.0*q1]
        return (a, )
    <BLANKLINE>
    """
    module = Module("float64")
    for name, code in codes.items():
        module.called[code] = module.names(name)
        _write_called(module, code)
    return module.text(about), dict(module.foreign.values())


def _write(program: Program, dtype: str) -> tuple[str, str, Module]:
    """Return the function's name, the source, and the module with its foreign functions."""
    code = lower(program)
    module = Module(dtype)
    name = module.names(program.name)
    body, inputs, outputs = _function(module, code, entry=True)
    lines = [
        *(
            f"{x} = lw_input({x}, {port.shape!r})"
            for x, port in zip(inputs, code.inputs, strict=True)
        ),
        f"batch = np.broadcast_shapes({', '.join(f'{x}.shape[:-1]' for x in inputs)})",
        *body,
    ]
    made = ", ".join(
        f"lw_output({x}, {port.shape!r}, batch)"
        for x, (port, _) in zip(outputs, code.outputs, strict=True)
    )
    lines.append(f"return {made}" if made else "return ()")
    text = indent("\n".join(lines), "    ")
    module.functions.append(f"def {name}({', '.join(inputs)}):\n{text}\n")
    return name, module.text(heading(program, code)), module


def _function(module: Module, code: Code, *, entry: bool) -> tuple[list[str], list[str], list[str]]:
    """Return the lines of a function, and the names of its inputs and its outputs."""
    for i in code.walk():  # functions get their names before any local does
        if i.op == "call" and i.data not in module.called:
            module.called[i.data] = module.names(i.data.name)
            _write_called(module, i.data)
        elif i.op in ("table1", "table2"):
            module.table(i.data)
        elif i.op == "foreign":
            module.call(i.data)
    names = Names(python_identifier, module.names.taken(), model_names(code, python_identifier))
    inputs = [names(port.name) for port in code.inputs]
    outputs = [names(port.name) for port, _ in code.outputs]
    writer = _PythonWriter(module, code, names, inputs, entry)
    writer.in_place = Arrays(code)
    plan = [i for i in code.instructions if i.id not in writer.in_place.unread]
    writer.block(results_at_their_source(by_stage(plan)), code.output_ids())
    for name, (_, ids) in zip(outputs, code.outputs, strict=True):
        writer.sequence(name, [writer.ref(i) for i in ids])
    heads = [writer.heads[key] for key in sorted(writer.heads)]
    return [*heads, *writer.lines], inputs, outputs


def _write_called(module: Module, code: Code) -> None:
    body, inputs, outputs = _function(module, code, entry=False)
    lines = [*body, f"return ({''.join(f'{x}, ' for x in outputs)})"]
    text = indent("\n".join(lines), "    ")
    name = module.called[code]
    module.functions.append(f"def {name}({', '.join(inputs)}):\n{text}\n")


class _PythonWriter(SourceWriter):
    """The lines of one function of Python."""

    def __init__(
        self, module: Module, code: Code, names: Names, inputs: Sequence[str], entry: bool
    ) -> None:
        super().__init__(code, names, 0, leaves_of(code))
        self.module = module
        self.inputs = inputs
        self.entry = entry
        self.heads: dict[tuple[int, int], str] = {}
        self.foreign_calls: dict[tuple[object, ...], str] = {}

    def literal(self, value: float) -> Term:
        """Return a constant."""
        text = repr(value) if math.isfinite(value) else re.sub("(inf|nan)", r"np.\1", repr(value))
        return Term(SUM if value < 0 else ATOM, text)

    def input(self, i: Instruction) -> Term:
        """Return the local name of an entry of an input."""
        port, k = i.data
        entry = self.code.inputs[port].entries[k]
        array = self.inputs[port]
        wanted = entry.name if python_identifier(entry.name) != array else f"{entry.name}_value"
        name = self.names(wanted)
        self.heads[port, k] = f"{name} = {array}[{f'..., {k}' if self.entry else k}]"
        return Term(ATOM, name)

    def statement(self, name: str, term: Term, condition: bool) -> None:
        """Write a definition."""
        self.line(f"{name} = {term.text}")

    def array_value(self, term: Term) -> str:
        """Return a term as an operand that computes as NumPy does, also where it is a literal."""
        return f"lw_real({term.text})" if _is_literal(term) else term.text

    def sequence(self, name: str, terms: Sequence[Term]) -> None:
        """Write a list, over several lines where it is long."""
        texts = [self.array_value(t) for t in terms]
        flat = f"{name} = [{', '.join(texts)}]"
        if len(flat) + 4 * self.indent <= 92:
            self.line(flat)
            return
        self.line(f"{name} = [")
        for text in texts:
            self.line(f"    {text},")
        self.line("]")

    def expression(self, op: str, data: Any, args: Sequence[Term]) -> Term:
        """Return the text of an operation."""
        if args and all(_is_literal(a) for a in args):
            args = [Term(ATOM, f"lw_real({a.text})") for a in args]
        infix = arithmetic(op, args)
        if infix is not None:
            return infix
        if op in _COMPARE:
            return Term(COMPARE, f"{args[0].at(SUM)} {_COMPARE[op]} {args[1].at(SUM)}")
        if op == "number":
            return Term(ATOM, f"np.where({args[0].text}, lw_real(1.0), lw_real(0.0))")
        if op in ("table1", "table2"):
            return call(f"lw_{op}", [*args, Term(ATOM, f"*{self.module.table(data)}")])
        if op == "foreign":
            return self.foreign(data, args)
        if op in FUNCTIONS:
            return call(f"np.{FUNCTIONS[op].numpy}", args)
        raise CompileError(f"Python has no word for the instruction {op!r}")

    def foreign(self, data: ForeignCall, args: Sequence[Term]) -> Term:
        """Return an output of a foreign function, which is called once for all its outputs."""
        name = self.module.call(data)
        if data.function.outputs == 1:
            return Term(ATOM, f"lw_real({call(name, args).text})")
        key = (self.indent, *same_call(data, args))
        if key not in self.foreign_calls:
            self.foreign_calls[key] = self.names.fresh("out")
            self.line(f"{self.foreign_calls[key]} = {call(name, args).text}")
        return Term(ATOM, f"lw_real({self.foreign_calls[key]}[{data.output}])")

    def loop(self, i: Instruction) -> None:
        """Write a loop: scanned and stacked values in lists, carried ones in variables."""
        data: LoopCode = i.data
        initial, arrays = self.loop_inputs(i)
        carried = [self.names(name) for name in data.names[: len(initial)]]
        for name, value in zip(carried, initial, strict=True):
            self.line(f"{name} = {self.array_value(value)}")
        index = self.names.fresh("i") if arrays else "_"
        scans = [self.scan(array, index) for array in arrays]
        stacks = self.stacks[i.id] = [self.names.fresh("stack") for _ in data.stacked]
        for name in stacks:
            self.line(f"{name} = []")
        self.line(f"for {index} in range({data.count}):")
        self.indent += 1
        self.terms.update(
            (inner, Term(ATOM, name)) for inner, name in zip(data.carried, carried, strict=True)
        )
        for inner, scan, name in zip(data.scanned, scans, data.names[len(initial) :], strict=True):
            local = self.names(name)
            self.terms[inner] = Term(ATOM, local)
            self.line(f"{local} = {scan}")
        self.block(data.body, (*data.following, *data.stacked))
        for a, stack in zip(data.stacked, stacks, strict=True):
            self.line(f"{stack}.append({self.array_value(self.ref(a))})")
        following = ", ".join(self.array_value(self.ref(a)) for a in data.following)
        if carried:
            self.line(f"{', '.join(carried)} = {following}")
        elif not (scans or stacks):
            self.line("pass")
        self.foreign_calls = {k: v for k, v in self.foreign_calls.items() if k[0] != self.indent}
        self.indent -= 1
        self.results[i.id] = [Term(ATOM, name) for name in carried]
        for stack in stacks:
            self.results[i.id] += [Term(ATOM, f"{stack}[{k}]") for k in range(data.count)]

    def scan(self, array: Scan, index: str) -> str:
        """Return the text of an array's value in one turn; the array is written if it must be."""
        if isinstance(array, InputArray):
            lead = "..., " if self.entry else ""
            return f"{self.inputs[array.port]}[{lead}{self.place(array, index)}]"
        if isinstance(array, StackArray):
            return f"{self.stacks[array.loop][array.stack]}[{self.place(array, index)}]"
        name = self.names.fresh("scan")
        self.sequence(name, array)
        return f"{name}[{index}]"

    def call(self, i: Instruction) -> None:
        """Write the call of another program's function, arguments and results in lists."""
        code: Code = i.data
        name = self.module.called[code]
        rest = iter([self.array_value(self.ref(a)) for a in i.args])
        passed = [f"[{', '.join(next(rest) for _ in range(p.size))}]" for p in code.inputs]
        outs = [self.names.fresh("out") for _ in code.outputs]
        targets = f"{', '.join(outs)}, = " if outs else ""
        self.line(f"{targets}{name}({', '.join(passed)})")
        self.results[i.id] = [
            Term(ATOM, f"{out}[{k}]")
            for out, (port, _) in zip(outs, code.outputs, strict=True)
            for k in range(port.size)
        ]


def _is_literal(term: Term) -> bool:
    return _LITERAL.match(term.text) is not None


# -- as a kernel -----------------------------------------------------------------------------------
@dataclass(frozen=True)
class CompiledPython:
    """The parts of a kernel made of Python source."""

    program: Program
    dtype: str

    @cached_property
    def _written(self) -> tuple[str, str, Module]:
        return _write(self.program, self.dtype)

    @property
    def source(self) -> str:
        """The Python source."""
        return self._written[1]

    @cached_property
    def function(self) -> Callable[..., Any]:
        """The function that the source defines."""
        name, text, module = self._written
        bound_functions(self.program)
        space: dict[str, Any] = {n: _over_arrays(f) for n, f in module.foreign.values()}
        exec(compile(text, f"<{plain(self.program.name)}>", "exec"), space)  # noqa: S102
        function: Callable[..., Any] = space[name]
        return function

    def _run(self, inputs: Sequence[object], *, single: bool) -> list[Array]:
        ports = self.program.inputs
        if len(inputs) != len(ports):
            names = ", ".join(p.name for p in ports)
            raise ShapeError(
                f"{self.program.name} takes {len(ports)} inputs ({names}), not {len(inputs)}"
            )
        values = [
            _checked(Argument(p.name, p.shape), as_values(p.name, x, np.dtype(self.dtype)), single)
            for p, x in zip(ports, inputs, strict=True)
        ]
        _check_rows(ports, values)
        with np.errstate(all="ignore"):
            result = self.function(*values)
        return list(result) if isinstance(result, tuple) else [result]

    def scalar(self, *arrays: Any) -> Any:
        """Evaluate once; fill the arrays that follow the inputs, if there are any."""
        count = len(self.program.inputs)
        given = arrays[count:]
        results = self._run(arrays[:count], single=True)
        if given:
            return self._deliver(results, given)
        values = [x if x.shape else float(x) for x in results]
        return values[0] if len(values) == 1 else tuple(values) or None

    def batch(
        self, *inputs: Any, out: Any = None, size: int | None = None, threads: int = 1
    ) -> Any:
        """Evaluate for each row; `threads` is of no use to NumPy and only checked."""
        checked_threads(threads)
        size = checked_size(size)
        results = self._run(inputs, single=False)
        ports = self.program.outputs
        leads = {x.shape[: x.ndim - len(p.shape)] for x, p in zip(results, ports, strict=True)}
        if leads == {()}:
            if size is None:
                raise ShapeError(
                    f"no array of this call to {self.program.name} has a batch axis",
                    remedy="pass size=",
                )
            results = [np.repeat(x[None], size, axis=0) for x in results]
        elif size is not None and leads != {(size,)}:
            raise ShapeError(f"size={size}, but the arrays hold {leads.pop()} rows")
        if out is not None:
            return self._deliver(results, out if isinstance(out, tuple | list) else (out,))
        return results[0] if len(results) == 1 else tuple(results) or None

    def _deliver(self, results: Sequence[Array], outputs: Sequence[Any]) -> None:
        names = [p.name for p in self.program.outputs]
        if len(outputs) != len(results):
            raise ShapeError(
                f"{self.program.name} has {len(results)} outputs, but {len(outputs)} were given",
                remedy=f"pass one array for each of: {', '.join(names)}",
            )
        targets = [
            check_output(n, x, np.dtype(self.dtype)) for n, x in zip(names, outputs, strict=True)
        ]
        check_apart(zip(names, targets, strict=True))
        for name, target, values in zip(names, targets, results, strict=True):
            if target.shape != values.shape:
                raise ShapeError(
                    f"output {name!r} has shape {target.shape}", remedy=f"it must be {values.shape}"
                )
            np.copyto(target, values, casting="same_kind")


def _checked(argument: Argument, array: Array, single: bool) -> Array:
    lead = array.ndim - len(argument.shape)
    if lead not in ((0,) if single else (0, 1)) or array.shape[lead:] != argument.shape:
        rows = "" if single else f", or ({', '.join(['N', *map(str, argument.shape)])})"
        raise ShapeError(
            f"input {argument.name!r} has shape {array.shape}",
            remedy=f"it must be {argument.shape}{rows}",
        )
    return array


def _check_rows(ports: Sequence[ProgramPort], values: Sequence[Array]) -> None:
    rows = {p.name: x.shape[0] for p, x in zip(ports, values, strict=True) if x.ndim > len(p.shape)}
    if len(set(rows.values())) > 1:
        shown = ", ".join(f"{name}: {n}" for name, n in rows.items())
        raise ShapeError(f"the arrays differ in their number of rows ({shown})")


def build(program: Program, dtype: str) -> CompiledPython:
    """Return the parts of a kernel of this backend."""
    return CompiledPython(program, dtype)
