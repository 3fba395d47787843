"""The configuration of a laboratory as one line of JSON, and back: what a session holds of it.

It is reported with every number to the last bit. Only classes that configurations consist of are
made of it; nothing else can be named.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import fields, is_dataclass
from pathlib import Path
from typing import Any

from linkwright.base.errors import InputError
from linkwright.formats.robot import description
from linkwright.formats.sl.configuration import SceneObject
from linkwright.formats.text.files import read_model, write_model
from linkwright.lab import config as lab
from linkwright.mechanism import Mechanism

_KINDS: dict[str, type[Any]] = {
    kind.__name__: kind
    for kind in (
        *(x for x in vars(description).values() if isinstance(x, type) and is_dataclass(x)),
        *(
            lab.JointConfig,
            lab.EndEffector,
            lab.Camera,
            lab.MuscleConfig,
            lab.VisionConfig,
            lab.LabConfig,
        ),
        SceneObject,
    )
}
_KIND, _PATH, _TABLE, _MODEL = "#kind", "#path", "#table", "#model"


def config_text(config: lab.LabConfig) -> str:
    """Return a configuration as one line of JSON.

    >>> from linkwright.lab.sources import lab_config
    >>> config = lab_config("sl-arm")
    >>> config_of(config_text(config)) == config
    True
    """
    return json.dumps(_told(config), separators=(",", ":"))


def config_of(text: str) -> lab.LabConfig:
    """Return the configuration that a line of JSON reports.

    >>> config_of("[]")
    Traceback (most recent call last):
        ...
    linkwright.InputError: the configuration of the laboratory is damaged
    """
    try:
        made = _made(json.loads(text))
    except (ValueError, TypeError, KeyError, AttributeError, RecursionError):
        made = None
    if not isinstance(made, lab.LabConfig):
        raise InputError("the configuration of the laboratory is damaged")
    return made


def _told(value: Any) -> Any:
    if is_dataclass(value) and not isinstance(value, type):
        name = type(value).__name__
        if _KINDS.get(name) is not type(value):
            raise InputError(f"a session cannot hold a {name}")
        told = {f.name: _told(getattr(value, f.name)) for f in fields(value) if f.init}
        return {_KIND: name, **told}
    if isinstance(value, Path):
        return {_PATH: str(value)}
    if isinstance(value, Mechanism):
        return {_MODEL: write_model(value)}
    if isinstance(value, Mapping):
        return {_TABLE: [[_told(k), _told(v)] for k, v in value.items()]}
    if isinstance(value, list | tuple):
        return [_told(v) for v in value]
    if isinstance(value, bytes):
        return None  # of a file: what it said is in the rest
    if value is None or isinstance(value, bool | int | float | str):
        return value
    try:
        return float(value)
    except (TypeError, ValueError):
        raise InputError(f"a session cannot hold {value!r}") from None


def _made(told: Any) -> Any:
    if isinstance(told, list):
        return tuple(_made(x) for x in told)
    if not isinstance(told, dict):
        return told
    if _MODEL in told:
        return read_model(told[_MODEL]).frozen()
    if _PATH in told:
        return Path(told[_PATH])
    if _TABLE in told:
        return {_made(k): _made(v) for k, v in told[_TABLE]}
    return _KINDS[told[_KIND]](**{k: _made(v) for k, v in told.items() if k != _KIND})
