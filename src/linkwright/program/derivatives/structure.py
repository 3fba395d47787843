"""Structure: which outputs of a Program can depend on which inputs, without computing anything.

Sets are whole numbers used as bit masks. A dependence counts where a derivative can be other than
zero: not through comparisons and signs, and through a selection by both of its branches. Loops
are iterated until the sets of what they carry grow no more; a call uses the structure of its
Program; a solve mixes everything.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from linkwright.algebra.expr import Expr
from linkwright.algebra.functions import is_flat
from linkwright.algebra.walk import postorder
from linkwright.program.program import Assign, Call, Loop, Program, Solve, Statement

Masks = dict[Expr, int]


class MaskSpreader:
    """Spreads masks over statements; the structure of a called Program is found once."""

    def __init__(self) -> None:
        self._transfers: dict[int, tuple[Program, tuple[int, ...]]] = {}

    def spread(self, statements: Iterable[Statement], masks: Masks) -> Masks:
        """Add to the masks those of all symbols that the statements define, also inside loops."""
        known: Masks = {}
        for statement in statements:
            if isinstance(statement, Assign):
                masks[statement.target] = self.mask(statement.value, masks, known)
            elif isinstance(statement, Loop):
                self._loop(statement, masks, known)
            elif isinstance(statement, Call):
                given = [self.mask(x, masks, known) for x in statement.arguments]
                transfer = self.transfer(statement.program)
                for target, sources in zip(statement.targets, transfer, strict=True):
                    masks[target] = join(given, sources)
            else:
                self._solve(statement, masks, known)
        return masks

    def mask(self, x: Expr, masks: Mapping[Expr, int], known: Masks) -> int:
        """Return the mask of an expression; `known` holds those of the nodes seen before."""
        for node in postorder([x], stop=known.__contains__):
            if node in known:
                continue
            if node.op == "sym":
                known[node] = masks.get(node, 0)
            elif is_flat(node.op):
                known[node] = 0
            else:
                result = 0
                for a in node.args[1:] if node.op == "select" else node.args:
                    result |= known[a]
                known[node] = result
        return known[x]

    def transfer(self, program: Program) -> tuple[int, ...]:
        """Return for each output entry of a Program the mask of the input entries it depends on."""
        found = self._transfers.get(id(program))
        if found is None:
            masks = {x: 1 << i for i, x in enumerate(program.input_symbols())}
            self.spread(program.statements, masks)
            known: Masks = {}
            result = tuple(self.mask(x, masks, known) for x in program.output_values())
            found = self._transfers[id(program)] = (program, result)
        return found[1]

    def _solve(self, solve: Solve, masks: Masks, known: Masks) -> None:
        matrix = 0
        for x in solve.matrix:
            matrix |= self.mask(x, masks, known)
        for first in range(0, len(solve.right), solve.size):
            column = matrix
            for x in solve.right[first : first + solve.size]:
                column |= self.mask(x, masks, known)
            for target in solve.targets[first : first + solve.size]:
                masks[target] = column

    def _loop(self, loop: Loop, masks: Masks, known: Masks) -> None:
        carried = [self.mask(c.initial, masks, known) for c in loop.carried]
        for s in loop.scanned:
            masks[s.symbol] = 0
            for value in s.values:
                masks[s.symbol] |= self.mask(value, masks, known)
        growing = True
        inner: Masks = {}
        while growing:
            for c, old in zip(loop.carried, carried, strict=True):
                masks[c.symbol] = old
            self.spread(loop.body, masks)
            inner = {}
            grown = [
                old | self.mask(c.following, masks, inner)
                for c, old in zip(loop.carried, carried, strict=True)
            ]
            growing = grown != carried
            carried = grown
        for c, final in zip(loop.carried, carried, strict=True):
            masks[c.final] = final
        for out in loop.stacked:
            mask = self.mask(out.value, masks, inner)
            for target in out.targets:
                masks[target] = mask


def join(masks: list[int], chosen: int) -> int:
    """Return the union of the chosen masks; `chosen` is itself a mask over their indices."""
    result = 0
    while chosen:
        lowest = chosen & -chosen
        result |= masks[lowest.bit_length() - 1]
        chosen ^= lowest
    return result


def bits(mask: int) -> list[int]:
    """Return the indices in a mask, in order.

    >>> bits(0b1011)
    [0, 1, 3]
    """
    result = []
    while mask:
        lowest = mask & -mask
        result.append(lowest.bit_length() - 1)
        mask ^= lowest
    return result
