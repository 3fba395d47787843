"""Laboratories made ready for native runs, and remembered on disk.

The phases of a laboratory's System are kept as plain data in the cache of native code, under a
digest of its configuration and of this package's code: one that has run once starts without being
derived again.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Sequence
from contextlib import nullcontext, suppress
from dataclasses import asdict, replace
from typing import TYPE_CHECKING

from linkwright.cache import Cache, entry_key, open_cache
from linkwright.errors import Error
from linkwright.fingerprint import fingerprint
from linkwright.formats.robot.description import Description
from linkwright.lab.config import LabConfig
from linkwright.lab.variables import contact_channels
from linkwright.simulation.native.session import Session
from linkwright.simulation.native.stored import Forgotten, from_data, is_storable, to_data
from linkwright.simulation.settings import MOST_STEPS, RunSettings

if TYPE_CHECKING:
    from linkwright.system import Phases, System

FOREVER = 1e7
"""s, how long a laboratory may run."""

METHODS = {"verlet": "verlet", "rk4": "rk4", "euler": "semi-implicit"}
"""Methods of integration by the names that configurations have for them."""

Tell = Callable[[str], None]
_FORMAT = 2


def lab_session(config: LabConfig, phases: Phases, seed: int = 0) -> Session:
    """Return a run of a System of a laboratory that stands at its start."""
    if config.method not in METHODS:
        raise Error(
            f"there is no method {config.method!r}", remedy=f"choose one of {', '.join(METHODS)}"
        )
    step = 1 / (config.rate * config.substeps)
    settings = RunSettings(
        min(FOREVER, step * MOST_STEPS / 2), step, METHODS[config.method], every=0, seed=seed
    )
    return Session(phases, settings.timed(None, phases.tick_seconds))


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
    key, store = entry_key(config_digest(config), f"phases{kind}"), open_cache()
    found = _remembered(config, store, key, seed)
    if found is not None:
        return found
    if tell is not None:
        tell(f"preparing the equations of {config.name}; the next start is quick")
    with nullcontext() if store is None else store.making(key):
        found = _remembered(config, store, key, seed)  # made by another process meanwhile
        if found is not None:
            return found
        system = build()
        if channels is None:
            channels = contact_channels(config) if system.mechanism.bodies else []
        phases = system.phases(list(channels))
        made = lab_session(config, phases, seed)
        if store is not None and is_storable(phases):
            store.put(key, json.dumps(to_data(phases)).encode())
        return made


def _remembered(config: LabConfig, store: Cache | None, key: bytes, seed: int) -> Session | None:
    entry = None if store is None else store.fetch(key)
    if entry is not None:
        try:
            return lab_session(config, from_data(json.loads(entry)), seed)
        except (ValueError, Forgotten):
            pass  # an entry of another kind, or one whose code is gone: it is made again
    return None


def config_digest(config: LabConfig) -> bytes:
    """Return what stands for a configuration, and for the code that makes a System of it.

    Where its files lie counts for nothing; the file of vision's filters counts by what it holds.
    """
    plain = replace(config, servos=dict(config.servos), real_servos=dict(config.real_servos))
    plain = replace(plain, ratios=dict(config.ratios), vertices=dict(config.vertices))
    model = None if config.model is None else _bare(config.model)
    plain = replace(plain, description=_bare(config.description), model=model)
    plain = replace(plain, preferences=None, files=(), notes=())
    text = json.dumps(asdict(plain), sort_keys=True, default=str)
    told = f"lab {_FORMAT} {fingerprint('labs')} {text} {_filters(config)}"
    return hashlib.blake2b(told.encode(), digest_size=32).digest()


def _bare(description: Description) -> Description:
    return replace(description, source="", content=None, notes=(), ignored=())


def _filters(config: LabConfig) -> str:
    """Return what the file of vision's filters holds; nothing where there is none."""
    if config.preferences is not None:
        with suppress(OSError):
            return (config.preferences / config.vision.preferences).read_bytes().hex()
    return ""
