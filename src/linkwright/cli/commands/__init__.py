"""The registry of commands: the words that call one, and the module that holds it.

A command is one file here with a function ``command``, whose arguments Typer turns into options and
whose docstring is its help, and one line in `COMMANDS`. The order is the order of ``--help``. It
prints, or returns an `CommandResult`, which is printed for it.
Only the module of the command that is called is imported; what is heavy is imported inside its
function, so that ``--help`` stays quick.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from linkwright.base.aliases import DROPPED
from linkwright.base.lazy import named

__all__ = ["ALIASES", "COMMANDS", "GROUPS", "OLD_OPTIONS", "SHORTCUTS", "load", "renamed"]

GROUPS: dict[str, str] = {
    "model": "Write, check, describe and convert models.",
    "analyze": "Linear models, operations, drives, requirements, sampling, grasps.",
    "parallel": "Machines with closed loops: reach, assemblies, singularities.",
    "mount": "Antenna mounts: passes, tracking, keyholes, rotators, comparison.",
    "cell": "Serve robot cells, watch and tune their arms, halt them.",
    "lab": "Laboratories: a console on a robot with its servos and tasks.",
    "tools": "Videos, a tour, a doctor of this machine, errors, old devices.",
}
"""The groups of commands, each with its line in the help."""

COMMANDS: dict[str, str] = {
    "model new": "linkwright.cli.commands.new",
    "model check": "linkwright.cli.commands.check",
    "model describe": "linkwright.cli.commands.describe",
    "model convert": "linkwright.cli.commands.convert",
    "model schema": "linkwright.cli.commands.schema",
    "model list": "linkwright.cli.commands.models",
    "simulate": "linkwright.cli.commands.simulate",
    "rerun": "linkwright.cli.commands.rerun",
    "sweep": "linkwright.cli.commands.sweep",
    "plot": "linkwright.cli.commands.plot",
    "page": "linkwright.cli.commands.page",
    "studio": "linkwright.cli.commands.studio",
    "codegen": "linkwright.cli.commands.codegen",
    "analyze linearize": "linkwright.cli.commands.linearize",
    "analyze ops": "linkwright.cli.commands.ops",
    "analyze drives": "linkwright.cli.commands.drives",
    "analyze require": "linkwright.cli.commands.require",
    "analyze size": "linkwright.cli.commands.size",
    "analyze sampling": "linkwright.cli.commands.sampling",
    "analyze wrist": "linkwright.cli.commands.wrist",
    "analyze grasp": "linkwright.cli.commands.grasp",
    "parallel chart": "linkwright.cli.commands.chart",
    "parallel assemblies": "linkwright.cli.commands.assemblies",
    "parallel singularities": "linkwright.cli.commands.singularities",
    "parallel design": "linkwright.cli.commands.design",
    "parallel candidates": "linkwright.cli.commands.candidates",
    "parallel compliance": "linkwright.cli.commands.compliance",
    "mount passes": "linkwright.cli.commands.passes",
    "mount track": "linkwright.cli.commands.track",
    "mount keyholes": "linkwright.cli.commands.keyholes",
    "mount rotator": "linkwright.cli.commands.rotator",
    "mount move": "linkwright.cli.commands.move",
    "mount compare": "linkwright.cli.commands.compare",
    "mount deck": "linkwright.cli.commands.deck",
    "mount bench": "linkwright.cli.commands.bench",
    "mount strength": "linkwright.cli.commands.strength",
    "cell serve": "linkwright.cli.commands.serve",
    "cell watch": "linkwright.cli.commands.watch",
    "cell tune": "linkwright.cli.commands.tune",
    "cell halt": "linkwright.cli.commands.halt",
    "lab open": "linkwright.cli.commands.lab",
    "lab attach": "linkwright.cli.commands.attach",
    "lab fake-robot": "linkwright.cli.commands.fake_robot",
    "tools video": "linkwright.cli.commands.video",
    "tools tour": "linkwright.cli.commands.tour",
    "tools doctor": "linkwright.cli.commands.doctor",
    "tools info": "linkwright.cli.commands.info",
    "tools explain": "linkwright.cli.commands.explain",
    "tools recover": "linkwright.cli.commands.recover",
    "tools latency": "linkwright.cli.commands.latency",
    "tools guide": "linkwright.cli.commands.guide",
    "tools systolic": "linkwright.cli.commands.systolic",
    "tools reproduce": "linkwright.cli.commands.reproduce",
}

ALIASES: dict[str, str] = {
    "new": "model new",
    "guide": "tools guide",
    "check": "model check",
    "convert": "model convert",
    "schema": "model schema",
    "models": "model list",
    "describe": "model describe",
    "ops": "analyze ops",
    "linearize": "analyze linearize",
    "rates": "analyze sampling",
    "require": "analyze require",
    "size": "analyze size",
    "chart": "parallel chart",
    "assemblies": "parallel assemblies",
    "singularities": "parallel singularities",
    "contact": "analyze wrist",
    "passes": "mount passes",
    "track": "mount track",
    "design": "parallel design",
    "keyholes": "mount keyholes",
    "drive": "analyze drives",
    "lab": "lab open",
    "attach": "lab attach",
    "serve": "cell serve",
    "replay": "rerun",
    "watch": "cell watch",
    "tune": "cell tune",
    "halt": "cell halt",
    "recover": "tools recover",
    "fake-robot": "lab fake-robot",
    "rotator": "mount rotator",
    "move": "mount move",
    "array": "tools systolic",
    "latency": "tools latency",
    "explain": "tools explain",
    "info": "tools info",
}
"""Names of release 0.1, which still work, with a warning: the old name and the new one."""

SHORTCUTS: dict[str, str] = {
    "doctor": "tools doctor",
    "reproduce": "tools reproduce",
    "tour": "tools tour",
    "video": "tools video",
}
"""Names that work without a warning, and that the help does not list."""


OLD_OPTIONS: dict[str, dict[str, str]] = {
    "model convert": {"--to": "--format"},
    "model schema": {"--scene": "scene", "--catalog": "catalog", "--lab": "lab"},
    "rerun": {"--tasks": "--execute-tasks"},
    "plot": {"--rate": "--derivative"},
    "codegen": {"--method": "--methods"},
    "analyze wrist": {"--map": "--over"},
    "parallel chart": {"--start": "--initial"},
    "parallel singularities": {"--of": "--purpose"},
    "mount track": {"--speed": "--pace"},
    "cell tune": {"--plot": "--out"},
    "lab fake-robot": {"--at": "--listen"},
}
"""Options of release 0.1 that still work, with a warning: by command, the old one and the new."""


def load(name: str) -> Callable[..., None]:
    """Import the function that carries out a command; what it returns is printed (`CommandResult`).

    Example:
        >>> load("tools info").__module__
        'linkwright.cli.commands.info'
    """
    command: Callable[..., Any] = named(f"{COMMANDS[name]}:command")
    given = command.__annotations__.get("return")
    if getattr(given, "__name__", given) != "CommandResult":
        return command
    from linkwright.cli.results import shown

    return shown(command)


def renamed(words: list[str]) -> tuple[list[str], list[str]]:
    """Return the words of a command line with today's names, and warnings where they are old.

    >>> renamed(["check", "arm.toml"])[0]
    ['model', 'check', 'arm.toml']
    >>> renamed(["lab", "attach"]), renamed(["lab", "sl-arm"])[0]
    ((['lab', 'attach'], []), ['lab', 'open', 'sl-arm'])
    >>> renamed(["plot", "run.csv", "--rate"])
    (['plot', 'run.csv', '--derivative'], ['`--rate` of `linkwright plot` is now `--derivative`'])
    """
    warnings = []
    if words and words[0] in SHORTCUTS:
        words = [*SHORTCUTS[words[0]].split(), *words[1:]]
    old = words[0] if words else ""
    new = ALIASES.get(old)
    member = old in GROUPS and (
        len(words) == 1 or words[1] in ("-h", "--help") or f"{old} {words[1]}" in COMMANDS
    )
    if new is not None and not member and old not in COMMANDS:
        words = [*new.split(), *words[1:]]
        warnings.append(
            f"`linkwright {old}` is now `linkwright {new}`; release {DROPPED} drops the old name"
        )
    size = 2 if words and words[0] in GROUPS else 1
    path = " ".join(words[:size])
    for k, word in enumerate(words):
        option, equals, value = word.partition("=")
        now = OLD_OPTIONS.get(path, {}).get(option)
        if now is not None:
            words = [*words[:k], now + equals + value, *words[k + 1 :]]
            warnings.append(f"`{option}` of `linkwright {path}` is now `{now}`")
    return words, warnings
