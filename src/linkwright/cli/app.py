"""The Typer application, put together from the registered commands."""

from __future__ import annotations

import typer

from linkwright.cli.commands import COMMANDS, load
from linkwright.cli.plain_help import PlainCommand, PlainGroup
from linkwright.version import __version__

HELP = """Describe a mechanism, and get the smallest and fastest program that simulates it.

Type [bold]linkwright COMMAND --help[/bold] for the options of a command.
"""


def build(only: str | None = None) -> typer.Typer:
    """Make the application with every command of the registry, or with the one that is asked for.

    Example:
        >>> "info" in [command.name for command in build().registered_commands]
        True
    """
    app = typer.Typer(
        cls=PlainGroup,
        help=HELP,
        rich_markup_mode="rich",
        no_args_is_help=True,
        add_completion=False,
        pretty_exceptions_enable=False,
        context_settings={"help_option_names": ["-h", "--help"]},
    )
    app.callback()(_options)
    for name in [name for name in COMMANDS if name == only] or COMMANDS:
        app.command(name, cls=PlainCommand)(load(name))
    return app


def _show_version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"linkwright {__version__}")
        raise typer.Exit


def _options(
    version: bool = typer.Option(
        False, "--version", callback=_show_version, is_eager=True, help="Print the version."
    ),
) -> None:
    """Hold the options that stand before any command."""
