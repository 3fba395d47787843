"""Commented files to start a text model from, one `.toml` file each beside this one."""

from __future__ import annotations

import re
from importlib.resources import files

from linkwright.base.errors import InputError

STARTERS = ("pendulum", "cart", "arm", "crank", "motor", "servo")

_NAME = re.compile(r"\w[\w.+-]*")


def starter(name: str, template: str = "pendulum") -> str:
    """Return the text of a new model.

    >>> starter("swing").splitlines()[4]
    'name = "swing"'
    """
    if template not in STARTERS:
        known = ", ".join(STARTERS)
        raise InputError(f"there is no template {template!r}", remedy=f"choose one of {known}")
    require_model_name(name)
    text = files(__package__).joinpath(f"{template}.toml").read_text(encoding="utf-8")
    return text.replace("@NAME@", name)


def require_model_name(name: str) -> None:
    """Reject what cannot be the name of a model.

    >>> require_model_name("swing")
    """
    if not _NAME.fullmatch(name):
        raise InputError(
            f"{name!r} cannot be the name of a model",
            remedy="use letters, digits, '-', '_' and '.'",
        )
