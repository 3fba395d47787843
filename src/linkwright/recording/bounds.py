"""How much a file may hold: one that unfolds into more than fits is rejected before it is read."""

from __future__ import annotations

from pathlib import Path

from linkwright.base.errors import InputError

MOST_BYTES = 1 << 31
"""Of the numbers of a recording, once they are unpacked."""
MOST_COLUMNS = 100_000
"""Channels of a recording."""
_FREE = 1 << 28  # bytes that any file may unpack to
_MOST_RATIO = 1000  # of what is unpacked to the size of a file, beyond that


def require_room(path: Path, size: int, packed: int | None = None) -> None:
    """Reject a file whose numbers would take too much room.

    >>> require_room(Path("a.npz"), 1 << 40)
    Traceback (most recent call last):
        ...
    linkwright.InputError: a.npz: it unpacks to 1099511627776 bytes; 2147483648 are read at \
the most
    """
    if packed is not None and size > _FREE and size > _MOST_RATIO * packed:
        raise InputError(
            f"it unpacks to {size} bytes, more than {_MOST_RATIO} times its own {packed}",
            file=path,
            remedy="no recording is so empty",
        )
    if size > MOST_BYTES:
        raise InputError(
            f"it unpacks to {size} bytes", file=path, remedy=f"{MOST_BYTES} are read at the most"
        )
