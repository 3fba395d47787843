"""Nodes of expressions: their fields, and the table in which equal ones are the same object.

The table is weak and safe for threads: inserting is atomic, only replacing or removing a dead entry
takes a lock. A node's key is its place in the table: rank, first letters of the leading symbol, and
a digest of its structure, by Python's hash of tuples of integers, which does not depend on the hash
seed.
"""

from __future__ import annotations

import threading
import weakref
import zlib
from collections.abc import Callable
from operator import attrgetter
from typing import TYPE_CHECKING, Any

from linkwright.algebra.numbers import Number, number_digest
from linkwright.base.errors import Error
from linkwright.base.forking import held_over_forks

if TYPE_CHECKING:
    from linkwright.algebra.expr import Expr

# Bits of `Expr.roles`: which kinds of symbols an expression holds.
PARAMETER = 1
COORDINATE = 2
SPEED = 4
ACCELERATION = 8
INPUT = 16
TIME = 32
DISCRETE = 64
LOCAL = 128
SMALL = 256
FOREIGN = 4096  # a call of a foreign function
# Bits that a node does not pass on to the nodes above it.
TRIG_SQUARE = 512  # a product with an even power of a sine or cosine
ROOT = 1024  # a square root
TRIG = 2048  # a sine or cosine
INHERITED = 511 | FOREIGN

DIGEST_MASK = (1 << 60) - 1
RANKS = {"num": 0, "sym": 1, "scale": 2, "prod": 3, "sum": 5}
FUNCTION_RANK = 4


class ExprError(Error):
    """An operation that an expression does not allow."""


class Node:
    """The fields of an expression, while it is being made."""

    __slots__ = ("__weakref__", "args", "data", "head", "key", "op", "roles")

    op: str
    args: tuple[Expr, ...]
    data: Any
    key: int
    head: int
    roles: int


_kinds: list[type[Node]] = [Node]  # the class of finished nodes is the last one


def finish_as(kind: type[Node]) -> type[Node]:
    """Let finished nodes be of a class, which adds operators and no fields."""
    _kinds.append(kind)
    return kind


class _Ref(weakref.ref["Expr"]):
    """A weak reference that knows its place in the table."""

    __slots__ = ("key",)
    key: int


_table: dict[int, _Ref] = {}
# Nodes whose key another node had already: two foreign functions of one declaration, or a chance
# of one in 2**60.
_collided: weakref.WeakValueDictionary[tuple[str, Any, tuple[Expr, ...]], Expr] = (
    weakref.WeakValueDictionary()
)
_any_collided = False
_lock = threading.RLock()
held_over_forks(_lock, 0)
by_key: Callable[[Expr], int] = attrgetter("key")


def _forget(ref: Any) -> None:
    key = ref.key
    with _lock:
        if _table.get(key) is ref:
            del _table[key]


def intern(op: str, data: Any, args: tuple[Expr, ...], key: int, head: int, roles: int) -> Expr:
    """Return the one node with this operator, data and arguments.

    Inserting is one atomic `setdefault`; only replacing or removing a dead entry takes the lock.
    """
    ref = _table.get(key)
    if ref is not None:
        found = ref()
        if found is not None:
            if found.args == args and (found.data is data or found.data == data) and found.op == op:
                return found
            return _intern_collided(op, data, args, key, head, roles)
    if _any_collided:
        collided = _collided.get((op, data, args))
        if collided is not None:
            return collided
    node: Any = Node()
    node.op = op
    node.data = data
    node.args = args
    node.key = key
    node.head = head
    node.roles = roles
    node.__class__ = _kinds[-1]
    ref = _Ref(node, _forget)
    ref.key = key
    made: Expr = node
    if _table.setdefault(key, ref) is ref:
        return made
    with _lock:
        current = _table.get(key)
        if current is None or current() is None:
            _table[key] = ref
            return made
    return intern(op, data, args, key, head, roles)


def _intern_collided(
    op: str, data: Any, args: tuple[Expr, ...], key: int, head: int, roles: int
) -> Expr:
    """Return a node whose key belongs to another one already."""
    global _any_collided
    with _lock:
        known = _collided.get((op, data, args))
        if known is None:
            while (ref := _table.get(key)) is not None and ref() is not None:
                key += 1
            known = intern(op, data, args, key, head, roles)
            _collided[op, data, args] = known
            _any_collided = True
        return known


def node_count() -> int:
    """Return how many expressions are alive in this process."""
    return len(_table)


def rank_bits(op: str) -> int:
    return RANKS.get(op, FUNCTION_RANK) << 156


def opcode(op: str) -> int:
    return zlib.crc32(op.encode())


NUM_CODE = opcode("num")
SCALE_BITS, SCALE_CODE = rank_bits("scale"), opcode("scale")
PROD_BITS, PROD_CODE = rank_bits("prod"), opcode("prod")
SUM_BITS, SUM_CODE = rank_bits("sum"), opcode("sum")
FUNCTION_BITS = FUNCTION_RANK << 156
FUNCTION_CODES: dict[str, int] = {}

# Digest of a tuple of coefficients or exponents, and the tuple itself, so that nodes share it.
shapes: dict[tuple[Number, ...], tuple[int, tuple[Number, ...]]] = {}
_SHAPES_KEPT = 8192


def shape_of(data: tuple[Number, ...]) -> tuple[int, tuple[Number, ...]]:
    shape = shapes.get(data)
    if shape is None:
        if len(shapes) >= _SHAPES_KEPT:
            shapes.clear()
        shape = hash(tuple([number_digest(c) for c in data])) & DIGEST_MASK, data
        shapes[data] = shape
    return shape
