"""Components put in: a model with uses and placeholders becomes a flat list of parts.

The parts of the model itself come first, then those of each `[[use]]` in order. An instance has the
names `prefix`, `i` (its number), `count`, the component's arguments and the model's options; a use
inside a component may hand them on. Every part remembers the key path that it was written at.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from pydantic import ValidationError

from linkwright.base.errors import Error, InputError, suggestion
from linkwright.formats.text.document import TextLimits, TextSource, _plain
from linkwright.formats.text.placeholders import fill, whole_number
from linkwright.formats.text.positions import Path
from linkwright.formats.text.schema import Component, ModelFile, ModelParts
from linkwright.formats.text.tables import PartFileTable, Record, Use

_DEEPEST_USE = 8
_WORDS_ONLY = frozenset({"doc", "unit", "name"})


@dataclass(frozen=True, slots=True)
class Part:
    """One table or value of the flat model."""

    value: Any
    path: Path
    written: Any = field(repr=False)
    key: str = ""


@dataclass(frozen=True, slots=True)
class Flat:
    """The parts of a model by kind, in the order in which they are entered."""

    doc: str
    parts: dict[str, list[Part]]
    options: dict[str, int]

    def __getitem__(self, kind: str) -> list[Part]:
        return self.parts.get(kind, [])


def expand(
    model: ModelFile,
    options: Mapping[str, int] | None = None,
    source: TextSource | None = None,
    limits: TextLimits | None = None,
    *,
    depth: int = 0,
) -> Flat:
    """Return the parts of a model with its components put in.

    >>> link = {"body": [{"name": "b${i}", "parent": "${parent}", "rotate": "z"}]}
    >>> use = {"component": "link", "count": "n", "first": {"parent": "n"}}
    >>> model = ModelFile(
    ...     format=1,
    ...     name="chain",
    ...     options={"n": 3},
    ...     component={"link": {**link, "arguments": {"parent": "b${i-1}"}}},
    ...     use=[use],
    ... )
    >>> [(p.value.name, p.value.parent) for p in expand(model)["body"]]
    [('b0', 'n'), ('b1', 'b0'), ('b2', 'b1')]
    """
    expander = _Expander(model, source or TextSource(), limits or TextLimits(), depth)
    return expander.run(options or {})


class _Expander:
    def __init__(
        self, model: ModelFile, source: TextSource, limits: TextLimits, depth: int
    ) -> None:
        self.depth = depth
        self.model = model
        self.source = source
        self.limits = limits
        self.parts: dict[str, list[Part]] = {}
        self.total = 0

    def run(self, options: Mapping[str, int]) -> Flat:
        known = dict(self.model.options)
        for name, value in options.items():
            if name not in known:
                has = f"it has {', '.join(known)}" if known else "it has none"
                raise self.source.error(
                    (),
                    f"the model has no option {name!r}",
                    suggestion(name, known, has),
                )
            known[name] = whole_number(value, {})
        self._group(self.model, (), known, 0)
        doc = self._filled(self.model.doc, ("doc",), known, False)
        return Flat(str(doc), self.parts, known)

    def _group(self, group: ModelParts, path: Path, values: Mapping[str, Any], depth: int) -> None:
        for kind in ModelParts.LISTS:
            for k, record in enumerate(getattr(group, kind)):
                self._add(kind, record, (*path, kind, k), values)
        for kind in ModelParts.TABLES:
            for name, value in getattr(group, kind).items():
                key = (*path, kind, name)
                self._add(kind, value, key, values, self._filled(name, key, values, False))
        for kind in ModelParts.NAMES:
            for k, name in enumerate(getattr(group, kind)):
                self._add(kind, name, (*path, kind, k), values)
        for k, use in enumerate(group.use):
            self._use(use, (*path, "use", k), values, depth)
        for k, table in enumerate(group.part):
            self._part(table, (*path, "part", k), values)

    def _part(self, table: PartFileTable, path: Path, values: Mapping[str, Any]) -> None:
        if self.depth >= _DEEPEST_USE:
            raise self.source.error(
                path, f"files of parts name others more than {_DEEPEST_USE} deep"
            )
        from linkwright.formats.text.subsystems import part_of

        raw = table.model_dump(exclude_unset=True)
        filled = self._deep(raw, path, values)
        if filled != raw:
            table = self._validated(PartFileTable, filled, path)  # type: ignore[assignment]
        for kind, value, key in part_of(table, path, self.source, self.limits, self.depth):
            self._add(kind, value, path, {}, key)

    def _add(
        self, kind: str, written: Any, path: Path, values: Mapping[str, Any], key: str = ""
    ) -> None:
        self.total += 1
        if self.total > self.limits.parts:
            raise self.source.error(path, f"the model has more than {self.limits.parts} parts")
        value = written
        if isinstance(written, Record):
            raw = written.model_dump(exclude_unset=True)
            filled = self._deep(raw, path, values)
            if filled != raw:
                value = self._validated(type(written), filled, path)
            written = raw
        else:
            value = self._deep(written, path, values)
        self.parts.setdefault(kind, []).append(Part(value, path, written, key))

    def _validated(self, kind: type[Record], data: Any, path: Path) -> Record:
        try:
            return kind.model_validate(data)
        except ValidationError as error:
            fault = error.errors(include_url=False)[0]
            raise self.source.error(
                (*path, *fault["loc"]), f"with placeholders replaced, {_plain(fault['msg'])}"
            ) from None

    def _deep(self, value: Any, path: Path, values: Mapping[str, Any], words: bool = False) -> Any:
        if isinstance(value, str):
            return self._filled(value, path, values, not words)
        if isinstance(value, list):
            return [self._deep(x, (*path, k), values, words) for k, x in enumerate(value)]
        if isinstance(value, dict):
            return {
                k: self._deep(x, (*path, k), values, k in _WORDS_ONLY) for k, x in value.items()
            }
        return value

    def _filled(self, text: str, path: Path, values: Mapping[str, Any], expression: bool) -> Any:
        try:
            return fill(text, values, expression=expression)
        except Error as error:
            raise self.source.error(path, error.what, error.remedy) from error

    def _use(self, use: Use, path: Path, values: Mapping[str, Any], depth: int) -> None:
        component = self._component(use, path)
        if depth >= _DEEPEST_USE:
            raise self.source.error(
                path, f"components use one another more than {_DEEPEST_USE} deep"
            )
        for index, first in self._instances(use, path, values):
            inside = {**values, **index}
            given = {**use.arguments, **(use.first if first else {})}
            known = [*component.arguments]
            for name in given:
                if name not in component.arguments:
                    raise self.source.error(
                        (*path, "arguments" if name in use.arguments else "first", name),
                        f"component {use.component!r} has no argument {name!r}",
                        suggestion(name, known, f"it has {', '.join(known)}"),
                        key=True,
                    )
            arguments = {
                name: self._deep(given.get(name, default), path, inside)
                for name, default in component.arguments.items()
            }
            self._group(component, ("component", use.component), {**inside, **arguments}, depth + 1)

    def _component(self, use: Use, path: Path) -> Component:
        found = self.model.component.get(use.component)
        if found is None:
            raise self.source.error(
                (*path, "component"),
                f"there is no component {use.component!r}",
                suggestion(use.component, self.model.component),
            )
        return found

    def _instances(
        self, use: Use, path: Path, values: Mapping[str, Any]
    ) -> Iterator[tuple[dict[str, Any], bool]]:
        counts = {}
        for key in ("count", "start"):
            try:
                counts[key] = whole_number(getattr(use, key), values)
            except InputError as error:
                raise self.source.error((*path, key), error.what, error.remedy) from error
        if not 0 <= counts["count"] <= self.limits.parts:
            raise self.source.error(
                (*path, "count"),
                f"a count lies between 0 and {self.limits.parts}, not {counts['count']}",
            )
        for k in range(counts["count"]):
            i = counts["start"] + k
            own = {"i": i, "count": counts["count"]}
            prefix = self._filled(use.prefix, (*path, "prefix"), {**values, **own}, False)
            yield {**own, "prefix": str(prefix)}, k == 0
