"""Scope: channels stacked over time, live or recorded, in a page of our own within the studio's."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from linkwright.studio.desk import desk_of
from linkwright.studio.scope_desk import ScopeDesk
from linkwright.studio.scope_server import ScopeServer

if TYPE_CHECKING:
    from linkwright.studio.server import Studio

_WIDE = 820  # pixels, where there is no scene
_STYLE = (
    "width:100%;height:calc(100vh - 9.5em);min-height:420px;border:0;border-radius:4px;"
    "display:block;color-scheme:normal"
)


def add(studio: Studio, tabs: Any, name: str) -> None:
    """Add the tab.

    Args:
        studio: what it shows.
        tabs: where it goes.
        name: of the tab.
    """
    desk = desk_of(studio)
    scope = ScopeDesk(desk)
    served = ScopeServer(scope, studio.host, studio.port + 1)
    studio.shared["scope"] = served
    studio.closers.append(served.close)
    if studio.stage is None:  # there is nothing else to see
        studio.server.gui.main_panel.set_width(_WIDE)
    with tabs.add_tab(name):
        studio.server.gui.add_html(served.frame(_STYLE))
