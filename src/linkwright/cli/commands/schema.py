"""``linkwright schema``: the JSON schemas of text models and scene files, for editors."""

from __future__ import annotations

import json

import typer

from linkwright.cli.terminal import echo


def command(
    scene_file: bool = typer.Option(
        False, "--scene", help="Print the schema of scene files instead."
    ),
) -> None:
    """Print the JSON schema of text models, for completion and checks in an editor.

    \b
    Examples:
      linkwright schema > model.schema.json
    """
    if scene_file:
        from linkwright.scene.scene_tables import SceneTable

        echo(json.dumps(SceneTable.model_json_schema(), indent=2))
        return
    from linkwright.formats.text.schema import ModelFile

    echo(json.dumps(ModelFile.model_json_schema(), indent=2))
