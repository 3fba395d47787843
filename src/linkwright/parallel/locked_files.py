"""Files with the values at which the actuators of a machine are locked."""

from __future__ import annotations

import os
from typing import Annotated

from pydantic import Field

from linkwright.base.errors import Error, suggestion
from linkwright.formats.schema import Format, Key, read_record
from linkwright.formats.text.tables import Record
from linkwright.mechanism import Mechanism


class LockedFile(Record):
    """Where actuators are locked."""

    format: Format
    actuators: Annotated[
        dict[str, float | str], Field(min_length=1), Key("the value of each, by its name")
    ]


def read_locked(path: str | os.PathLike[str], mechanism: Mechanism) -> dict[str, float]:
    """Return the value of every actuator of a machine from a TOML file.

    >>> import tempfile
    >>> from pathlib import Path
    >>> m = Mechanism("m")
    >>> b = m.body("b", translate="x")
    >>> m.actuate("b")
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     place = Path(folder) / "lengths.toml"
    ...     _ = place.write_text('format = 1\\n[actuators]\\nb = "60 cm"\\n')
    ...     read_locked(place, m)
    {'b': 0.6}
    """
    record, source = read_record(path, LockedFile, "the values of the actuators")
    names = [q.name for q in mechanism.actuators]
    for name in record.actuators:
        if name not in names:
            hint = suggestion(name, names, f"it has {', '.join(names)}")
            raise source.error(
                ("actuators", name), f"{mechanism.name!r} has no actuator {name!r}", hint
            )
    missing = [name for name in names if name not in record.actuators]
    if missing:
        raise source.error(
            ("actuators",), f"no value is given for {', '.join(missing)}", "give one for each"
        )
    found: dict[str, float] = {}
    for name, value in record.actuators.items():
        try:
            found |= mechanism.amounts({name: value}, "actuators")
        except Error as error:
            raise source.error(("actuators", name), error.what, error.remedy) from None
    return found
