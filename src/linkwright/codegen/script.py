"""The fixed part of a stand-alone simulation program in Python: it needs NumPy and nothing else.

The text of this module is put into every program that is written for Python; it does what
`runtime.c` does for C, in the same order of operations.
"""

from __future__ import annotations

import math
import sys
import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

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
    channels: Sequence[Channel]
    relations: int
    free: int
    computed: Sequence[int]
    corrected: Sequence[int]
    prepare: Callable[[Array], Array]
    derivative: Callable[..., tuple[Array, Array]]
    outputs: Callable[..., Array]
    closure: Callable[..., tuple[Array, Array]]


class Simulation:
    """One run: its settings, its values as users see them, and the state."""

    def __init__(self, model: Model) -> None:
        self.model = model
        self.step, self.stop, self.every = model.step, model.stop, model.every
        self.method, self.title, self.input_file = "midpoint", model.about, ""
        self.groups = (model.parameters, model.inputs, model.coordinates, model.speeds)
        self.shown = [[item.shown for item in group] for group in self.groups]
        self.evaluations = 0
        self.work: Array = np.zeros(0)

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
            if text not in ("midpoint", "rk4"):
                raise Stop(WRONG, f"{where}: METHOD is midpoint or rk4, not {text}")
            self.method = text
            return
        place = self._place(keyword)
        if place is None and keyword not in ("STEP", "STOPT", "IPRINT"):
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
        elif keyword == "STEP":
            self.step = value
        elif keyword == "STOPT":
            self.stop = value
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
        """Refuse settings with which nothing can be done."""
        if not self.step > 0:
            raise Stop(WRONG, "STEP must be above zero")
        if not self.stop >= 0:
            raise Stop(WRONG, "STOPT must not be below zero")
        if not self.every >= 1 or self.every != math.floor(self.every) or self.every > 1e9:
            raise Stop(WRONG, "IPRINT must be a whole number of steps, 1 or more")
        if self.stop / self.step > 2e9:
            raise Stop(WRONG, "STOPT/STEP is more than 2e9 steps")

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
            _line("IPRINT", number(self.every), "number of time steps between outputs (counts)"),
            _line("METHOD", self.method, "midpoint or rk4"),
        ]
        headings = (
            "PARAMETER VALUES",
            "INPUTS",
            "INITIAL CONDITIONS: COORDINATES",
            "INITIAL CONDITIONS: SPEEDS",
        )
        for heading, items, shown in zip(headings, self.groups, self.shown, strict=True):
            if items:
                lines += ["", f"* {heading}", ""]
            for item, value in zip(items, shown, strict=True):
                lines.append(_line(item.name, number(value), f"{item.about} ({item.unit})"))
        _publish(Path(name), ("\n".join([*lines, "", "END"]) + "\n").encode())

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
        g, jacobian = self.model.closure(t, q, self.p, self.w)
        return g, jacobian.reshape(self.model.relations, self.model.free)

    # -- integration -------------------------------------------------------------------------------
    def rates(self, t: float, state: Array) -> Array:
        """Return the rates of coordinates and speeds."""
        self.evaluations += 1
        n = len(self.model.coordinates)
        rate, self.work = self.model.derivative(
            t, state[:n], state[n:], self.p, self.w, self.constants
        )
        return rate

    def advance(self, t: float, h: float, state: Array, rate: Array) -> Array:
        """Return the state after one step; the rate at its start is given."""
        if self.method == "midpoint":
            return state + h * self.rates(t + 0.5 * h, state + 0.5 * h * rate)
        k2 = self.rates(t + 0.5 * h, state + 0.5 * h * rate)
        k3 = self.rates(t + 0.5 * h, state + 0.5 * h * k2)
        k4 = self.rates(t + h, state + h * k3)
        return state + h / 6.0 * (rate + 2.0 * (k2 + k3) + k4)

    def record(self, t: float, state: Array) -> Array:
        """Return the channels in the units of users."""
        n = len(self.model.coordinates)
        y = self.model.outputs(t, state[:n], state[n:], self.p, self.w, self.constants, self.work)
        shown: Array = y / np.array([c.factor for c in self.model.channels])
        return shown

    def start(self) -> Array:
        """Return the state at the start, with closed loops."""
        self.check()
        self.p, self.w = self.inward(0), self.inward(1)
        self.constants = self.model.prepare(self.p)
        q, u = self.inward(2), self.inward(3)
        if self.model.relations:
            self.assemble(q)
        self.outward(2, q)
        self.outward(3, u)
        return np.concatenate([q, u])

    def run(self, state: Array, output: str) -> Array:
        """Integrate, and write every so many steps; return the state at the end."""
        model, n = self.model, len(self.model.coordinates)
        every, steps = int(self.every), math.ceil(self.stop / self.step - 1e-9)
        started = time.process_time()
        t, rate = 0.0, self.rates(0.0, state)
        rows = [self.record(t, state)]
        for k in range(1, steps + 1):
            state = self.advance(t, self.step, state, rate)
            t = k * self.step
            finite = bool(np.all(np.isfinite(state)))
            left = 0.0
            if model.relations and finite:
                left = self.close(t, state[:n], model.corrected, 4)
                finite = bool(np.all(np.isfinite(state)))
            if not finite:
                raise Stop(FAILED, f"the motion has no finite values at t = {t:g} s")
            if left > 1e-6:
                message = f"the loops do not stay closed at t = {t:g} s; take shorter steps"
                raise Stop(FAILED, message)
            rate = self.rates(t, state)
            if k % every == 0:
                rows.append(self.record(t, state))
            if k * 10 // steps != (k - 1) * 10 // steps:
                print(f"t = {t:g} s", flush=True)
        _publish(Path(f"{output}.bin"), np.array(rows).astype("<f4").tobytes())
        self._header(output, len(rows))
        spent = time.process_time() - started
        print(
            f"end at t = {t:g} s after {steps} steps and {self.evaluations} evaluations "
            "of the derivative"
        )
        print(f"{spent:.3g} CPU seconds, {spent / t if t else 0.0:.3g} per simulated second")
        print(f"wrote {output} and {output}.bin")
        return state

    def _header(self, output: str, samples: int) -> None:
        channels = self.model.channels
        count = len(channels)
        numbers = "".join(f"{x:6d}," for x in (count, samples, samples, 4 * count, 1))
        source = f"Input parameter file was {self.input_file}"
        lines = [
            "ERDFILEV2.00",
            f"{numbers}{self.step * self.every:13.6G}",
            f"TITLE   {self.title}",
            "SHORTNAM" + "".join(f"{c.short:8.8}" for c in channels),
            "LONGNAME" + "".join(f"{c.long:32.32}" for c in channels),
            "UNITSNAM" + "".join(f"{c.unit:8.8}" for c in channels),
            "GENNAME " + "".join(f"{c.general:32.32}" for c in channels),
            "RIGIBODY" + "".join(f"{c.body:32.32}" for c in channels),
            "XLABEL  Time",
            "XUNITS  sec",
            f"HISTORY {source if self.input_file else 'No input file (used defaults)'}",
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
    state = simulation.start()
    if files["-e"]:
        simulation.echo(files["-e"])
    state = simulation.run(state, files["-o"])
    if files["-f"]:
        n = len(model.coordinates)
        simulation.outward(2, state[:n])
        simulation.outward(3, state[n:])
        simulation.echo(files["-f"])
