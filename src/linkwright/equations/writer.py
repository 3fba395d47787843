"""Names for intermediate results while equations are derived.

An expression that will be used again is given a name (`z` for what moves, `pc` for what depends on
parameters alone), and the name is used instead; the same expression always gets the same name. This
keeps expressions small during the derivation (AUTOSIM's intro-var-if-new, section 5.3). A name
inherits the order of smallness of what it stands for.
"""

from __future__ import annotations

from collections.abc import Iterable

from linkwright.algebra import Expr, order, symbol
from linkwright.algebra.expr import scaled
from linkwright.algebra.triples import Triple, held
from linkwright.program import Assign, Loop, Statement

_TRIALS = 1_000_000  # names of trials begin after this number


class Writer:
    """Collects assignments."""

    def __init__(
        self, owner: str, statements: Iterable[Assign] = (), last: int = 0, prefix: str = ""
    ) -> None:
        self.owner, self.prefix = owner, prefix
        self.statements: list[Assign] = list(statements)
        self.loops: list[Loop] = []
        self._known: dict[Expr, Expr] = {s.value: s.target for s in self.statements}
        self._shared: dict[Expr, Expr] | None = None
        self._count = last
        self._constants = last

    def copy(self) -> Writer:
        """Return a writer that has written the same and goes on by itself."""
        made = Writer(self.owner, self.statements, prefix=self.prefix)
        made.loops = list(self.loops)
        made._known = dict(self._known)
        made._count, made._constants = self._count, self._constants
        return made

    def trial(self, names: dict[Expr, Expr]) -> Writer:
        """Return a copy for one trial of several; the same expression has the same name in all."""
        made = self.copy()
        made._shared = names
        return made

    def hold(self, x: Expr, note: str = "") -> Expr:
        """Return a name for an expression, or itself where a name would save nothing."""
        if x.is_atom:
            return x
        if x.op == "scale" and (x.data == -1 or x.args[0].is_atom):
            inner = self.hold(x.args[0], note)
            return scaled(x.data, inner)
        known = self._known.get(x)
        if known is None:
            known = self.fresh(x)
            self._known[x] = known
            self.statements.append(Assign(known, x, note))
        return known

    def fresh(self, x: Expr) -> Expr:
        """Return a new name with the smallness of an expression."""
        if self._shared is None:
            return self._new(x)
        found = self._shared.get(x)
        if found is None:
            self._count = self._constants = _TRIALS + len(self._shared)
            found = self._shared[x] = self._new(x)
        return found

    def _new(self, x: Expr) -> Expr:
        if x.is_constant:
            self._constants += 1
            name = f"{self.prefix}pc{self._constants}"
            return symbol(name, "parameter", owner=self.owner, small=order(x))
        self._count += 1
        return symbol(f"{self.prefix}z{self._count}", "local", owner=self.owner, small=order(x))

    def assign(self, target: Expr, value: Expr, note: str = "") -> None:
        """Define a symbol that has its name already."""
        self.statements.append(Assign(target, value, note))

    def take(self, statements: Iterable[Statement]) -> None:
        """Receive assignments and loops that were written elsewhere."""
        for s in statements:
            if isinstance(s, Assign):
                self.statements.append(s)
            else:
                assert isinstance(s, Loop)
                self.loops.append(s)

    def triple(self, v: Iterable[Expr]) -> Triple:
        """Return names for three components."""
        return held(self.hold, v)
