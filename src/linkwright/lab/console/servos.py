"""Consoles of single servos, as SL has one window for each: which commands each of them takes.

A console of a servo takes the commands of that servo and those that every console has; an argument
`servo` is that servo where it is not given. Servos of one's own take those of the task servo.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from linkwright.base.errors import InputError, unknown
from linkwright.lab.config import SERVOS
from linkwright.lab.console.table import CommandCall, CommandTable

if TYPE_CHECKING:
    from linkwright.lab.lab import Lab

EVERY = (
    *("man", "status", "jitter", "freeze", "stop", "reset", "run", "pace", "quit"),
    *("scd", "stopcd", "scds", "mscds", "dscd", "saveData", "outMenu"),
)
"""Commands of every console."""

_OF_TASKS = (
    *("setTask", "redo", "changeTaskParm", "tasks", "reload", "go0", "go", "goVisTarget", "step"),
    *(
        "where",
        "where_des",
        "where_base",
        "cwhere",
        "lwhere",
        "linfo",
        "bwhere",
        "mode",
        "patience",
    ),
)
OF_SERVO = {
    "motor": (
        *("where", "where_off", "where_raw", "where_des", "where_base", "where_misc", "ck"),
        *("toggle_filter", "setG", "freezeBase", "push"),
    ),
    "task": _OF_TASKS,
    "invdyn": ("where", "where_des", "where_base", "mode", "setG", "estimate"),
    "invkin": ("where_des", "cwhere", "lwhere", "linfo", "mode"),
    "vision": ("bwhere", "rbwhere", "rbwhere2D", "blob"),
}
"""Further commands, by servo."""


def require_servo(lab: Lab, servo: str) -> str:
    """Return the name of a servo of a laboratory."""
    if servo not in lab.rates:
        raise unknown("servo", servo, list(lab.rates))
    return servo


def commands_of(commands: CommandTable, servo: str) -> tuple[str, ...]:
    """Return the commands that the console of a servo takes; commands of one's own are in each.

    >>> from linkwright.lab.console.commands import standard_commands
    >>> "rbwhere" in commands_of(standard_commands(), "vision")
    True
    """
    own = {*EVERY, *OF_SERVO.get(servo, _OF_TASKS)}
    known = {*EVERY, *(name for names in OF_SERVO.values() for name in names)}
    return tuple(c.name for c in commands if c.name in own or c.name not in known)


def call_of(lab: Lab, servo: str, call: CommandCall) -> CommandCall:
    """Return what was read as the console of a servo takes it."""
    name = call.command.name
    if name not in commands_of(lab.commands, servo):
        homes = [s for s in SERVOS if name in OF_SERVO[s]]
        raise InputError(
            f"{name} is not a command of the {servo} servo",
            remedy=f"give it at the console of {' or '.join(homes)}, or at one of all servos",
        )
    usual = {a.name: a.usual(lab) for a in call.command.arguments}
    if "servo" in usual and call.given["servo"] == usual["servo"]:
        return replace(call, given={**call.given, "servo": servo})
    return call
