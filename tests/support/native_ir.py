"""Hand-written IR kernels for the tests of the native runtime; nothing here uses the generator."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import pytest


def fresh_cache(monkeypatch: pytest.MonkeyPatch, folder: Path) -> Path:
    """Point the cache to a folder of this test and return where its entries will lie."""
    monkeypatch.setenv("LINKWRIGHT_CACHE_DIR", str(folder / "cache"))
    return folder / "cache" / "native"


def axpy_scalar(n: int, kind: str = "double") -> str:
    """void axpy(T* a, T* x, T* y, T* out): out = a*x + y, element by element."""
    lines = ["define void @axpy(ptr %a, ptr %x, ptr %y, ptr %out) {"]
    for i in range(n):
        for name in ("a", "x", "y", "out"):
            lines.append(f"  %{name}{i} = getelementptr {kind}, ptr %{name}, i64 {i}")
        for name in ("a", "x", "y"):
            lines.append(f"  %v{name}{i} = load {kind}, ptr %{name}{i}")
        lines.append(f"  %p{i} = fmul {kind} %va{i}, %vx{i}")
        lines.append(f"  %s{i} = fadd {kind} %p{i}, %vy{i}")
        lines.append(f"  store {kind} %s{i}, ptr %out{i}")
    return "\n".join([*lines, "  ret void", "}"]) + "\n"


def axpy_batch(n: int, lanes: int, layout: str, kind: str = "double") -> str:
    """A batch entry (see batch.py) of the same kernel, named after its layout."""
    vector = f"<{lanes} x {kind}>"
    align = 8 if kind == "double" else 4
    lines = [
        f"define void @axpy_{layout}(ptr %records, i64 %first, i64 %count) {{",
        "entry:",
    ]
    for k in range(4):
        lines += [
            f"  %rec{k} = getelementptr i8, ptr %records, i64 {16 * k}",
            f"  %data{k} = load ptr, ptr %rec{k}",
            f"  %recs{k} = getelementptr i8, ptr %records, i64 {16 * k + 8}",
            f"  %stride{k} = load i64, ptr %recs{k}",
        ]
    lines += [
        "  %end = add i64 %first, %count",
        "  br label %head",
        "head:",
        "  %b = phi i64 [ %first, %entry ], [ %next, %body ]",
        "  %more = icmp slt i64 %b, %end",
        "  br i1 %more, label %body, label %done",
        "body:",
    ]
    scale = lanes if layout == "rows" else 1
    lines += [f"  %lane0 = mul i64 %b, {scale}"]
    for k in range(4):
        lines.append(f"  %base{k} = mul i64 %lane0, %stride{k}")
    for j in range(n):
        for k in range(3):
            lines += _load(k, j, lanes, layout, kind, vector, align)
        lines += [
            f"  %p.{j} = fmul {vector} %v0.{j}, %v1.{j}",
            f"  %s.{j} = fadd {vector} %p.{j}, %v2.{j}",
        ]
        lines += _store(j, lanes, layout, kind, vector, align)
    lines += ["  %next = add i64 %b, 1", "  br label %head", "done:", "  ret void", "}"]
    return "\n".join(lines) + "\n"


def _load(k: int, j: int, lanes: int, layout: str, kind: str, vector: str, align: int) -> list[str]:
    tag = f"{k}.{j}"
    if layout == "blocked":
        return [
            f"  %o{tag} = add i64 %base{k}, {j * lanes}",
            f"  %q{tag} = getelementptr {kind}, ptr %data{k}, i64 %o{tag}",
            f"  %v{tag} = load {vector}, ptr %q{tag}, align {align}",
        ]
    lines, value = [], "zeroinitializer"
    for lane in range(lanes):
        lines += _lane_address(f"{tag}.{lane}", k, j, lane, kind)
        lines.append(f"  %e{tag}.{lane} = load {kind}, ptr %q{tag}.{lane}")
        name = f"%v{tag}" if lane == lanes - 1 else f"%i{tag}.{lane}"
        lines.append(
            f"  {name} = insertelement {vector} {value}, {kind} %e{tag}.{lane}, i32 {lane}"
        )
        value = name
    return lines


def _store(j: int, lanes: int, layout: str, kind: str, vector: str, align: int) -> list[str]:
    if layout == "blocked":
        return [
            f"  %o3.{j} = add i64 %base3, {j * lanes}",
            f"  %q3.{j} = getelementptr {kind}, ptr %data3, i64 %o3.{j}",
            f"  store {vector} %s.{j}, ptr %q3.{j}, align {align}",
        ]
    lines = []
    for lane in range(lanes):
        lines += _lane_address(f"3.{j}.{lane}", 3, j, lane, kind)
        lines.append(f"  %e3.{j}.{lane} = extractelement {vector} %s.{j}, i32 {lane}")
        lines.append(f"  store {kind} %e3.{j}.{lane}, ptr %q3.{j}.{lane}")
    return lines


def _lane_address(tag: str, k: int, j: int, lane: int, kind: str) -> list[str]:
    return [
        f"  %l{tag} = mul i64 %stride{k}, {lane}",
        f"  %m{tag} = add i64 %l{tag}, %base{k}",
        f"  %n{tag} = add i64 %m{tag}, {j}",
        f"  %q{tag} = getelementptr {kind}, ptr %data{k}, i64 %n{tag}",
    ]


# Says in flags[0] that it has begun, then waits until flags[1] is set by somebody else; gives the
# number of turns left, 0 when nobody did it within `turns`.
HANDSHAKE = """
define i64 @handshake(ptr %flags, i64 %turns) {
entry:
  %other = getelementptr i64, ptr %flags, i64 1
  store atomic i64 1, ptr %flags seq_cst, align 8
  br label %loop
loop:
  %left = phi i64 [ %turns, %entry ], [ %next, %again ]
  %seen = load atomic i64, ptr %other seq_cst, align 8
  %set = icmp ne i64 %seen, 0
  br i1 %set, label %done, label %again
again:
  %next = sub i64 %left, 1
  %over = icmp eq i64 %next, 0
  br i1 %over, label %done, label %loop
done:
  %result = phi i64 [ %left, %loop ], [ 0, %again ]
  ret i64 %result
}
"""
