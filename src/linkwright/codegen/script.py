"""The fixed part of a stand-alone simulation program in Python: it needs NumPy and nothing else.

The text of this module is put into every program that is written for Python, after that of
`linkwright.simulation.loop`; together they do what `runtime.c` does for C.
"""

from __future__ import annotations

import math
import sys
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from linkwright.simulation.loop import (
    ENDLESS,
    GUARDED,
    MORE,
    NOT_FINITE,
    DetectedCrossing,
    DueTick,
    Functions,
    RunMemory,
    seconds,
)

Array = NDArray[np.float64]
MAX_FILES = 20
FAILED, WRONG = 1, 2


class Stop(Exception):
    """Ends the program with a message and an exit code."""

    def __init__(self, code: int, message: str) -> None:
        super().__init__(message)
        self.code = code


@dataclass(frozen=True)
class Item:
    """A value that users give: inside, it is shown*factor."""

    name: str
    unit: str
    about: str
    shown: float
    factor: float


@dataclass(frozen=True)
class Channel:
    """A channel of results: inside, it is shown*factor."""

    short: str
    long: str
    unit: str
    general: str
    body: str
    factor: float


@dataclass(frozen=True)
class Model:
    """What is simulated: tables, and functions of lists of numbers."""

    name: str
    about: str
    origin: str
    step: float
    stop: float
    every: float
    parameters: Sequence[Item]
    inputs: Sequence[Item]
    coordinates: Sequence[Item]
    speeds: Sequence[Item]
    states: Sequence[Item]
    memory: Sequence[Item]
    channels: Sequence[Channel]
    tick_seconds: float
    ticks: Sequence[DueTick]
    crossings: Sequence[DetectedCrossing]
    events: Sequence[str]
    relations: int
    free: int
    computed: Sequence[int]
    functions: Functions
    steps: Mapping[str, tuple[int, Callable[..., tuple[list[float], ...]]]]
    guarding: int
    limit: float
    longest: float
    depth: float
    ranges: Sequence[tuple[int, float, float]]


