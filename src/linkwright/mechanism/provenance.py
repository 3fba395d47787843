"""Where a mechanism comes from, so that recordings of it can name that.

Whoever makes a mechanism from a name or a file leaves a note in it. The note holds for the
mechanism as it was then: one that was changed since is no longer what the name says, and recordings
of it hold its text instead.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from linkwright.base.files import digest_of
from linkwright.mechanism.structure import Structure, structure_of

if TYPE_CHECKING:
    from linkwright.mechanism.mechanism import Mechanism

LONGEST = 1 << 20
"""Bytes of a file whose text is kept."""


@dataclass(frozen=True, slots=True, eq=False)
class Provenance:
    """What a mechanism was made from.

    >>> Provenance(model="n-four-bar:n=40").model
    'n-four-bar:n=40'
    """

    model: str = ""  # of a shipped model, its name with options as `load_model` takes it
    file: str = ""  # of a file, its whole path
    digest: str = ""  # of what the file held
    # what the file held, where that is everything; otherwise empty
    text: str = field(default="", repr=False)
    options: Mapping[str, Any] = field(default_factory=dict)  # with which it was read or assembled
    # the description of a robot and how it was assembled, while they are at hand
    robot: Any = field(default=None, repr=False)
    structure: Structure | None = field(default=None, repr=False)  # what the mechanism was made of


def from_model(mechanism: Mechanism, name: str) -> None:
    """Note that a mechanism is a shipped model; what robot it is of stays."""
    robot = mechanism.provenance.robot if mechanism.provenance else None
    mechanism.provenance = Provenance(model=name, robot=robot, structure=structure_of(mechanism))


def from_file(
    mechanism: Mechanism,
    file: str = "",
    content: bytes | None = None,
    options: Mapping[str, Any] | None = None,
    robot: Any = None,
    is_whole: Callable[[Path, bytes], bool] = lambda *_: True,
) -> None:
    """Note that a mechanism comes from a file that held some bytes.

    `is_whole` says whether a file says everything by itself, so that its text is kept.
    """
    path, digest, text = "", "", ""
    if file and content is not None:
        with suppress(OSError, RuntimeError, ValueError):  # not text, or a name that leads nowhere
            found = Path(file).resolve()
            path, digest = str(found), digest_of(content)
            if len(content) <= LONGEST and is_whole(found, content):
                text = content.decode()
    mechanism.provenance = Provenance(
        "", path, digest, text, dict(options or {}), robot, structure_of(mechanism)
    )


def named(mechanism: Mechanism) -> str:
    """Return the full spelling of a shipped model that is as it was made, otherwise the name."""
    known = mechanism.provenance
    same = known is not None and known.model and known.structure == structure_of(mechanism)
    return known.model if known is not None and same else mechanism.name
