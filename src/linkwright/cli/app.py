"""The Typer application: groups of commands, each imported when it is called."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping
from difflib import get_close_matches
from inspect import cleandoc
from typing import Any, NoReturn

import typer
from typer.core import TyperArgument, TyperCommand, TyperGroup
from typer.main import get_command

from linkwright.base.errors import InputError
from linkwright.cli.commands import ALIASES, COMMANDS, GROUPS, SHORTCUTS, load
from linkwright.version import __version__

HELP = """Describe a mechanism, and get the smallest and fastest program that simulates it.

Type [bold]linkwright COMMAND --help[/bold] for what is in a command, [bold]linkwright tour[/bold]
for five minutes with a model, [bold]linkwright doctor[/bold] for what is missing here.
"""
_SETTINGS: dict[str, Any] = {
    "rich_markup_mode": "rich",
    "no_args_is_help": True,
    "pretty_exceptions_enable": False,
    "context_settings": {"help_option_names": ["-h", "--help"]},
}


class PlainCommand(TyperCommand):
    """A command whose help names what its arguments and options are.

    In its docstring a paragraph that starts with a line of `\\b` keeps its lines; others flow.
    """

    def __init__(self, *args: Any, help: str | None = None, **more: Any) -> None:  # noqa: A002
        super().__init__(*args, help=_flowing(help), **more)

    def get_params(self, ctx: Any) -> list[Any]:
        """Return the parameters, each with what the help says of its type."""
        return [_plain(param) for param in super().get_params(ctx)]

    def collect_usage_pieces(self, ctx: Any) -> list[str]:
        """Return the words of the line of usage."""
        arguments = [p for p in self.get_params(ctx) if isinstance(p, TyperArgument)]
        return ["[OPTIONS]", *map(_usage, arguments)]


class PlainGroup(TyperGroup):
    """The command that holds the others."""

    def get_params(self, ctx: Any) -> list[Any]:
        """Return the parameters, each with what the help says of its type."""
        return [_plain(param) for param in super().get_params(ctx)]


def _flowing(text: str | None) -> str | None:
    """Return a text whose paragraphs have no line ends, but for those that keep them."""
    if text is None:
        return None
    parts = cleandoc(text).split("\n\n")
    kept = [
        "\n".join(map(str.strip, p.splitlines()[1:])) if p.startswith("\b") else " ".join(p.split())
        for p in parts
    ]
    return "\n\n".join(kept)


def _plain(param: Any) -> Any:
    """Let the help of a parameter show its own word for a value: nothing for a flag."""
    named = None if isinstance(param, TyperArgument) or param.is_flag else param.metavar
    vars(param)["display_type_rich"] = lambda ctx: named
    return param


def _usage(argument: Any) -> str:
    name = argument.metavar or argument.name.upper()
    if argument.nargs != 1 and "..." not in name:
        name += " ..."
    return name if argument.required else f"[{name}]"


class Members(Mapping[str, Any]):
    """The commands of a group by name; one is imported when it is looked up.

    >>> list(Members("cell"))
    ['serve', 'watch', 'tune', 'halt']
    """

    def __init__(self, group: str = "") -> None:
        self._group = group

    def __iter__(self) -> Iterator[str]:
        if not self._group:
            tops = (path.partition(" ")[0] for path in COMMANDS)
            yield from dict.fromkeys(tops)
            return
        for path in COMMANDS:
            group, _, name = path.rpartition(" ")
            if group == self._group:
                yield name

    def __len__(self) -> int:
        return sum(1 for _ in self)

    def __getitem__(self, name: str) -> Any:
        path = f"{self._group} {name}".strip()
        if path in COMMANDS:
            app = typer.Typer(add_completion=False, **_SETTINGS)
            app.command(name, cls=PlainCommand)(load(path))
            return get_command(app)
        if path in GROUPS:
            members: Any = Members(name)
            return LazyGroup(
                name=name,
                commands=members,
                help=GROUPS[name],
                no_args_is_help=True,
                rich_markup_mode="rich",
            )
        raise KeyError(name)


class LazyGroup(PlainGroup):
    """A group that lists its commands in their order, and imports the one that is called."""

    def list_commands(self, ctx: Any) -> list[str]:
        """Return the names of the commands."""
        del ctx
        return list(self.commands)

    def resolve_command(self, ctx: Any, args: list[str]) -> Any:
        """Return the command that the first argument names; an unknown one is wrong usage."""
        if args[0] not in self.commands and not args[0].startswith("-"):
            from linkwright.base.peers import COMMANDS as PEERS, peer

            paths = {path.rpartition(" ")[2]: path for path in COMMANDS} | ALIASES | SHORTCUTS
            near = get_close_matches(args[0], [*self.commands, *paths], 3)
            own, ours = ctx.command_path, peer(args[0], PEERS)
            full = (
                [f"linkwright {ours}"]
                if ours
                else [
                    f"{own} {name}" if name in self.commands else f"linkwright {paths[name]}"
                    for name in near
                ]
            )
            hint = f"; did you mean {' or '.join(dict.fromkeys(full))}?" if full else ""
            ctx.fail(f"there is no command {args[0]!r}{hint}")
        return super().resolve_command(ctx, args)


def build() -> typer.Typer:
    """Make the application; a command of the registry is imported when it is called.

    Example:
        >>> "tools" in get_command(build()).commands
        True
    """
    app = typer.Typer(cls=_Root, help=HELP, **_SETTINGS)
    app.callback()(_options)
    return app


class _Root(LazyGroup):
    """The command ``linkwright`` itself."""

    def __init__(self, *args: Any, **more: Any) -> None:
        super().__init__(*args, **{**more, "commands": Members()})

    def main(self, *args: Any, **more: Any) -> NoReturn:
        """Run a command and exit; wrong usage is an `InputError`, and so one line."""
        try:
            code = super().main(*args, **{**more, "standalone_mode": False})
        except Exception as error:
            if not hasattr(error, "format_message"):
                raise
            words = " ".join(str(error.format_message()).split()).replace("Value error, ", "")
            if not words:  # it was the help
                sys.exit(2)
            context: Any = getattr(error, "ctx", None)
            asked = "linkwright" if context is None else context.command_path
            raise InputError(words.rstrip("."), remedy=f"see `{asked} --help`") from None
        sys.exit(code or 0)


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
