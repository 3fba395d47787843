"""Keys of the studio: each is a command of Viser's, and a line of the help sheet.

Viser itself moves the camera by W, A, S, D, Q, E and the arrows, so none of ours is one of those.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from linkwright.studio.state import panels_of

if TYPE_CHECKING:
    from linkwright.studio.server import Studio

_CAMERA = ("W", "A", "S", "D", "Q", "E", "arrowup", "arrowdown", "arrowleft", "arrowright")
_SHOWN = {"pageup": "Page Up", "pagedown": "Page Down"}


def add_key(
    studio: Studio, key: str, words: str, act: Callable[[Any], object], *, line: str = ""
) -> None:
    """Let a key do something, and report it in the help sheet and the list of commands."""
    assert key not in _CAMERA, f"Viser moves the camera by {key}"
    assert key not in studio.keys, f"{key} already does something: {studio.keys[key]}"
    studio.keys[key] = line or words
    also_key(studio, key, words, act)


def also_key(studio: Studio, key: str, words: str, act: Callable[[Any], object]) -> None:
    """Let a key do something besides what it does already."""
    panels = panels_of(studio)

    def call(event: Any) -> None:
        try:
            act(event)
        except Exception as error:  # a key's trouble is told, and must not end a thread
            panels.report(str(error))

    studio.acts.setdefault(key.lower(), []).append(call)  # for keys within our own pages
    studio.server.gui.add_command(words, hotkey=key).on_trigger(call)


def says(words: str) -> Callable[[Any], None]:
    """Return what a key does that has nothing to act on: it says so."""

    def act(event: Any) -> None:
        if event.client is not None:
            event.client.add_notification("Nothing to change", words, auto_close_seconds=4.0)

    return act


def sheet(studio: Studio) -> str:
    """Return the table of keys for the help sheet, in Markdown."""
    lines: dict[str, list[str]] = {}
    for key, line in studio.keys.items():
        lines.setdefault(line, []).append(shown(key))
    rows = [(", ".join(keys), line) for line, keys in lines.items()]
    rows += [("W A S D Q E, arrows", "Move the camera"), ("Ctrl K", "All commands")]
    return "\n".join(["| key | action |", "|---|---|", *(f"| {k} | {w} |" for k, w in rows)])


def shown(key: str) -> str:
    """Return a key as it is written on a keyboard.

    >>> shown("pageup"), shown("space"), shown("N")
    ('Page Up', 'Space', 'N')
    """
    return _SHOWN.get(key, key.capitalize())
