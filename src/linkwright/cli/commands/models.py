"""``linkwright model list``: the models that are shipped."""

from __future__ import annotations

import json
from collections.abc import Sequence

import typer

from linkwright.cli.terminal import echo


def command(
    as_json: bool = typer.Option(False, "--json", help="Print JSON."),
) -> None:
    """List the shipped models.

    \b
    Examples:
      linkwright model list
      linkwright model list --json
    """
    from linkwright.cli.tables import print_table
    from linkwright.models import MODELS, option_texts

    if as_json:
        info = [
            {"name": name, "description": model.doc, "options": list(option_texts(name))}
            for name, model in MODELS.items()
        ]
        echo(json.dumps(info, indent=2))
        return
    rows = [(name, model.doc, _brief(option_texts(name))) for name, model in MODELS.items()]
    print_table(("model", "what", "options"), rows)


def _brief(options: Sequence[str]) -> str:
    """Return options as a cell of a table; the others are in `--json`."""
    if len(options) > 2:
        return f"{options[0]} and {len(options) - 1} more"
    return " ".join(options)
