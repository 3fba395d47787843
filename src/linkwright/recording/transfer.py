"""Results that are copied, and sent to other processes, as those of `multiprocessing`.

Numbers and names travel. The model that a result is of does not, since expressions belong to their
process: a recording reports it what a file would report, and can be shown with that.
"""

from __future__ import annotations

from collections.abc import Mapping
from copy import deepcopy
from dataclasses import fields, replace
from typing import Any, TypeVar

from linkwright.base.errors import Error

Made = TypeVar("Made", bound="Transferable")

_MODELS = ("source", "mechanism", "system")


class Transferable:
    """A dataclass that holds numbers, and maybe the model that they are of."""

    __slots__ = ()

    def __copy__(self: Made) -> Made:
        return self._with({})

    def __deepcopy__(self: Made, memo: dict[int, Any]) -> Made:
        """Copy all but the model, which is the same."""
        held = self._held().items()
        return self._with({n: x if n in _MODELS else deepcopy(x, memo) for n, x in held})

    def __reduce__(self) -> tuple[Any, ...]:
        return _arrived, (type(self), self._packed(self._held()))

    def _held(self) -> dict[str, Any]:
        this: Any = self
        return {f.name: getattr(self, f.name) for f in fields(this)}

    def _with(self: Made, changes: Mapping[str, Any]) -> Made:
        this: Any = self
        made: Made = replace(this, **changes)
        return made

    def _packed(self, held: dict[str, Any]) -> dict[str, Any]:
        """Return the fields as they travel."""
        if held.get("source") is not None:
            held.update(metadata=with_origin(held["metadata"], held["source"]), source=None)
        return {**held, "metadata": dict(held["metadata"])} if "metadata" in held else held

    @classmethod
    def _unpacked(cls, held: dict[str, Any]) -> dict[str, Any]:
        """Return the fields as they are in this process."""
        return held


def _arrived(cls: type[Transferable], held: dict[str, Any]) -> Transferable:
    return cls(**cls._unpacked(held))


def with_origin(metadata: Mapping[str, Any], source: Any) -> dict[str, Any]:
    """Return what is known of a result, with what is reported of the model that it is of."""
    known = dict(metadata)
    if "origin" not in known and source is not None:
        from linkwright.base.hooks import origin_of

        info = origin_of(source)
        if info:
            known["origin"] = info
    return known


class StayedBehind:
    """Stands for a model in a process that does not have it."""

    def __init__(self, what: str) -> None:
        self._what = what

    def __repr__(self) -> str:
        return f"StayedBehind({self._what!r})"

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        raise Error(
            f"{vars(self).get('_what', 'the model')} stayed in the process that ran it",
            remedy="build it here again where you need it",
        )
