"""How much a file may hold: one that unfolds into more than fits is refused before it is read."""

from __future__ import annotations

from pathlib import Path

from linkwright.errors import InputError

MOST_BYTES = 1 << 32
"""Of the numbers of a recording, once they are unpacked."""


def require_room(path: Path, size: int) -> None:
    """Refuse a file whose numbers would take too much room.

    Args:
        path: the file.
        size: what they take when they are unpacked, bytes.

    >>> require_room(Path("a.npz"), 1 << 40)
    Traceback (most recent call last):
        ...
    linkwright.errors.InputError: a.npz: it unpacks to 1099511627776 bytes; 4294967296 are read at \
the most
    """
    if size > MOST_BYTES:
        raise InputError(
            f"it unpacks to {size} bytes", file=path, remedy=f"{MOST_BYTES} are read at the most"
        )
