"""Tables and foreign functions in native code: scalar functions that kernels call lane by lane.

A table is constant data and a function that searches its piece and evaluates a polynomial, in
double precision whatever the kernel's type. A foreign function is an external symbol, named after
the function and what was declared of it; its address is bound when the code is loaded, so none is
in the cache. Where Python provides it, each call takes the interpreter lock: correct from any
thread, but threads then wait for each other.
"""

from __future__ import annotations

import ctypes
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from linkwright.algebra.foreign import ForeignFunction
from linkwright.algebra.tables import Floats
from linkwright.backends.callbacks import callback
from linkwright.backends.foreign import bound_functions, from_source
from linkwright.backends.llvm.functions.emitter import float_literal
from linkwright.backends.lookup import lookup
from linkwright.program import Program

_PIECE = """define internal i64 @lw.piece(ptr %points, i64 %count, double %x) nounwind noinline {
entry:
  br label %turn
turn:
  %low = phi i64 [ 0, %entry ], [ %low.next, %turn ]
  %high = phi i64 [ %count, %entry ], [ %high.next, %turn ]
  %both = add i64 %low, %high
  %middle = lshr i64 %both, 1
  %at = getelementptr double, ptr %points, i64 %middle
  %point = load double, ptr %at
  %below = fcmp ole double %point, %x
  %after = add i64 %middle, 1
  %low.next = select i1 %below, i64 %after, i64 %low
  %high.next = select i1 %below, i64 %high, i64 %middle
  %more = icmp slt i64 %low.next, %high.next
  br i1 %more, label %turn, label %done
done:
  ret i64 %low.next
}
"""


@dataclass(slots=True)
class LlvmExternals:
    """The functions of a module for tables and foreign functions."""

    tables: dict[Any, str] = field(default_factory=dict)
    written: dict[str, str] = field(default_factory=dict)

    def table(self, op: str, table: Any, scalar: str) -> str:
        """Return the name of the function of a table, which takes and gives the kernel's type."""
        if (op, table) not in self.tables:
            name = f"lw.table.{len(self.tables)}"
            self.tables[op, table] = name
            self.written["lw.piece"] = _PIECE
            self.written[name] = _table_text(name, table, scalar)
        return self.tables[op, table]

    def foreign(self, function: ForeignFunction, scalar: str) -> str:
        """Return the name of the function that calls a foreign one and leaves outputs at %out."""
        name = f"lw.call.{function.name}"
        if name not in self.written:
            self.written[name] = _call_text(name, function, scalar)
        return name

    def texts(self) -> list[str]:
        """Return the module-level texts."""
        return list(self.written.values())


# -- tables ----------------------------------------------------------------------------------------
def _table_text(name: str, table: Any, scalar: str) -> str:
    data = lookup(table)
    axes = "xy"[: len(data.points)]
    element = "double" if scalar == "f64" else "float"
    texts = []
    for axis, points, origins in zip(axes, data.points, data.origins, strict=True):
        texts.append(_array(f"{name}.points.{axis}", points))
        texts.append(_array(f"{name}.origins.{axis}", origins))
    texts.append(_array(f"{name}.c", data.coefficients.ravel()))
    lines = []
    for axis, points in zip(axes, data.points, strict=True):
        wide = f"%{axis}"
        if element == "float":
            wide = f"%{axis}.wide"
            lines.append(f"  {wide} = fpext float %{axis} to double")
        where = f"ptr @{name}.points.{axis}, i64 {len(points)}, double {wide}"
        lines += [
            f"  %piece.{axis} = call i64 @lw.piece({where})",
            f"  %o.{axis} = getelementptr double, ptr @{name}.origins.{axis}, i64 %piece.{axis}",
            f"  %origin.{axis} = load double, ptr %o.{axis}",
            f"  %d{axis} = fsub double {wide}, %origin.{axis}",
        ]
    size = 1
    for n in data.powers:
        size *= n
    piece = "%piece.x"
    if len(axes) == 2:
        lines += [
            f"  %row = mul i64 %piece.x, {len(data.points[1]) + 1}",
            "  %piece = add i64 %row, %piece.y",
        ]
        piece = "%piece"
    lines += [
        f"  %place = mul i64 {piece}, {size}",
        f"  %c = getelementptr double, ptr @{name}.c, i64 %place",
    ]
    for k in range(size):
        lines += [
            f"  %c.at{k} = getelementptr double, ptr %c, i64 {k}",
            f"  %c{k} = load double, ptr %c.at{k}",
        ]
    values = [f"%c{k}" for k in range(size)]
    if len(axes) == 2:
        columns = data.powers[1]
        values = [
            _horner(lines, f"row{i}", values[i * columns : (i + 1) * columns], "%dy")
            for i in range(data.powers[0])
        ]
    value = _horner(lines, "value", values, "%dx")
    if element == "float":
        lines.append(f"  %narrow = fptrunc double {value} to float")
        value = "%narrow"
    parameters = ", ".join(f"{element} %{axis}" for axis in axes)
    head = f"define internal {element} @{name}({parameters}) nounwind noinline {{\nentry:\n"
    return "\n".join([*texts, head + "\n".join(lines), f"  ret {element} {value}", "}", ""])


