"""Sine, cosine and tangent for arguments of any size: one check for many angles.

The branch-free functions of `trig` hold up to RANGE_LIMIT. A guarded group evaluates several
angles with them, tests all the arguments together (the sum of their squares costs one FMA an
angle), and takes a branch to a cold block if one may be too large. There the lanes that are
beyond the limit, and only those, are overwritten with the result of the exact reduction (`far`),
so a lane's value never depends on its neighbors.

In a scalar kernel the angles of a group are packed into vectors first: six joint angles cost
about as much as two. Emit the group where the angles become known, usually at the head of the
kernel: one branch for all of them, and little is alive across the cold call.
"""

from dataclasses import dataclass

from linkwright.backends.llvm.functions import far, trig
from linkwright.backends.llvm.functions.emitter import (
    SCALARS,
    Emitter,
    float_literal,
    suffix,
    value_type,
)
from linkwright.backends.llvm.functions.registry import FUNCTIONS
from linkwright.base.errors import Error

GUARDED = {
    "sin": ("sincos", (0,)),
    "cos": ("sincos", (1,)),
    "sincos": ("sincos", (0, 1)),
    "tan": ("tan", (0,)),
}
"""Guarded functions: the function of `far` behind each, and which of its values are wanted."""


@dataclass(frozen=True, slots=True)
class GuardedGroup:
    """IR text of a group of guarded calls.

    `lines` ends inside the block `label`; `results` holds one tuple of operands for each request;
    `definitions` are module-level texts, each to be written once in the module.
    """

    lines: list[str]
    results: list[tuple[str, ...]]
    label: str
    definitions: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class _Chunk:
    name: str
    width: int
    argument: str
    members: tuple[int, ...]


def guarded_group(
    scalar: str,
    width: int,
    requests: list[tuple[str, str]],  # (function name, argument operand) pairs, angles in rad
    prefix: str,
    *,
    lanes: int = 1,
) -> GuardedGroup:
    """Evaluate several of sin, cos, sincos and tan with one range check.

    Example:
        >>> group = guarded_group("f64", 1, [("sincos", "%q0"), ("sin", "%q1")], "g.")
        >>> [len(values) for values in group.results], group.label
        ([2, 1], 'g.join')
    """
    if not requests:
        raise Error("a guarded group needs at least one request")
    for name, _ in requests:
        if name not in GUARDED:
            raise Error(
                f"{name!r} needs no range guard",
                remedy=f"guarded functions are {', '.join(GUARDED)}",
            )
    lines = [f"  br label %{prefix}enter", f"{prefix}enter:"]
    chunks = _chunks(scalar, width, requests, prefix, lanes, lines)
    fast: list[list[str]] = []
    for k, chunk in enumerate(chunks):
        e = Emitter(scalar, chunk.width, f"{prefix}c{k}.", lines)
        fast.append(FUNCTIONS[chunk.name].write(e, chunk.argument))
    verdict = _any_far(scalar, chunks, prefix, lines)
    lines.append(
        f"  br i1 {verdict}, label %{prefix}exact, label %{prefix}join, "
        '!prof !{!"branch_weights", i32 1, i32 1000000}'
    )
    lines.append(f"{prefix}exact:")
    exact = [
        _exact_call(scalar, c, values, f"{prefix}x{k}.", lines)
        for k, (c, values) in enumerate(zip(chunks, fast, strict=True))
    ]
    lines += [f"  br label %{prefix}join", f"{prefix}join:"]
    results: list[tuple[str, ...]] = [()] * len(requests)
    unpacking: list[str] = []
    for k, chunk in enumerate(chunks):
        joined = []
        for j, (near, patched) in enumerate(zip(fast[k], exact[k], strict=True)):
            name = f"%{prefix}r{k}.{j}"
            kind = value_type(scalar, chunk.width)
            lines.append(
                f"  {name} = phi {kind} [ {near}, %{prefix}enter ], [ {patched}, %{prefix}exact ]"
            )
            joined.append(name)
        _unpack(scalar, width, chunk, joined, f"{prefix}u{k}.", unpacking, results)
    lines += unpacking
    used = sorted({(c.name, c.width) for c in chunks})
    definitions = [exact_definition(name, scalar, w) for name, w in used]
    return GuardedGroup(
        lines,
        results,
        f"{prefix}join",
        (*exact_dependencies(tuple(name for name, _ in used)), *definitions),
    )


