"""Inspect: bodies, masses and frames, equations and their operations, generated code, warnings.

The tab is a page of our own in a frame: a tree from which a body is chosen, and what is reported
of it. The chosen body is lit up in the scene, and a body that is clicked there is chosen here.
"""

from __future__ import annotations

from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from linkwright.base.errors import InputError
from linkwright.pages.highlight import colored
from linkwright.studio.inspection import COUNTED, LANGUAGES, WHOLE, Inspection
from linkwright.studio.side_pages import Asked, PageRequest, Reply, add_page
from linkwright.studio.state import PanelState, panels_of

if TYPE_CHECKING:
    from linkwright.studio.server import Studio

_LINES = 400  # of code that is shown


def add(studio: Studio, tabs: Any, name: str) -> None:
    """Add the tab, where there is one model."""
    panels = panels_of(studio)
    if panels.scene is None or studio.link is not None:
        return
    seen = Inspector(panels, Inspection(panels.scene.robot))
    pages = add_page(
        studio,
        tabs,
        name,
        ("inspect.js",),
        ("inspect.css",),
        body="inspect.html",
        tree=lambda _: seen.tree(),
        now=lambda _: seen.now(),
        select=seen.select,
        show=seen.show,
    )
    pages.routes["GET", "inspect/code"] = seen.code


class Inspector:
    """What the page asks, answered."""

    def __init__(self, panels: PanelState, inspection: Inspection) -> None:
        self.panels, self.inspection = panels, inspection
        self.selected, self.number = WHOLE, 0
        panels.selected.append(self.chosen)

    def chosen(self, name: str) -> None:
        """Take notice that a body was chosen anywhere, and light it up."""
        names = self.inspection.names
        self.selected = name if name in names else WHOLE
        self.number += 1
        stage = self.panels.studio.stage
        if stage is not None:
            stage.light_up(names.index(self.selected) or None)

    def tree(self) -> dict[str, Any]:
        """Return the tree, and what else does not change."""
        scene = self.panels.scene
        assert scene is not None
        return {
            "whole": WHOLE,
            "tree": [asdict(t) for t in self.inspection.tree()],
            "warnings": [*self.inspection.warnings(), *scene.notes],
            "languages": LANGUAGES,
            **self.now(),
        }

    def now(self) -> dict[str, Any]:
        """Return which body is chosen."""
        return {"selected": self.selected, "number": self.number}

    def _body(self, name: object) -> str:
        if name not in self.inspection.names:
            raise InputError(f"there is no body {name!r}")
        return str(name)

    def select(self, asked: Asked) -> object:
        """Choose a body, for all panels."""
        self.panels.select(self._body(asked.get("name")))
        return self.now()

    def show(self, asked: Asked) -> object:
        """Show one thing about a body."""
        name, view = self._body(asked.get("name")), asked.get("view")
        if view == "body":
            return {"rows": self.inspection.body(name)}
        if view == "equations":
            groups = [asdict(g) for g in self.inspection.equations_of(name)]
            operations = self.inspection.operations(name) if groups else []
            return {"groups": groups, "operations": operations, "counted": COUNTED}
        language = str(asked.get("language", "C"))
        lines = self.inspection.code(name, language).splitlines()
        html = colored("\n".join(lines[:_LINES]), language) if lines else ""
        return {"html": html, "lines": len(lines), "cut": min(len(lines), _LINES)}

    def code(self, asked: PageRequest) -> Reply:
        """Give all of the code as a file."""
        name, language = self._body(asked.query.get("of", WHOLE)), asked.query.get("as", "C")
        text = self.inspection.code(name, language)
        file = self.panels.name if name == WHOLE else f"{self.panels.name}-{name}"
        word = "".join(c if c.isalnum() or c in "-_" else "_" for c in file)
        return Reply(text.encode(), "text/plain; charset=utf-8", word + LANGUAGES[language])
