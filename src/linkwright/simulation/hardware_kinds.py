"""Kinds of hardware: what stands behind a `Hardware`, with one face for all of them.

- simulated: a System, in the same run, or in a device process of its own;
- window: whoever writes the window of states and reads that of commands;
- Python: an object with `read` and `write`, called in a thread of its own;
- replay: what a recording says that the states were.

A kind is installed in a System, and opened for a run that keeps pace with a clock. Nothing of it is
ever waited for: what is late holds, and what is silent for too long is a fault.
"""

from __future__ import annotations

import logging
import os
import threading
from collections.abc import Mapping
from pathlib import Path
from typing import Any, ClassVar, Protocol

import numpy as np

from linkwright.base.arguments import worded
from linkwright.base.errors import Error, InputError, nearest
from linkwright.base.files import path_of
from linkwright.blocks import Block
from linkwright.recording import Recording
from linkwright.simulation.hardware import FAILED, OWN, Hardware
from linkwright.simulation.links import DeviceLink, window_ports
from linkwright.simulation.pacing import PacedLoop, Reads, Writes
from linkwright.simulation.runs import session_of
from linkwright.simulation.settings import RunSettings
from linkwright.system import Member, System
from linkwright.windows import Record, Window

_LOG = logging.getLogger(__name__)
_LONG = 1e6  # s, the end of a device's run that nobody stops


class HardwareKind(DeviceLink):
    """What stands behind hardware.

    Args:
        hardware: its states and commands.
    """

    kind: ClassVar[str]
    waits: ClassVar[bool] = False
    """Whether a `PacedLoop` has to wait for Python at each tick, so that nothing comes late."""

    @worded
    def __init__(self, hardware: Hardware) -> None:
        self.hardware = hardware
        self._member: Member | None = None

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.hardware.name!r})"

    @worded
    def install(self, system: System, *, rate: float, name: str = "") -> Member:
        """Add the hardware to a System, with what of the device is part of the run.

        Args:
            system: the controller's.
            rate: Hz, of the hardware's ticks.
            name: of the member; the hardware's by default.
        """
        self._member = system.add(self.hardware, rate=rate, name=name or self.hardware.name)
        self.connect(system, self._member)
        return self._member

    def connect(self, system: System, member: Member) -> None:
        """Put into the run what of the device is part of it; `install` calls it.

        Args:
            system: the controller's.
            member: the hardware in it.
        """

    @property
    def reads(self) -> list[Reads]:
        """What a `PacedLoop` reads from windows for it; it must be installed and open."""
        if self.ports is None:
            return []
        return [Reads(self.source, _places(self._installed, self.hardware.state_record, "read_"))]

    @property
    def writes(self) -> list[Writes]:
        """What a `PacedLoop` writes to windows for it."""
        if self.ports is None:
            return []
        return [Writes(self.target, _places(self._installed, self.hardware.command_record, ""))]

    @property
    def _installed(self) -> Member:
        if self._member is None:
            raise Error(
                f"hardware {self.hardware.name!r} is in no System", remedy="`install` it first"
            )
        return self._member


