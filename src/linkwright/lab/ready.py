"""Laboratories made ready for native runs, and remembered on disk.

The phases of a laboratory's System are kept as plain data in the cache of native code, under a
digest of its configuration and of this package's code: one that has run once starts without being
derived again.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import asdict, replace
from typing import TYPE_CHECKING

from linkwright.base.cache import entry_key
from linkwright.base.errors import Error
from linkwright.base.fingerprint import fingerprint
from linkwright.formats.robot.description import Description
from linkwright.lab.config import LabConfig
from linkwright.lab.variables import contact_channels
from linkwright.simulation.native.session import Session
from linkwright.simulation.native.stored import Tell, prepared
from linkwright.simulation.settings import FOREVER, MOST_STEPS, RunSettings

if TYPE_CHECKING:
    from linkwright.system import Phases, System

METHODS = {"verlet": "verlet", "rk4": "rk4", "euler": "semi-implicit"}
"""Methods of integration by the names that configurations have for them."""


def ready_session(
    config: LabConfig,
    build: Callable[[], System],
    *,
    kind: str = "",
    channels: Sequence[str] | None = None,
    seed: int = 0,
    tell: Tell | None = None,
) -> Session:
    """Return a run of a laboratory's System, from the cache where that remembers it."""

    def phases() -> Phases:
        system = build()
        asked = channels
        if asked is None:
            asked = contact_channels(config) if system.mechanism.bodies else []
        return system.phases(list(asked))

    if config.method not in METHODS:
        raise Error(
            f"there is no method {config.method!r}", remedy=f"choose one of {', '.join(METHODS)}"
        )
    step = 1 / (config.rate * config.substeps)
    until = min(FOREVER, step * MOST_STEPS / 2)
    settings = RunSettings(until, step, METHODS[config.method], every=0, seed=seed)
    key = entry_key(config_digest(config), f"phases{kind}")
    return prepared(key, settings, phases, config.name, tell)


def config_digest(config: LabConfig) -> bytes:
    """Return what stands for a configuration, and for the code that makes a System of it.

    Where its files lie counts for nothing; the file of vision's filters counts by what it holds.
    """
    plain = replace(config, servos=dict(config.servos), real_servos=dict(config.real_servos))
    plain = replace(plain, ratios=dict(config.ratios), vertices=dict(config.vertices))
    model = None if config.model is None else _bare(config.model)
    plain = replace(plain, description=_bare(config.description), model=model)
    plain = replace(plain, mechanism=None, believed=None)
    plain = replace(plain, preferences=None, files=(), notes=())
    text = json.dumps(asdict(plain), sort_keys=True, default=str)
    own = [m and m.fingerprint() for m in (config.mechanism, config.believed)]
    told = f"lab {fingerprint('labs')} {text} {own} {_filters(config)}"
    return hashlib.blake2b(told.encode(), digest_size=32).digest()


def _bare(description: Description) -> Description:
    return replace(description, source="", content=None, notes=(), ignored=())


def _filters(config: LabConfig) -> str:
    """Return what the file of vision's filters holds; nothing where there is none."""
    if config.preferences is not None:
        with suppress(OSError):
            return (config.preferences / config.vision.preferences).read_bytes().hex()
    return ""
