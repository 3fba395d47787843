"""What a shell completes: models, their parameters and states, and channels of recordings."""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from linkwright.base.errors import Error

if TYPE_CHECKING:
    from linkwright.mechanism import Mechanism


def models(incomplete: str) -> list[str]:
    """Return the shipped models and the files that a word can go on to.

    >>> models("pendu")
    ['pendulum']
    """
    from linkwright.models import MODELS

    return [name for name in MODELS if name.startswith(incomplete)] + files(incomplete)


def files(incomplete: str) -> list[str]:
    """Return the files and folders that a word can go on to."""
    start, slash, last = incomplete.rpartition("/")
    folder = Path(start + slash)
    found = sorted(folder.iterdir()) if folder.is_dir() else []
    names = [f"{p.name}/" if p.is_dir() else p.name for p in found if p.name.startswith(last)]
    return [f"{start}{slash}{name}" for name in names if last or not name.startswith(".")]


def parameters(ctx: typer.Context, incomplete: str) -> list[str]:
    """Return the parameters of the model that the line names, each as NAME=."""
    m = _model(ctx)
    return [] if m is None else _begun(m.values, incomplete)


def states(ctx: typer.Context, incomplete: str) -> list[str]:
    """Return the coordinates and speeds of the model that the line names, each as NAME=."""
    m = _model(ctx)
    return [] if m is None else _begun([*m.coordinates, *m.kinematics().speeds], incomplete)


def channels(ctx: typer.Context, incomplete: str) -> list[str]:
    """Return recordings, and behind the first one its channels."""
    from linkwright.recording import read_recording

    given = ctx.params.get("what") or ()
    names: list[str] = []
    if given:
        with suppress(Error, OSError):
            names = [n for n in read_recording(given[0]).names if n.startswith(incomplete)]
    return names + files(incomplete)


def _begun(names: Any, incomplete: str) -> list[str]:
    return [f"{name}=" for name in names if str(name).startswith(incomplete)]


def _model(ctx: typer.Context) -> Mechanism | None:
    """Return the model that the line names; none where it cannot be read."""
    from linkwright.mechanism import mechanism_of
    from linkwright.models import opened

    given = [ctx.params.get(key) for key in ("model", "robot", "file")]
    words = [word for word in ctx.args if not word.startswith("-")]  # what is not read yet
    name = next((word for word in (*given, *words) if word), None)
    with suppress(Error, OSError):
        return None if name is None else mechanism_of(opened(str(name)))
    return None
