"""``linkwright tools doctor``: what is there, what a missing thing would add, and how to get it."""

from __future__ import annotations

from linkwright.cli.results import CommandResult, TextTable, labeled


def command() -> CommandResult:
    """Check Python, extras, compiler, graphics card, browser, real-time rights and cache.

    Nothing of this is needed to derive and simulate; each line says what it adds.
    `linkwright doctor` does the same.

    \b
    Examples:
      linkwright tools doctor
      linkwright tools doctor --json
    """
    from linkwright.cli.machine import describe
    from linkwright.cli.surroundings import surroundings

    machine, parts = describe(), surroundings()
    there = [(p.name, p.found) for p in parts if p.there]
    lacking = [p for p in parts if not p.there]
    text: list[str | TextTable] = [*labeled(machine.lines()), ""]
    text.append(TextTable(("there", "what"), there))
    if lacking:
        rows = [(p.name, p.adds, p.remedy) for p in lacking]
        text += ["", TextTable(("missing", "what it adds", "how to get it"), rows)]
    return CommandResult({"machine": machine, "parts": [p._asdict() for p in parts]}, text)
