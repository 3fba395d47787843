"""What can be recorded in a laboratory: names, units, and where in the System each number is.

Names of joints follow SL (technical report, section 5.5): `J_th`, `J_thd`, `J_u`, `J_load`,
`J_des_th`, `J_des_thd`, `J_uff`; in the same manner `J_thdd`, `J_ufb`, `J_des_thdd`, `J_uex`. Those
of end-effectors are `E_x`, `E_xd`, `E_xdd` and so on for y and z, `E_q0` to `E_q3`, `E_wx` and
`E_wdx`; `E_des_x` is of the wanted joints. What has no such name has that of its port.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass

from linkwright.lab.config import SERVOS, LabConfig
from linkwright.lab.slot import MEMBER, MUSCLE
from linkwright.lab.tasks import Task
from linkwright.system.phases import Signal

RECORDED = ("th", "thd", "u", "load", "des_th", "des_thd", "uff")
"""What is recorded of each joint by default, as in SL."""

_JOINT = {  # with the unit behind `{q}` of a position, or `{f}` of a command
    "th": ("{q}", "sensors.q"),
    "thd": ("{q}/s", "sensors.u"),
    "thdd": ("{q}/s^2", "sensors.a"),
    "ufb": ("{f}", "motor.ufb"),
    "u": ("{f}", "guard.safe_tau"),
    "load": ("{f}", "sensors.load"),
    "des_th": ("{q}", "desired.des_q"),
    "des_thd": ("{q}/s", "desired.des_u"),
    "des_thdd": ("{q}/s^2", "desired.des_a"),
    "uff": ("{f}", "feed.uff"),
    "uex": ("{f}", "desired.uex"),
}
_POSITIONS = {"x": "m", "xd": "m/s", "xdd": "m/s^2"}
_TURNS = {"w": "rad/s", "wd": "rad/s^2"}
_TIMES = {
    "motor_late": ("s", "loop:tardy"),
    "motor_length": ("s", "loop:length"),
    "motor_ticks": ("1", "loop:total"),
    "motor_missed": ("1", "loop:missed"),
    "motor_overrun": ("1", "loop:overrun"),
}
_HIDDEN = ("shown", "life")  # members that only pass on what others know


@dataclass(frozen=True, slots=True)
class LabVariable:
    """A number that can be recorded.

    >>> LabVariable("R_EB_th", "rad", "sensors.q[3]").name
    'R_EB_th'
    """

    name: str  # without blanks
    unit: str  # as in models
    channel: str  # of the System, or `loop:...` of its loop


def lab_variables(config: LabConfig, signals: Iterable[Signal]) -> dict[str, LabVariable]:
    """Return what can be recorded, by name.

    >>> from linkwright.lab.config import JointConfig
    >>> from linkwright.formats.robot.description import Description
    >>> config = LabConfig("one", Description("one", (), ()), (JointConfig("EB", -1, 1),))
    >>> signals = [Signal("sensors.q[0]", None), Signal("motor.heat[0]", None, unit="K")]
    >>> [(v.name, v.channel) for v in lab_variables(config, signals).values()][:2]
    [('EB_th', 'sensors.q[0]'), ('motor_heat_0', 'motor.heat[0]')]
    """
    known = {signal.name: signal for signal in signals}
    found: dict[str, LabVariable] = {}
    for variable in _named(config):
        if variable.channel in known and variable.name not in found:
            found[variable.name] = variable
    named = {variable.channel for variable in found.values()}
    for signal in known.values():
        name = re.sub(r"[.,\[]", "_", signal.name.replace("]", ""))
        hidden = signal.kind == "discrete" or signal.name.startswith(_HIDDEN)
        if not hidden and signal.name not in named and name not in found:
            found[name] = LabVariable(name, signal.unit or "1", signal.name)
    for name, (unit, channel) in _TIMES.items():
        found.setdefault(name, LabVariable(name, unit, channel))
    return found


def _named(config: LabConfig) -> Iterator[LabVariable]:
    """Yield the variables that have a name of their own, whether they are there or not."""
    for i, (joint, (q, f)) in enumerate(config.units.items()):
        for ending, (unit, port) in _JOINT.items():
            yield LabVariable(f"{joint}_{ending}", unit.format(q=q, f=f), f"{port}[{i}]")
    for effector in config.end_effectors:
        for member, infix in (("cart", ""), ("cart_desired", "des_")):
            yield from _frame(f"{effector.name}_{infix}", f"{member}.{effector.name}_")
    yield from _frame("base_", "base_state.")
    for servo in dict.fromkeys((*SERVOS, *config.ratios)):
        yield LabVariable(f"{servo}_pulse", "1", f"{servo}_pulse.level")
    for k, vertex in enumerate(config.vertices):
        for i, c in enumerate("xyz"):
            yield LabVariable(f"{vertex}_{c}", "m", f"cart.vertices[{3 * k + i}]")
    for k, own in enumerate(x for x in config.objects if x.mass):
        for i, c in enumerate(("x", "y", "z", "q0", "q1", "q2", "q3")):
            unit = "m" if i < 3 else "1"
            yield LabVariable(f"{own.name}_{c}", unit, f"objects.x[{7 * k + i}]")
    for thing, k, vertex in touching(config):
        for c in "xyz":
            yield LabVariable(f"{thing}_{vertex}_f{c}", "N", f"{thing}.force{k}_{c}")
    for blob in config.vision.blobs:
        for key, unit in _POSITIONS.items():
            for i, c in enumerate("xyz"):
                yield LabVariable(f"{blob}_{c}{key[1:]}", unit, f"vision.{blob}_{key}[{i}]")
        yield LabVariable(f"{blob}_status", "1", f"vision.{blob}_status")


def _frame(stem: str, port: str) -> Iterator[LabVariable]:
    for key, unit in _POSITIONS.items():
        for i, c in enumerate("xyz"):
            yield LabVariable(stem + c + key[1:], unit, f"{port}{key}[{i}]")
    for i in range(4):
        yield LabVariable(f"{stem}q{i}", "1", f"{port}q[{i}]")
    for key, unit in _TURNS.items():
        for i, c in enumerate("xyz"):
            yield LabVariable(stem + key + c, unit, f"{port}{key}[{i}]")


def touching(config: LabConfig) -> Iterator[tuple[str, int, str]]:
    """Yield the objects that may be touched, with number and name of each vertex."""
    for thing in config.objects:
        if thing.contact_model:
            for k, vertex in enumerate(config.vertices, 1):
                yield thing.name, k, vertex


def contact_channels(config: LabConfig) -> list[str]:
    """Return the channels of contacts and muscles, which the System computes when asked."""
    found = [f"{thing}.force{k}_{c}" for thing, k, _ in touching(config) for c in "xyz"]
    return found + [f"{m.name}.{key}" for m in config.muscles for key in MUSCLE]


def task_variables(tasks: Mapping[str, Task]) -> dict[str, LabVariable]:
    """Return the channels and parameters of tasks, each behind the name of its task.

    >>> from linkwright.lab.tasks import channel, parameter
    >>> class Push(Task):
    ...     gain = parameter(2.0, unit="N/m")
    ...     force = channel("N")
    >>> [(v.name, v.unit, v.channel) for v in task_variables({"push": Push()}).values()]
    [('push_force', 'N', 'task.channel[0]'), ('push_gain', 'N/m', 'task.parameter[0]')]
    """
    found = {}
    for name, task in tasks.items():
        units = {"channel": task.channels()}
        units["parameter"] = {n: about.unit for n, about in task.parameters().items()}
        for kind, known in units.items():
            for number, unit in known.items():
                place = task.places[kind][number].start
                label = f"{name}_{number}"
                found[label] = LabVariable(label, unit or "1", f"{MEMBER}.{kind}[{place}]")
    return found


def default_names(config: LabConfig, known: Mapping[str, LabVariable]) -> tuple[str, ...]:
    """Return what is recorded where nothing else is said."""
    names = [f"{joint}_{ending}" for joint in config.names for ending in RECORDED]
    return tuple(name for name in names if name in known)
