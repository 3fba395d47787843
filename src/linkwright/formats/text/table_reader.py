"""Names and numbers of tables in TOML files; what is wrong with them gets its place in the text."""

from __future__ import annotations

from collections.abc import Collection

from linkwright.algebra.units import amount
from linkwright.base.errors import InputError, UnitError, suggestion
from linkwright.formats.text.document import TextSource
from linkwright.formats.text.positions import Path


class TableReader:
    """Takes values out of tables."""

    def __init__(self, source: TextSource) -> None:
        self.source = source

    def known(self, name: str, known: Collection[str], path: Path, what: str) -> None:
        """Reject a name that is not there, with the nearest that is."""
        if name not in known:
            listed = ", ".join(known) or "none"
            remedy = suggestion(name, known, f"there are {listed}")
            key = isinstance(path[-1], str) and path[-1] == name
            raise self.source.error(path, f"no {what} is called {name!r}", remedy, key=key)

    def number(self, value: object, path: Path, unit: str) -> float:
        """Return a finite number in a unit."""
        try:
            found = amount(value, str(path[-1]), unit)
        except InputError as error:
            raise self.source.error(path, error.what, error.remedy) from None
        except UnitError as error:
            as_in = "" if unit == "?" else f', as in "1.5 {unit}"'
            raise self.source.error(path, error.what, f"give a number{as_in}") from None
        if not abs(found) < 1e300:
            raise self.source.error(path, f"{found} is not a finite number", "give one that is")
        return found
