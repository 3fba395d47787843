"""A cell on the network, as the panels of a studio see it: its states, and our hands on its arms.

States come as the network brings them, and about a hundred a second are kept for the scope. What
must stop in time is stopped by the cell itself: `linkwright.studio.jog` lets its signs of life stop
where nobody holds the key any more.
"""

from __future__ import annotations

import math
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from linkwright.base.errors import Error, InputError
from linkwright.control.axis import AxisError
from linkwright.pages.scope import Graph, ScopeLayout
from linkwright.recording import Channel
from linkwright.server.client import ArmState, RemoteCell
from linkwright.server.face import ArmFace, RefusedError
from linkwright.server.hand import ArmHand
from linkwright.server.messages import described
from linkwright.server.verbs import VERBS
from linkwright.studio.jog import Jog
from linkwright.studio.link import StudioLink
from linkwright.windows.records import Frame

Array = NDArray[np.float64]
RATE = 100.0
"""States a second that are asked for, and kept."""

SILENCE = 0.4
"""s after which an arm in our hand stops by itself where the cell does not hear from us."""

LOST = 1.5
"""s without a state after which a cell counts as lost."""

NEVER = 1e8  # s: the age of a frame that nobody has seen is more
_PARTS = ("q", "target", "error", "current")
_CAUSES = {
    "none": "",
    "disable": "switched off on request",
    "replaced": "another motion took over",
    "stop": "stopped on request",
    "silence": "whoever commanded it fell silent",
    "frame": "the frame it moves in is too old",
    "reach": "its tool cannot go there within the limits of the joints",
    "limit": "an axis went beyond its limits",
    "current": "an axis drew too much current for too long",
    "following": "an axis did not follow its set-point",
    "value": "a value was not finite",
    "halt": "halted",
    "button": "the emergency button is pressed",
    "device": "the device does not answer",
    "card": "the device lost the server and stopped by itself",
    "linked": "another arm of the cell stopped all",
}
_ERRORS = {
    AxisError.PLO: "below its lower limit",
    AxisError.PHI: "beyond its upper limit",
    AxisError.ILIM: "overcurrent",
    AxisError.RANGE: "a number out of range",
    AxisError.FOLLOW: "following error",
    AxisError.HEAT: "too hot",
}


def cause_words(cause: str) -> str:
    """Return why an arm has stopped, in words; the cell's own word where we know no better.

    >>> cause_words("silence"), cause_words("none"), cause_words("fire")
    ('whoever commanded it fell silent', '', 'fire')
    """
    return _CAUSES.get(cause, cause)


def error_words(code: int, arm: ArmFace) -> str:
    """Return an axis controller's code in words, with its axis.

    >>> arm = ArmFace("slide", ("x",), ("m",), ((0.0, 1.0),), ("slide.1",))
    >>> error_words(0x4000, arm), error_words(0, arm)
    ('slide.1: following error (0x4000)', '')
    """
    for base, words in _ERRORS.items():
        if 0 <= code - base < len(arm.axes):
            return f"{arm.axes[code - base]}: {words} (0x{code:x})"
    return f"code 0x{code:x}" if code else ""


