"""The task slot: where each number stands that a task is given, and each that it gives.

The ports are fixed by the configuration of a laboratory; tasks come and go. The slot is a
`FunctionSlot` of the System under the name `task`: its input `number` says which function is
called, and `serial` counts starts, so that a task that is started begins anew.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from itertools import product
from types import MappingProxyType

from linkwright.blocks import FunctionSlot, SlotPort
from linkwright.blocks.slot import NUMBER
from linkwright.lab.config import LabConfig
from linkwright.lab.kinematics import LabKinematics

MEMBER = "task"
"""The name of the slot in the System."""

SERIAL = "serial"
"""The input that counts the starts of tasks."""

PARAMETERS, MEMORIES, CHANNELS = 64, 64, 16
"""How many numbers a task may have of each kind."""

JOINT_STATE = {"q": "rad", "u": "rad/s", "a": "rad/s^2", "ufb": "N*m", "tau": "N*m", "load": "N*m"}
"""What a task knows of each joint."""

JOINT_TARGET = {"q": "rad", "u": "rad/s", "a": "rad/s^2", "uff": "N*m", "uex": "N*m"}
"""What a task wants of each joint; `now_q` and so on are what is wanted at present, of whoever
wanted it, and `des_q` and so on what the task wants."""

CARTESIAN = {"x": 3, "xd": 3, "xdd": 3, "q": 4, "w": 3, "wd": 3}
"""The numbers of a frame: position, velocity, acceleration, quaternion (scalar first), angular
velocity and acceleration, in world axes."""

FRAME = sum(CARTESIAN.values())
"""How many numbers a frame has."""

BLOB = {"x": 3, "xd": 3, "xdd": 3, "status": 1}
"""The numbers of a blob."""

MUSCLE = {"length": 1, "speed": 1, "tension": 1}
"""The numbers of a muscle: m, m/s (positive while it grows longer), N."""

Ports = Mapping[str, SlotPort]


@dataclass(frozen=True, slots=True)
class SlotLayout:
    """Where each number of the task slot stands.

    >>> from linkwright.formats.robot.description import Description
    >>> from linkwright.lab.config import JointConfig
    >>> config = LabConfig("two", Description("two", (), ()), (JointConfig("a", -1, 1),) * 2)
    >>> layout = SlotLayout(config)
    >>> layout.argument["q"], layout.period, layout.block().name
    (slice(2, 4, None), 0.0020833333333333333, 'task')
    >>> layout.result_names("des_q"), layout.argument_names("parameter")[:1]
    (['task.des_q[0]', 'task.des_q[1]'], ['task.parameter[0]'])
    """

    config: LabConfig  # of the laboratory
    servo: str = MEMBER  # that the slot belongs to
    joints: tuple[str, ...] = field(init=False)
    end_effectors: tuple[str, ...] = field(init=False)
    blobs: tuple[str, ...] = field(init=False)
    muscles: tuple[str, ...] = field(init=False)
    period: float = field(init=False)
    inputs: Ports = field(init=False, repr=False)
    outputs: Ports = field(init=False, repr=False)
    argument: Mapping[str, slice] = field(init=False, repr=False)
    result: Mapping[str, slice] = field(init=False, repr=False)
    kinematics: LabKinematics = field(init=False, repr=False, compare=False)
    argument_count: int = field(init=False, repr=False)
    result_count: int = field(init=False, repr=False)

    def __post_init__(self) -> None:
        config, put = self.config, object.__setattr__
        put(self, "joints", config.names)
        put(self, "end_effectors", tuple(e.name for e in config.end_effectors))
        put(self, "blobs", tuple(config.vision.blobs))
        put(self, "muscles", tuple(muscle.name for muscle in config.muscles))
        put(self, "period", config.ratios.get(self.servo, 2) / config.rate)
        inputs, outputs = self._inputs(), self._outputs()
        argument, arguments = _places({NUMBER: SlotPort(), **inputs})
        result, results = _places(outputs)
        put(self, "kinematics", LabKinematics(config))
        put(self, "inputs", MappingProxyType(inputs))
        put(self, "outputs", MappingProxyType(outputs))
        put(self, "argument", MappingProxyType(argument))
        put(self, "result", MappingProxyType(result))
        put(self, "argument_count", arguments)
        put(self, "result_count", results)

    def _inputs(self) -> dict[str, SlotPort]:
        n, e, b = len(self.joints), len(self.end_effectors), len(self.blobs)
        found = {SERIAL: SlotPort((), "1", doc="how many tasks were started")}
        found |= {k: SlotPort((n,), unit, doc=f"measured {k}") for k, unit in JOINT_STATE.items()}
        found |= {
            f"now_{k}": SlotPort((n,), unit, doc=f"{k} that is wanted at present")
            for k, unit in JOINT_TARGET.items()
        }
        if e:
            found["cart"] = SlotPort((e, FRAME), doc="end-effectors as they are")
            found["now_cart"] = SlotPort((e, FRAME), doc="end-effectors as joints are wanted")
            carried = "mass and center of what they carry, beyond those of the configuration"
            found["carried"] = SlotPort((e, 4), doc=carried)
        found["base"] = SlotPort((FRAME,), doc="the base as it is")
        if b:
            found["blobs"] = SlotPort((b, sum(BLOB.values())), doc="blobs as they are seen")
        if m := len(self.muscles):
            found["muscle"] = SlotPort((m, len(MUSCLE)), doc="length, speed, tension of muscles")
        found["parameter"] = SlotPort((PARAMETERS,), doc="parameters of the task")
        return found

    def _outputs(self) -> dict[str, SlotPort]:
        n, e = len(self.joints), len(self.end_effectors)
        found = {
            "begun": SlotPort((), "1", doc="serial of the task that runs"),
            "chosen": SlotPort((), "1", doc="number of its function"),
            "ticks": SlotPort((), "1", doc="ticks of the task servo since its start"),
            "done": SlotPort((), "1", doc="1 where the task is done"),
        }
        found |= {
            f"des_{k}": SlotPort((n,), unit, doc=f"wanted {k}") for k, unit in JOINT_TARGET.items()
        }
        if e:
            found["target"] = SlotPort((e, FRAME), doc="wanted end-effectors")
            found["target_status"] = SlotPort((e, 6), "1", doc="1 for a component that is wanted")
        if m := len(self.muscles):
            found["activation"] = SlotPort((m,), "1", doc="wanted activations of muscles")
        found["memory"] = SlotPort((MEMORIES,), doc="discrete states of the task")
        found["channel"] = SlotPort((CHANNELS,), doc="channels of the task")
        return found

    def block(self) -> FunctionSlot:
        """Return the slot as a block; it is added at the rate of the task servo."""
        return FunctionSlot(self.inputs, self.outputs, name=self.servo, doc="the task")

    def result_names(self, port: str) -> list[str]:
        """Return the names that the results of a port have in the System."""
        return [f"{self.servo}.{name}" for name in _names(port, self.outputs[port])]

    def argument_names(self, port: str) -> list[str]:
        """Return the names that the arguments of a port have in the System."""
        return [f"{self.servo}.{name}" for name in _names(port, self.inputs[port])]


def _places(ports: Ports) -> tuple[dict[str, slice], int]:
    places, at = {}, 0
    for name, port in ports.items():
        places[name] = slice(at, at + port.size)
        at += port.size
    return places, at


def _names(name: str, port: SlotPort) -> list[str]:
    indices = product(*(range(n) for n in port.shape))
    return [f"{name}[{','.join(map(str, i))}]" if i else name for i in indices]