def _horner(lines: list[str], name: str, coefficients: Sequence[str], variable: str) -> str:
    """Write a polynomial, rounded as NumPy does, and return its value."""
    value = coefficients[-1]
    for k, c in enumerate(reversed(coefficients[:-1])):
        lines += [
            f"  %{name}.m{k} = fmul double {variable}, {value}",
            f"  %{name}.a{k} = fadd double {c}, %{name}.m{k}",
        ]
        value = f"%{name}.a{k}"
    return value


def _array(name: str, values: Floats) -> str:
    inside = ", ".join(f"double {float_literal(float(v), 'f64')}" for v in values)
    return f"@{name} = private unnamed_addr constant [{len(values)} x double] [{inside}], align 8"


# -- foreign functions -----------------------------------------------------------------------------
def symbol_name(function: ForeignFunction) -> str:
    """Return the external symbol of a foreign function."""
    return f"lw.foreign.{function.name}.{function.digest:x}"


def _call_text(name: str, function: ForeignFunction, scalar: str) -> str:
    """Return a function of the kernel's type that calls the foreign one and stores its outputs."""
    element = "double" if scalar == "f64" else "float"
    count, outputs = function.arity, function.outputs
    symbol = symbol_name(function)
    lines = []
    wide = [f"%x{k}" for k in range(count)]
    if element == "float":
        wide = [f"%w{k}" for k in range(count)]
        lines += [f"  %w{k} = fpext float %x{k} to double" for k in range(count)]
    passed = ", ".join(f"double {x}" for x in wide)
    types = ", ".join(["double"] * count)
    if outputs == 1:
        declared = f"declare double @{symbol}({types})"
        lines.append(f"  %r0 = call double @{symbol}({passed})")
    else:
        declared = f"declare void @{symbol}({types}, ptr)"
        lines.insert(0, f"  %made = alloca [{outputs} x double], align 8")
        lines.append(f"  call void @{symbol}({passed}, ptr %made)")
        for k in range(outputs):
            lines += [
                f"  %m{k} = getelementptr double, ptr %made, i64 {k}",
                f"  %r{k} = load double, ptr %m{k}",
            ]
    for k in range(outputs):
        value = f"%r{k}"
        if element == "float":
            lines.append(f"  %n{k} = fptrunc double %r{k} to float")
            value = f"%n{k}"
        lines += [
            f"  %p{k} = getelementptr {element}, ptr %out, i64 {k}",
            f"  store {element} {value}, ptr %p{k}",
        ]
    parameters = ", ".join([*(f"{element} %x{k}" for k in range(count)), "ptr %out"])
    head = f"define internal void @{name}({parameters}) noinline {{\nentry:\n"
    return "\n".join([declared, head + "\n".join(lines), "  ret void", "}", ""])


@dataclass(frozen=True, slots=True)
class Bound:
    """The foreign functions of a Program."""

    addresses: dict[str, int]
    keep: tuple[object, ...]
    python: bool


def bindings(program: Program) -> Bound:
    """Return the addresses of a Program's foreign functions.

    A function with C source is compiled where there is a compiler; else its Python callable is
    called. A name alone binds nothing, whatever this process has of that name.
    """
    addresses: dict[str, int] = {}
    keep: list[object] = []
    python = False
    for function in bound_functions(program):
        compiled = from_source(function)
        python = python or compiled is None
        owner, pointer = compiled or _from_python(function)
        addresses[symbol_name(function)] = ctypes.cast(pointer, ctypes.c_void_p).value or 0
        keep.append(owner)
    return Bound(addresses, tuple(keep), python)


def _from_python(function: ForeignFunction) -> tuple[object, Any]:
    pointer = callback(function)
    return pointer, pointer
