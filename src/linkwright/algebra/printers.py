"""Expressions as text."""

from __future__ import annotations

from linkwright.algebra.expr import Expr, postorder
from linkwright.algebra.numbers import number_text


def text(expr: Expr) -> str:
    """Return the expression as text in the spelling of the expression language."""
    done: dict[Expr, str] = {}
    for node in postorder([expr]):
        a = [done[x] for x in node.args]
        if node.op == "num":
            s = number_text(node.data)
        elif node.op == "sym":
            s = node.name
        elif node.op == "scale":
            inner = f"({a[0]})" if node.args[0].op == "sum" else a[0]
            s = f"-{inner}" if node.data == -1 else f"{number_text(node.data)}*{inner}"
        elif node.op == "prod":
            s = "*".join(
                (f"({t})" if x.op == "sum" else t) + (f"**{e}" if e != 1 else "")
                for x, t, e in zip(node.args, a, node.data, strict=True)
            )
        elif node.op == "sum":
            s = "" if node.data[0] == 0 else number_text(node.data[0])
            for c, x, t in zip(node.data[1:], node.args, a, strict=True):
                t = f"({t})" if x.op == "sum" else t
                size = "" if abs(c) == 1 else f"{number_text(abs(c))}*"
                s += (" - " if c < 0 else " + " if s else "") + size + t
        elif node.op == "lt":
            s = f"{a[0]} < {a[1]}"
        else:
            s = f"{node.op}({', '.join(a)})" if a else node.op
        done[node] = s
    return done[expr]


def latex(expr: Expr) -> str:
    """Return the expression as LaTeX."""
    return text(expr)
