"""What goes to the terminal: text of models and recordings, without what would steer it.

A name or a document may hold escape sequences (which set the title of a window, fill the clipboard
or hide text) and marks that turn the direction of writing. They are shown, not obeyed.
"""

from __future__ import annotations

import os
import re
import sys
from importlib.util import find_spec

import typer

_STEERING = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200b-\u200f\u2028-\u202e\u2060-\u2069\ufeff\ud800-\udfff]"
)


def harmless(text: str) -> str:
    """Return a text with control characters and marks of direction written out.

    >>> print(harmless("a\\x1b]0;title\\x07 b\\u202e"))
    a\\x1b]0;title\\x07 b\\u202e
    """
    return _STEERING.sub(lambda found: ascii(found[0])[1:-1], text)


def can_edit() -> bool:
    """Return whether lines can be typed with history and completion."""
    steered = os.environ.get("TERM", "dumb") != "dumb"
    if not (steered and sys.stdin.isatty() and sys.stdout.isatty()):
        return False
    if find_spec("prompt_toolkit") is None:
        echo("for history and completion: pip install 'linkwright[lab]'")
        return False
    return True


def echo(text: object = "", *, err: bool = False, nl: bool = True) -> None:
    """Print a text that may come from a file."""
    typer.echo(harmless(str(text)), err=err, nl=nl)
