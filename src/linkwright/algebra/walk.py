"""Walks over expressions, none of them recursive: deep ones are as good as wide ones."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import TypeVar

from linkwright.algebra.expr import Expr, linear_combination, product, raised, scaled

T = TypeVar("T")


def postorder(roots: Iterable[Expr], stop: Callable[[Expr], bool] | None = None) -> Iterator[Expr]:
    """Yield every node below the roots once, arguments before the nodes that use them.

    >>> from linkwright.algebra import symbols, sin
    >>> (q,) = symbols("q")
    >>> [str(x) for x in postorder([2 * sin(q)])]
    ['q', 'sin(q)', '2*sin(q)']
    """
    seen: set[Expr] = set()
    for root in roots:
        if root in seen:
            continue
        seen.add(root)
        nodes = [root]
        left = [iter(() if stop is not None and stop(root) else root.args)]
        while nodes:
            for node in left[-1]:
                if node in seen:
                    continue
                seen.add(node)
                args = node.args
                if not args or (stop is not None and stop(node)):
                    yield node
                    continue
                nodes.append(node)
                left.append(iter(args))
                break
            else:
                left.pop()
                yield nodes.pop()


def fill(known: dict[Expr, T], roots: Iterable[Expr], make: Callable[[Expr], T]) -> None:
    """Give every node below the roots that is not known what is made of it, arguments first.

    >>> from linkwright.algebra import symbols, sin
    >>> (q,) = symbols("q")
    >>> depth = {q: 0}
    >>> fill(depth, [2 * sin(q)], lambda x: 1 + max(depth[a] for a in x.args))
    >>> depth[2 * sin(q)]
    2
    """
    stack = [x for x in roots if x not in known]
    stack.reverse()
    while stack:
        node = stack[-1]
        if node not in known:
            missing = [a for a in node.args if a not in known]
            if missing:
                missing.reverse()
                stack += missing
                continue
            known[node] = make(node)
        stack.pop()


def rebuild(node: Expr, args: tuple[Expr, ...]) -> Expr:
    """Return the canonical expression with the form of `node` over other arguments."""
    op = node.op
    if args == node.args:
        return node
    if op == "sum":
        return linear_combination(zip(node.data[1:], args, strict=True), node.data[0])
    if op == "prod":
        return product([raised(x, e) for x, e in zip(args, node.data, strict=True)])
    if op == "scale":
        return scaled(node.data, args[0])
    from linkwright.algebra.functions import apply

    return apply(op, args, node.data)
