"""The entries through which batches are run: loops over blocks around the core function.

The core works on one block in which the W values of a component lie side by side (`codegen`). The
blocked entry hands it pointers into the caller's arrays; the entry for rows gathers W rows into a
block on the stack first and scatters the results after. `linkwright.backends.llvm.batch` describes
the records they are given.
"""

from __future__ import annotations

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
    align = 8 if scalar == "f64" else 4
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
        for j in range(size):
            value = "poison"
            for lane in range(width):
                tag = f"{k}.{j}.{lane}"
                body += [
                    f"  %q{tag} = getelementptr {element}, ptr %p{k}.{lane}, i64 {j}",
                    f"  %x{tag} = load {element}, ptr %q{tag}, align {align}",
                    f"  %v{tag} = insertelement {vector} {value}, {element} %x{tag}, i32 {lane}",
                ]
                value = f"%v{tag}"
            body += [
                f"  %s{k}.{j} = getelementptr {vector}, ptr %block{k}, i64 {j}",
                f"  store {vector} {value}, ptr %s{k}.{j}, align 64",
            ]
    arguments = ", ".join(f"ptr %block{k}" for k in range(len(sizes)))
    body.append(f"  call void @{CORE}({arguments})")
    for index, size in enumerate(outputs):
        k = len(inputs) + index
        for j in range(size):
            body += [
                f"  %s{k}.{j} = getelementptr {vector}, ptr %block{k}, i64 {j}",
                f"  %y{k}.{j} = load {vector}, ptr %s{k}.{j}, align 64",
            ]
            for lane in range(width):
                tag = f"{k}.{j}.{lane}"
                body += [
                    f"  %x{tag} = extractelement {vector} %y{k}.{j}, i32 {lane}",
                    f"  %q{tag} = getelementptr {element}, ptr %p{k}.{lane}, i64 {j}",
                    f"  store {element} %x{tag}, ptr %q{tag}, align {align}",
                ]
    return _frame(ROWS, head, body)
