"""The registry of commands: a name, and the module that holds it.

A command is one file here with a function ``command``, whose arguments Typer turns into options and
whose docstring is its help, and one line in `COMMANDS`. The order is the order of ``--help``.
A command imports what is heavy inside that function, so that ``--help`` stays quick.
"""

from __future__ import annotations

from collections.abc import Callable

from linkwright.base.lazy import named

__all__ = ["COMMANDS", "load"]

COMMANDS: dict[str, str] = {
    "new": "linkwright.cli.commands.new",
    "guide": "linkwright.cli.commands.guide",
    "check": "linkwright.cli.commands.check",
    "convert": "linkwright.cli.commands.convert",
    "schema": "linkwright.cli.commands.schema",
    "models": "linkwright.cli.commands.models",
    "describe": "linkwright.cli.commands.describe",
    "ops": "linkwright.cli.commands.ops",
    "linearize": "linkwright.cli.commands.linearize",
    "rates": "linkwright.cli.commands.rates",
    "require": "linkwright.cli.commands.require",
    "size": "linkwright.cli.commands.size",
    "chart": "linkwright.cli.commands.chart",
    "assemblies": "linkwright.cli.commands.assemblies",
    "singularities": "linkwright.cli.commands.singularities",
    "contact": "linkwright.cli.commands.contact",
    "passes": "linkwright.cli.commands.passes",
    "track": "linkwright.cli.commands.track",
    "design": "linkwright.cli.commands.design",
    "keyholes": "linkwright.cli.commands.keyholes",
    "codegen": "linkwright.cli.commands.codegen",
    "simulate": "linkwright.cli.commands.simulate",
    "drive": "linkwright.cli.commands.drive",
    "rerun": "linkwright.cli.commands.rerun",
    "sweep": "linkwright.cli.commands.sweep",
    "plot": "linkwright.cli.commands.plot",
    "page": "linkwright.cli.commands.page",
    "studio": "linkwright.cli.commands.studio",
    "lab": "linkwright.cli.commands.lab",
    "attach": "linkwright.cli.commands.attach",
    "serve": "linkwright.cli.commands.serve",
    "replay": "linkwright.cli.commands.rerun",
    "watch": "linkwright.cli.commands.watch",
    "tune": "linkwright.cli.commands.tune",
    "halt": "linkwright.cli.commands.halt",
    "recover": "linkwright.cli.commands.recover",
    "fake-robot": "linkwright.cli.commands.fake_robot",
    "rotator": "linkwright.cli.commands.rotator",
    "move": "linkwright.cli.commands.move",
    "array": "linkwright.cli.commands.array",
    "latency": "linkwright.cli.commands.latency",
    "explain": "linkwright.cli.commands.explain",
    "info": "linkwright.cli.commands.info",
}


def load(name: str) -> Callable[..., None]:
    """Import the function that carries out a command.

    Example:
        >>> load("info").__module__
        'linkwright.cli.commands.info'
    """
    command: Callable[..., None] = named(f"{COMMANDS[name]}:command")
    return command
