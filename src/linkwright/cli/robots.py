"""What the commands about robots share: a robot from a file, or a shipped model as one."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from linkwright.base.files import is_there

if TYPE_CHECKING:
    from linkwright.formats.robot.description import Description


def is_shipped(name: str) -> bool:
    """Return whether a word can only be the name of a shipped model: no file, and no ending.

    >>> is_shipped("puma560:drives=off"), is_shipped("puma560.urdf")
    (True, False)
    """
    return not is_there(name) and not Path(name.partition(":")[0]).suffix


def open_robot(name: str, roots: Sequence[Path] = ()) -> tuple[Description, str]:
    """Return the robot of a file or of a shipped model, and the name of its format.

    >>> robot, form = open_robot("puma560")
    >>> len(robot.joints), form
    (6, 'shipped model')
    """
    from linkwright.formats.robot.files import FORMATS, read_description, robot_format

    if is_shipped(name):
        from linkwright.formats.robot.from_mechanism import description_of
        from linkwright.models import load_model

        return description_of(load_model(name)), "shipped model"
    found = read_description(name, roots=roots)
    return found, FORMATS[robot_format(name) or "text"].name