class SimulatedHardware(HardwareKind):
    """Hardware that is a System: in the same run, or served to another process.

    Args:
        hardware: its states and commands.
        device: exposes an input for each command and an output for each state; where it exposes
            them too, the outputs `fault` and `beat` are connected, and the inputs `life` and
            `heard`, the beat of the controller. Without a `beat` it is taken to live.

    Example:
        >>> import linkwright as lw
        >>> from linkwright.windows import Field
        >>> cart = lw.Block("cart")
        >>> force, v = cart.input("force", unit="N"), cart.state("v", unit="m/s")
        >>> cart.derivative(v, force / 2)
        >>> cart.output("speed", v, unit="m/s")
        speed
        >>> device = lw.System(name="device")
        >>> inner = device.add(cart)
        >>> device.expose("force", inner.force)
        >>> device.expose("v", inner.speed)
        >>> hardware = Hardware("cart", [Field("v", "m/s")], [Field("force", "N")])
        >>> s = lw.System(name="s")
        >>> member = SimulatedHardware(hardware, device).install(s, rate=1000)
        >>> s.connect("3", member.wanted_force)
        >>> s.connect("where(t > 0.5, 1, 0)", member.enable)
        >>> round(lw.simulate(s, until=2.5).final["cart.v"], 2)
        3.0
    """

    kind = "simulated"

    @worded
    def __init__(self, hardware: Hardware, device: System) -> None:
        super().__init__(hardware)
        self.device = device
        for record, ports, what in (
            (hardware.state_record, device.exposed_outputs, "output port for the state"),
            (hardware.command_record, device.exposed_inputs, "input port for the command"),
        ):
            for name in record.names:
                if name not in ports and name not in OWN:
                    near = nearest(name, ports)
                    raise InputError(
                        f"the device {device.name!r} has no {what} '{name}'",
                        remedy=f"expose it; there is '{near}'" if near else "expose it",
                    )

    def connect(self, system: System, member: Member) -> None:
        """Add the device, and connect its ports.

        Args:
            system: the controller's.
            member: the hardware in it.
        """
        made = self._add_device(system, f"{member.name}_device", member.rate)
        for name, port in made.items():
            if name in self.hardware.state_record.names:
                system.connect(port, member[f"read_{name}"])
            else:
                system.connect(member[name], port)
        if "heard" in self.device.exposed_inputs:
            system.connect(member.beat, system[f"{member.name}_device"].heard)

    def _add_device(self, system: System, name: str, rate: Any) -> dict[str, Any]:
        """Add the device to a System, and return its ports by name."""
        made = system.add(self.device, name=name)
        known = {*self.hardware.state_record.names, *self.hardware.command_record.names} - {"beat"}
        ports = {**self.device.exposed_outputs, **self.device.exposed_inputs}
        found = {port: made[port] for port in ports if port in known}
        if "beat" in self.device.exposed_outputs:
            found["beat"] = made["beat"]
        else:
            pulse = Block("pulse")
            pulse.output("y", pulse.discrete_state("n", "n + 1") + 1)
            found["beat"] = system.add(pulse, rate=rate, name=f"{name}_pulse").y
        return found

    def serve(self, folder: str | os.PathLike[str], *, rate: float) -> PacedLoop:
        """Return a loop that is the device, for a `WindowHardware` of another process.

        Args:
            folder: where the windows are.
            rate: Hz, at which it reports its states and takes its commands.
        """
        hardware, place = self.hardware, path_of(folder, "a folder")
        system = System(self.device.mechanism, name=f"{hardware.name}_device", base=rate)
        ports = self._add_device(system, "device", rate)
        tells = Block("tells")
        for field in hardware.state_record.fields:
            symbols = (
                tells.input_vector(field.name, field.shape, unit=field.unit)
                if field.shape
                else (tells.input(field.name, unit=field.unit),)
            )
            tells.output_vector(f"told_{field.name}", symbols, unit=field.unit)
        member = system.add(tells, rate=rate)
        for name, port in ports.items():
            if name in hardware.state_record.names:
                system.connect(port, member[name])
        states, commands = hardware.state_record, hardware.command_record
        reads, writes = _file(place, commands), _file(place, states)
        asked, told = window_ports((reads, commands), (writes, states), within=10)
        session = session_of(system, RunSettings(_LONG, every=0))[0]
        takes = {
            name: _names(port)
            for name, port in ports.items()
            if name in hardware.command_record.names and name != "beat"
        }
        if "heard" in self.device.exposed_inputs:
            takes["beat"] = _names(system["device"].heard)
        gives = {n: _names(member[f"told_{n}"]) for n in hardware.state_record.names}
        return PacedLoop(session, reads=[Reads(asked, takes)], writes=[Writes(told, gives)])


