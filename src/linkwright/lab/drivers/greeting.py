"""How a laboratory and a robot begin: both say what they are, and one may reject the other.

A greeting is one datagram of JSON (RFC 8259), in UTF-8. The laboratory knocks with its protocol
version, layout digest, both records, joints, rate and process; the robot answers `welcome`, with
where it exchanges frames and who keeps time, or `refused`, with the reason in words. `bye` ends it.
"""

from __future__ import annotations

import json
import os
import secrets
import socket
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from linkwright.base.errors import Error
from linkwright.base.files import parse_json
from linkwright.base.reprs import brief
from linkwright.lab.drivers.layout import KEEPERS, DriverLayout

PROTOCOL, VERSION = "linkwright-driver", 1
WORDS = ("knock", "welcome", "refused", "bye")
LARGEST = 60_000
"""Bytes of a greeting."""
_BASE = "base_rate"


@dataclass(frozen=True, slots=True)
class Greeting:
    """One side of a conversation.

    >>> lab, robot = (DriverLayout((name,), 960.0) for name in ("elbow", "knee"))
    >>> refusal(greeting("knock", lab), greeting("welcome", robot))
    "the robot's joint 1 is 'knee', and the laboratory's is 'elbow'"
    """

    word: str  # one of `WORDS`
    layout: str  # digest of the layout
    joints: tuple[str, ...]  # their names
    sensors: tuple[str, ...]  # names of further sensors
    rate: float  # Hz
    states: str  # text of the record that the robot tells
    commands: str  # text of the record that it is told
    process: int  # number of the sender's process
    host: str  # its machine
    token: str  # of the conversation, chosen by the laboratory
    keeps_time: str = "lab"  # "lab" or "robot"
    # where its frames come from and go to: a port, or a Unix socket's name in hexadecimal
    data: str = ""
    reason: str = ""  # why a robot refuses

    def packed(self) -> bytes:
        """Return the bytes to send."""
        fields = {name: getattr(self, name) for name in self.__slots__}
        text = json.dumps({"protocol": PROTOCOL, "version": VERSION, **fields})
        return text.encode()

    def __str__(self) -> str:
        return f"process {self.process} on {self.host}"


def greeting(word: str, layout: DriverLayout, token: str = "", **more: Any) -> Greeting:
    """Return what this process says."""
    return Greeting(
        word,
        layout.digest,
        layout.joints,
        layout.sensors,
        layout.rate,
        layout.states.text,
        layout.commands.text,
        os.getpid(),
        socket.gethostname(),
        token or secrets.token_hex(8),
        **more,
    )


def read_greeting(data: bytes | str) -> Greeting:
    """Return what somebody said; anything else is an error with the reason."""
    try:
        found = parse_json(data[:LARGEST])
    except ValueError:
        raise Error("this is not a greeting of a driver") from None
    if not isinstance(found, dict) or found.pop("protocol", None) != PROTOCOL:
        raise Error("this is not a greeting of a driver")
    version = found.pop("version", None)
    if version != VERSION:
        raise Error(
            f"the other side speaks version {version!r} of the driver protocol, this one {VERSION}",
            remedy="use the same version of Linkwright on both sides",
        )
    return _built(found)


def _built(found: Mapping[str, Any]) -> Greeting:
    kinds: dict[str, type | tuple[type, ...]] = {"rate": (int, float), "process": int}
    kinds |= {"joints": list, "sensors": list}
    values: dict[str, Any] = {}
    for name in Greeting.__slots__:
        value = found.get(name)
        if not isinstance(value, kinds.get(name, str)) or isinstance(value, bool):
            raise Error(f"a greeting needs {name!r}")
        values[name] = tuple(map(str, value)) if isinstance(value, list) else value
    if values["word"] not in WORDS or values["keeps_time"] not in KEEPERS:
        raise Error(f"a greeting says one of {', '.join(WORDS)}, not {brief(values['word'])}")
    if not 0 < values["rate"] < 1e9:
        raise Error(f"a robot does not go at {brief(values['rate'])} Hz")
    return Greeting(**values)


def refusal(lab: Greeting, robot: Greeting) -> str:
    """Return why a robot and a laboratory do not fit, or nothing."""
    names = _difference("joint", robot.joints, lab.joints)
    names = names or _difference("sensor", robot.sensors, lab.sensors)
    if names:
        return names
    if lab.rate != robot.rate:
        return (
            f"the robot goes at {robot.rate:g} Hz, and the laboratory's motor servo at "
            f"{lab.rate:g} Hz"
        )
    mine, theirs = (_BASE in side.states for side in (robot, lab))
    if theirs and not mine:
        return (
            "the laboratory's base floats, and the robot sends nothing of its own: it has to send "
            "`base`, position and quaternion (w, x, y, z) in the world, and `base_rate`, velocity "
            "and angular velocity along the base's axes"
        )
    if mine and not theirs:
        return "the robot's base floats, and the laboratory's is fixed"
    for what, says, expects in (
        ("tells", robot.states, lab.states),
        ("takes", robot.commands, lab.commands),
    ):
        if says != expects:
            return (
                f"what the robot {what} is laid out as {says!r}, in the laboratory as {expects!r}"
            )
    if lab.layout != robot.layout:
        return f"the robot's layout is {robot.layout}, and the laboratory's is {lab.layout}"
    return ""


def _difference(what: str, robot: Sequence[str], lab: Sequence[str]) -> str:
    for i, (mine, theirs) in enumerate(zip(robot, lab, strict=False)):
        if mine != theirs:
            return f"the robot's {what} {i + 1} is {mine!r}, and the laboratory's is {theirs!r}"
    if len(robot) != len(lab):
        return f"the robot has {len(robot)} {what}s, and the laboratory {len(lab)}"
    return ""
