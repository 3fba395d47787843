"""The sensors of a cell: simulated nodes and the coordinator, in processes or in virtual time.

`linkwright cell serve` starts them, each in a process of its own beside the cell, and anew what
ends. In virtual time the same nodes and the same fusion follow the ticks of the cell.

What a simulated sensor of a frame sees is the frame's pose in `cell.toml`. With a twist the frame
goes to and fro from there, at most with that speed.
"""

from __future__ import annotations

import argparse
import math
import os
import signal
import sys
import threading
from collections.abc import Iterator, Sequence
from functools import partial
from pathlib import Path

import numpy as np

from linkwright.base.closable import Closable
from linkwright.base.companions import Companion
from linkwright.base.errors import Error
from linkwright.base.rotations import exponential, quaternion_product
from linkwright.server.cell import Cell, CellFrame, CellSensor
from linkwright.server.cell_file import read_cell
from linkwright.server.coordinator import (
    Coordinator,
    FusionSettings,
    PointMotion,
    PoseMotion,
    WrenchMotion,
)
from linkwright.server.coordinator.host import FaceTaker, coordinate, told_frames
from linkwright.server.face import CellFace
from linkwright.server.picture_camera import picture_camera
from linkwright.server.sensors import SensorNode, Truth, camera, force_sensor, tracker

COORDINATOR = "coordinator"
HEIGHT = 1.0
"""m, of a camera above its frame, where the cell does not say where it is."""
PERIOD = 10.0
"""s, in which a frame with a twist goes to and fro."""

STEADY = 0.02
"""m/s² and rad/s² per √Hz: how much a frame without a twist may move by itself."""

_DOWN = (0.0, 1.0, 0.0, 0.0)
_LOOK = 0.2  # s


def camera_poses(cell: Cell) -> dict[str, tuple[float, ...]]:
    """Return where the cameras of a cell are: the frames in which they speak.

    >>> camera_poses(read_cell("cell1"))
    {'camera': (0.6, -0.3, 1.3, 0.0, 1.0, 0.0, 0.0)}
    """
    return {one.name: _place(cell, one) for one in cell.sensors if one.kind == "camera"}


def simulated_nodes(cell: Cell) -> tuple[SensorNode, ...]:
    """Return the simulated sensors of a cell; those of the kind "function" are somebody else's.

    >>> [(node.name, node.label, node.rate) for node in simulated_nodes(read_cell("cell1"))]
    [('camera', 'conveyor', 60.0)]
    """
    return tuple(_node(cell, i) for i, x in enumerate(cell.sensors) if x.kind != "function")


def sensing_settings(cell: Cell) -> FusionSettings:
    """Return what is taken for granted of a cell's frames: they move no more than the cell says.

    >>> sensing_settings(read_cell("cell1")).models[0].acceleration
    0.02
    """
    twists = np.array([frame.twist for frame in cell.frames if frame.kind == "sensed"])
    most = np.abs(twists.reshape(-1, 2, 3)).max((0, 2), initial=0.0) * 2 * math.pi / PERIOD
    motion = PoseMotion(*(max(STEADY, float(x)) for x in most))
    return FusionSettings(models=(motion, PointMotion(), WrenchMotion()))


def sensors_line(cell: Cell) -> str:
    """Return a line about what sees what; empty where there are no sensors.

    >>> sensors_line(read_cell("cell1"))
    'sensors: camera (simulated, 60 Hz) sees conveyor'
    """
    parts = []
    for one in cell.sensors:
        how = f"pictures of {one.source}" if one.source else "simulated"
        what = "awaited" if one.kind == "function" else f"{how}, {one.rate:g} Hz"
        parts.append(f"{one.name} ({what})" + (f" sees {one.frame}" if one.frame else ""))
    return f"sensors: {', '.join(parts)}" if parts else ""


def _frame(cell: Cell, sensor: CellSensor) -> CellFrame:
    return next(frame for frame in cell.frames if frame.name == sensor.frame)


def _place(cell: Cell, sensor: CellSensor) -> tuple[float, ...]:
    if sensor.pose:
        return sensor.pose
    x, y, z = _frame(cell, sensor).pose[:3]
    return (x, y, z + HEIGHT, *_DOWN)


def _node(cell: Cell, i: int) -> SensorNode:
    one = cell.sensors[i]
    if one.kind == "force":
        still = [0.0] * 6
        return force_sensor(lambda _: still, rate=one.rate, name=one.name, label=one.name, seed=i)
    truth = sensed_truth(_frame(cell, one))
    if one.kind == "tracker":
        return tracker(truth, rate=one.rate, name=one.name, label=one.frame, seed=i)
    if one.source:
        return picture_camera(
            one.source, area=one.area, focal=one.focal, rate=one.rate, name=one.name,
            label=one.frame, dark=one.dark,
        )  # fmt: skip
    place = _place(cell, one)
    return camera(truth, place, rate=one.rate, name=one.name, label=one.frame, seed=i)


