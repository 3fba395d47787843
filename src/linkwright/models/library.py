"""The registry of models, and the reading of model names with options."""

from __future__ import annotations

import inspect
import os
import re
import typing
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from importlib.resources import files
from pathlib import Path

from linkwright.base.arguments import worded
from linkwright.base.errors import InputError, suggestion, unknown
from linkwright.base.files import OpenedFile, integer, is_there, path_of
from linkwright.base.lazy import named
from linkwright.base.reprs import brief
from linkwright.formats.robot.files import endings, read_mechanism
from linkwright.formats.robot.xml import finite
from linkwright.mechanism import Mechanism, mechanism_of
from linkwright.mechanism.provenance import from_model
from linkwright.system import System

Builder = Callable[..., Mechanism | System]


@dataclass(frozen=True, slots=True)
class LibraryModel:
    """A shipped model: one line about it, and where it is built."""

    doc: str
    home: str

    def builder(self) -> Builder:
        """Return the function that builds it; its arguments are the model's options."""
        if self.home.endswith(".toml"):
            return _text_builder(self.home)
        if self.home.endswith(".urdf"):
            path = Path(str(files(__package__))) / "robots" / self.home
            return lambda: read_mechanism(path)
        found: Builder = named(f"{__package__}.{self.home}")
        return found


MODELS: dict[str, LibraryModel] = {
    "pendulum": LibraryModel("simple pendulum, released horizontal (IFToMM A01)", "pendulum.toml"),
    "double-pendulum": LibraryModel("double pendulum of two point masses", "double-pendulum.toml"),
    "slider-crank": LibraryModel("crank, rod and sliding piston: one loop", "slider-crank.toml"),
    "four-bar": LibraryModel("four-bar linkage held by a strut (Sayers 9.3)", "four-bar.toml"),
    "n-four-bar": LibraryModel(
        "row of n four-bar linkages, singular when flat (A02)", "n_four_bar:build"
    ),
    "andrews": LibraryModel("Andrews' squeezer: seven bodies, three loops (A03)", "andrews:build"),
    "car": LibraryModel("passenger car in a turn, with roll and tires (Sayers 9.1)", "car:build"),
    "car-small": LibraryModel("the same, linear in roll, sideslip and yaw rate", "car:small"),
    "cart": LibraryModel("cart on four wheels that roll without slip (Sayers 9.2)", "cart.toml"),
    "whipple": LibraryModel("bicycle with knife-edge wheels, nonlinear (Whipple)", "whipple:build"),
    "spacecraft-1": LibraryModel(
        "spacecraft with camera, boom and thrusters (Sayers 9.4)", "spacecraft1:build"
    ),
    "spacecraft-1-small": LibraryModel(
        "the same, with small motions of bus and boom", "spacecraft1:small"
    ),
    "spacecraft-2": LibraryModel(
        "spacecraft with four hinged antennas (Sayers 9.5)", "spacecraft-2.toml"
    ),
    "stanford-arm": LibraryModel("Stanford arm, six joints (Sayers 9.6)", "stanford_arm:build"),
    "stanford-arm-controlled": LibraryModel(
        "the same, with its control laws", "stanford_arm:controlled"
    ),
    "servo-arm": LibraryModel(
        "two-link arm that a controller moves: a whole System", "servo-arm.toml"
    ),
    "ref6": LibraryModel("six-joint arm of hinges and swivels, in inches (ROBSIM)", "ref6.toml"),
    "joint-drive": LibraryModel(
        "drive of one joint, a whole System (ROBSIM's JNTMOD)",
        "joint-drive.toml",
    ),
    "puma560": LibraryModel("PUMA 560 arm with geared drives (Corke, Armstrong)", "puma560:build"),
    "wrist-4r": LibraryModel("spherical wrist of four joints", "wrist_4r:build"),
    "puma-on-wave": LibraryModel(
        "PUMA 560 on a wave, pressing with 5 N: a System", "puma_on_wave:build"
    ),
    "puma-sees": LibraryModel(
        "PUMA 560 with a camera in its hand that follows a plate", "puma_sees:build"
    ),
    "mount-3-rotary": LibraryModel(
        "antenna mount of three legs with motors at the base", "mounts:three_rotary"
    ),
    "mount-2-rotary": LibraryModel(
        "the same with a strut, so that two motors point it", "mounts:two_rotary"
    ),
    "mount-truss-3": LibraryModel(
        "the same legs, moved by members between their ball joints", "mounts:truss_three"
    ),
    "mount-truss-2": LibraryModel("the same with a strut and two members", "mounts:truss_two"),
    "mount-prismatic": LibraryModel("the same, where two jacks tilt the strut", "mounts:prismatic"),
    "mount-alt-az": LibraryModel(
        "antenna mount that turns about the vertical, then tilts", "serial_mounts:alt_az"
    ),
    "mount-x-y": LibraryModel("antenna mount of two horizontal axes at rest", "serial_mounts:x_y"),
    "mount-equatorial": LibraryModel(
        "antenna mount with an axis along that of the Earth", "serial_mounts:equatorial"
    ),
    "mount-3-axis": LibraryModel(
        "marine antenna mount: azimuth, tilt, cross-tilt", "serial_mounts:three_axis"
    ),
    "mount-4-axis": LibraryModel(
        "marine antenna mount: tilt over azimuth on a gimbal", "serial_mounts:four_axis"
    ),
    "stewart": LibraryModel("hexapod of Gough and Stewart: six driven struts", "parallel:stewart"),
    "delta": LibraryModel("Delta robot: three arms move a level platform", "parallel:delta"),
    "five-bar": LibraryModel("planar five-bar linkage with two motors", "parallel:five_bar"),
    "agile-eye": LibraryModel(
        "spherical platform of nine hinges (3-RRR, overconstrained)", "agile_eye:build"
    ),
    "spherical-collinear": LibraryModel(
        "the same, with its motors on one line", "candidates:collinear"
    ),
    "spherical-coplanar": LibraryModel(
        "the same, with its motors in one plane", "candidates:coplanar"
    ),
    "spherical-shoulder": LibraryModel(
        "the same, with its motors square to each other", "candidates:shoulder"
    ),
    "unitru": LibraryModel("pointing coupling of three 4R legs", "candidates:unitru"),
    "tripod": LibraryModel("platform on three hinged jacks (3-RPS)", "parallel:tripod"),
    "planar-3-rpr": LibraryModel("planar platform on three jacks", "parallel:planar_3_rpr"),
    "humanoid": LibraryModel("humanoid of 65 kg: 22 joints and a free base", "humanoid.urdf"),
}

