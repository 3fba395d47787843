"""Scope: channels stacked over time, live or recorded, in a page of our own within the studio's."""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Any

from linkwright.base.errors import Error, InputError
from linkwright.recording.files import is_recording
from linkwright.recording.origins import to_be_sent
from linkwright.studio.scope_requests import ScopeState
from linkwright.studio.side_pages import PageRequest, Reply, add_page, as_json
from linkwright.studio.state import panels_of

if TYPE_CHECKING:
    from linkwright.studio.server import Studio

SAVED_AS = (".csv", ".npz", ".parquet", ".mcap", ".mat", ".erd")
"""Formats in which the scope saves."""

_LARGEST = 1 << 28  # bytes of a recording that is opened
_WIDE = 620  # pixels, where there is no scene
_SCRIPTS = ("signals.js", "plots.js", "scope.js", "served.js")


def add(studio: Studio, tabs: Any, name: str) -> None:
    """Add the tab."""
    studio.scope = scope = ScopeState(panels_of(studio))
    if studio.stage is None:  # there is nothing else to see
        studio.server.gui.main_panel.set_width(_WIDE)
    pages = add_page(
        studio,
        tabs,
        name,
        _SCRIPTS,
        kind="",
        ask=scope.answer,
        last=lambda _: {"name": scope.open_last()},
        next=lambda _: {"name": str(scope.save_next())},
    )
    pages.routes |= {
        ("POST", "scope/open"): lambda asked: _open(scope, asked),
        ("GET", "scope/save"): lambda asked: _save(scope, asked.query.get("as", ".csv")),
        ("GET", "scope/picture"): lambda _: Reply(
            scope.picture().encode(), "image/svg+xml", "scope.svg"
        ),
    }
    pages.largest["scope/open"] = _LARGEST


def _open(scope: ScopeState, asked: PageRequest) -> Reply:
    name = Path(asked.query.get("name", "").replace("\\", "/")).name
    if not is_recording(name):
        raise InputError(
            f"{name or 'a file without a name'} has an unknown file type",
            remedy="open a file that linkwright has saved, or one of SL's (d00001)",
        )
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / name
        path.write_bytes(asked.body)
        try:
            return as_json({"name": scope.open(path)})
        except Error as error:  # with the name that the user knows
            raise InputError(str(error).replace(str(path), name)) from None


def _save(scope: ScopeState, suffix: str) -> Reply:
    if suffix not in SAVED_AS:
        raise InputError(f"no recording ends in {suffix!r}", remedy=", ".join(SAVED_AS))
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / f"scope{suffix}"
        to_be_sent(scope.whole()).save(path)
        return Reply(path.read_bytes(), "application/octet-stream", path.name)
