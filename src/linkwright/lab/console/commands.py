"""The one table of commands of a laboratory: SL's by their names, and what came since.

SL's names and meanings are those of its manual (sections 5.3.1 and 6). A command is one entry here
and one function: `motions` moves, `settings` changes, `reports` reports.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from linkwright.lab.config import CONTROLLERS, MODES
from linkwright.lab.console import motions, recordings, reports, settings
from linkwright.lab.console.servos import commands_of, require_servo
from linkwright.lab.console.table import (
    Answer,
    CommandArgument,
    CommandTable,
    ConsoleCommand,
    NamedArguments,
)

if TYPE_CHECKING:
    from linkwright.lab.lab import Lab

_JOINT = CommandArgument("joint", "joint", str, choices=motions.joints)
_JOINTS = NamedArguments("joints", motions.units_of_joints)
_TASK = CommandArgument("task", "task", str, choices=motions.task_names)
_SERVO = CommandArgument(
    "servo", "servo in which it runs", "task", choices=motions.servos, asked=False
)
_STARTED = NamedArguments("parameters", motions.units_of_task, motions.defaults_of_task)
_CHANGED = NamedArguments("parameters", motions.units_now, motions.values_now)
_EFFECTOR = CommandArgument(
    "effector", "end-effector", motions.first_effector, choices=motions.effectors
)
_SWITCH = CommandArgument("on", "on or off; the other of what it is", bool, optional=True)
_SECONDS = CommandArgument("seconds", "seconds", 1.0, "s")

TASKS: tuple[ConsoleCommand, ...] = (
    ConsoleCommand(
        "setTask", "start a task", motions.set_task, (_TASK, _SERVO), ("st",), _STARTED, True
    ),
    ConsoleCommand("redo", "start the last task again", motions.redo, (_SERVO,)),
    ConsoleCommand(
        "changeTaskParm",
        "change parameters of the task, all at one tick",
        motions.change,
        short=("ctp",),
        pairs=_CHANGED,
        dialogue=True,
        beside=True,
    ),
    ConsoleCommand("tasks", "list the tasks and their parameters", motions.tasks, beside=True),
    ConsoleCommand(
        "reload",
        "take up the task files again",
        motions.reload,
        (CommandArgument("file", "file of tasks", str, optional=True),),
    ),
    ConsoleCommand("freeze", "end the task and hold the posture", motions.freeze, beside=True),
    ConsoleCommand(
        "stop",
        "take the power off, until reset",
        motions.stop,
        (CommandArgument("reason", "reason", "console", rest=True),),
        beside=True,
    ),
    ConsoleCommand("reset", "back to the default posture, times and counters to 0", motions.reset),
)

MOTIONS: tuple[ConsoleCommand, ...] = (
    ConsoleCommand("go0", "go to the default posture", motions.go_default),
    ConsoleCommand(
        "go",
        "go to a posture",
        motions.go,
        (CommandArgument("inverse_dynamics", "with inverse dynamics", False),),
        pairs=_JOINTS,
    ),
    ConsoleCommand(
        "goVisTarget",
        "bring an end-effector to the first blob",
        motions.go_to_blob,
        (_EFFECTOR, CommandArgument("duration", "seconds", 2.0, "s")),
    ),
    ConsoleCommand(
        "step",
        "step of one joint",
        motions.step,
        (
            _JOINT,
            CommandArgument("size", "step", 0.1, "rad"),
            CommandArgument("duration", "seconds", 2.0, "s"),
        ),
    ),
    ConsoleCommand(
        "blob",
        "put a simulated blob somewhere",
        motions.place_blob,
        (
            CommandArgument("name", "blob", str, choices=motions.blob_names),
            CommandArgument("x", "x", float, "m"),
            CommandArgument("y", "y", float, "m"),
            CommandArgument("z", "z", float, "m"),
        ),
        beside=True,
    ),
    ConsoleCommand("run", "let time go on", motions.run, (_SECONDS,)),
    ConsoleCommand(
        "pace",
        "follow the clock, so many times as fast; 0: only as `run` says",
        motions.pace,
        (CommandArgument("speed", "times as fast", 1.0),),
    ),
)

REPORTS: tuple[ConsoleCommand, ...] = (
    ConsoleCommand("where", "measured state of the joints", reports.where, beside=True),
    ConsoleCommand("where_des", "desired state of the joints", reports.where_des, beside=True),
    ConsoleCommand(
        "where_off", "sensors of the joints without offsets", reports.where_off, beside=True
    ),
    ConsoleCommand(
        "where_raw", "sensors of the joints as they are read", reports.where_raw, beside=True
    ),
    ConsoleCommand("where_base", "state of the base", reports.where_base, beside=True),
    ConsoleCommand("where_misc", "other sensors", reports.where_misc, beside=True),
    ConsoleCommand("cwhere", "state of the end-effectors", reports.cwhere, beside=True),
    ConsoleCommand("lwhere", "positions of the vertices", reports.lwhere, beside=True),
    ConsoleCommand(
        "linfo", "axis, mass center and origin of each link", reports.linfo, beside=True
    ),
    ConsoleCommand("bwhere", "blobs, filtered and predicted", reports.bwhere, beside=True),
    ConsoleCommand("rbwhere", "blobs as measured in space", reports.rbwhere, beside=True),
    ConsoleCommand("rbwhere2D", "blobs as each camera sees them", reports.rbwhere_2d, beside=True),
    ConsoleCommand("status", "servos, task, mode, recorder, session", reports.status, beside=True),
    ConsoleCommand(
        "jitter",
        "how late each servo ran",
        reports.jitter,
        (CommandArgument("servo", "one servo alone", "", asked=False),),
        beside=True,
    ),
)

SETTINGS: tuple[ConsoleCommand, ...] = (
    ConsoleCommand(
        "estimate",
        "find masses, inertias and friction of the links; inverse dynamics computes with them then",
        settings.estimate,
        (
            CommandArgument("seconds", "how long the robot is excited", 60.0, "s"),
            CommandArgument("files", "recordings of before, with commas between", "", asked=False),
            CommandArgument("to", "file for the parameters", "LinkParameters.cf", asked=False),
        ),
    ),
    ConsoleCommand(
        "push",
        "push a link of the simulated robot, along the world's axes; 0 0 0 ends it",
        settings.push,
        (
            CommandArgument("link", "link or frame", str, choices=settings.links),
            *(CommandArgument(f"f{c}", f"force along {c}", 0.0, "N") for c in "xyz"),
            *(
                CommandArgument(f"m{c}", f"moment about {c}", 0.0, "N*m", asked=False)
                for c in "xyz"
            ),
            CommandArgument("seconds", "how long", float, "s", optional=True),
        ),
        beside=True,
    ),
    ConsoleCommand(
        "setG",
        "set gravity; one number is what acts downward",
        settings.set_gravity,
        (
            CommandArgument("x", "gravity along x", settings.gravity_x, "m/s^2"),
            CommandArgument("y", "gravity along y", settings.gravity_y, "m/s^2"),
            CommandArgument("z", "gravity along z", settings.gravity_z, "m/s^2"),
        ),
        dialogue=True,
        beside=True,
        lone=lambda g: ["0", "0", g[1:] if g.startswith("-") else f"-{g.removeprefix('+')}"],
    ),
    ConsoleCommand(
        "ck",
        "change the controller of the motor servo",
        settings.controller,
        (CommandArgument("kind", "controller", str, choices=lambda lab: CONTROLLERS),),
        beside=True,
    ),
    ConsoleCommand(
        "mode",
        "change the servo mode; without a task only",
        settings.mode,
        (CommandArgument("name", "mode", str, choices=lambda lab: MODES),),
    ),
    ConsoleCommand(
        "toggle_filter",
        "filters of the sensors on or off",
        settings.filters,
        (_SWITCH,),
        beside=True,
    ),
    ConsoleCommand(
        "patience",
        "ticks in a row that may take too long before a task is frozen; 0 for any number",
        settings.patience,
        (CommandArgument("ticks", "ticks", 10),),
        beside=True,
    ),
    ConsoleCommand("freezeBase", "hold the base, or let it go", settings.freeze_base, (_SWITCH,)),
)

RECORDER: tuple[ConsoleCommand, ...] = (
    ConsoleCommand("scd", "record", recordings.start, beside=True),
    ConsoleCommand("stopcd", "end the recording", recordings.stop, beside=True),
    ConsoleCommand("scds", "record, and save it at its end", recordings.start_saved, beside=True),
    ConsoleCommand(
        "mscds",
        "record several times, each saved",
        recordings.start_many,
        (CommandArgument("count", "how many", int),),
        beside=True,
    ),
    ConsoleCommand(
        "dscd",
        "record after a while",
        recordings.start_later,
        (CommandArgument("delay", "seconds before it begins", float, "s"),),
        beside=True,
    ),
    ConsoleCommand(
        "saveData",
        "save what was recorded",
        recordings.save,
        (CommandArgument("file", "file; the next dNNNNN", str, optional=True),),
        beside=True,
    ),
    ConsoleCommand(
        "outMenu",
        "rate, script and duration of the recorder",
        recordings.configure,
        (
            CommandArgument("rate", "rate", recordings.rate, "Hz"),
            CommandArgument("duration", "duration", recordings.duration, "s"),
            CommandArgument("script", "file of variables; nothing for those of now", ""),
        ),
        dialogue=True,
        beside=True,
    ),
)


def _man(lab: Lab, name: str | None, servo: str) -> Answer:
    table = lab.commands
    chosen = [table[name]] if name else list(table)
    if servo and not name:
        own = commands_of(table, require_servo(lab, servo))
        chosen = [command for command in chosen if command.name in own]
    rows = [(" / ".join((c.usage, *c.short)), c.help) for c in chosen]
    width = max(len(usage) for usage, _ in rows)
    text = "\n".join(f"{usage.ljust(width)}  {about}" for usage, about in rows)
    if name:
        lines = []
        for argument in chosen[0].arguments:
            unit = f", {argument.unit}" if argument.unit else ""
            lines.append(f"  {argument.name}: {argument.help}{unit}")
        text = "\n".join((text, *lines))
    return Answer(text, {c.name: {"help": c.help, "short": list(c.short)} for c in chosen})


def _quit(lab: object) -> Answer:
    del lab
    return Answer("bye")


def standard_commands() -> CommandTable:
    """Return the commands that every laboratory has.

    >>> table = standard_commands()
    >>> table["st"].name, table["go"].usage
    ('setTask', 'go [inverse_dynamics] [joints=value ...]')
    """
    table = CommandTable()
    groups = {"tasks": TASKS, "motions": MOTIONS, "reports": REPORTS}
    groups |= {"settings": SETTINGS, "recorder": RECORDER, "console": CONSOLE}
    for group, commands in groups.items():
        for command in commands:
            table.register(replace(command, group=group))
    return table


CONSOLE: tuple[ConsoleCommand, ...] = (
    ConsoleCommand(
        "man",
        "list the commands, or report one",
        _man,
        (
            CommandArgument(
                "name", "command", str, choices=lambda lab: lab.commands.names, optional=True
            ),
            CommandArgument("servo", "servo whose commands are listed", "", asked=False),
        ),
        beside=True,
    ),
    ConsoleCommand(
        "quit", "leave the console, and end the laboratory it belongs to", _quit, beside=True
    ),
)
