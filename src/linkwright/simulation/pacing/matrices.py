"""Matrices that a paced loop puts samples into, as LLVM IR.

A matrix is filled in place, row by row: its tick, some channels, and numbers of Python's own. When
it is full it is left alone. Nothing else of the loop depends on whether there is one.
"""

from __future__ import annotations

from linkwright.simulation.pacing.calls import CallWriter
from linkwright.simulation.pacing.memory import SAMPLING, SAMPLINGS, VIRTUAL

DUE, COMPUTING, ASKING = 1, 2, 3
"""Whether a sample is due, channels are to be computed for it, and Python is to be asked for
numbers of its own."""


class MatrixWriter(CallWriter):
    """Writes what is done with matrices of samples."""

    def _matrix(self, i: str) -> str:
        """Return the number that says where a matrix is described, 0 where there is none."""
        return self.w.acquire(self.w.at(self.get("samplings", "ptr"), i))

    def _is_due(self, matrix: str) -> str:
        w = self.w
        following, every, left = (
            w.load("i64", w.at(matrix, str(SAMPLING[n]))) for n in ("next", "every", "left")
        )
        past = w.i("sub", self.whole("k").get(), following)
        due = w.variable("i64", "0")
        reached = w.i("icmp sge", past, "0")
        some = w.i("icmp sgt", left, "0")
        with w.when(w.op(f"and i1 {some}, {reached}")):  # a division takes long
            in_phase = w.i("icmp slt", w.op(f"srem i64 {past}, {every}"), self.get("stride"))
            due.set(w.op(f"zext i1 {in_phase} to i64"))
        return w.i("icmp ne", due.get(), "0")

    def sampling(self) -> str:
        """Return whether samples are due at this tick: 0, `DUE`, `COMPUTING` or `ASKING`."""
        w = self.w
        found = w.variable("i64", "0")
        virtual = self.is_(self.get("clock"), VIRTUAL)
        with w.count(str(SAMPLINGS)) as i:
            described = self._matrix(i)
            with w.when(w.i("icmp ne", described, "0")):
                matrix = w.op(f"inttoptr i64 {described} to ptr")
                with w.when(self._is_due(matrix)):
                    computes, asks = (
                        w.i("icmp ne", w.load("i64", w.at(matrix, str(SAMPLING[n]))), "0")
                        for n in ("computes", "asks")
                    )
                    asks = w.op(f"and i1 {asks}, {virtual}")
                    state = w.op(f"select i1 {computes}, i64 {COMPUTING}, i64 {DUE}")
                    state = w.op(f"select i1 {asks}, i64 {ASKING}, i64 {state}")
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

    def states(self) -> None:
        """Put all states into the ring of samples, where they are recorded and due."""
        w = self.w
        every, k = self.get("states"), self.whole("k").get()
        with w.when(w.i("icmp ne", every, "0")):
            rest = w.op(f"srem i64 {k}, {every}")
            with w.when(self.is_(rest, 0)):
                head = self.get("ring_head")
                used = w.i("sub", head, w.acquire(self.place("ring_tail")))
                fits = w.i("icmp sle", used, self.get("ring_mask"))
                with w.when(fits):
                    at = w.i("and", head, self.get("ring_mask"))
                    x, d = self.get("x_size"), self.get("d_size")
                    width = w.i("add", w.i("add", x, d), "1")
                    row = w.at(self.get("ring", "ptr"), w.i("mul", at, width))
                    w.store("i64", k, row)
                    first = w.at(row, "1")
                    w.copy_words(self.array("x"), first, x)
                    w.copy_words(self.array("d"), w.at(first, x), d)
                    w.release(w.i("add", head, "1"), self.place("ring_head"))
                with self.unless(fits):
                    self.add("lost")

    def _fill(self, matrix: str) -> None:
        w = self.w

        def part(name: str, kind: str = "i64") -> str:
            return w.load(kind, w.at(matrix, str(SAMPLING[name])))

        k, filled = self.whole("k").get(), part("filled")
        columns, own = part("column_count"), part("own_count")
        first = w.at(part("rows", "ptr"), w.i("mul", filled, w.i("add", columns, own)))
        w.store("i64", k, w.at(part("ticks", "ptr"), filled))
        outputs, arena = self.get("outputs", "ptr"), self.get("arena", "ptr")
        chosen = part("columns", "ptr")
        with w.count(columns) as j:
            place = w.load("i64", w.at(chosen, j))
            inside = w.at(arena, w.i("xor", place, "-1"))
            given = w.at(outputs, place)
            known = w.i("icmp slt", place, "0")
            source = w.op(f"select i1 {known}, ptr {inside}, ptr {given}")
            w.store("i64", w.load("i64", source), w.at(first, j))
        w.copy_words(part("own", "ptr"), w.at(first, columns), own)
        every, following = part("every"), part("next")
        rest = w.op(f"srem i64 {w.i('sub', k, following)}, {every}")
        for name, value in (
            ("next", w.i("add", w.i("sub", k, rest), every)),
            ("left", w.i("sub", part("left"), "1")),
        ):
            w.store("i64", value, w.at(matrix, str(SAMPLING[name])))
        w.release(w.i("add", filled, "1"), w.at(matrix, str(SAMPLING["filled"])))