def _chunks(
    scalar: str,
    width: int,
    requests: list[tuple[str, str]],
    prefix: str,
    lanes: int,
    lines: list[str],
) -> list[_Chunk]:
    """The vectors to evaluate; scalar arguments of one function are packed together."""
    if width > 1 or lanes == 1:
        return [_Chunk(name, width, x, (i,)) for i, (name, x) in enumerate(requests)]
    chunks: list[_Chunk] = []
    for name in dict.fromkeys(name for name, _ in requests):
        members = [i for i, (other, _) in enumerate(requests) if other == name]
        while members:
            size = min(lanes, 1 << (len(members) - 1).bit_length())
            taken, members = tuple(members[:size]), members[size:]
            arguments = [requests[i][1] for i in taken]
            packed = _pack(scalar, size, arguments, f"{prefix}p{len(chunks)}.", lines)
            chunks.append(_Chunk(name, size, packed, taken))
    return chunks


def _pack(scalar: str, size: int, arguments: list[str], prefix: str, lines: list[str]) -> str:
    """The arguments as one vector, zeros behind them."""
    if size == 1:
        return arguments[0]
    kind, packed = value_type(scalar, size), "zeroinitializer"
    for i, x in enumerate(arguments):
        name = f"%{prefix}{i}"
        lines.append(f"  {name} = insertelement {kind} {packed}, {SCALARS[scalar]} {x}, i32 {i}")
        packed = name
    return packed


def _unpack(
    scalar: str,
    width: int,
    chunk: _Chunk,
    values: list[str],
    prefix: str,
    lines: list[str],
    results: list[tuple[str, ...]],
) -> None:
    """Give every request of the chunk its own results."""
    if chunk.width == width:
        results[chunk.members[0]] = tuple(values)
        return
    kind = value_type(scalar, chunk.width)
    for lane, member in enumerate(chunk.members):
        names = [f"%{prefix}{lane}.{j}" for j in range(len(values))]
        for name, value in zip(names, values, strict=True):
            lines.append(f"  {name} = extractelement {kind} {value}, i32 {lane}")
        results[member] = tuple(names)


def _any_far(scalar: str, chunks: list[_Chunk], prefix: str, lines: list[str]) -> str:
    """i1 that holds if an argument may be beyond the limit (nan counts as beyond)."""
    threshold = 0.99 * trig.RANGE_LIMIT[scalar] ** 2
    verdict = ""
    for size in dict.fromkeys(c.width for c in chunks):
        e = Emitter(scalar, size, f"{prefix}f{size}.", lines)
        arguments = list(dict.fromkeys(c.argument for c in chunks if c.width == size))
        total = e.mul(arguments[0], arguments[0])
        for x in arguments[1:]:
            total = e.fma(x, x, total)
        beyond = e.compare("ugt", total, e.const(threshold))
        if size > 1:
            beyond = e.emit(f"call i1 @llvm.vector.reduce.or.v{size}i1(<{size} x i1> {beyond})")
        verdict = e.emit(f"or i1 {verdict}, {beyond}") if verdict else beyond
    return verdict


def exact_name(name: str, scalar: str, width: int) -> str:
    """Name of the function that patches the lanes beyond the limit.

    >>> exact_name("sincos", "f64", 8)
    'lw.sincos.exact.v8f64'
    """
    return f"lw.{name}.exact.{suffix(scalar, width)}"


