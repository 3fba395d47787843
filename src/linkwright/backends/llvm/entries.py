"""The entries through which batches are run: loops over blocks around the core function.

The core works on one block in which the W values of a component lie side by side (`codegen`). The
blocked entry hands it pointers into the caller's arrays; the entry for rows gathers W rows into a
block on the stack first and scatters the results after. `linkwright.backends.llvm.batch` describes
the records they are given.
"""

from __future__ import annotations

from collections.abc import Iterable

from linkwright.backends.llvm.codegen import Module, write_function
from linkwright.backends.llvm.functions.emitter import value_type
from linkwright.program.code import Code

CORE = "core"
ROWS = "rows"
BLOCKED = "blocked"


def write_batch(module: Module, code: Code, width: int) -> None:
    """Add the core for blocks of `width` lanes and the entries for both layouts.

    Args:
        module: where the text goes.
        code: what each lane computes.
        width: lanes of a block.
    """
    write_function(module, code, CORE, width, internal=True)
    sizes = [port.size for port in code.inputs], [port.size for port, _ in code.outputs]
    module.functions.append(_blocked(module.scalar, width, sum(map(len, sizes))))
    module.functions.append(_rows(module.scalar, width, *sizes))


def _records(count: int) -> list[str]:
    """Return the lines that read pointers and strides of the arguments."""
    lines = []
    for k in range(count):
        lines += [
            f"  %rp{k} = getelementptr {{ ptr, i64 }}, ptr %args, i64 {k}, i32 0",
            f"  %data{k} = load ptr, ptr %rp{k}",
            f"  %rs{k} = getelementptr {{ ptr, i64 }}, ptr %args, i64 {k}, i32 1",
            f"  %stride{k} = load i64, ptr %rs{k}",
        ]
    return lines


def _frame(name: str, head: list[str], body: list[str]) -> str:
    """Return an entry that runs the body for each block %b."""
    lines = [
        f"define void @{name}(ptr nocapture %args, i64 %first, i64 %count) nounwind {{",
        "entry:",
        *head,
        "  %end = add i64 %first, %count",
        "  %some = icmp slt i64 %first, %end",
        "  br i1 %some, label %turn, label %done",
        "turn:",
        "  %b = phi i64 [ %first, %entry ], [ %next, %turn ]",
        *body,
        "  %next = add i64 %b, 1",
        "  %more = icmp slt i64 %next, %end",
        "  br i1 %more, label %turn, label %done",
        "done:",
        "  ret void",
        "}",
        "",
    ]
    return "\n".join(lines)


def _blocked(scalar: str, width: int, count: int) -> str:
    element = value_type(scalar, 1)
    body = []
    for k in range(count):
        body += [
            f"  %o{k} = mul i64 %b, %stride{k}",
            f"  %p{k} = getelementptr {element}, ptr %data{k}, i64 %o{k}",
        ]
    arguments = ", ".join(f"ptr %p{k}" for k in range(count))
    body.append(f"  call void @{CORE}({arguments})")
    return _frame(BLOCKED, _records(count), body)


def _rows(scalar: str, width: int, inputs: list[int], outputs: list[int]) -> str:
    element, vector = value_type(scalar, 1), value_type(scalar, width)
    pair = min(2, width)  # neighbouring components travel together
    sizes = [*inputs, *outputs]
    head = [
        f"  %block{k} = alloca [{max(size, 1)} x {vector}], align 64"
        for k, size in enumerate(sizes)
    ] + _records(len(sizes))
    body = [f"  %row0 = mul i64 %b, {width}"]
    for lane in range(1, width):
        body.append(f"  %row{lane} = add i64 %row0, {lane}")
    for k in range(len(sizes)):
        for lane in range(width):
            body += [
                f"  %o{k}.{lane} = mul i64 %row{lane}, %stride{k}",
                f"  %p{k}.{lane} = getelementptr {element}, ptr %data{k}, i64 %o{k}.{lane}",
            ]
    for k, size in enumerate(inputs):
        for j in range(0, size, pair):
            body += _gathered(scalar, width, k, j, min(pair, size - j))
    arguments = ", ".join(f"ptr %block{k}" for k in range(len(sizes)))
    body.append(f"  call void @{CORE}({arguments})")
    for k, size in enumerate(outputs, start=len(inputs)):
        for j in range(0, size, pair):
            body += _scattered(scalar, width, k, j, min(pair, size - j))
    return _frame(ROWS, head, body)


