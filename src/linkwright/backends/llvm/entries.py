"""The entries through which batches are run: loops over blocks around the core function.

The core works on one block in which the W values of a component lie side by side (`codegen`). The
blocked entry hands it pointers into the caller's arrays; the entry for rows gathers W rows into a
block on the stack first and scatters the results after. `linkwright.backends.llvm.batch` describes
the records they are given.

A long output in which values occur repeatedly, such as a symmetric matrix with many zeros, is held
by the core without repetition, and spread by a table when it leaves.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from linkwright.backends.llvm.codegen import write_function
from linkwright.backends.llvm.functions.emitter import value_type
from linkwright.backends.llvm.lines import IrModule
from linkwright.program.code import Code
from linkwright.program.program import ProgramPort

CORE = "core"
ROWS = "rows"
BLOCKED = "blocked"
_LONG = 200  # components beyond which an array is moved in a loop
_FEW = 0.7  # part of a long output that is held where the rest repeats it


@dataclass(frozen=True, slots=True)
class _Spread:
    """A long output that is held without repetition."""

    held: int
    table: tuple[int, ...]
    zero: int


def _without_repetition(code: Code) -> tuple[Code, dict[int, _Spread]]:
    """Return the code that computes each value of long outputs once, and how to spread them."""
    zeros = {i.id for i in code.instructions if i.op == "const" and i.data == 0.0}
    outputs = []
    spreads: dict[int, _Spread] = {}
    for k, (port, ids) in enumerate(code.outputs, start=len(code.inputs)):
        different = list(dict.fromkeys(ids))
        if port.size <= _LONG or len(different) > _FEW * port.size:
            outputs.append((port, ids))
            continue
        place = {x: n for n, x in enumerate(different)}
        first = tuple(port.entries[ids.index(x)] for x in different)
        zero = next((n for n, x in enumerate(different) if x in zeros), -1)
        spreads[k] = _Spread(len(different), tuple(place[x] for x in ids), zero)
        outputs.append((ProgramPort(port.name, (len(first),), first), tuple(different)))
    return (replace(code, outputs=tuple(outputs)) if spreads else code), spreads


def write_batch(module: IrModule, code: Code, width: int) -> None:
    """Add the core for blocks of `width` lanes and the entries for both layouts."""
    held, spreads = _without_repetition(code)
    write_function(module, held, CORE, width, internal=True)
    sizes = [port.size for port in code.inputs], [port.size for port, _ in code.outputs]
    module.functions.append(_blocked(module.scalar, width, sum(map(len, sizes)), spreads))
    module.functions.append(_rows(module.scalar, width, *sizes, spreads))
    if any(size > _LONG for group in sizes for size in group):
        module.functions.append(_mover(module.scalar, width, "gather"))
        module.functions.append(_mover(module.scalar, width, "scatter"))
    if spreads:
        module.functions.extend(_tables(module.scalar, width, spreads))
        module.functions.append(_spread_blocks(module.scalar, width))
        module.functions.append(_spread_rows(module.scalar, width))


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


def _blocked(scalar: str, width: int, count: int, spreads: Mapping[int, _Spread]) -> str:
    element, vector = value_type(scalar, 1), value_type(scalar, width)
    head = [
        f"  %held{k} = alloca [{spread.held} x {vector}], align 64" for k, spread in spreads.items()
    ]
    body = []
    for k in range(count):
        body += [
            f"  %o{k} = mul i64 %b, %stride{k}",
            f"  %p{k} = getelementptr {element}, ptr %data{k}, i64 %o{k}",
        ]
    given = [f"ptr %held{k}" if k in spreads else f"ptr %p{k}" for k in range(count)]
    body.append(f"  call void @{CORE}({', '.join(given)})")
    for k, spread in spreads.items():
        size = len(spread.table)
        body.append(
            f"  call void @spread_blocks(ptr %p{k}, ptr %held{k}, ptr @table{k}, i64 {size})"
        )
    return _frame(BLOCKED, head + _records(count), body)


def _rows(
    scalar: str,
    width: int,
    inputs: list[int],
    outputs: list[int],
    spreads: Mapping[int, _Spread],
) -> str:
    element, vector = value_type(scalar, 1), value_type(scalar, width)
    pair = min(2, width)  # neighboring components travel together
    sizes = [*inputs, *outputs]
    held = [spreads[k].held if k in spreads else max(size, 1) for k, size in enumerate(sizes)]
    head = [
        f"  %block{k} = alloca [{size} x {vector}], align 64" for k, size in enumerate(held)
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
        whole = size - size % _tile(scalar, width)
        if k in spreads:
            rows = ", ".join(f"ptr %p{k}.{lane}" for lane in range(width))
            body.append(
                f"  call void @spread_rows({rows}, ptr %block{k}, ptr @table{k}, ptr @empty{k}, "
                f"i64 {whole})"
            )
            for j in range(whole, size):
                source = [str(spreads[k].table[j])]
                body += _scattered(scalar, width, k, [str(j)], source)
            continue
        done = _moved_in_a_loop(width, "scatter", k, size, _tile(scalar, width), body)
        tile = _tile(scalar, width)
        for j in range(done, whole, tile):
            write = _transposed if tile == width else _scattered
            body += write(scalar, width, k, _places(j, tile))
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
    """Return the lines that bring one component or two neighbors of W rows into the block."""
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
    """Return what distinguishes the values of one component from those of others."""
    return f"{k}.{place.lstrip('%')}"


def _stored(vector: str, k: int, place: str, value: str) -> list[str]:
    tag = _tag(k, place)
    return [
        f"  %s{tag} = getelementptr {vector}, ptr %block{k}, i64 {place}",
        f"  store {vector} {value}, ptr %s{tag}, align 64",
    ]


def _scattered(
    scalar: str, width: int, k: int, places: Sequence[str], sources: Sequence[str] = ()
) -> list[str]:
    """Return the lines that take one component or two neighbors of the block to W rows."""
    j, count = places[0], len(places)
    element, vector = value_type(scalar, 1), value_type(scalar, width)
    align = 8 if scalar == "f64" else 4
    tag = _tag(k, j)
    lines = _loaded(vector, k, places, sources)
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


def _loaded(vector: str, k: int, places: Sequence[str], sources: Sequence[str] = ()) -> list[str]:
    """Return the lines that load components of the block, by default those of the places."""
    lines = []
    for place, source in zip(places, sources or places, strict=True):
        own = _tag(k, place)
        lines += [
            f"  %s{own} = getelementptr {vector}, ptr %block{k}, i64 {source}",
            f"  %y{own} = load {vector}, ptr %s{own}, align 64",
        ]
    return lines


def _transposed(
    scalar: str, width: int, k: int, places: Sequence[str], sources: Sequence[str] = ()
) -> list[str]:
    """Return the lines that take W neighbors of the block to W rows, each in one piece.

    The square of W components by W lanes is transposed in log2 W steps: step s exchanges the bits s
    of the numbers of component and lane.
    """
    element, vector = value_type(scalar, 1), value_type(scalar, width)
    tag = _tag(k, places[0])
    lines = _loaded(vector, k, places, sources)
    square = [f"%y{_tag(k, place)}" for place in places]
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


# -- outputs that are held without repetition ------------------------------------------------------
def _tables(scalar: str, width: int, spreads: Mapping[int, _Spread]) -> Iterator[str]:
    """Yield, for each output, its table, and which pieces of a row are zero altogether."""
    step = _tile(scalar, width)
    for k, spread in spreads.items():
        places = ", ".join(f"i64 {n}" for n in spread.table)
        yield f"@table{k} = internal constant [{len(spread.table)} x i64] [{places}]\n"
        pieces = [spread.table[j : j + step] for j in range(0, len(spread.table), step)]
        empty = ", ".join(f"i8 {int(set(piece) == {spread.zero})}" for piece in pieces)
        yield f"@empty{k} = internal constant [{len(pieces)} x i8] [{empty}]\n"


def _spread_blocks(scalar: str, width: int) -> str:
    """Return the function that fills a block of the caller's."""
    vector = value_type(scalar, width)
    align = 8 if scalar == "f64" else 4
    return "\n".join(
        [
            "define internal void @spread_blocks(ptr noalias %out, ptr noalias %held, "
            "ptr noalias %table, i64 %size) nounwind {",
            "entry:",
            "  br label %turn",
            "turn:",
            "  %j = phi i64 [ 0, %entry ], [ %next, %turn ]",
            "  %t = getelementptr i64, ptr %table, i64 %j",
            "  %n = load i64, ptr %t",
            f"  %s = getelementptr {vector}, ptr %held, i64 %n",
            f"  %y = load {vector}, ptr %s, align 64",
            f"  %q = getelementptr {vector}, ptr %out, i64 %j",
            f"  store {vector} %y, ptr %q, align {align}",
            "  %next = add i64 %j, 1",
            "  %more = icmp slt i64 %next, %size",
            "  br i1 %more, label %turn, label %done",
            "done:",
            "  ret void",
            "}",
            "",
        ]
    )


