"""``linkwright schema``: the JSON schemas of text models, scene files, catalogs, laboratories."""

from __future__ import annotations

import json

import typer

from linkwright.cli.terminal import echo


def command(
    scene_file: bool = typer.Option(
        False, "--scene", help="Print the schema of scene files instead."
    ),
    catalog: bool = typer.Option(False, "--catalog", help="Print the schema of catalogs instead."),
    lab: bool = typer.Option(False, "--lab", help="Print the schema of lab.toml instead."),
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
    if catalog:
        from linkwright.formats.catalog.schema import Catalog

        echo(json.dumps(Catalog.model_json_schema(), indent=2))
        return
    if lab:
        from linkwright.lab.files.lab_tables import LabFile

        echo(json.dumps(LabFile.model_json_schema(), indent=2))
        return
    from linkwright.formats.text.schema import ModelFile

    echo(json.dumps(ModelFile.model_json_schema(), indent=2))