class WindowHardware(HardwareKind):
    """Hardware behind two windows, which somebody else serves: a device process, a driver.

    Args:
        hardware: its states and commands.
        folder: where the windows are: `<name>.states` and `<name>.commands`.
        within: s to wait for the device to make its window.

    Example:
        >>> import tempfile
        >>> from linkwright.windows import Field
        >>> hardware = Hardware("cart", [Field("v", "m/s")], [Field("force", "N")])
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     states = Window.create(f"{folder}/cart.states", hardware.state_record)
        ...     with WindowHardware(hardware, folder):
        ...         record = hardware.command_record
        ...         with Window.open(f"{folder}/cart.commands", record) as commands:
        ...             print(commands.read().values["force"])
        0.0
    """

    kind = "window"

    @worded
    def __init__(
        self, hardware: Hardware, folder: str | os.PathLike[str], *, within: float = 5.0
    ) -> None:
        super().__init__(hardware)
        self.folder = path_of(folder, "a folder")
        self.within = within

    def open(self) -> None:
        """Make the window of commands, and open that of states."""
        states, commands = self.hardware.state_record, self.hardware.command_record
        reads, writes = _file(self.folder, states), _file(self.folder, commands)
        self.ports = window_ports((reads, states), (writes, commands), within=self.within)


class Device(Protocol):
    """An object of Python that is a device."""

    def read(self) -> Mapping[str, Any]:
        """Return the states by name; `fault` too, where there is one."""

    def write(self, commands: Mapping[str, Any], /) -> None:
        """Take the commands by name; `life` is among them."""


class PythonHardware(HardwareKind):
    """Hardware that is an object of Python, called in a thread of its own.

    The loop and the thread exchange through windows. An object that is late holds what it reported
    last, and one that is stuck falls silent. What it raises is logged, and a fault.

    Args:
        hardware: its states and commands.
        device: has `read` and `write`.
        interval: s, after which it is called although the loop wrote nothing new.

    Example:
        >>> from linkwright.windows import Field
        >>> class Cart:
        ...     v = 0.0
        ...
        ...     def read(self):
        ...         return {"v": self.v}
        ...
        ...     def write(self, commands):
        ...         self.v += commands["force"]
        >>> hardware = Hardware("cart", [Field("v", "m/s")], [Field("force", "N")])
        >>> PythonHardware(hardware, Cart()).kind
        'python'
    """

    kind = "python"

    @worded
    def __init__(self, hardware: Hardware, device: Device, *, interval: float = 0.01) -> None:
        super().__init__(hardware)
        self.device = device
        self.interval = interval
        self.exchanges = 0
        self.failures = 0
        self._known: dict[str, Any] = {}
        self._thread: threading.Thread | None = None
        self._quit = threading.Event()
        self._ends: tuple[Window, Window] | None = None

    def open(self) -> None:
        """Start the thread."""
        self.open_windows()
        self._quit.clear()
        self._thread = threading.Thread(
            target=self._serve, name=f"hardware {self.hardware.name}", daemon=True
        )
        self._thread.start()

    def open_windows(self) -> None:
        """Make the windows alone: whoever calls `exchange` is the thread."""
        states, commands = self.hardware.state_record, self.hardware.command_record
        self._known = {f.name: np.zeros(f.shape)[()] for f in states.fields}
        told, asked = Window.in_memory(states), Window.in_memory(commands)
        self.ports = Window.open(told.descriptor, states), asked
        self._ends = told, Window.open(asked.descriptor, commands)

    def exchange(self) -> None:
        """Give the device its commands, and say what it reads."""
        if self._ends is None:
            raise Error(f"hardware {self.hardware.name!r} is not open")
        told, asked = self._ends
        self.exchanges += 1
        try:
            frame = asked.read()
            if frame.sequence:  # the loop has written something
                self.device.write(dict(frame.values))
            new = {"fault": 0.0, **self.device.read(), "beat": float(self.exchanges)}
            told.write(new, tick=self.exchanges)
            self._known = new
        except Exception:  # of the user's own code
            self.failures += 1
            if self.failures == 1:
                _LOG.exception("the device of hardware %s failed", self.hardware.name)
            told.write(
                {**self._known, "fault": float(FAILED), "beat": float(self.exchanges)},
                tick=self.exchanges,
            )

    def close(self) -> None:
        """End the thread; an object that is stuck is left behind."""
        self._quit.set()
        if self._thread is not None and self._thread is not threading.current_thread():
            self._thread.join(2.0)
            if self._thread.is_alive():
                _LOG.warning("the device of hardware %s is stuck", self.hardware.name)
                super().close()
                return  # its ends of the windows stay, for it may go on
        self._thread = None
        super().close()
        for window in self._ends or ():
            window.close()
        self._ends = None

    def _serve(self) -> None:
        assert self._ends is not None
        _, asked = self._ends
        while not self._quit.is_set():
            self.exchange()
            asked.wait(self.interval)


