"""How fast expressions are built, beside SymPy in the same process, and what a node weighs."""

from __future__ import annotations

import gc
import itertools
import resource
import sys
import time
import tracemalloc
from collections.abc import Callable
from typing import Any

import sympy
from sympy.core.cache import clear_cache

from bench.measure import Row, interleaved
from linkwright.algebra import ZERO, Expr, cos, sin, sqrt, symbol
from linkwright.algebra.nodes import node_count

TITLE = "building expressions"

_OPERATIONS = 1_000_000
_fresh = itertools.count()

Function = Callable[[Any], Any]


def shallow(s: list[Any], sine: Function, cosine: Function, root: Function) -> list[Any]:
    """Build twelve expressions of a few operations each, as a mechanism's joints make them."""
    a, b, c, d, e, f = s
    return [
        a * b + c * sine(d),
        (a + b) * (c - d),
        a * cosine(d) - b * sine(d) + e,
        a**2 + 2 * a * b + b**2,
        (a - b) / (c + d),
        root(a**2 + b**2 + c**2),
        -a * (b * cosine(e) + c * sine(e)) * f,
        a * b * c * d * e * f,
        a + b - c + d - e + f,
        0.5 * a * (b**2 + c**2),
        sine(a + b) * cosine(c - d),
        e * (f - a) + d * (f - b),
    ]


def newton_euler(
    name: Callable[[str], Any], sine: Function, cosine: Function, zero: Any, joints: int = 6
) -> list[Any]:
    """Return the joint torques of a revolute arm with symbolic parameters (Craig, chapter 6)."""

    def cross(a: list[Any], b: list[Any]) -> list[Any]:
        return [a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0]]

    def add(*vectors: list[Any]) -> list[Any]:
        result = vectors[0]
        for v in vectors[1:]:
            result = [x + y for x, y in zip(result, v, strict=True)]
        return result

    def apply(matrix: list[list[Any]], v: list[Any]) -> list[Any]:
        return [row[0] * v[0] + row[1] * v[1] + row[2] * v[2] for row in matrix]

    omega, alpha, acceleration = [zero] * 3, [zero] * 3, [zero, zero, name("g")]
    links = []
    for i in range(joints):
        q, u, du = name(f"q{i}"), name(f"u{i}"), name(f"du{i}")
        s, c, st, ct = sine(q), cosine(q), sine(name(f"twist{i}")), cosine(name(f"twist{i}"))
        rotation = [[c, -s, zero], [s * ct, c * ct, -st], [s * st, c * st, ct]]
        offset = [name(f"a{i}"), -name(f"d{i}") * st, name(f"d{i}") * ct]
        back = [list(row) for row in zip(*rotation, strict=True)]
        turned = apply(back, omega)
        moved = add(acceleration, cross(alpha, offset), cross(omega, cross(omega, offset)))
        acceleration = apply(back, moved)
        alpha = add(apply(back, alpha), [turned[1] * u, -turned[0] * u, du])
        omega = [turned[0], turned[1], turned[2] + u]
        center = [name(f"c{k}{i}") for k in "xyz"]
        inertia = [[name(f"I{min(j, k)}{max(j, k)}{i}") for k in range(3)] for j in range(3)]
        at_center = add(acceleration, cross(alpha, center), cross(omega, cross(omega, center)))
        force = [name(f"m{i}") * x for x in at_center]
        moment = add(apply(inertia, alpha), cross(omega, apply(inertia, omega)))
        links.append((rotation, offset, force, add(moment, cross(center, force))))
    f, n = [zero] * 3, [zero] * 3
    torques = []
    outer: tuple[list[list[Any]], list[Any]] | None = None
    for rotation, offset, force, moment in reversed(links):
        if outer is None:
            f, n = force, moment
        else:
            carried = apply(outer[0], f)
            n = add(moment, apply(outer[0], n), cross(outer[1], carried))
            f = add(force, carried)
        outer = rotation, offset
        torques.append(n[2])
    return torques[::-1]


def _shallow_times() -> dict[str, float]:
    rounds = 200
    ours: list[list[Any]] = []
    theirs: list[list[Any]] = []
    # Symbols that no expression was made of yet; making them is not timed.
    for _ in range(8):
        for _ in range(rounds):
            k = next(_fresh)
            ours.append([symbol(f"s{k}_{i}") for i in range(6)])
            theirs.append([sympy.Symbol(f"s{k}_{i}") for i in range(6)])
    clear_cache()

    def build(waiting: list[list[Any]], *functions: Function) -> None:
        for _ in range(rounds):
            shallow(waiting.pop(), *functions)

    return interleaved(
        {
            "ours": lambda: build(ours, sin, cos, sqrt),
            "sympy": lambda: build(theirs, sympy.sin, sympy.cos, sympy.sqrt),
        },
        rounds=7,
    )


def _recursion_times() -> dict[str, float]:
    def with_sympy() -> None:
        clear_cache()
        newton_euler(sympy.Symbol, sympy.sin, sympy.cos, sympy.Integer(0))

    return interleaved(
        {
            "ours": lambda: newton_euler(symbol, sin, cos, ZERO),
            "sympy": with_sympy,
        },
        rounds=7,
    )


def million(count: int = _OPERATIONS) -> list[Expr]:
    """Build a graph of about that many operations over 64 symbols, and keep all of it."""
    kept: list[Expr] = [symbol(f"x{i}") for i in range(64)]
    for k in range(count // 4):
        a, b, c = kept[-1 - k % 61], kept[-7 - k % 47], kept[k % 64]
        kept.append(sin(a) * c)
        kept.append(b * c + kept[-1])
        if len(kept[-1].args) > 8:
            kept[-1] = cos(kept[-1])
    return kept


def _megabytes() -> float:
    scale = 1 if sys.platform == "darwin" else 1024
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * scale / 1e6


def _weight() -> tuple[float, int]:
    """Return the bytes that a node costs, with its place in the table, and the nodes measured."""
    gc.collect()
    before_nodes = node_count()
    tracemalloc.start()
    before = tracemalloc.get_traced_memory()[0]
    kept = million(200_000)
    gc.collect()
    used = tracemalloc.get_traced_memory()[0] - before
    tracemalloc.stop()
    nodes = node_count() - before_nodes
    del kept
    return used / nodes, nodes


def run() -> list[Row]:
    """Measure building speed and weight."""
    few = _shallow_times()
    arm = _recursion_times()
    weight, weighed = _weight()
    peak = _megabytes()
    start = time.perf_counter()
    kept = million()
    elapsed = time.perf_counter() - start
    note = f"{node_count()} nodes alive; resident {peak:.0f} to {_megabytes():.0f} MB"
    del kept
    peer = f"sympy {sympy.__version__}"
    return [
        Row(
            "fresh shallow expressions, times SymPy's speed",
            few["sympy"] / few["ours"],
            bar=5,
            better="higher",
            note=f"{few['ours'] / 200 / 12 * 1e6:.1f} µs an expression; {peer}",
        ),
        Row(
            "Newton-Euler of a 6R arm, times SymPy's speed",
            arm["sympy"] / arm["ours"],
            bar=20,
            better="higher",
            note=f"{arm['ours'] * 1e3:.1f} ms; {peer}, its cache cleared",
        ),
        Row("a million operations", elapsed, "s", bar=20, note=note),
        Row("memory of a node", weight, "bytes", bar=600, note=f"tracemalloc, {weighed} nodes"),
    ]
