"""The model of the dialogue: the text of a file, and the edits of its categories.

Every function takes a text and returns another one. What is not touched keeps its bytes.
"""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from linkwright.base.errors import Error, InputError
from linkwright.formats.text.edits import with_table, with_value, without_table
from linkwright.formats.text.files import parse_model
from linkwright.mechanism.joint_kinds import JOINTS, OWN_AXIS

Record = Mapping[str, Any]

DEFAULTS: Record = {
    "at": [0, 0, 0],
    "com": [0, 0, 0],
    "turn": [],
    "mass": 0,
    "inertia": 0,
    "inertia_about": "com",
    "every": 1,
}
"""What a key stands for where it is not there."""

_HOMES = {"point": "body", "shape": "body", "limit": "coordinate"}


@dataclass(frozen=True, slots=True)
class Draft:
    """A text model that is being defined.

    >>> draft = Draft("format = 1\\nname = 'm'\\n").with_body({"name": "base", "joint": "weld"})
    >>> draft.links, draft.base
    ([], 0)
    """

    text: str  # of the model
    task: str = ""  # of the file of its task, where that is defined, too
    scene: str = ""  # of the file of its scene, where components are defined

    @property
    def data(self) -> dict[str, Any]:
        """What the text holds."""
        return tomllib.loads(self.text)

    @property
    def bodies(self) -> list[dict[str, Any]]:
        """The tables of bodies."""
        return list(self.data.get("body", []))

    @property
    def base(self) -> int | None:
        """The number of the table of the base: the first body that is welded to the ground."""
        welded = (
            k
            for k, body in enumerate(self.bodies)
            if body.get("joint") == "weld" and body.get("parent", "n") == "n"
        )
        return next(welded, None)

    @property
    def links(self) -> list[str]:
        """The names of the links, in the order of the file."""
        return [b["name"] for k, b in enumerate(self.bodies) if k != self.base]

    @property
    def names(self) -> set[str]:
        """Every name that is taken."""
        data = self.data
        taken = {b["name"] for b in self.bodies} | {p["name"] for p in data.get("point", [])}
        return taken | set(data.get("parameters", {})) | set(data.get("inputs", {}))

    def number(self, kind: str, key: str, value: str) -> int | None:
        """Return the number of the table with a value of a key."""
        tables = self.data.get(kind, [])
        return next((k for k, table in enumerate(tables) if table.get(key) == value), None)

    def table(self, kind: str, key: str, value: str) -> dict[str, Any]:
        """Return the table with a value of a key; an empty one where there is none."""
        found = self.number(kind, key, value)
        return {} if found is None else dict(self.data[kind][found])

    def last_link(self) -> str:
        """Return the body that nothing hangs on: the end of the chain, or the base."""
        parents = {b.get("parent", "n") for b in self.bodies}
        ends = [b["name"] for b in self.bodies if b["name"] not in parents]
        return ends[-1] if ends else "n"

    def unit_of(self, name: str) -> str:
        """Return the unit of the coordinate of a link: m of a joint that slides, otherwise rad."""
        body = self.table("body", "name", name)
        word = str(body.get("joint"))
        kind = OWN_AXIS.get(word, (word, ""))[0]
        slides = JOINTS[kind].slides if kind in JOINTS else bool(body.get("translate"))
        return "m" if slides else "rad"

    # -- edits -------------------------------------------------------------------------------------
    def with_keys(self, path: tuple[str | int, ...], record: Record) -> Draft:
        """Return the draft with values of a table; None removes a key. What is equal stays."""
        text = self.text
        for key, value in record.items():
            inside: Any = tomllib.loads(text)
            for part in path:
                inside = inside[part] if isinstance(part, int) else inside.get(part, {})
            if not _same(inside.get(key, DEFAULTS.get(key)), value):
                text = with_value(text, (*path, key), value)
        return replace(self, text=text)

    def with_body(self, record: Record, *, after: int | None = None) -> Draft:
        """Return the draft with one more body, after another one or as the last."""
        place = None if after is None else ("body", after)
        return replace(self, text=with_table(self.text, "body", _given(record), after=place))

    def with_only(self, kind: str, key: str, record: Record) -> Draft:
        """Return the draft with a table that is the only one with its value of a key."""
        found = self.number(kind, key, record[key])
        if found is not None:
            return self.with_keys((kind, found), record)
        return replace(self, text=with_table(self.text, kind, _given(record)))

    def without(self, kind: str, key: str, value: str) -> Draft:
        """Return the draft without the tables that have a value of a key."""
        draft = self
        while (found := draft.number(kind, key, value)) is not None:
            draft = replace(draft, text=without_table(draft.text, (kind, found)))
        return draft

    def without_link(self, name: str) -> Draft:
        """Return the draft without a link.

        What hangs on the link hangs on its parent then, and so does the tool. Shapes, limits, the
        start and points of the link go with it; all else stays.
        """
        found = self.number("body", "name", name)
        assert found is not None
        above = self.bodies[found].get("parent", "n")
        draft = self
        for k, body in enumerate(self.bodies):
            if body.get("parent") == name:
                draft = draft.with_keys(("body", k), {"parent": None if above == "n" else above})
        tool = draft.number("point", "name", "tool")
        if tool is not None and draft.data["point"][tool].get("body") == name:
            draft = draft.with_keys(("point", tool), {"body": above})
        for kind, key in _HOMES.items():
            draft = draft.without(kind, key, name)
        draft = draft.with_keys(("initial",), {name: None}) if "initial" in draft.data else draft
        found = draft.number("body", "name", name)
        assert found is not None
        return replace(draft, text=without_table(draft.text, ("body", found)))

    def with_link_after(self, above: str, record: Record) -> Draft:
        """Return the draft with a link between a body and what hangs on it, the tool too."""
        draft = self.with_body(
            record, after=self.number("body", "name", above) if above != "n" else None
        )
        for k, body in enumerate(draft.bodies):
            if body.get("parent", "n") == above and body["name"] != record["name"]:
                moved = above != "n" or k != draft.base
                draft = draft.with_keys(("body", k), {"parent": record["name"]}) if moved else draft
        tool = draft.number("point", "name", "tool")
        if tool is not None and draft.data["point"][tool].get("body", "n") == above:
            draft = draft.with_keys(("point", tool), {"body": record["name"]})
        return draft

    # -- check -------------------------------------------------------------------------------------
    def checked(self) -> Draft:
        """Return the draft if a model can be built from it; otherwise an error says why not."""
        from linkwright.formats.text.tasks import read_task
        from linkwright.mechanism import mechanism_of
        from linkwright.mechanism.plausibility import mechanism_findings

        try:
            document = parse_model(self.text)
            made = document.system() if document.model.is_system else document.build()
            bad = [
                str(found)
                for found in mechanism_findings(mechanism_of(made))
                if found.severity == "error" and found.name != "massless chain"
            ]
            if self.task:
                read_task(self.task)
        except Error as error:
            bad = [f"{error.what}; {error.remedy}" if error.remedy else error.what]
        if bad:
            raise InputError(
                f"no model can be built with this: {bad[0]}",
                remedy="give other values",
                code="R111",
            )
        return self


def _given(record: Record) -> dict[str, Any]:
    """Return a record without what is a default."""
    return {key: value for key, value in record.items() if not _same(value, DEFAULTS.get(key))}


def _same(a: Any, b: Any) -> bool:
    return type(a) is type(b) and bool(a == b)
