"""What is closed at the end of a `with` block."""

from __future__ import annotations

from typing import Self


class Closable:
    """Something that the end of a `with` block closes.

    >>> class Door(Closable):
    ...     def close(self):
    ...         print("closed")
    >>> with Door():
    ...     print("open")
    open
    closed
    """

    __slots__ = ()

    def close(self) -> None:
        """Let go of what it holds."""
        raise NotImplementedError

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()
