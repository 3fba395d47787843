"""The memory that a paced loop and Python share: its fields, and why a call comes back.

`linkwright.simulation.pacing.function` says what they are for. Rings have one writer and one
reader; heads and tails only ever grow, and places are taken modulo a power of two.
"""

from __future__ import annotations

from linkwright.simulation.native.fields import fields

PACE, NOW, TAKE, PUBLISH, TAPE = "pace", "now_ns", "take_latest", "publish", "call_taped"
PULL, PUSH, TELLS = "pull_frame", "push_frame", "tell_arguments"

ENDED, REACHED, VISIT, SESSION, FULL, CALL, SAMPLE = range(7)
"""Why the native function comes back: asked to stop, at the last tick, Python has something to do
at this tick, the session has something to say, a ring of a virtual run is full, a Python block
of one was asked, or numbers of Python's are to be sampled with this tick."""

FROM_TOP, FROM_RAN, FROM_RUN, FROM_SAMPLE = range(4)
"""Where a call goes on: at the next tick, after Python ran one, with the run of this one, or with
its samples."""

VIRTUAL, WALL, DEVICE, WIRE = range(4)
"""What the loop waits for: nothing, the clock on the wall, the tick of a device's window, or
the next frame of a wire."""

IDLE, ASKED, ANSWERED = range(3)
"""States of the mail box of a Python block."""

AT_TICKS, BY_MAIL, TAPED_ONLY = range(3)
"""How Python blocks are called: at their ticks, by their threads, or not, where a tape has what
they gave."""

SUBDIVISIONS = 16
BUCKETS = 40 * SUBDIVISIONS
"""Of the histogram of lateness: sixteen for each doubling, in ns."""

CONTROL = fields(
    ["config", "run_fn", "prepare_fn", "arena", "whole", "samples", "output_fn"],
    ["x_at", "d_at", "w_at", "t_at", "p_output_at"],
    ["x_size", "d_size", "w_size", "channels", "every", "places", "parameters"],
    ["clock", "stop", "visit", "resume", "fresh", "last", "final", "stride", "target"],
    ["next", "period", "part", "parts", "rest", "patience", "catches"],
    ["total", "missed", "overrun", "unkept", "worst", "lateness", "timeouts", "held", "lost"],
    ["taken", "late", "failures", "histogram", "now", "prepares", "dirty"],
    ["changes", "changes_mask", "changes_head", "changes_tail"],
    ["tape", "tape_mask", "tape_head", "tape_tail"],
    ["ring", "ring_mask", "ring_head", "ring_tail", "sampled"],
    ["latest", "outputs", "publishes", "published", "tardy", "length", "samplings"],
    ["states"],
    ["tells", "tell_count", "reads", "read_count", "writes", "write_count"],
    ["foreign", "mails", "mail_count", "o_at"],
    ["device", "device_sequence", "device_tick", "timeout", "futex", "wire"],
)
CHANGE = fields("place", "value", "serial", "tick")
"""A change on its way: `tick` is the first that may see it, 0 for the next one."""
TAPED = fields("tick", "place", "value")
TELL = fields("count", "place")
READ = fields(
    ["address", "words", "copy", "schema", "entries", "entry_count", "sequence"],
    ["sequence_place", "tick_place", "descriptor", "inbox", "fresh"],
)
"""What is read: of a wire, `address` is that of its numbers, and `descriptor` is not -1."""
MAIL = fields(
    ["state", "asked", "arguments", "argument_count", "results", "result_count", "places"],
    ["tick", "every", "choice"],
)
TAPING = fields("control", "fn", "results", "count", "places", "staged")
"""What is known of a slot whose results go on the tape: the loop, the function that is called,
where its results begin, how many there are, their places on the tape, and what was taped last."""
TELLING = fields("control", "window", "frame", "words", "size", "results")
"""What is known of a slot whose arguments another process receives: the loop, the window and the
frame for it, the 32-bit words of that, how many arguments and held numbers there are, and how many
of them are held."""
COUNTED = ("total", "missed", "overrun", "unkept", "worst", "timeouts")
"""What windows can hold of the loop itself: counts, and the greatest lateness in s."""
MEASURED = ("tardy", "length")
"""And what was measured, in s: how late this tick is, and how long the one before took."""
SAMPLING = fields(
    ["next", "every", "left", "ticks", "rows", "filled"],
    ["columns", "column_count", "computes", "own", "own_count", "asks"],
)
"""A matrix that samples are put into: the tick of the next one, ticks between two, how many are
left, where ticks and rows lie, how many there are; which channels (a number below zero is that of a
place in the machine, inverted) and whether any is to be computed; numbers of Python's own, and
whether Python is asked for these at each sample of a virtual run."""
SAMPLINGS = 4
"""Matrices that can be filled at a time."""
WRITE = fields(
    ["address", "words", "copy", "entries", "entry_count", "wake", "descriptor", "every"],
    ["instants"],
)
ENTRY = fields("offset", "kind", "place")
KINDS = ("f64", "f32", "i64", "i32", "i16", "i8", "u64", "u32", "u16", "u8")
"""Types of the fields of records, in the order of their numbers in native code."""
LATEST = fields("sequence", "tick", "clock")
"""The head of a slot that says where a run stood. A word with the number of the newest comes
before the slots; slot number n is whole while its sequence is 2 n, and odd while it is written."""
SLOTS = 16
"""Slots, which are written in turn: readers have the time of as many ticks for a copy."""
