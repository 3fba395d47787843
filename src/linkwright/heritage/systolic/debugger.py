"""The debugger: a line is given, a text comes back. It has every command of the report's ``sim``.

A command is a row of `DEBUGGER_COMMANDS`. Steps can be taken back, because the machine repeats
itself exactly: it is copied every so often, and goes on from the last copy to where it was.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

from linkwright.base.errors import Error, InputError, unknown
from linkwright.base.files import integer
from linkwright.heritage.systolic.display import (
    data_text,
    dump_text,
    element_text,
    fifo_text,
    signal_text,
)
from linkwright.heritage.systolic.fixed import ArrayFault
from linkwright.heritage.systolic.instructions import SIDE
from linkwright.heritage.systolic.listing import listing
from linkwright.heritage.systolic.machine import ArrayMachine

PROMPT = "sim> "
MOST_BREAKPOINTS = 20
DUMP = "core.dump"
_EVERY = 256  # cycles between copies

Write = Callable[[Path, str], None]


@dataclass(frozen=True, slots=True)
class DebuggerCommand:
    """A command of the debugger."""

    names: tuple[str, ...]  # what it is called
    takes: str  # its arguments, as the help shows them
    meaning: str  # in a sentence
    # what it does with a debugger and its arguments, and what is said then
    do: Callable[[Debugger, list[str]], str] = field(repr=False)


class Debugger:
    """A talk about a machine.

    Args:
        machine: which; it is stepped.
        write: writes a text file, as for ``dump``.

    Example:
        >>> from linkwright.heritage.systolic import ArrayMachine, assemble, read_data
        >>> talk = Debugger(ArrayMachine(assemble("NOP\\nNOP"), read_data("", ())[0]))
        >>> talk.give("step"), talk.give("back"), talk.give("pc")
        ('pc 1, cycle 1', 'pc 0, cycle 0', '0x0  0o0  0')
    """

    def __init__(self, machine: ArrayMachine, write: Write | None = None) -> None:
        self.machine = machine
        self.breakpoints: dict[str, int] = {}
        self.left = False
        self.fault: ArrayFault | None = None
        self._write = write if write is not None else _write
        self._copies = [machine.copy()]

    def hello(self) -> str:
        """Return what is said first."""
        size = len(self.machine.code.instructions)
        return f"{self.machine.code.source} is loaded: {size} instructions. Type ? for help."

    def give(self, line: str) -> str:
        """Carry out a line, and return what is to be shown.

        Args:
            line: a command with its arguments; nothing is done for an empty one.
        """
        words = line.partition("#")[0].split()
        if not words:
            return ""
        found = _NAMED.get(words[0])
        if found is None:
            raise unknown("command", words[0], _NAMED, "type ? for help")
        least, most = _sizes(found.takes)
        if not least <= len(words) - 1 <= most:
            raise InputError(
                f"{found.names[0]} takes {found.takes or 'nothing'}",
                remedy=f"write {' '.join([found.names[0], found.takes]).strip()}",
            )
        return found.do(self, words[1:])

    # -- going -------------------------------------------------------------------------------------
    def go(self, most: int | None) -> str:
        """Run to a breakpoint, the end, a fatal error, or for so many instructions."""
        if self.machine.ended:
            return f"the program has ended: {self._where()}"
        before = len(self.machine.warnings)
        stops = set(self.breakpoints.values())
        left, reason = most, ""
        while not reason:
            chunk = _EVERY - self.machine.cycle % _EVERY
            chunk = chunk if left is None else min(chunk, left)
            start = self.machine.cycle
            try:
                self.machine.run(stops, chunk)
            except ArrayFault as fault:  # what was half done is taken back
                self._return_to(self.machine.cycle)
                self.fault = fault
                reason = f"fatal: {fault}"
                break
            except KeyboardInterrupt:
                self._return_to(self.machine.cycle)
                reason = f"interrupted: {self._where()}"
                break
            left = None if left is None else left - (self.machine.cycle - start)
            if self.machine.ended:
                reason = f"the end: {self._where()}, {self.machine.marks} steps"
            elif self.machine.pc in stops:
                names = [n for n, address in self.breakpoints.items() if address == self.machine.pc]
                reason = f"breakpoint {', '.join(names)}: {self._where()}"
            elif left == 0:
                reason = self._where()
            elif self.machine.cycle % _EVERY == 0:
                self._copies.append(self.machine.copy())
        return "\n".join([*list(self.machine.warnings)[before:], reason])

    def back(self, count: int) -> str:
        """Take instructions back."""
        wanted = self.machine.cycle - count
        if wanted < 0:
            raise InputError(
                f"only {self.machine.cycle} instructions were executed", remedy="take back fewer"
            )
        self.fault = None
        self._return_to(wanted)
        return self._where()

    def _return_to(self, cycle: int) -> None:
        """Bring the machine to a cycle that it has gone through."""
        while self._copies[-1].cycle > cycle:
            self._copies.pop()
        self.machine = self._copies[-1].copy()
        self.machine.run((), cycle - self.machine.cycle)

    def _where(self) -> str:
        return f"pc {self.machine.pc}, cycle {self.machine.cycle}"

    def dump(self, path: str) -> str:
        """Write everything to a file."""
        self._write(Path(path), dump_text(self.machine))
        return f"wrote {path}"


def _write(path: Path, text: str) -> None:
    try:
        path.write_text(text, encoding="utf-8")
    except OSError as error:
        raise InputError(f"the file cannot be written: {error.strerror}", file=path) from None


def _sizes(takes: str) -> tuple[int, int]:
    """Return how many arguments are needed, and how many are possible."""
    words = takes.split()
    return sum(not word.startswith("[") for word in words), len(words)


def _whole(text: str, least: int, most: int, what: str) -> int:
    found = integer(text)
    if found is None or not least <= found <= most:
        raise InputError(f"{what} is {text[:20]!r}", remedy=f"give a number from {least} to {most}")
    return found


def _span(words: list[str], most: int, what: str) -> range:
    if most < 0:
        raise InputError(f"there is no {what}", remedy="load another program")
    first = _whole(words[0], 0, most, what)
    last = _whole(words[1], first, most, what) if len(words) > 1 else first
    return range(first, last + 1)


def _flag(words: list[str]) -> tuple[list[str], bool]:
    return [w for w in words if w != "-f"], "-f" in words


def _three(value: int) -> str:
    return f"{value:#x}  {value:#o}  {value}"


def _help(talk: Debugger, words: list[str]) -> str:
    if words:
        found = _NAMED.get(words[0])
        if found is None:
            raise InputError(f"there is no command {words[0][:40]!r}", remedy="type ? for the list")
        rows = [found]
    else:
        rows = list(DEBUGGER_COMMANDS)
    heads = [f"{' or '.join(row.names)} {row.takes}".strip() for row in rows]
    width = max(map(len, heads))
    return "\n".join(f"{h:{width}}  {row.meaning}" for h, row in zip(heads, rows, strict=True))


def _step(talk: Debugger, words: list[str]) -> str:
    return talk.go(_whole(words[0], 1, 10**8, "the count") if words else 1)


def _element(talk: Debugger, words: list[str]) -> str:
    places, raw = _flag(words)
    if len(places) != 2:
        raise InputError("processor takes a row and a column", remedy="write processor ROW COLUMN")
    row, column = (
        _whole(w, 1, SIDE, n) for w, n in zip(places, ("the row", "the column"), strict=True)
    )
    return element_text(talk.machine, row, column, raw=raw)


def _data(talk: Debugger, words: list[str]) -> str:
    places, raw = _flag(words)
    if not 1 <= len(places) <= 2:
        raise InputError("data takes one row, or the first and the last", remedy="write data I J")
    span = _span(places, len(talk.machine.memory) - 1, "the row")
    return data_text(talk.machine, span, raw=raw)


def _instructions(talk: Debugger, words: list[str]) -> str:
    span = _span(words, len(talk.machine.code.instructions) - 1, "instruction")
    return listing(talk.machine.code, span)


def _mask(talk: Debugger, words: list[str]) -> str:
    masks = talk.machine.code.masks
    if words[0] not in masks:
        raise InputError(
            f"there is no mask {words[0][:40]!r}", remedy=f"there are {', '.join(sorted(masks))}"
        )
    return masks[words[0]].picture()


def _signals(talk: Debugger, words: list[str]) -> str:
    try:
        code = int(words[0], 16)
    except ValueError:
        code = -1
    if not 0 <= code <= 0xFF:
        raise InputError(
            f"{words[0][:20]!r} is not a system field", remedy="give up to two hexadecimal digits"
        )
    return signal_text(code)


def _break(talk: Debugger, words: list[str]) -> str:
    if not words:
        listed = [f"{name} at {address}" for name, address in talk.breakpoints.items()]
        return "\n".join(listed) or "there are no breakpoints"
    label = _label(talk, words[0])
    if label in talk.breakpoints:
        raise InputError(f"there is a breakpoint at {label!r} already", remedy="one is enough")
    if len(talk.breakpoints) >= MOST_BREAKPOINTS:
        raise InputError(
            f"{MOST_BREAKPOINTS} breakpoints are set already", remedy="take one off with unbreak"
        )
    talk.breakpoints[label] = talk.machine.code.labels[label]
    return f"breakpoint {label} at {talk.breakpoints[label]}"


def _unbreak(talk: Debugger, words: list[str]) -> str:
    label = _label(talk, words[0])
    if talk.breakpoints.pop(label, None) is None:
        raise InputError(f"there is no breakpoint at {label!r}", remedy="type break for the list")
    return f"no breakpoint {label} any more"


def _label(talk: Debugger, name: str) -> str:
    labels = talk.machine.code.labels
    if name not in labels:
        raise unknown("label", name, labels)
    return name


def _leave(talk: Debugger, words: list[str]) -> str:
    talk.left = True
    return ""


DEBUGGER_COMMANDS: tuple[DebuggerCommand, ...] = (
    DebuggerCommand(("?", "help"), "[command]", "explain all commands, or one", _help),
    DebuggerCommand(
        ("run", "cont"),
        "",
        "run to a breakpoint, a fatal error or the end",
        lambda t, w: t.go(None),
    ),
    DebuggerCommand(("step",), "[j]", "execute the next instruction, or j of them", _step),
    DebuggerCommand(
        ("back",),
        "[j]",
        "take the last instruction back, or j of them",
        lambda t, w: t.back(_whole(w[0], 1, 10**8, "the count") if w else 1),
    ),
    DebuggerCommand(
        ("pc",),
        "",
        "show the program counter: hex, octal, decimal",
        lambda t, w: _three(t.machine.pc),
    ),
    DebuggerCommand(
        ("readaddr",),
        "",
        "show the next address to read",
        lambda t, w: str(t.machine.counters["read"]),
    ),
    DebuggerCommand(
        ("writeaddr",),
        "",
        "show the next address to write",
        lambda t, w: str(t.machine.counters["write"]),
    ),
    DebuggerCommand(
        ("pfifo",), "", "show the program FIFO", lambda t, w: fifo_text(t.machine, "program")
    ),
    DebuggerCommand(
        ("wfifo",), "", "show the write FIFO", lambda t, w: fifo_text(t.machine, "write")
    ),
    DebuggerCommand(
        ("rfifo",), "", "show the read FIFO", lambda t, w: fifo_text(t.machine, "read")
    ),
    DebuggerCommand(
        ("processor", "proc"), "row column [-f]", "show a processing element; -f in hex", _element
    ),
    DebuggerCommand(
        ("proglen",),
        "",
        "show the length of the program: hex, octal, decimal",
        lambda t, w: _three(len(t.machine.code.instructions)),
    ),
    DebuggerCommand(("data",), "i [j] [-f]", "show rows i to j of data memory; -f in hex", _data),
    DebuggerCommand(("instr",), "i [j]", "show instructions i to j", _instructions),
    DebuggerCommand(("mask",), "label", "draw a mask, with an x for each enabled element", _mask),
    DebuggerCommand(("sysfld",), "code", "explain a system field, in hex", _signals),
    DebuggerCommand(
        ("dump",),
        "[file]",
        "write everything to core.dump, or to a file",
        lambda t, w: t.dump(w[0] if w else DUMP),
    ),
    DebuggerCommand(("break",), "[label]", "stop at a label, or list where it stops", _break),
    DebuggerCommand(("unbreak",), "label", "do not stop at a label any more", _unbreak),
    DebuggerCommand(("exit", "quit"), "", "leave", _leave),
)
"""Every command, in the order of the help."""

_NAMED = {name: row for row in DEBUGGER_COMMANDS for name in row.names}


def scripted(talk: Debugger, text: str, say: Callable[[str], None], *, file: str) -> None:
    """Give the lines of a script; the first that cannot be done ends it, with its place.

    Example:
        >>> from linkwright.heritage.systolic import ArrayMachine, assemble, read_data
        >>> talk = Debugger(ArrayMachine(assemble("NOP"), read_data("", ())[0]))
        >>> scripted(talk, "pc\\nrun", print, file="a.sim")
        sim> pc
        0x0  0o0  0
        sim> run
        the end: pc 1, cycle 1, 0 steps
    """
    for number, line in enumerate(text.splitlines(), 1):
        if not line.partition("#")[0].strip():
            continue
        say(PROMPT + line.strip())
        try:
            shown = talk.give(line)
        except Error as error:
            raise InputError(error.what, file=file, line=number, remedy=error.remedy) from None
        if shown:
            say(shown)
        if talk.left:
            return
