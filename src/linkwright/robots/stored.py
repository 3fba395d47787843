"""What the disk cache knows of a robot, by a digest of it: its names, and its quantities' ports.

The object code lies beside it (`linkwright.backends.llvm.stored`). An entry is JSON in the same
private, capped folder as object code; one that is damaged or does not fit is made again.
"""

from __future__ import annotations

import hashlib
import json
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from linkwright.backends.llvm.stored import Ports
from linkwright.cache import entry_key, open_cache
from linkwright.fingerprint import fingerprint
from linkwright.robots.states import Facts, facts_from

if TYPE_CHECKING:
    from linkwright.formats.robot.description import Description


def robot_digest(description: Description, options: dict[str, Any]) -> str:
    """Return a digest of all that a robot's Programs depend on, this package's code included.

    >>> from linkwright.formats.robot.description import Description
    >>> len(robot_digest(Description("r", (), ()), {}))
    32
    """
    content = (
        description.name,
        [(link.name, link.mass) for link in description.links],
        description.joints,
        description.frames,
        description.closures,
        description.gravity,
        sorted(options.items()),
        fingerprint("robots"),
    )
    return hashlib.blake2b(repr(content).encode(), digest_size=16).hexdigest()


def known_ports(key: str) -> tuple[Ports, Ports] | None:
    """Return the inputs and outputs of a quantity that was built before, or None."""
    store = open_cache()
    entry = None if store is None else store.fetch(entry_key(key.encode(), "ports"))
    if entry is None:
        return None
    try:
        found = json.loads(entry)
        return _ports(found["inputs"]), _ports(found["outputs"])
    except (ValueError, KeyError, TypeError, OverflowError):
        return None


def remember_ports(key: str, inputs: Ports, outputs: Ports) -> None:
    """Store the inputs and outputs of a quantity."""
    store = open_cache()
    if store is not None:
        entry = json.dumps({"inputs": inputs, "outputs": outputs})
        store.put(entry_key(key.encode(), "ports"), entry.encode())


def known_facts(digest: str) -> Facts | None:
    """Return what a robot that was loaded before says of itself, or None."""
    store = open_cache()
    entry = None if store is None else store.fetch(entry_key(digest.encode(), "facts"))
    if entry is None:
        return None
    try:
        return facts_from(json.loads(entry))
    except (ValueError, TypeError, AttributeError, OverflowError):
        return None


def remember_facts(digest: str, facts: Facts) -> None:
    """Store what a robot says of itself."""
    store = open_cache()
    if store is not None:
        store.put(entry_key(digest.encode(), "facts"), json.dumps(asdict(facts)).encode())


def _ports(found: Any) -> Ports:
    return tuple((str(name), tuple(int(n) for n in shape)) for name, shape in found)