def _gathered(scalar: str, width: int, k: int, j: int, count: int) -> list[str]:
    """Return the lines that bring one component or two neighbours of W rows into the block."""
    element, vector = value_type(scalar, 1), value_type(scalar, width)
    align = 8 if scalar == "f64" else 4
    tag = f"{k}.{j}"
    piece = value_type(scalar, count)
    lines = []
    for lane in range(width):
        lines += [
            f"  %q{tag}.{lane} = getelementptr {element}, ptr %p{k}.{lane}, i64 {j}",
            f"  %x{tag}.{lane} = load {piece}, ptr %q{tag}.{lane}, align {align}",
        ]
    if count == 1:
        value = "poison"
        for lane in range(width):
            name = f"%v{tag}.{lane}"
            lines.append(
                f"  {name} = insertelement {vector} {value}, {element} %x{tag}.{lane}, i32 {lane}"
            )
            value = name
        return lines + _stored(vector, k, j, value)
    parts = [f"%x{tag}.{lane}" for lane in range(width)]
    size = 2
    while len(parts) > 2:
        joined: list[str] = []
        for a, b in zip(parts[::2], parts[1::2], strict=True):
            name = f"%j{tag}.{size}.{len(joined)}"
            lines.append(_shuffle(scalar, size, name, a, b, range(2 * size)))
            joined.append(name)
        parts, size = joined, 2 * size
    for c in range(2):
        name = f"%v{tag}.{c}"
        picked = range(c, 2 * size, 2)
        lines.append(_shuffle(scalar, size, name, parts[0], parts[1], picked))
        lines += _stored(vector, k, j + c, name)
    return lines


def _stored(vector: str, k: int, j: int, value: str) -> list[str]:
    return [
        f"  %s{k}.{j} = getelementptr {vector}, ptr %block{k}, i64 {j}",
        f"  store {vector} {value}, ptr %s{k}.{j}, align 64",
    ]


def _scattered(scalar: str, width: int, k: int, j: int, count: int) -> list[str]:
    """Return the lines that take one component or two neighbours of the block to W rows."""
    element, vector = value_type(scalar, 1), value_type(scalar, width)
    align = 8 if scalar == "f64" else 4
    tag = f"{k}.{j}"
    lines = []
    for c in range(count):
        lines += [
            f"  %s{k}.{j + c} = getelementptr {vector}, ptr %block{k}, i64 {j + c}",
            f"  %y{k}.{j + c} = load {vector}, ptr %s{k}.{j + c}, align 64",
        ]
    piece = value_type(scalar, count)
    for lane in range(width):
        name = f"%x{tag}.{lane}"
        if count == 1:
            lines.append(f"  {name} = extractelement {vector} %y{k}.{j}, i32 {lane}")
        else:
            pair = (lane, width + lane)
            lines.append(_shuffle(scalar, width, name, f"%y{k}.{j}", f"%y{k}.{j + 1}", pair))
        lines += [
            f"  %q{tag}.{lane} = getelementptr {element}, ptr %p{k}.{lane}, i64 {j}",
            f"  store {piece} {name}, ptr %q{tag}.{lane}, align {align}",
        ]
    return lines


def _shuffle(scalar: str, size: int, name: str, a: str, b: str, picked: Iterable[int]) -> str:
    """Return the line that picks elements out of two vectors of `size` elements."""
    kind = value_type(scalar, size)
    mask = [f"i32 {i}" for i in picked]
    return (
        f"  {name} = shufflevector {kind} {a}, {kind} {b}, <{len(mask)} x i32> <{', '.join(mask)}>"
    )
