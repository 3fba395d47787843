"""Where the names of an expression text get their meaning.

A `Scope` answers two questions: what is the value, function, direction or variable of this name,
and which names are there at all, for a helpful complaint. A mechanism supplies a scope that knows
its points, bodies, states, `t` and `gees`, and the functions `pos`, `vel`, `rot`, `fm` and `dxdt`.
`SymbolScope` is the plain one: names are symbols.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Literal, Protocol, TypeAlias

from linkwright.algebra.expr import Expr
from linkwright.algebra.symbols import symbol

Kind: TypeAlias = Literal["value", "function", "direction", "reference"]


class Scope(Protocol):
    """What an expression text may refer to."""

    def lookup(self, kind: Kind, name: str) -> object | None:
        """Return what the name stands for, or None where it is not known."""
        ...

    def names(self, kind: Kind) -> Iterable[str]:
        """Return the names that are known, to suggest the nearest."""
        ...


@dataclass(frozen=True, slots=True)
class SymbolScope:
    """A scope in which names are symbols.

    >>> scope = SymbolScope.of("k", "x")
    >>> scope.lookup("value", "k"), scope.lookup("value", "kk")
    (k, None)
    """

    values: Mapping[str, object] | None = None
    functions: Mapping[str, Callable[..., object]] = field(default_factory=dict)
    directions: Mapping[str, object] = field(default_factory=dict)
    references: Mapping[str, object] = field(default_factory=dict)
    owner: str = ""

    @staticmethod
    def of(*declared: str | Expr) -> SymbolScope:
        """Return the scope of exactly these symbols; a text becomes a parameter of that name."""
        chosen = [symbol(x) if isinstance(x, str) else x for x in declared]
        return SymbolScope({x.name: x for x in chosen})

    def lookup(self, kind: Kind, name: str) -> object | None:
        """Return what the name stands for, or None where it is not known."""
        if kind == "value" and self.values is None:
            return symbol(name, owner=self.owner)
        return self._table(kind).get(name)

    def names(self, kind: Kind) -> Iterable[str]:
        """Return the names that are known, to suggest the nearest."""
        return self._table(kind)

    def _table(self, kind: Kind) -> Mapping[str, object]:
        if kind == "value":
            return {} if self.values is None else self.values
        if kind == "function":
            return self.functions
        return self.directions if kind == "direction" else self.references
