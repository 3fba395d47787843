"""``linkwright model list``: the models that are shipped."""

from __future__ import annotations

from linkwright.cli.results import CommandResult, TextTable


def command() -> CommandResult:
    """List the shipped models.

    \b
    Examples:
      linkwright model list
      linkwright model list --json
    """
    from linkwright.models import MODELS, option_texts

    options = {name: list(option_texts(name)) for name in MODELS}
    brief = {
        name: " ".join(texts) if len(texts) < 3 else f"{texts[0]} and {len(texts) - 1} more"
        for name, texts in options.items()
    }
    return CommandResult(
        [
            {"name": name, "description": model.doc, "options": options[name]}
            for name, model in MODELS.items()
        ],
        [
            TextTable(
                ("model", "what", "options"),
                [(name, model.doc, brief[name]) for name, model in MODELS.items()],
            )
        ],
        next="simulate pendulum",
    )