def _spread_rows(scalar: str, width: int) -> str:
    """Return the function that fills W rows, piece by piece, zeros without looking them up."""
    step = _tile(scalar, width)
    element, piece = value_type(scalar, 1), value_type(scalar, step)
    rows = ", ".join(f"ptr %p0.{lane}" for lane in range(width))
    places = ["%j", *(f"%j{c}" for c in range(1, step))]
    sources = [f"%n{c}" for c in range(step)]
    lines = [
        f"define internal void @spread_rows({rows}, ptr %block0, ptr %table, ptr %empty, "
        "i64 %size) nounwind {",
        "entry:",
        "  br label %turn",
        "turn:",
        "  %j = phi i64 [ 0, %entry ], [ %next, %on ]",
        "  %k = phi i64 [ 0, %entry ], [ %knext, %on ]",
        "  %e = getelementptr i8, ptr %empty, i64 %k",
        "  %flag = load i8, ptr %e",
        "  %nothing = icmp ne i8 %flag, 0",
        "  br i1 %nothing, label %none, label %some",
        "none:",
    ]
    for lane in range(width):
        lines += [
            f"  %z{lane} = getelementptr {element}, ptr %p0.{lane}, i64 %j",
            f"  store {piece} zeroinitializer, ptr %z{lane}, align {8 if scalar == 'f64' else 4}",
        ]
    lines += ["  br label %on", "some:"]
    for c in range(step):
        lines += [
            f"  %j{c} = add i64 %j, {c}" if c else "",
            f"  %t{c} = getelementptr i64, ptr %table, i64 {places[c]}",
            f"  %n{c} = load i64, ptr %t{c}",
        ]
    write = _scattered if step <= 2 else _transposed
    lines += [
        *write(scalar, width, 0, places, sources),
        "  br label %on",
        "on:",
        f"  %next = add i64 %j, {step}",
        "  %knext = add i64 %k, 1",
        "  %more = icmp slt i64 %next, %size",
        "  br i1 %more, label %turn, label %done",
        "done:",
        "  ret void",
        "}",
        "",
    ]
    return "\n".join(line for line in lines if line or line == lines[-1])
