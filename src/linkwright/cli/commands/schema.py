"""``linkwright schema``: the JSON schemas of text models and dresses, for editors."""

from __future__ import annotations

import json

import typer

from linkwright.cli.terminal import echo


def command(
    dress: bool = typer.Option(False, "--dress", help="Of dress files, in place of text models."),
) -> None:
    """Print the JSON schema of text models, with which an editor can complete and check them.

    \b
    Examples:
      linkwright schema > model.schema.json
    """
    if dress:
        from linkwright.studio.dress_tables import DressTable

        echo(json.dumps(DressTable.model_json_schema(), indent=2))
        return
    from linkwright.formats.schema import Model

    echo(json.dumps(Model.model_json_schema(), indent=2))
