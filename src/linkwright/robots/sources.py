"""What a robot is made from: files, descriptions, mechanisms, and names of shipped models."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from linkwright.base.errors import InputError
from linkwright.formats.robot.description import Description

if TYPE_CHECKING:
    from linkwright.mechanism import Mechanism


def read_source(source: Any, roots: Sequence[str | os.PathLike[str]]) -> Description | Mechanism:
    """Return what a robot is made from."""
    from linkwright.formats.robot.files import read_description, robot_format

    if isinstance(source, Description):
        return source
    if isinstance(source, str | os.PathLike) and robot_format(source) not in (None, "text"):
        return read_description(source, roots=roots)
    from linkwright.mechanism import mechanism_of

    return mechanism_of(source)


def refuse_choices(base: str, friction: bool, mimic: bool, locked: object) -> None:
    """Reject what can only be chosen for the description of a robot."""
    chosen = {"base": base != "file", "friction": not friction, "mimic": not mimic}
    chosen["locked"] = bool(locked)
    wrong = [name for name, made in chosen.items() if made]
    if wrong:
        raise InputError(
            f"a mechanism is taken as it is, and {', '.join(wrong)} cannot be chosen",
            remedy="change the mechanism, or load the robot from a robot file",
        )