def _exact_call(
    scalar: str, chunk: _Chunk, values: list[str], prefix: str, lines: list[str]
) -> list[str]:
    kind = value_type(scalar, chunk.width)
    result = _struct(kind, len(values))
    args = ", ".join(f"{kind} {v}" for v in (chunk.argument, *values))
    callee = exact_name(chunk.name, scalar, chunk.width)
    lines.append(f"  %{prefix}s = call {result} @{callee}({args})")
    if len(values) == 1:
        return [f"%{prefix}s"]
    for j in range(len(values)):
        lines.append(f"  %{prefix}{j} = extractvalue {result} %{prefix}s, {j}")
    return [f"%{prefix}{j}" for j in range(len(values))]


def _struct(kind: str, count: int) -> str:
    return kind if count == 1 else "{ " + ", ".join([kind] * count) + " }"


def exact_dependencies(names: tuple[str, ...]) -> tuple[str, ...]:
    """Module-level texts that the exact routes of these functions call."""
    called = dict.fromkeys(GUARDED[name][0] for name in names)
    return (far.reduction_definition(), *(far.far_definition(name) for name in called))


def exact_definition(name: str, scalar: str, width: int) -> str:
    """Cold function: (argument, fast results) to results right in every lane."""
    kind, element = value_type(scalar, width), SCALARS[scalar]
    callee, wanted = GUARDED[name]
    count = len(wanted)
    result = _struct(kind, count)
    parameters = ", ".join(f"{kind} %fast{j}" for j in range(count))
    lines = [
        f"define internal {result} @{exact_name(name, scalar, width)}"
        f"({kind} %x, {parameters}) noinline optnone cold nounwind {{",
        "entry:",
        "  br label %lane",
        "lane:",
        "  %i = phi i32 [ 0, %entry ], [ %i.next, %next ]",
    ]
    lines += [
        f"  %v{j} = phi {kind} [ %fast{j}, %entry ], [ %v{j}.next, %next ]" for j in range(count)
    ]
    argument = "%x"
    if width > 1:
        argument = "%xi"
        lines.append(f"  %xi = extractelement {kind} %x, i32 %i")
    limit = float_literal(trig.RANGE_LIMIT[scalar], scalar)
    infinity = float_literal(float("inf"), scalar)
    lines += [
        f"  %size = call {element} @llvm.fabs.{scalar}({element} {argument})",
        f"  %beyond = fcmp ogt {element} %size, {limit}",
        f"  %finite = fcmp olt {element} %size, {infinity}",
        "  %far = and i1 %beyond, %finite",
        "  br i1 %far, label %reduce, label %next",
        "reduce:",
    ]
    if scalar == "f32":
        lines.append(f"  %xd = fpext float {argument} to double")
        argument = "%xd"
    returned = _struct("double", far.RESULTS[callee])
    lines.append(f"  %values = call {returned} @{far.far_name(callee)}(double {argument})")
    patched = []
    for j, part in enumerate(wanted):
        value = "%values"
        if far.RESULTS[callee] > 1:
            lines.append(f"  %d{j} = extractvalue {returned} %values, {part}")
            value = f"%d{j}"
        if scalar == "f32":
            lines.append(f"  %s{j} = fptrunc double {value} to float")
            value = f"%s{j}"
        if width > 1:
            lines.append(f"  %new{j} = insertelement {kind} %v{j}, {element} {value}, i32 %i")
            value = f"%new{j}"
        patched.append(value)
    lines += ["  br label %next", "next:"]
    lines += [
        f"  %v{j}.next = phi {kind} [ %v{j}, %lane ], [ {value}, %reduce ]"
        for j, value in enumerate(patched)
    ]
    lines += [
        "  %i.next = add i32 %i, 1",
        f"  %more = icmp ult i32 %i.next, {width}",
        "  br i1 %more, label %lane, label %done",
        "done:",
    ]
    total = "%v0.next"
    if count > 1:
        total = "poison"
        for j in range(count):
            lines.append(f"  %out{j} = insertvalue {result} {total}, {kind} %v{j}.next, {j}")
            total = f"%out{j}"
    lines += [f"  ret {result} {total}", "}"]
    return "\n".join(lines) + "\n"
