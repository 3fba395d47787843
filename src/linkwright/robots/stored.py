"""What the disk cache knows of a robot, by a digest of it: its names, and its quantities' ports.

The object code lies beside it (`linkwright.backends.llvm.stored`). An entry is JSON in the same
private, capped folder as object code; one that is damaged or does not fit is made again.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from linkwright.backends.llvm.stored import Ports
from linkwright.base.cache import entry_key, stored
from linkwright.base.fingerprint import fingerprint
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


def known_ports(key: str, make: Callable[[], tuple[Ports, Ports]]) -> tuple[Ports, Ports]:
    """Return the inputs and outputs of a quantity, which are made where it was never built."""

    def read(found: Any) -> tuple[Ports, Ports]:
        inputs, outputs = (
            tuple((str(name), tuple(int(n) for n in shape)) for name, shape in ports)
            for ports in found
        )
        return inputs, outputs

    return stored(entry_key(key.encode(), "ports"), read, make, list)


def known_facts(digest: str, make: Callable[[], Facts]) -> Facts:
    """Return what a robot says of itself, which is made where it was never loaded."""
    return stored(entry_key(digest.encode(), "facts"), facts_from, make, asdict)
