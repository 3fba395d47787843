"""The texts that pages are made of: scripts, style sheets and markup that are in `assets`."""

from __future__ import annotations

import json
from functools import cache
from importlib.resources import files
from urllib.parse import quote

from linkwright.recording.colors import ASIDE, DASHES, TRACES


@cache
def asset(name: str) -> str:
    """Return the text of an asset; scripts get the colors that all plots share.

    >>> "#0066ac" in asset("plots.js")
    True
    """
    text = files(__package__).joinpath("assets", name).read_text(encoding="utf-8")
    text = text.replace('"%DASHES%"', json.dumps([*DASHES, ASIDE]))
    return text.replace('"%TRACES%"', json.dumps(TRACES))


def icon() -> str:
    """Return the icon of pages, as an address that holds all of it.

    >>> icon()[:24]
    'data:image/svg+xml,%3Csv'
    """
    return "data:image/svg+xml," + quote(asset("icon.svg").strip())
