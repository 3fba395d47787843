"""Help in the words of users: what an option takes, and no types of Python."""

from __future__ import annotations

from inspect import cleandoc
from typing import Any

from typer.core import TyperArgument, TyperCommand, TyperGroup


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
    if argument.nargs != 1 and not name.endswith("..."):
        name += " ..."
    return name if argument.required else f"[{name}]"
