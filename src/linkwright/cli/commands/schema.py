"""``linkwright schema``: the JSON schema of text models, for editors."""

from __future__ import annotations

import json

import typer


def command() -> None:
    """Print the JSON schema of text models, with which an editor can complete and check them."""
    from linkwright.formats.schema import Model

    typer.echo(json.dumps(Model.model_json_schema(), indent=2))
