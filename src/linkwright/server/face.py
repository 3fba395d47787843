"""What a cell shows to whoever commands it: the network, the page, a test.

The cell behind it runs in native code and is never waited for. A command is looked at here,
rejected by name or put before the loop as one change of its inputs; the state comes back as a
record.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Protocol

from linkwright.base.errors import Error
from linkwright.simulation.hardware import LIVES

if TYPE_CHECKING:
    from pathlib import Path

    from linkwright.windows import Record
    from linkwright.windows.records import Frame

__all__ = ["LIVES", "ArmFace", "CellFace", "Command", "RefusedError"]

CAREFUL = 0.25
"""Share of the limits of speed where a client does not say how fast."""

TOOL_SPEEDS = {"m/s": 0.5, "rad/s": 2.0}
"""The largest speeds of tools, by unit."""

POINTS = 33
"""Points that a trajectory may have."""

EXCITATIONS = ("none", "step", "sine", "relay")
"""What can be added to the set-point of an axis; the first ends it."""


class RefusedError(Error):
    """A command that was rejected: nothing has changed.

    Args:
        name: of the reason, one word that programs can use, such as "expired".
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
        kind: name of a verb, of `linkwright.server.verbs.VERBS`.
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
        """Why arms stop, by number; the first is not a stop."""

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