def sensed_truth(frame: CellFrame) -> Truth:
    """Return where a sensed frame is, as a function of time, for simulated sensors.

    >>> frame = CellFrame("belt", "sensed", (0, 0, 1, 1, 0, 0, 0), (0.1, 0, 0, 0, 0, 0), 0.2)
    >>> sensed_truth(frame)(PERIOD / 4).round(3)
    array([0.159, 0.   , 1.   , 1.   , 0.   , 0.   , 0.   ])
    """
    pose, twist = np.array(frame.pose, dtype=float), np.array(frame.twist, dtype=float)
    speed = 2 * math.pi / PERIOD

    def truth(t: float) -> np.ndarray:
        moved = twist * (math.sin(speed * t) / speed)
        turned = quaternion_product(exponential(moved[3:]), pose[3:])
        return np.concatenate([pose[:3] + moved[:3], turned])

    return truth


class VirtualSensing:
    """The sensors and the coordinator of a cell in virtual time: the same bits each time."""

    def __init__(self, cell: Cell) -> None:
        self._rate, self._nodes = cell.rate, simulated_nodes(cell)
        self._coordinator = Coordinator(camera_poses(cell), sensing_settings(cell))
        self._frames = frozenset(frame.name for frame in cell.frames if frame.kind == "sensed")
        self._due = [0] * len(self._nodes)
        self._counts = [0] * len(self._nodes)
        self._sent: dict[str, int] = {}

    @property
    def due(self) -> float:
        """The tick at which something is seen next; infinite where there is nobody."""
        return min(self._due, default=math.inf)

    def look(self, cell: CellFace, tick: int) -> None:
        """Let sensors see what is due at a tick, and send the cell where its frames are."""
        now = cell.now()
        for i, node in enumerate(self._nodes):
            if self._due[i] > tick:
                continue
            for one in node.seen(now, self._counts[i]):
                self._coordinator.take(one, now)
                self._counts[i] += 1
            following = math.floor(tick * node.rate / self._rate + 1e-9) + 1
            at = math.ceil(following * self._rate / node.rate - 1e-9)
            self._due[i] = max(tick + 1, at)
        taker = FaceTaker(cell)
        for frame in told_frames(self._coordinator.objects(), self._frames, self._sent):
            taker.place(frame.name, frame)


class SensingProcesses(Closable):
    """The coordinator and the simulated sensors of a live cell, each in a process of its own."""

    def __init__(self, source: str | os.PathLike[str], cell: Cell, folder: Path) -> None:
        command = ["-m", "linkwright.server.sensing", os.fspath(source)]
        simulated = [one.name for one in cell.sensors if one.kind != "function"]
        names = [COORDINATOR, *simulated] if cell.sensors else []
        self.companions = {
            name: Companion(name, partial(_arguments, command, name), folder / f"{name}.log")
            for name in names
        }
        """The coordinator and the sensors, by name."""

    def look(self) -> Iterator[str]:
        """Start anew what has ended, after a pause; yield lines that report it."""
        for companion in self.companions.values():
            yield from companion.look()

    def close(self) -> None:
        """End them; a second time does nothing."""
        for companion in self.companions.values():
            companion.tell_end()
        for companion in self.companions.values():
            companion.close()


def _arguments(command: list[str], name: str, _: int) -> list[str]:
    return command if name == COORDINATOR else [*command, "--sensor", name]


def main(arguments: Sequence[str] | None = None) -> int:
    """Be the coordinator of a cell, or one of its simulated sensors."""
    parser = argparse.ArgumentParser(prog="linkwright.server.sensing", description=__doc__)
    parser.add_argument("cell", help="a cell.toml, or the name of a cell that ships")
    parser.add_argument("--sensor", help="which sensor it is; the coordinator by default")
    given = parser.parse_args(arguments)
    parent, ended = os.getppid(), threading.Event()
    signal.signal(signal.SIGTERM, lambda *_: ended.set())
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the server ends it
    cell = read_cell(given.cell)

    def lonely() -> bool:
        return os.getppid() != parent

    if given.sensor is None:
        places = [frame.name for frame in cell.frames if frame.kind == "sensed"]
        known = sensing_settings(cell)
        with coordinate(cell.name, camera_poses(cell), places=places, settings=known):
            while not ended.wait(_LOOK) and not lonely():
                pass
        return 0
    (node,) = (x for x in simulated_nodes(cell) if x.name == given.sensor)
    while not ended.wait(_LOOK) and not lonely():
        try:
            link = node.feed(cell.name)
        except Error:
            continue  # the coordinator is not there yet
        with link:
            while not ended.wait(_LOOK) and not lonely():
                if link.fault is not None:
                    raise link.fault
    return 0


if __name__ == "__main__":
    sys.exit(main())
