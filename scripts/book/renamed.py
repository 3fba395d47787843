"""The page of what was renamed, made from the tables that keep old names at work."""

from __future__ import annotations

from collections.abc import Mapping

from linkwright.base.aliases import DROPPED, KEYWORDS, METHODS, NAMES, RADIANS
from linkwright.cli.commands import ALIASES, OLD_OPTIONS

_HEAD = f"""\
# What was renamed

Old names work in this release, and warn with the new one; release {DROPPED} drops them.
"""


def page() -> str:
    """Return the page as Markdown."""
    public = {f"lw.{old}": f"lw.{new}" for old, new in NAMES.items() if ":" not in new}
    homes = {f"lw.{old}": _home(new) for old, new in NAMES.items() if ":" in new}
    options = {
        f"linkwright {command} {old}": new if new[:2] == "--" else f"linkwright {command} {new}"
        for command, members in OLD_OPTIONS.items()
        for old, new in members.items()
    }
    commands = {f"linkwright {old}": f"linkwright {new}" for old, new in ALIASES.items()}
    public |= {f"lw.{o}": f"lw.{o.rpartition('.')[0]}.{new}" for o, new in METHODS.items()}
    keywords = {
        f"lw.{place}({old}=...)": f"{new}="
        for place, words in KEYWORDS.items()
        for old, new in words.items()
    }
    parts = [_HEAD, _table("Names", public), _table("Keyword arguments", keywords)]
    if homes:
        parts.append(_table("Names that are not public any more, and where they are", homes))
    radians = {f"lw.{place}": words for place, words in RADIANS.items()}
    title = "Angles that were in degrees in Python, and are in radians"
    parts.append(_table(title, radians, "| of | which |"))
    return "\n".join([*parts, _table("Commands", commands), _table("Options", options)])


def _home(place: str) -> str:
    module, _, name = place.partition(":")
    return f"from linkwright.{module} import {name}"


def _table(title: str, rows: Mapping[str, str], head: str = "| before | now |") -> str:
    lines = [f"| `{old}` | `{new}` |" for old, new in sorted(rows.items())]
    return "\n".join([f"## {title}\n", head, "|---|---|", *lines, ""])
