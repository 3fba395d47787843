"""What a cell shows to whoever commands it: the network, the page, a test.

The cell behind it runs in native code and is never waited for. A command is looked at here, refused
by name or put before the loop as one change of its inputs; the state comes back as a record.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Protocol

from linkwright.base.errors import Error, nearest
from linkwright.simulation.hardware import LIVES

if TYPE_CHECKING:
    from pathlib import Path

    from linkwright.windows import Frame, Record

__all__ = [
    "CAREFUL",
    "EXCITATIONS",
    "KINDS",
    "LIVES",
    "MOTIONS",
    "POINTS",
    "TOOL_SPEEDS",
    "ArmFace",
    "CellFace",
    "Command",
    "RefusedError",
    "check_command",
]

MOTIONS = ("joints", "pose", "track", "jog", "home", "trajectory")
"""Commands that move an arm: legs of a chain, an online target, points with times."""

KINDS = (
    *("enable", "disable", "clear", "stop"),  # of the arm's life; `stop` brakes along the path
    *MOTIONS,
    *("set", "mode"),  # a parameter, the mode of an axis
    "excite",  # an experiment on an axis: place in EXCITATIONS, amplitude, rad/s, s, hysteresis
    "knot",  # a point of the trajectory that is to come: s, joints, and perhaps their speeds
)
"""What can be asked of an arm."""

CAREFUL = 0.25
"""Share of the limits of speed where a client does not say how fast."""

TOOL_SPEEDS = {"m/s": 0.5, "rad/s": 2.0}
"""The largest speeds of tools, by unit."""

POINTS = 33
"""Points that a trajectory may have."""

EXCITATIONS = ("none", "step", "sine", "relay")
"""What can be added to the set-point of an axis; the first ends it."""


class RefusedError(Error):
    """A command that was refused: nothing has changed.

    Args:
        name: of the reason, one word that programs can go by, such as "expired".
        what: the same in a sentence.
        remedy: what to do about it.

    >>> print(RefusedError("expired", "joints came 2 s after it expired"))
    joints came 2 s after it expired
    """

    def __init__(self, name: str, what: str, *, remedy: str | None = None) -> None:
        super().__init__(what, remedy=remedy)
        self.name = name


@dataclass(frozen=True, slots=True)
class Command:
    """One thing that is asked of an arm.

    Args:
        kind: one of `KINDS`.
        sequence: of the client's commands to this arm, rising.
        values: numbers of the command: joints in rad or m; a pose as x, y, z and a unit quaternion
            w, x, y, z.
        speed: share of the arm's limits, above 0, at most 1.
        blend: s, how long before the last goal the turn to this one may begin; 0 stops there.
        frame: in which a pose is given.
        name: of a parameter or an axis.
        expires: ns on the cell's clock, after which it must not be taken; 0 for never.
    """

    kind: str
    sequence: int
    values: tuple[float, ...] = ()
    speed: float = 1.0
    blend: float = 0.0
    frame: str = "base"
    name: str = ""
    expires: int = 0


@dataclass(frozen=True, slots=True)
class ArmFace:
    """What is known of an arm before it moves.

    Args:
        name: of the arm.
        joints: names of its coordinates.
        units: of its coordinates.
        limits: lowest and highest of each coordinate.
        axes: names of its axes, such as "puma.3".
        frames: in which poses can be given.
        parameters: that can be set while it runs, with the values that they were given last.
        model: that it is drawn as: a shipped one, or a file on the cell's machine.
        values: of the model's parameters, over its own.
        speeds: the largest of each coordinate, rad/s or m/s.
        mount: pose of its base in the world, as of a command; empty where it is the world.
    """

    name: str
    joints: tuple[str, ...]
    units: tuple[str, ...]
    limits: tuple[tuple[float, float], ...]
    axes: tuple[str, ...]
    frames: tuple[str, ...] = ("base",)
    parameters: Mapping[str, float] = field(default_factory=dict)
    model: str = ""
    values: Mapping[str, float] = field(default_factory=dict)
    speeds: tuple[float, ...] = ()
    mount: tuple[float, ...] = ()


def check_command(arm: ArmFace, command: Command, now: int) -> None:
    """Refuse a command that an arm cannot take, whatever it is doing, by name.

    >>> arm = ArmFace("slide", ("x",), ("m",), ((0.0, 1.0),), ("slide.1",))
    >>> check_command(arm, Command("joints", 1, (1.5,)), 0)
    Traceback (most recent call last):
    linkwright.server.face.RefusedError: x of 'slide' goes from 0 to 1 m, not to 1.5
    """
    kind, values, n = command.kind, command.values, len(arm.joints)
    _known("kind", "command", kind, KINDS)
    if command.expires and now > command.expires:
        late = (now - command.expires) / 1e6
        raise RefusedError("expired", f"{kind!r} came {late:.3g} ms after it expired")
    if not all(map(math.isfinite, (*values, command.speed, command.blend))):
        raise RefusedError(
            "non-finite", f"{kind!r} of {arm.name!r} has a number that is not finite"
        )
    sizes = {"joints": n, "track": n, "jog": n, "pose": 7, "set": 1, "mode": 1, "excite": 5}
    sizes["trajectory"] = 1  # how many knots came before it
    sizes["knot"] = 2 * n + 1 if len(values) > n + 1 else n + 1  # with speeds, or without
    if len(values) != sizes.get(kind, 0):
        raise RefusedError("values", f"{kind!r} of {arm.name!r} takes {sizes.get(kind, 0)} numbers")
    if not 0 < command.speed <= 1:
        raise RefusedError("speed", f"a speed of {command.speed} is not above 0 and at most 1")
    if not 0 <= command.blend < 60:
        raise RefusedError("blend", f"a blend of {command.blend} s is not from 0 to 60")
    _known("frame", "frame", command.frame, arm.frames)
    knot, when = kind == "knot", f" at {values[0]:g} s" if kind == "knot" else ""
    if kind in ("joints", "track") or knot:
        for name, unit, (low, high), x in zip(
            arm.joints, arm.units, arm.limits, values[1 : n + 1] if knot else values, strict=True
        ):
            if not low <= x <= high:
                raise RefusedError(
                    "range",
                    f"{name} of {arm.name!r} goes from {low:.6g} to {high:.6g} {unit}, "
                    f"not to {x:.6g}{when}",
                )
    if kind == "jog" or knot:
        rates = values[n + 1 :] if knot else values
        for name, unit, most, x in zip(arm.joints, arm.units, arm.speeds, rates, strict=False):
            if abs(x) > most * (1 + 1e-9):
                raise RefusedError(
                    "speed",
                    f"{name} of {arm.name!r} goes with {most:.6g} {unit}/s at most, "
                    f"not {x:.6g}{when}",
                )
    if kind == "pose" and abs(math.hypot(*values[3:]) - 1) > 1e-6:
        raise RefusedError("values", "the quaternion of the pose does not have length 1")
    if kind == "set":
        _known("name", f"parameter of {arm.name!r}", command.name, arm.parameters)
    if kind in ("mode", "excite"):
        _known("name", f"axis of {arm.name!r}", command.name, arm.axes)


def _known(reason: str, what: str, name: str, names: Iterable[str]) -> None:
    table = tuple(names)
    if name not in table:
        near = nearest(name, table)
        known = f"there are {', '.join(table)}" if table else "there is none"
        raise RefusedError(
            reason,
            f"no {what} is called {name!r}",
            remedy=f"did you mean {near!r}?" if near else known,
        )


class CellFace(Protocol):
    """A running cell.

    The record of its state has the fields `<arm>.q`, `<arm>.u`, `<arm>.target` (rad or m, and
    their rates), `<arm>.current` (A), `<arm>.life` (place in `LIVES`), `<arm>.moving`,
    `<arm>.taken` and `<arm>.done` (sequence of the last command that was taken up, and finished),
    `<arm>.dropped` (motions that could not be taken up), `<arm>.cut`, `<arm>.cut_after` and
    `<arm>.cut_cause` (commands after `cut_after`, up to `cut`, were cut off, and why),
    `<arm>.cause` (place in the cell's causes of stops), `<arm>.error` (the axis controller's code),
    `<arm>.holder` (the lease that commands it, 0 for none), `<arm>.probe` (what an experiment adds
    to the set-point of its axis), `<arm>.external` (torques from outside), `<arm>.pose` (of its
    tool, in its base), and the loop's own `cell.total`, `cell.missed`, `cell.timeouts`
    (ticks run while the device was silent), `cell.overrun`, `cell.unkept` (samples that its
    recording has lost, as where the disk is full), `cell.lateness` (s), `frame.<name>.age` (s).
    """

    @property
    def name(self) -> str:
        """Its name on the network."""

    @property
    def rate(self) -> float:
        """Ticks in a second."""

    @property
    def arms(self) -> Mapping[str, ArmFace]:
        """Its arms by name."""

    @property
    def causes(self) -> tuple[str, ...]:
        """Why arms stop, by number; the first is no stop."""

    @property
    def state(self) -> Record:
        """The declaration of its state."""

    @property
    def state_file(self) -> Path | None:
        """The window that its loop itself writes its state to, if there is one."""

    def now(self) -> int:
        """The cell's clock, ns."""

    def latest(self) -> Frame:
        """The newest state; the loop is not waited for."""

    def command(self, arm: str, command: Command) -> None:
        """Put a command before the loop; raise `RefusedError` where it cannot be taken."""

    def beat(self, arm: str, holder: int, silence: float) -> None:
        """Say that the holder of an arm's lease lives; silent for `silence` seconds, it stops."""

    def halt(self, cause: str) -> None:
        """Stop everything at once, whoever asks."""

    def place_frame(
        self, name: str, pose: tuple[float, ...], twist: tuple[float, ...], time: int
    ) -> None:
        """Say where a sensed frame is: pose as in `Command`, twist in m/s and rad/s, time in ns."""
