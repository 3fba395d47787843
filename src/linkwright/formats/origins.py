"""What a recording reports the thing that moved, as plain data: the table `origin` in its `about`.

- A shipped model is named with its options: `{"model": "n-four-bar:n=40"}`.
- A file is named with its path, a digest of what it held, the options it was read with, and its
  text where that is everything (meshes apart).
- Anything else that is a mechanism is written as a text model, from which the same mechanism is
  built again.

So a recording can be drawn without the program that made it, and nothing in it is ever executed.
"""

from __future__ import annotations

from typing import Any

from linkwright.base.errors import Error
from linkwright.formats.text.files import write_model
from linkwright.mechanism import Mechanism
from linkwright.mechanism.provenance import LONGEST, Provenance
from linkwright.mechanism.structure import Structure, structure_of


def origin_of(thing: Any) -> dict[str, Any]:
    """Return what a recording reports a mechanism, or of something that has one.

    >>> m = Mechanism("swing")
    >>> rod = m.body("rod", rotate="z", mass=1, com=(1, 0, 0), inertia=0)
    >>> print(origin_of(m)["text"].splitlines()[1])
    name = "swing"
    """
    mechanism = thing if isinstance(thing, Mechanism) else getattr(thing, "mechanism", None)
    if not isinstance(mechanism, Mechanism) or not mechanism.bodies:
        return {}
    known, now = mechanism.provenance, structure_of(mechanism)
    if known is not None and known.model and known.structure == now:
        return {"model": known.model}
    info: dict[str, Any] = {}
    # What acts on a robot is not drawn, so a robot file is named even where loads were added.
    if known is not None and known.file and _still(known, now):
        info = {"file": known.file, "digest": known.digest, "options": dict(known.options)}
        if known.text:
            return {**info, "text": known.text}
    try:
        text = write_model(mechanism)
    except Error as error:
        return info or {"why": f"{mechanism.name!r} cannot be written as text: {error}"}
    if len(text) <= LONGEST:
        info["skeleton" if info else "text"] = text
    return info


def _still(known: Provenance, now: Structure) -> bool:
    """Return whether a mechanism is drawn as its file says."""
    then = known.structure
    return then == now or (known.robot is not None and then is not None and then.moves_alike(now))
