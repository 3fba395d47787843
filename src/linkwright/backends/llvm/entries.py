"""The entries through which batches are run: loops over blocks around the core function.

The core works on one block in which the W values of a component lie side by side (`codegen`). The
blocked entry hands it pointers into the caller's arrays; the entry for rows gathers W rows into a
block on the stack first and scatters the results after. `linkwright.backends.llvm.batch` describes
the records they are given.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from linkwright.backends.llvm.codegen import Module, write_function
from linkwright.backends.llvm.functions.emitter import value_type
from linkwright.program.code import Code

CORE = "core"
ROWS = "rows"
BLOCKED = "blocked"
_LONG = 200  # components beyond which an array is moved in a loop


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
    if any(size > _LONG for group in sizes for size in group):
        module.functions.append(_mover(module.scalar, width, "gather"))
        module.functions.append(_mover(module.scalar, width, "scatter"))


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
        done = _moved_in_a_loop(width, "gather", k, size, 2, body)
        for j in range(done, size, pair):
            body += _gathered(scalar, width, k, _places(j, min(pair, size - j)))
    arguments = ", ".join(f"ptr %block{k}" for k in range(len(sizes)))
    body.append(f"  call void @{CORE}({arguments})")
    for k, size in enumerate(outputs, start=len(inputs)):
        done = _moved_in_a_loop(width, "scatter", k, size, _tile(scalar, width), body)
        whole = size - size % _tile(scalar, width)
        for j in range(done, whole, _tile(scalar, width)):
            body += _transposed(scalar, width, k, _places(j, width))
        for j in range(max(done, whole), size, pair):
            body += _scattered(scalar, width, k, _places(j, min(pair, size - j)))
    return _frame(ROWS, head, body)


def _tile(scalar: str, width: int) -> int:
    """Return how many components of an output travel together, as a square of lanes and rows."""
    return width if scalar == "f64" and width > 2 else 2


def _places(j: int, count: int) -> list[str]:
    return [str(j + c) for c in range(count)]


def _moved_in_a_loop(width: int, name: str, k: int, size: int, step: int, body: list[str]) -> int:
    """Write the call that moves a long array, `step` components a turn; return how much of it."""
    if size <= _LONG:
        return 0
    rows = ", ".join(f"ptr %p{k}.{lane}" for lane in range(width))
    whole = size - size % step
    body.append(f"  call void @{name}({rows}, ptr %block{k}, i64 {whole})")
    return whole


def _mover(scalar: str, width: int, name: str) -> str:
    """Return the function that moves a long array between W rows and the block."""
    step = min(2, width) if name == "gather" else _tile(scalar, width)
    rows = ", ".join(f"ptr %p0.{lane}" for lane in range(width))
    places = ["%j", *(f"%j{c}" for c in range(1, step))]
    write = _gathered if name == "gather" else _scattered if step <= 2 else _transposed
    lines = [
        f"define internal void @{name}({rows}, ptr %block0, i64 %size) nounwind {{",
        "entry:",
        "  br label %turn",
        "turn:",
        "  %j = phi i64 [ 0, %entry ], [ %next, %turn ]",
        *(f"  %j{c} = add i64 %j, {c}" for c in range(1, step)),
        *write(scalar, width, 0, places),
        f"  %next = add i64 %j, {step}",
        "  %more = icmp slt i64 %next, %size",
        "  br i1 %more, label %turn, label %done",
        "done:",
        "  ret void",
        "}",
        "",
    ]
    return "\n".join(lines)


def _gathered(scalar: str, width: int, k: int, places: Sequence[str]) -> list[str]:
    """Return the lines that bring one component or two neighbours of W rows into the block."""
    j, count = places[0], len(places)
    element, vector = value_type(scalar, 1), value_type(scalar, width)
    align = 8 if scalar == "f64" else 4
    tag = _tag(k, j)
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
        return lines + _stored(vector, k, places[0], value)
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
        lines += _stored(vector, k, places[c], name)
    return lines


def _tag(k: int, place: str) -> str:
    """Return what tells the values of one component from those of others."""
    return f"{k}.{place.lstrip('%')}"


def _stored(vector: str, k: int, place: str, value: str) -> list[str]:
    tag = _tag(k, place)
    return [
        f"  %s{tag} = getelementptr {vector}, ptr %block{k}, i64 {place}",
        f"  store {vector} {value}, ptr %s{tag}, align 64",
    ]


def _scattered(scalar: str, width: int, k: int, places: Sequence[str]) -> list[str]:
    """Return the lines that take one component or two neighbours of the block to W rows."""
    j, count = places[0], len(places)
    element, vector = value_type(scalar, 1), value_type(scalar, width)
    align = 8 if scalar == "f64" else 4
    tag = _tag(k, j)
    lines = []
    for place in places:
        own = _tag(k, place)
        lines += [
            f"  %s{own} = getelementptr {vector}, ptr %block{k}, i64 {place}",
            f"  %y{own} = load {vector}, ptr %s{own}, align 64",
        ]
    piece = value_type(scalar, count)
    for lane in range(width):
        name = f"%x{tag}.{lane}"
        if count == 1:
            lines.append(f"  {name} = extractelement {vector} %y{tag}, i32 {lane}")
        else:
            pair = (lane, width + lane)
            other = f"%y{_tag(k, places[1])}"
            lines.append(_shuffle(scalar, width, name, f"%y{tag}", other, pair))
        lines += [
            f"  %q{tag}.{lane} = getelementptr {element}, ptr %p{k}.{lane}, i64 {j}",
            f"  store {piece} {name}, ptr %q{tag}.{lane}, align {align}",
        ]
    return lines


def _transposed(scalar: str, width: int, k: int, places: Sequence[str]) -> list[str]:
    """Return the lines that take W neighbours of the block to W rows, each in one piece.

    The square of W components by W lanes is transposed in log2 W steps: step s exchanges the bits s
    of the numbers of component and lane.
    """
    element, vector = value_type(scalar, 1), value_type(scalar, width)
    tag = _tag(k, places[0])
    lines = []
    square = []
    for place in places:
        own = _tag(k, place)
        lines += [
            f"  %s{own} = getelementptr {vector}, ptr %block{k}, i64 {place}",
            f"  %y{own} = load {vector}, ptr %s{own}, align 64",
        ]
        square.append(f"%y{own}")
    bit = 1
    while bit < width:
        for i in range(width):
            if i & bit:
                continue
            a, b = square[i], square[i + bit]
            low = [c if not c & bit else width + c - bit for c in range(width)]
            high = [c + bit if not c & bit else width + c for c in range(width)]
            for at, picked in ((i, low), (i + bit, high)):
                square[at] = f"%t{tag}.{bit}.{at}"
                lines.append(_shuffle(scalar, width, square[at], a, b, picked))
        bit *= 2
    for lane, row in enumerate(square):
        lines += [
            f"  %q{tag}.{lane} = getelementptr {element}, ptr %p{k}.{lane}, i64 {places[0]}",
            f"  store {vector} {row}, ptr %q{tag}.{lane}, align 8",
        ]
    return lines


def _shuffle(scalar: str, size: int, name: str, a: str, b: str, picked: Iterable[int]) -> str:
    """Return the line that picks elements out of two vectors of `size` elements."""
    kind = value_type(scalar, size)
    mask = [f"i32 {i}" for i in picked]
    return (
        f"  {name} = shufflevector {kind} {a}, {kind} {b}, <{len(mask)} x i32> <{', '.join(mask)}>"
    )
