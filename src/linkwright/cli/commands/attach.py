"""``linkwright lab attach``: one more console of a laboratory that runs."""

from __future__ import annotations

import json
from typing import Annotated, Any

import typer

from linkwright.cli.options import option
from linkwright.cli.terminal import echo


def command(
    name: Annotated[
        str | None,
        typer.Argument(
            metavar="NAME", help="Of the laboratory; may be left out where one alone runs."
        ),
    ] = None,
    servo: Annotated[
        str | None,
        typer.Option("--servo", metavar="NAME", help="Console of one servo, such as vision."),
    ] = None,
    commands: Annotated[str | None, option("--commands")] = None,
    as_json: Annotated[bool, option("--json", "With -c.")] = False,
) -> None:
    """Open one more console of a laboratory that runs on this machine.

    \b
    Examples:
      linkwright lab attach
      linkwright lab attach sl-arm
      linkwright lab attach sl-arm -c "where; status"
      linkwright lab attach sl-arm --servo vision
    """
    from linkwright.base.errors import InputError
    from linkwright.cli.console import prompt_of
    from linkwright.lab.console.remote import RemoteLink

    if as_json and commands is None:
        raise InputError("--json is for -c", remedy='give commands: -c "where"')
    with prompt_of(RemoteLink(name, servo)) as prompt:
        if commands is None:
            echo(f"{prompt.link.name}; man lists the commands, quit leaves")
            prompt.talk()
            return
        done: list[dict[str, Any]] = []
        for text, event in prompt.script(commands):
            done.append({"command": text, "text": event.text, "data": event.data})
            if not as_json and event.text:
                echo(event.text)
        if as_json:
            echo(json.dumps({"lab": prompt.link.name, "commands": done}))