class CellLink(StudioLink):
    """A cell in a studio."""

    mode, rate, side_by_side = "CELL", RATE, True
    stop_words, stop_line = "Stop the cell", "Stop all arms (halt)"

    def __init__(self, cell: RemoteCell) -> None:
        self.cell = cell
        super().__init__(cell.name, channels_of(cell), {"cell": cell.name, "rate": cell.rate})
        self.values = {name: dict(face.parameters) for name, face in cell.arms.items()}
        """Parameters as they were set from here, by arm."""
        self.busy = ""
        """What is being done to an arm just now that takes a while."""
        self.jog = Jog(self)
        self._turn = threading.RLock()
        self._hands: dict[str, ArmHand] = {}
        cell.follow(RATE)
        self.begin()

    @property
    def may_command(self) -> bool:
        """Whether the cell lets us command its arms."""
        return "command" in self.cell.rights

    # -- states ------------------------------------------------------------------------------------
    @property
    def running(self) -> bool:
        """Whether the cell is heard from."""
        return not self.lost

    @property
    def lost(self) -> str:
        """That the cell is not heard from, in words; empty while it is."""
        silent = (time.monotonic_ns() - self.cell.states.arrived) / 1e9
        return f"No state has come from {self.name} for {silent:.0f} s." if silent > LOST else ""

    def coordinates(self, arm: str) -> Array:
        """Return where an arm is."""
        return np.atleast_1d(self.cell.frame.values[f"{arm}.q"])

    def first_layout(self) -> ScopeLayout:
        """Return what the scope shows at first: positions, errors and currents of an arm."""
        arm = next(iter(self.cell.arms.values()))
        parts = ("q", "error", "current")
        graphs = tuple(Graph(tuple(f"{axis}.{p}" for axis in arm.axes)) for p in parts)
        return ScopeLayout((*graphs, Graph(("cell.lateness", "state.age"))))

    def wait(self) -> None:
        """Wait for a state that is not the one that was kept last."""
        self._ending.wait(0.9 / RATE)
        self.cell.states.wait(lambda frame: frame.tick != self._tick, 0.5)

    def sample(self) -> tuple[int, float, Callable[[], Array]]:
        """Return the newest state that has come."""
        frame = self.cell.frame
        return frame.tick, frame.tick / self.cell.rate, lambda: np.array(list(self._row(frame)))

    def _row(self, frame: Frame) -> Iterator[float]:
        values = frame.values
        for name in self.cell.arms:
            q, target, current = (
                np.atleast_1d(values[f"{name}.{part}"]) for part in ("q", "target", "current")
            )
            for row in zip(q, target, q - target, current, strict=True):
                yield from row
        for name in _COUNTED:
            yield float(values[name])
        yield max(0.0, (self.cell.now() - frame.clock) / 1e9)
        for name in ages_of(self.cell):
            age = float(values[name])
            yield age if age < NEVER else math.nan

    def words(self) -> tuple[str, str, str]:
        """Return its time, its rate with the ticks that were missed, and what is lost of it."""
        values = self.cell.frame.values
        unkept = "not recorded any more" if values.get("cell.unkept") else ""
        pace = f"{self.cell.rate:g} Hz, {int(values['cell.missed'])} missed"
        return f"t = {self.latest.time:.1f} s", pace, self.lost or unkept

    # -- what is told ------------------------------------------------------------------------------
    def told(self) -> dict[str, Any]:
        """Return how the cell is, as plain data for a page."""
        frame, cell = self.cell.frame, self.cell
        values = frame.values
        ages = {n.split(".")[1]: float(values[n]) for n in ages_of(cell)}
        return {
            "name": cell.name,
            "at": str(cell.endpoint),
            "rate": cell.rate,
            "lost": self.lost,
            "commands": self.may_command,
            "supervises": "supervise" in cell.rights,
            "busy": self.busy,
            "time": frame.tick / cell.rate,
            "age": max(0.0, (cell.now() - frame.clock) / 1e9),
            "total": int(values["cell.total"]),
            "missed": int(values["cell.missed"]),
            "overrun": int(values["cell.overrun"]),
            "lateness": float(values["cell.lateness"]),
            "frames": {n: age if age < NEVER else None for n, age in ages.items()},
            "arms": [self._arm_told(name, frame) for name in cell.arms],
        }

    def _arm_told(self, name: str, frame: Frame) -> dict[str, Any]:
        arm = self.cell.arm(name)
        state, face = arm.state_of(frame), arm.face
        rows = zip(face.axes, face.joints, face.units, face.limits, strict=True)
        return {
            "name": name,
            "life": state.life,
            "cause": cause_words(state.cause),
            "error": error_words(state.error, face),
            "moving": state.moving,
            "holder": self.holder_words(name, state),
            "ours": self._is_ours(name, state),
            "axes": [
                {
                    "name": axis,
                    "joint": joint,
                    "unit": unit,
                    "low": low,
                    "high": high,
                    "q": float(state.q[k]),
                    "error": float(state.q[k] - state.target[k]),
                    "current": float(state.current[k]),
                }
                for k, (axis, joint, unit, (low, high)) in enumerate(rows)
            ],
        }

    def holder_words(self, arm: str, state: ArmState) -> str:
        """Return who commands an arm, in words."""
        if not state.holder:
            return "free"
        return "this studio" if self._is_ours(arm, state) else f"lease {state.holder}"

    def _is_ours(self, arm: str, state: ArmState) -> bool:
        held = self._hands.get(arm)
        return held is not None and held.number == state.holder

    # -- what is done ------------------------------------------------------------------------------
    def hand(self, arm: str, *, force: bool = False) -> ArmHand:
        """Return our hand on an arm; its lease is taken where we do not have it."""
        with self._turn:
            remote = self.cell.arm(arm)
            if not self.may_command:
                raise RefusedError("rights", f"{self.cell.client} may look at {self.name} only")
            held = self._hands.get(arm)
            if held is not None and remote.state.holder == held.number:
                return held
            self._drop(arm)
            made = remote.command(silence=SILENCE, take=force, alive=partial(self.jog.alive, arm))
            made.take()
            self._hands[arm] = made
            said = described(self.cell.ask("describe"))  # others may have set them before
            self.values[arm] = dict(said.arms[arm].parameters)
            return made

    def _drop(self, arm: str) -> None:
        held = self._hands.pop(arm, None)
        if held is not None:
            with suppress(Error):
                held.give()

    def act(self, arm: str, what: str) -> None:
        """Do one of the things that buttons stand for."""
        acts = (*(name for name, verb in VERBS.items() if verb.leads), "take", "give")
        if what not in acts:
            raise InputError(f"an arm cannot be asked to {what!r}", remedy=f"ask for {acts}")
        self.cell.arm(arm)
        if what == "give":
            with self._turn:
                self._drop(arm)
        elif what == "take":
            self.hand(arm, force=True)
        else:
            getattr(self.hand(arm), what)()

    def set_parameters(self, arm: str, values: dict[str, float]) -> None:
        """Change parameters of an arm while it runs: gains, which are above zero."""
        known = self.values[self.cell.arm(arm).name]
        hand = self.hand(arm)
        for name, value in values.items():
            if name not in known:
                raise InputError(f"{arm} has no parameter {name!r}", remedy=", ".join(known))
            if not (math.isfinite(value) and value > 0):
                raise InputError(f"{name} of {arm} is above zero, not {value:g}")
        known = self.values[arm]
        for name, value in values.items():
            if value != known[name]:
                hand.set(name, value)
                known[name] = value

    def halt(self) -> None:
        """Stop all arms at once, whoever commands them."""
        self.cell.halt()

    def close(self) -> None:
        """Let go of the arms and leave the cell."""
        super().close()
        self.cell.close()


_COUNTED = ("cell.missed", "cell.overrun", "cell.lateness")


def ages_of(cell: RemoteCell) -> list[str]:
    """Return the fields of a cell's state that are ages of frames."""
    names = (one.name for one in cell.description.state.fields)
    return [name for name in names if name.startswith("frame.") and name.endswith(".age")]


def channels_of(cell: RemoteCell) -> list[Channel]:
    """Return the channels that are kept of a cell: of each axis, of the loop, ages."""
    words = {"q": "position", "target": "set-point", "error": "error", "current": "current"}
    made = [
        Channel(f"{axis}.{part}", "A" if part == "current" else unit, f"{joint}, {words[part]}")
        for arm in cell.arms.values()
        for axis, joint, unit in zip(arm.axes, arm.joints, arm.units, strict=True)
        for part in _PARTS
    ]
    made += [
        Channel("cell.missed", "1", "ticks that were missed"),
        Channel("cell.overrun", "1", "ticks that took too long"),
        Channel("cell.lateness", "s", "greatest lateness of a tick so far"),
        Channel("state.age", "s", "age of the newest state here"),
    ]
    return made + [
        Channel(name, "s", f"age of the frame {name.split('.')[1]}") for name in ages_of(cell)
    ]
