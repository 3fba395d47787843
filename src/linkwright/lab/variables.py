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

from linkwright.lab.config import LabConfig
from linkwright.system.phases import Signal

RECORDED = ("th", "thd", "u", "load", "des_th", "des_thd", "uff")
"""What is recorded of each joint by default, as in SL."""

_JOINT = {
    "th": ("rad", ("sensors.q",)),
    "thd": ("rad/s", ("sensors.u",)),
    "thdd": ("rad/s^2", ("sensors.a",)),
    "ufb": ("N*m", ("motor.ufb",)),
    "u": ("N*m", ("guard.safe_tau",)),
    "load": ("N*m", ("sensors.load",)),
    "des_th": ("rad", ("desired.des_q",)),
    "des_thd": ("rad/s", ("desired.des_u",)),
    "des_thdd": ("rad/s^2", ("desired.des_a",)),
    "uff": ("N*m", ("feed.uff",)),
    "uex": ("N*m", ("desired.uex",)),
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
_BASE = (
    [("base_" + c, "m") for c in "xyz"]
    + [(f"base_q{i}", "1") for i in range(4)]
    + [("base_" + c + "d", "m/s") for c in "xyz"]
    + [("base_w" + c, "rad/s") for c in "xyz"]
)


@dataclass(frozen=True, slots=True)
class LabVariable:
    """A number that can be recorded.

    Args:
        name: without blanks.
        unit: as in models.
        channel: of the System, or `loop:...` of its loop.

    >>> LabVariable("R_EB_th", "rad", "sensors.q[3]").name
    'R_EB_th'
    """

    name: str
    unit: str
    channel: str


def lab_variables(config: LabConfig, signals: Iterable[Signal]) -> dict[str, LabVariable]:
    """Return what can be recorded, by name.

    Args:
        config: with the names of joints and end-effectors.
        signals: states and sampled outputs of the System.

    >>> from linkwright.lab.config import JointConfig
    >>> from linkwright.formats.robot.description import Description
    >>> config = LabConfig("one", Description("one", (), ()), (JointConfig("EB", -1, 1),))
    >>> signals = [Signal("sensors.q[0]", None), Signal("motor.heat[0]", None, unit="K")]
    >>> [(v.name, v.channel) for v in lab_variables(config, signals).values()][:2]
    [('EB_th', 'sensors.q[0]'), ('motor_heat_0', 'motor.heat[0]')]
    """
    known = {signal.name: signal for signal in signals}
    found: dict[str, LabVariable] = {}
    for variable in _named(config, known):
        if variable.channel in known and variable.name not in found:
            found[variable.name] = variable
    named = {variable.channel for variable in found.values()}
    for signal in known.values():
        name = re.sub(r"[.\[]", "_", signal.name.replace("]", ""))
        if signal.name not in named and name not in found:
            found[name] = LabVariable(name, signal.unit or "1", signal.name)
    for name, (unit, channel) in _TIMES.items():
        found.setdefault(name, LabVariable(name, unit, channel))
    return found


def _named(config: LabConfig, known: Mapping[str, Signal]) -> Iterator[LabVariable]:
    """Yield the variables that have a name of their own, whether they are there or not."""
    for i, joint in enumerate(config.names):
        for ending, (unit, ports) in _JOINT.items():
            there = [port for port in ports if f"{port}[{i}]" in known]
            if there:
                yield LabVariable(f"{joint}_{ending}", unit, f"{there[0]}[{i}]")
    for effector in config.end_effectors:
        for member, infix in (("cart", ""), ("cart_desired", "des_")):
            stem, port = f"{effector.name}_{infix}", f"{member}.{effector.name}"
            for key, unit in _POSITIONS.items():
                for i, c in enumerate("xyz"):
                    yield LabVariable(stem + c + key[1:], unit, f"{port}_{key}[{i}]")
            for i in range(4):
                yield LabVariable(f"{stem}q{i}", "1", f"{port}_q[{i}]")
            for key, unit in _TURNS.items():
                for i, c in enumerate("xyz"):
                    yield LabVariable(stem + key + c, unit, f"{port}_{key}[{i}]")
    for blob in config.vision.blobs:
        for key, unit in _POSITIONS.items():
            for i, c in enumerate("xyz"):
                yield LabVariable(f"{blob}_{c}{key[1:]}", unit, f"vision.{blob}_{key}[{i}]")
        yield LabVariable(f"{blob}_status", "1", f"vision.{blob}_status")
    sizes = {"x": 3, "q": 4, "xd": 3, "w": 3}
    base = [f"base_state.{key}[{i}]" for key, size in sizes.items() for i in range(size)]
    for (name, unit), port in zip(_BASE, base, strict=True):
        yield LabVariable(name, unit, port)


def default_names(config: LabConfig, known: Mapping[str, LabVariable]) -> tuple[str, ...]:
    """Return what is recorded where nothing else is said.

    Args:
        config: with the joints.
        known: what can be recorded.
    """
    names = [f"{joint}_{ending}" for joint in config.names for ending in RECORDED]
    return tuple(name for name in names if name in known)