class ReplayHardware(HardwareKind):
    """Hardware that does what a recording says: its states, faults and beats, tick by tick.

    Commands go nowhere. After the last sample it holds, and falls silent. Python looks up the
    samples: a paced loop must be set to wait for it (`waits`), to be exact to the tick.

    Args:
        hardware: its states and commands.
        recording: of a run with such hardware, with a sample at each of its ticks.
        name: of the member in that run; the hardware's by default.

    Example:
        >>> from linkwright.windows import Field
        >>> hardware = Hardware("cart", [Field("v", "m/s")], [Field("force", "N")])
        >>> names = ["cart.v", "cart.told_fault", "cart.told_beat"]
        >>> from linkwright.recording import Channel
        >>> rows = np.array([[0.0, 0.0, 1.0], [0.5, 0.0, 2.0]])
        >>> recording = Recording([0.0, 0.001], [Channel(n) for n in names], rows)
        >>> s = System(name="s")
        >>> member = ReplayHardware(hardware, recording).install(s, rate=1000)
        >>> from linkwright.simulation import simulate
        >>> simulate(s, until=0.01).final["cart.v"]
        0.5
    """

    kind = "replay"
    waits = True

    @worded
    def __init__(self, hardware: Hardware, recording: Recording, *, name: str = "") -> None:
        super().__init__(hardware)
        self.recording = recording
        self._columns: dict[str, list[str]] = {}
        label = name or hardware.name
        for field in hardware.state_record.fields:
            own = f"{label}.{'told_' if field.name in OWN else ''}{field.name}"
            count = int(np.prod(field.shape, dtype=int))
            columns = [f"{own}[{i}]" for i in range(count)] if field.shape else [own]
            missing = [c for c in columns if c not in recording.names]
            if missing:
                near = nearest(missing[0], recording.names)
                raise InputError(
                    f"the recording has no channel {missing[0]!r}",
                    remedy=f"there is {near!r}" if near else "record the hardware's outputs",
                )
            self._columns[field.name] = columns

    def connect(self, system: System, member: Member) -> None:
        """Let the states come from the recording.

        Args:
            system: the controller's.
            member: the hardware in it.
        """
        names = [c for columns in self._columns.values() for c in columns]
        times = np.asarray(self.recording.times)
        rows = np.column_stack([self.recording[c] for c in names])
        fields = self.hardware.state_record.fields
        sizes = [len(self._columns[f.name]) for f in fields]
        cuts = np.cumsum(sizes)[:-1]

        def recorded(t: float) -> tuple[Any, ...]:
            at = int(np.searchsorted(times, t + 1e-9 * (1 + abs(t)), side="right")) - 1
            return tuple(np.split(rows[max(at, 0)], cuts))

        added = system.add(
            recorded,
            rate=member.rate,
            name=f"{member.name}_recorded",
            outputs={f.name: n for f, n in zip(fields, sizes, strict=True)},
        )
        for field in fields:
            system.connect(added[field.name], member[f"read_{field.name}"])


HARDWARE: dict[str, type[HardwareKind]] = {
    kind.kind: kind for kind in (SimulatedHardware, WindowHardware, PythonHardware, ReplayHardware)
}
"""Kinds of hardware by name."""


def _file(folder: Path, record: Record) -> Path:
    """Return where the window of a record is."""
    return folder / record.name


def _names(port: Any) -> list[str]:
    """Return the names of a port's symbols."""
    return [x.name for x in (port if isinstance(port, tuple) else (port,))]


def _places(member: Member, record: Record, prefix: str) -> dict[str, list[str]]:
    """Return for each field of a record the inputs or channels of a member."""
    return {name: _names(member[f"{prefix}{name}"]) for name in record.names}