_TRUTHS = {"on": True, "true": True, "yes": True, "1": True}
_TRUTHS |= {"off": False, "false": False, "no": False, "0": False}


@worded
def load_model(
    name: str | os.PathLike[str], *, trust: bool = False, file: OpenedFile | None = None
) -> Mechanism:
    """Return a model by its name with options, or from a file.

    >>> load_model("n-four-bar:n=3").doc
    '3 four-bar linkages in a row, 7 uniform links'
    >>> load_model("pendulun")
    Traceback (most recent call last):
        ...
    linkwright.InputError: there is no model 'pendulun'; did you mean 'pendulum'?
    """
    found = opened(name, trust=trust, file=file)
    if isinstance(found, System):
        raise InputError(
            f"{str(name)!r} is a System, not a mechanism alone",
            remedy="open it with linkwright.load; its mechanism is its .mechanism",
        )
    return found


def opened(
    name: str | os.PathLike[str], *, trust: bool = False, file: OpenedFile | None = None
) -> Mechanism | System:
    """Return what a name or a file stands for: a mechanism, or a System with members."""
    name = str(path_of(name, "a model"))
    for ending in endings():
        path, fits, options = name.partition(ending)
        if fits and (not options or options.startswith(":")):
            return _from_file(file or Path(path + ending), options[1:], trust)
    stem, _, options = name.partition(":")
    model = MODELS.get(stem)
    if model is None:
        if is_there(name):
            if Path(name).is_dir():
                raise InputError(f"{name!r} is a folder, not a model", remedy="name a file in it")
            known = ", ".join(endings())
            raise InputError(
                f"no reader is known for {name!r}", remedy=f"a model is a file {known}"
            )
        raise unknown("model", stem, MODELS, "`linkwright model list` lists them")
    build = model.builder()
    found = build(**_read_options(stem, options, build))
    mechanism = mechanism_of(found)
    mechanism.doc = mechanism.doc or model.doc
    from_model(mechanism, name)
    return found