class Simulation:
    """One run: its settings, its values as users see them, and the state."""

    def __init__(self, model: Model) -> None:
        self.model = model
        self.step, self.stop, self.every, self.seed = model.step, model.stop, model.every, 0.0
        self.method, self.title, self.input_file = next(iter(model.steps)), model.about, ""
        states = (model.coordinates, model.speeds, model.states, model.memory)
        self.groups = (model.parameters, model.inputs, *states)
        self.shown = [[item.shown for item in group] for group in self.groups]
        self.given: set[tuple[int, int]] = set()

    @property
    def tick_seconds(self) -> float:
        """The base tick, s: where nothing is sampled, that is a step."""
        return self.model.tick_seconds if self.model.ticks else self.step

    # -- parameter files ---------------------------------------------------------------------------
    def read(self, name: str) -> None:
        """Read a parameter file, and those that it names."""
        self.input_file = name
        queue = [Path(name)]
        for k, path in enumerate(queue):
            if not path.is_file():
                if k == 0:
                    raise Stop(WRONG, f"cannot read {path}")
                print(f"warning: cannot read {path}, which is skipped", file=sys.stderr)
                continue
            self._read_file(path, queue)

    def _read_file(self, path: Path, queue: list[Path]) -> None:
        lines = path.read_text(encoding="utf-8", errors="replace").splitlines()
        if not lines or lines[0].strip() != "PARSFILE":
            raise Stop(WRONG, f"{path}:1: the file does not begin with PARSFILE")
        for number, line in enumerate(lines[1:], 2):
            words = line.split(None, 1)
            if not words or words[0].startswith("*"):
                continue
            keyword, value = words[0], words[1].strip() if len(words) > 1 else ""
            if keyword == "END":
                break
            if keyword == "TITLE":
                self.title = value
            elif keyword == "PARSFILE":
                if len(queue) == MAX_FILES:
                    raise Stop(WRONG, f"{path}:{number}: more than 20 parameter files, at {value}")
                queue.append(path.parent / value)
            else:
                self._set(f"{path}:{number}", keyword, value.split()[0] if value else "")

    def _set(self, where: str, keyword: str, text: str) -> None:
        if keyword == "METHOD":
            if text not in self.model.steps:
                raise Stop(WRONG, f"{where}: METHOD is {listed(self.model.steps)}, not {text}")
            self.method = text
            return
        place = self._place(keyword)
        if place is None and keyword not in ("STEP", "STOPT", "IPRINT", "SEED"):
            print(f"warning: {where}: unknown name {keyword}", file=sys.stderr)
            return
        try:
            value = float(text)
        except ValueError:
            value = math.nan
        if not math.isfinite(value):
            raise Stop(WRONG, f"{where}: no number for {keyword}")
        if place is not None:
            self.shown[place[0]][place[1]] = value
            self.given.add(place)
        elif keyword == "STEP":
            self.step = value
        elif keyword == "STOPT":
            self.stop = value
        elif keyword == "SEED":
            self.seed = value
        else:
            self.every = value

    def _place(self, keyword: str) -> tuple[int, int] | None:
        """Return the group and the place in it that a keyword names."""
        for group, items in enumerate(self.groups):
            for k, item in enumerate(items):
                if item.name == keyword:
                    return group, k
        for group, letter in ((2, "Q"), (3, "U")):
            digits = keyword[2:-1]
            if keyword == f"{letter}({digits})" and digits.isdigit():
                k = int(digits) - 1
                if 0 <= k < len(self.groups[group]):
                    return group, k
        return None

    def check(self) -> None:
        """Reject settings with which nothing can be done."""
        if not self.step > 0:
            raise Stop(WRONG, "STEP must be above zero")
        if not self.stop >= 0:
            raise Stop(WRONG, "STOPT must not be below zero")
        if not self.every >= 1 or self.every != math.floor(self.every) or self.every > 1e9:
            raise Stop(WRONG, "IPRINT must be a whole number of steps, 1 or more")
        if self.stop / self.step > 2e9:
            raise Stop(WRONG, "STOPT/STEP is more than 2e9 steps")
        if not 0 <= self.seed <= 9e15 or self.seed != math.floor(self.seed):
            raise Stop(WRONG, "SEED must be a whole number, 0 or more")

    def inward(self, group: int) -> Array:
        """Return the values of a group as the equations take them."""
        pairs = zip(self.shown[group], self.groups[group], strict=True)
        return np.array([shown * item.factor for shown, item in pairs], dtype=float)

    def outward(self, group: int, inside: Array) -> None:
        """Show values that have changed; what is used is what the shown value gives when read."""
        shown = self.shown[group]
        for k, item in enumerate(self.groups[group]):
            if inside[k] != shown[k] * item.factor:
                shown[k] = float(inside[k]) / item.factor
                inside[k] = shown[k] * item.factor

    def echo(self, name: str) -> None:
        """Write all values as they are used: a file that is itself a parameter file."""
        lines = [
            "PARSFILE",
            f"* Echo file created by the simulation program of: {self.model.about}",
            f"* {self.model.origin}",
            f"* Input file: {self.input_file or 'none'}",
            f"* Run was made {_date()}",
            "",
            f"TITLE {self.title}",
            "",
            "* RUN",
            "",
            _line("STEP", number(self.step), "time step of the integration (s)"),
            _line("STOPT", number(self.stop), "time at which the run ends (s)"),
            _line(
                "IPRINT", number(self.every), f"number of {self._counted} between outputs (counts)"
            ),
            _line("METHOD", self.method, listed(self.model.steps)),
        ]
        if any(tick.streams for tick in self.model.ticks):
            lines.append(_line("SEED", number(self.seed), "seed of noise (-)"))
        headings = (
            "PARAMETER VALUES",
            "INPUTS",
            "INITIAL CONDITIONS: COORDINATES",
            "INITIAL CONDITIONS: SPEEDS",
            "INITIAL CONDITIONS: STATES",
            "INITIAL CONDITIONS: DISCRETE STATES",
        )
        for heading, items, shown in zip(headings, self.groups, self.shown, strict=True):
            if items:
                lines += ["", f"* {heading}", ""]
            for item, value in zip(items, shown, strict=True):
                lines.append(_line(item.name, number(value), f"{item.about} ({item.unit})"))
        _publish(Path(name), ("\n".join([*lines, "", "END"]) + "\n").encode())

    @property
    def _counted(self) -> str:
        return "base ticks" if self.model.ticks else "time steps"

    # -- closed loops ------------------------------------------------------------------------------
    def assemble(self, q: Array) -> None:
        """Close the loops at the start: computed coordinates move; all do if that does not do."""
        model, start = self.model, q.copy()
        everything = range(model.free)
        if self.close(0.0, q, (), 0) <= 1e-13:
            return
        if self.close(0.0, q, model.computed, 60) <= 1e-10:
            return
        q[:] = start
        if self.close(0.0, q, everything, 60) > 1e-10:
            raise Stop(FAILED, "the loops do not close from the given initial coordinates")
        message = "warning: the given coordinates did not close the loops; all were moved"
        print(message, file=sys.stderr)

    def close(self, t: float, q: Array, columns: Iterable[int], iterations: int) -> float:
        """Move coordinates onto the relations of position by Newton's method; return the rest."""
        places = list(columns)
        g, jacobian = self._relations(t, q)
        for _ in range(iterations):
            if _error(g, jacobian) <= 1e-15:
                break
            step = shortest(jacobian[:, places], -g)
            scale, before = 1.0, float(np.linalg.norm(g))
            while True:
                trial = q.copy()
                trial[places] += scale * step
                new_g, new_jacobian = self._relations(t, trial)
                scale *= 0.5
                if float(np.linalg.norm(new_g)) < before or scale <= 1e-3:
                    break
            if not float(np.linalg.norm(new_g)) < before:
                break
            q[:] = trial
            g, jacobian = new_g, new_jacobian
        return _error(g, jacobian)

    def _relations(self, t: float, q: Array) -> tuple[Array, Array]:
        given = (q.tolist(), self.p.tolist(), self.w.tolist(), [t])
        g, jacobian = self.model.functions["closure"](*given)
        shape = (self.model.relations, self.model.free)
        return np.array(g, dtype=float), np.array(jacobian, dtype=float).reshape(shape)

    # -- the run -----------------------------------------------------------------------------------
    def start(self) -> RunMemory:
        """Return the run at its start, with closed loops."""
        model = self.model
        self.check()
        self.p, self.w, q, u, states, memory = (self.inward(k) for k in range(6))
        driver = RunMemory(
            {**model.functions, "step": model.steps[self.method][1]},
            model.ticks,
            model.crossings,
            self.tick_seconds,
        )
        driver.w = self.w.tolist()
        if "initialize" in model.functions:
            x = [*q.tolist(), *u.tolist(), *states.tolist()]
            given = (x, memory.tolist(), self.p.tolist(), driver.w, [0.0])
            new, remembered = model.functions["initialize"](*given)
            for k in range(len(states)):
                if (4, k) not in self.given:
                    states[k] = new[len(q) + len(u) + k]
            for k in range(len(memory)):
                if (5, k) not in self.given:
                    memory[k] = remembered[k]
        driver.prepare(self.p.tolist())
        if model.relations:
            self.assemble(q)
        driver.x = [*q.tolist(), *u.tolist(), *states.tolist()]
        for at, lower, upper in model.ranges:
            if not lower - model.depth <= driver.x[at] <= upper + model.depth:
                raise Stop(
                    WRONG,
                    "start within the range of the joint, not beyond its end stop: "
                    + model.coordinates[at].name,
                )
        driver.d = memory.tolist()
        self.remember(driver)
        self.show(driver)
        tick = self.tick_seconds
        near = math.floor(self.stop / tick + 0.5)
        whole = abs(near * tick - self.stop) <= 1e-9 * self.stop
        driver.until = near if whole else math.floor(self.stop / tick) + 1
        driver.end = math.inf if whole else self.stop
        driver.step_size = self.step
        if self.step > model.longest:
            driver.step_size /= math.ceil(self.step / model.longest)
        driver.every, driver.seed = int(self.every), int(self.seed)
        return driver

    def show(self, driver: RunMemory) -> None:
        """Show the state that a run has come to, and go on from what is shown."""
        x = np.array(driver.x, dtype=float)
        kept = len(self.model.memory)
        memory, guards = np.array(driver.d[:kept], dtype=float), driver.d[kept:]
        first, second = len(self.model.coordinates), len(self.model.speeds)
        parts = (x[:first], x[first : first + second], x[first + second :], memory)
        for group, part in zip(range(2, 6), parts, strict=True):
            self.outward(group, part)
        driver.x, driver.d = x.tolist(), [*memory.tolist(), *guards]

    def remember(self, driver: RunMemory) -> None:
        """Let guards remember the start; their limit is twice what they bound there, or more."""
        guards = [i for i, crossing in enumerate(self.model.crossings) if crossing.guard]
        if guards:
            kept = len(driver.d)
            driver.d += [0.0] * self.model.guarding
            place = (driver.x, driver.d, driver.w, 0.0)
            driver.d[kept + 1 :] = driver.call("accepted", *place)[1][kept + 1 :]
            size = math.sqrt(-driver.call("events", *place)[0][guards[0]])
            if not size < 1e3:
                what = "the start is a singular configuration, or too near to one"
                raise Stop(FAILED, what)
            driver.d[kept] = max(self.model.limit, 2.0 * size)

    def run(self, driver: RunMemory, output: str) -> None:
        """Integrate, and write every so many ticks."""
        model = self.model
        started = time.process_time()
        driver.budget = max(driver.until // 10, 1)
        status = driver.go()
        while status == MORE:
            print(f"t = {driver.time:g} s", flush=True)
            status = driver.go()
        t = driver.time
        if status == NOT_FINITE:
            raise Stop(FAILED, f"the motion has no finite values at t = {t:g} s")
        if status == ENDLESS:
            what = "an event happens without end: its action lets it happen again and again"
            raise Stop(FAILED, f"{what}, and its value does not leave zero at t = {t:g} s")
        if status == GUARDED:
            raise Stop(
                FAILED,
                "the constraints become singular, and this program cannot pass there "
                f"(linkwright simulate can): it stops at t = {t:g} s",
            )
        for event, ticks, s in driver.log:
            print(f"{model.events[event]} at t = {ticks * driver.tick_seconds + s:.10g} s")
        factors = np.array([c.factor for c in model.channels])
        count = len(driver.rows) - (seconds(driver, driver.sample - driver.every) == driver.end)
        rows = np.array(driver.rows[:count]).reshape(count, len(factors)) / factors
        _publish(Path(f"{output}.bin"), rows.astype("<f4").tobytes())
        self._header(output, len(rows), t)
        spent = time.process_time() - started
        evaluations = driver.steps * model.steps[self.method][0]
        print(
            f"end at t = {t:g} s after {driver.steps} steps and {evaluations} evaluations "
            "of the derivative"
        )
        print(f"{spent:.3g} CPU seconds, {spent / t if t else 0.0:.3g} per simulated second")
        print(f"wrote {output} and {output}.bin")

    def _header(self, output: str, samples: int, end: float) -> None:
        step = self.tick_seconds * self.every
        left = end > (samples - 1) * step * (1 + 1e-9)
        told = [f"HISTORY Left out, as between two samples: the end, t = {end:.9g} s"]
        channels = self.model.channels
        count = len(channels)
        numbers = "".join(f"{x:6d}," for x in (count, samples, samples, 4 * count, 1))
        source = f"Input parameter file was {self.input_file}"
        lines = [
            "ERDFILEV2.00",
            f"{numbers}{step:13.6G}",
            f"TITLE   {self.title}",
            "SHORTNAM" + "".join(f"{c.short:8.8}" for c in channels),
            "LONGNAME" + "".join(f"{c.long:32.32}" for c in channels),
            "UNITSNAM" + "".join(f"{c.unit:8.8}" for c in channels),
            "GENNAME " + "".join(f"{c.general:32.32}" for c in channels),
            "RIGIBODY" + "".join(f"{c.body:32.32}" for c in channels),
            "XLABEL  Time",
            "XUNITS  sec",
            f"HISTORY {source if self.input_file else 'No input file (used defaults)'}",
            *(told if left else []),
            f"HISTORY Data generated with {self.model.about} at {_date()}",
            "END",
            "",
        ]
        _publish(Path(output), "\n".join(lines).encode("ascii", "replace"))


def shortest(a: Array, b: Array) -> Array:
    """Return the shortest x with a x = b; singular values below 1e-6 of the largest count as 0."""
    if not a.size:
        return np.zeros(a.shape[1])
    u, s, vt = np.linalg.svd(a, full_matrices=False)
    keep = s > 1e-6 * s[0]
    x: Array = vt[keep].T @ ((u[:, keep].T @ b) / s[keep])
    return x


def _error(g: Array, jacobian: Array) -> float:
    """Return the largest residual relative to the largest entry of the Jacobian."""
    size = max(float(np.abs(jacobian).max(initial=0.0)), 1e-300)
    return float(np.abs(g).max(initial=0.0)) / size


def listed(words: Iterable[str]) -> str:
    """Return words as one chooses among them.

    >>> listed(["a", "b", "c"])
    'a, b or c'
    """
    *others, last = words
    return f"{', '.join(others)} or {last}" if others else last


def number(x: float) -> str:
    """Return a number with the fewest digits, 6 or more, that read back to the same bits.

    >>> number(0.1), number(1 / 3)
    ('0.1', '0.3333333333333333')
    """
    return next((t for t in (f"{x:.{n}g}" for n in range(6, 17)) if float(t) == x), f"{x:.17g}")


def _line(name: str, value: str, about: str) -> str:
    return f"{name:<15} {value:<24} {about}"


def _date() -> str:
    return time.strftime("%Y-%m-%d %H:%M:%S")


def _publish(path: Path, content: bytes) -> None:
    """Write a file under another name, and give it its own when it is complete.

    A link is followed, a pipe or a device written to, and a file that is replaced keeps its mode.
    """
    temporary = path.with_name(path.name + ".tmp")
    try:
        if path.is_symlink() or (path.exists() and not path.is_file()):
            path.write_bytes(content)
            return
        temporary.write_bytes(content)
        if path.exists():
            temporary.chmod(path.stat().st_mode & 0o7777)
        temporary.replace(path)
    except OSError:
        raise Stop(FAILED, f"cannot write {path}") from None


def usage(model: Model) -> str:
    """Return what the command line takes."""
    return f"""{model.about}
{model.origin}

usage: {model.name}.py [PARSFILE] [-e ECHO] [-f FINAL] [-o OUTPUT] [--help]

  PARSFILE   parameters and initial conditions; defaults are used without one
  -e ECHO    write all values as they are used, as a parameter file
  -f FINAL   write the values at the end, as a parameter file
  -o OUTPUT  name of the results ({model.name}.erd); their data go to OUTPUT.bin"""


def main(model: Model, words: Sequence[str]) -> int:
    """Carry out a command line, and return the exit code."""
    try:
        _main(model, list(words))
    except Stop as stop:
        print(f"error: {stop}", file=sys.stderr)
        return stop.code
    return 0


def _main(model: Model, words: list[str]) -> None:
    files = {"-e": "", "-f": "", "-o": f"{model.name}.erd"}
    source = ""
    while words:
        word = words.pop(0)
        if word in ("-h", "--help"):
            print(usage(model))
            return
        if word in files and words:
            files[word] = words.pop(0)
        elif word.startswith("-") or source:
            raise Stop(WRONG, f"see --help; cannot use {word}")
        else:
            source = word
    simulation = Simulation(model)
    if source:
        simulation.read(source)
    driver = simulation.start()
    if files["-e"]:
        simulation.echo(files["-e"])
    simulation.run(driver, files["-o"])
    if files["-f"]:
        simulation.show(driver)
        simulation.echo(files["-f"])
