"""Frames in windows, as LLVM IR: taken whole or not at all, put with their sequence last.

Both are functions of the unit of paced loops. `PULL` and `PUSH` are the same for Python, on the
memory of a `Mirror`.
"""

from __future__ import annotations

from linkwright.simulation.native.fields import fields
from linkwright.simulation.pacing.memory import PULL, PUSH
from linkwright.simulation.pacing.sockets import CHECKSUM, CLOCK, SCHEMA, SEQUENCE, TICK
from linkwright.simulation.pacing.writer import AtomicWriter
from linkwright.windows.records import HEAD

MIRROR = fields(["window", "frame", "inbox", "words", "schema", "sequence", "tick", "clock"])
"""Of a mirror: the window, its own frame, a place for what is read, and what came last."""
SAME, NEW, TORN = 0, 1, -1
"""What pulling gives."""

_TRIES = 64


def frames_ir() -> str:
    """Return the functions that take and put frames.

    >>> "define i64 @pull_frame(ptr %m)" in frames_ir()
    True
    """
    return _take() + _put() + _pull() + _push()


def _inside(w: AtomicWriter, frame: str, offset: int) -> str:
    return w.at(frame, str(offset), "i8")


def _take() -> str:
    """Return what copies a frame out of a window; it gives 1 where the copy is whole."""
    w = AtomicWriter(1)
    address, copy = "%address", "%copy"
    with w.count(str(_TRIES)):
        before = w.acquire(_inside(w, address, SEQUENCE))
        w.copy_words(address, copy, w.i("lshr", "%words", "1"))
        w.do("fence acquire")
        after = w.op(f"load atomic i64, ptr {_inside(w, address, SEQUENCE)} monotonic, align 8")
        even = w.i("icmp eq", w.i("and", before, "1"), "0")
        with w.when(w.op(f"and i1 {even}, {w.i('icmp eq', before, after)}")):
            sum_ = w.op(f"call i64 @checksum(ptr {copy}, i64 %words)")
            right = w.i("icmp eq", sum_, w.load("i64", _inside(w, copy, CHECKSUM)))
            known = w.i("icmp eq", "%schema", w.load("i64", _inside(w, copy, SCHEMA)))
            with w.when(w.op(f"and i1 {right}, {known}")):
                w.leave("i64", "1")
    head = "internal i64 @take_frame(ptr %address, ptr %copy, i64 %words, i64 %schema)"
    return w.function(head, "ret i64 0")


def _put() -> str:
    """Return what copies a frame into a window; it lacks sequence and checksum only."""
    w = AtomicWriter(1)
    address, copy = "%address", "%copy"
    sequence = _inside(w, address, SEQUENCE)
    last = w.i("and", w.load("i64", sequence), "-2")
    w.store("i64", w.i("add", last, "2"), _inside(w, copy, SEQUENCE))
    sum_ = w.op(f"call i64 @checksum(ptr {copy}, i64 %words)")
    w.store("i64", sum_, _inside(w, copy, CHECKSUM))
    w.release(w.i("add", last, "1"), sequence)
    w.do("fence release")
    w.copy_words(_inside(w, copy, TICK), _inside(w, address, TICK), "4")
    payload = w.i("sub", w.i("lshr", "%words", "1"), str(HEAD // 8))
    w.copy_words(_inside(w, copy, HEAD), _inside(w, address, HEAD), payload)
    w.release(w.i("add", last, "2"), sequence)
    return w.function("internal void @put_frame(ptr %address, ptr %copy, i64 %words)", "ret void")


def _part(w: AtomicWriter, name: str, kind: str = "i64") -> str:
    return w.load(kind, w.at("%m", str(MIRROR[name])))


def _pull() -> str:
    """Return what takes the newest frame of a window into a mirror, where it is another one."""
    w = AtomicWriter(1)
    window, inbox, words = _part(w, "window", "ptr"), _part(w, "inbox", "ptr"), _part(w, "words")
    seen = w.acquire(_inside(w, window, SEQUENCE))
    with w.when(w.i("icmp eq", seen, _part(w, "sequence"))):
        w.leave("i64", str(SAME))
    whole = w.op(
        f"call i64 @take_frame(ptr {window}, ptr {inbox}, i64 {words}, i64 {_part(w, 'schema')})"
    )
    with w.when(w.i("icmp eq", whole, "0")):
        w.leave("i64", str(TORN))
    w.copy_words(inbox, _part(w, "frame", "ptr"), w.i("lshr", words, "1"))
    for name, byte in (("sequence", SEQUENCE), ("tick", TICK), ("clock", CLOCK)):
        found = w.load("i64", _inside(w, inbox, byte))
        w.store("i64", found, w.at("%m", str(MIRROR[name])))
    return w.function(f"i64 @{PULL}(ptr %m)", f"ret i64 {NEW}")


def _push() -> str:
    """Return what puts the frame of a mirror into its window."""
    w = AtomicWriter(1)
    window, frame = _part(w, "window", "ptr"), _part(w, "frame", "ptr")
    w.store("i64", "%tick", _inside(w, frame, TICK))
    w.store("i64", "%clock", _inside(w, frame, CLOCK))
    w.do(f"call void @put_frame(ptr {window}, ptr {frame}, i64 {_part(w, 'words')})")
    return w.function(f"void @{PUSH}(ptr %m, i64 %tick, i64 %clock)", "ret void")