def _text_builder(file: str) -> Builder:
    """Return the function that builds a text model of this package."""
    from linkwright.formats.text.files import parse_model

    text = files(__package__).joinpath("text", file).read_text(encoding="utf-8")
    document = parse_model(text, file=file)

    def build(**options: int) -> Mechanism | System:
        made = document.system if document.model.is_system else document.build
        return made(options=options)

    kind = inspect.Parameter.KEYWORD_ONLY
    build.__dict__["__signature__"] = inspect.Signature(
        [
            inspect.Parameter(name, kind, default=value)
            for name, value in document.model.options.items()
        ]
    )
    return build


def _from_file(path: Path | OpenedFile, options: str, trust: bool) -> Mechanism | System:
    if isinstance(path, Path) and not (is_there(path) and path.is_file()):
        raise InputError(f"there is no file {str(path)!r}")
    numbers: dict[str, int] = {}
    for key, value in _split_options(str(path), options):
        number = _read_value(str(path), key, value, 0)
        assert isinstance(number, int)
        numbers[key] = number
    return read_mechanism(path, options=numbers or None, trust=trust)


def option_texts(name: str) -> tuple[str, ...]:
    """Return the options of a model with their defaults, as they are written.

    >>> option_texts("puma560")
    ('drives=on', 'wrist=3r')
    """
    shown = {True: "on", False: "off"}
    return tuple(
        f"{key}={shown[p.default] if isinstance(p.default, bool) else p.default}"
        for key, p in _options(MODELS[name].builder()).items()
    )


def _options(build: Builder) -> Mapping[str, inspect.Parameter]:
    return inspect.signature(build).parameters


def _split_options(name: str, text: str) -> Iterator[tuple[str, str]]:
    for item in filter(None, text.split(",")):
        key, equals, value = (part.strip() for part in item.partition("="))
        if not equals:
            raise InputError(
                f"option {item!r} of model {name!r} has no value", remedy=f"write {item}=VALUE"
            )
        yield key, value


def _read_options(name: str, text: str, build: Builder) -> dict[str, object]:
    known = _options(build)
    result: dict[str, object] = {}
    for key, value in _split_options(name, text):
        if key not in known:
            has = f"it has {', '.join(known)}" if known else "it has none"
            raise unknown("option", key, known, has, owner=f"model {name!r}")
        result[key] = _read_value(name, key, value, known[key].default, _words(build, key))
    return result


def _words(build: Builder, key: str) -> tuple[str, ...]:
    """Return the words that an option takes beside on and off: those of its type hint."""
    hint = typing.get_type_hints(build).get(key)
    parts = (hint,) if typing.get_origin(hint) is typing.Literal else typing.get_args(hint)
    found = (w for p in parts if typing.get_origin(p) is typing.Literal for w in typing.get_args(p))
    return tuple(str(w) for w in found)


def _read_value(
    name: str, key: str, value: str, default: object, words: tuple[str, ...] = ()
) -> object:
    """Return an option's value with the type of its default, or one of some words."""
    found: object
    if isinstance(default, bool):
        found = value if value in words else _TRUTHS.get(value.lower())
        what = "one of " + ", ".join(["on", "off", *words])
    elif isinstance(default, str):
        found, what = (value if value in words else None), "one of " + ", ".join(words)
    elif isinstance(default, int):
        found, what = integer(value), "a whole number"
    else:
        found, what = finite(value), "a number"
    if found is None:
        raise InputError(f"option {key!r} of model {name!r} is {what}, not {brief(value)}")
    return found


def model_text(template: str, name: str) -> str:
    """Return the text model of a shipped model under another name, to start from.

    >>> 'name = "press"' in model_text("slider-crank", "press")
    True
    """
    from linkwright.formats.text.files import write_model
    from linkwright.formats.text.starters import STARTERS, require_model_name

    require_model_name(name)
    stem, _, options = template.partition(":")
    if stem not in MODELS:
        known = tuple(dict.fromkeys(("lab", "cell", *STARTERS, *MODELS)))
        raise InputError(
            f"there is no template {template!r}",
            remedy=suggestion(stem, known, f"choose one of {', '.join(known)}"),
        )
    shipped = files("linkwright.models").joinpath("text", f"{stem}.toml")
    if shipped.is_file() and not options:
        text = shipped.read_text(encoding="utf-8")
    else:
        text = write_model(opened(template))
    return re.sub(r'(?m)^name = "[^"]*"', f'name = "{name}"', text, count=1)
