"""Matrices that a paced loop puts samples into, as LLVM IR.

A matrix is filled in place, row by row: its tick, some channels, and numbers of Python's own. When
it is full it is left alone. Nothing else of the loop depends on whether there is one.
"""

from __future__ import annotations

from linkwright.simulation.pacing.calls import CallWriter
from linkwright.simulation.pacing.memory import SAMPLING, SAMPLINGS, VIRTUAL

DUE, ASKING = 1, 2
"""Whether a sample is due, and Python is to be asked for numbers of its own."""


class MatrixWriter(CallWriter):
    """Writes what is done with matrices of samples."""

    def _matrix(self, i: str) -> str:
        """Return the number that says where a matrix is described, 0 where there is none."""
        return self.w.acquire(self.w.at(self.get("samplings", "ptr"), i))

    def _is_due(self, matrix: str) -> str:
        w = self.w
        k = self.whole("k").get()
        reached = w.i("icmp sge", k, w.load("i64", w.at(matrix, str(SAMPLING["next"]))))
        left = w.i("icmp sgt", w.load("i64", w.at(matrix, str(SAMPLING["left"]))), "0")
        return w.op(f"and i1 {reached}, {left}")

    def sampling(self) -> str:
        """Return whether samples are due at this tick: 0, `DUE` or `ASKING`."""
        w = self.w
        found = w.variable("i64", "0")
        virtual = self.is_(self.get("clock"), VIRTUAL)
        with w.count(str(SAMPLINGS)) as i:
            described = self._matrix(i)
            with w.when(w.i("icmp ne", described, "0")):
                matrix = w.op(f"inttoptr i64 {described} to ptr")
                with w.when(self._is_due(matrix)):
                    asks = w.i("icmp ne", w.load("i64", w.at(matrix, str(SAMPLING["asks"]))), "0")
                    state = w.op(
                        f"select i1 {w.op(f'and i1 {asks}, {virtual}')}, i64 {ASKING}, i64 {DUE}"
                    )
                    more = w.i("icmp sgt", state, found.get())
                    found.set(w.op(f"select i1 {more}, i64 {state}, i64 {found.get()}"))
        return found.get()

    def fill(self) -> None:
        """Add a row to each matrix that is due."""
        w = self.w
        with w.count(str(SAMPLINGS)) as i:
            described = self._matrix(i)
            with w.when(w.i("icmp ne", described, "0")):
                matrix = w.op(f"inttoptr i64 {described} to ptr")
                with w.when(self._is_due(matrix)):
                    self._fill(matrix)

    def _fill(self, matrix: str) -> None:
        w = self.w

        def part(name: str, kind: str = "i64") -> str:
            return w.load(kind, w.at(matrix, str(SAMPLING[name])))

        k, filled = self.whole("k").get(), part("filled")
        columns, own = part("column_count"), part("own_count")
        width = w.i("add", w.i("add", columns, own), "1")
        row = w.at(part("rows", "ptr"), w.i("mul", filled, width))
        w.store("i64", k, row)
        outputs, chosen = self.get("outputs", "ptr"), part("columns", "ptr")
        first = w.at(row, "1")
        with w.count(columns) as j:
            place = w.load("i64", w.at(chosen, j))
            w.store("i64", w.load("i64", w.at(outputs, place)), w.at(first, j))
        w.copy_words(part("own", "ptr"), w.at(first, columns), own)
        for name, value in (
            ("next", w.i("add", k, part("every"))),
            ("left", w.i("sub", part("left"), "1")),
        ):
            w.store("i64", value, w.at(matrix, str(SAMPLING[name])))
        w.release(w.i("add", filled, "1"), w.at(matrix, str(SAMPLING["filled"])))
