"""Detailed shapes by answers, as ROBSIM's BLDDAT asked them: of links, and of the environment.

A component is a cylinder, a cone, a box, one of two trapezoids or a truss, with its dimensions,
turned about its own axes in any number of turns (ORIENT) and then moved. Its axis is x, from 0 on.
Components go to a scene file beside the model, in meters; each is drawn before it is kept.
"""

from __future__ import annotations

import math
import tomllib
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

from linkwright.base.errors import InputError
from linkwright.base.files import read_text
from linkwright.formats.text.edits import with_table, with_value
from linkwright.formats.text.values import constant
from linkwright.formats.text.writer import value_text
from linkwright.heritage.dialogue.answers import (
    Numbers,
    Question,
    choice,
    truth,
    whole,
    words,
    wrong,
)
from linkwright.heritage.dialogue.model import Draft
from linkwright.heritage.dialogue.talk import Talk

ENVIRONMENT = "environment"
DIMENSIONS = {
    "x-cylinder": {"diameter": "DIAM1", "length": "CLEN"},
    "x-cone": {"diameter": "DIAM1", "end_diameter": "DIAM2", "length": "CLEN"},
    "x-box": {"length": "X0", "half_width": "Y0", "half_height": "Z0"},
    "trapezoid": {
        "length": "X0", "half_width": "Y0", "half_height": "Z1", "end_half_height": "Z2",
    },
    "half-trapezoid": {"length": "X0", "half_width": "Y0", "height": "Z1", "end_height": "Z2"},
    "truss": {"side": "TRIL", "bay": "SEGL", "bays": "NSEG"},
}  # fmt: skip
"""ROBSIM's shapes with their dimensions and what these were called there."""
_NAMES = {"x-cylinder": "cylinder", "x-cone": "cone", "x-box": "box"}


def scene_name(draft: Draft, file: Path) -> str:
    """Return the name of the scene file of a model, or one for it."""
    return str(draft.data.get("scene") or f"{file.stem}-scene.toml")


def ask_detail(talk: Talk, draft: Draft, file: Path) -> Draft:
    """Return the draft with one more component of a link or of the environment."""
    base = draft.base
    root = "ground" if base is None else str(draft.bodies[base]["name"])
    homes = (*([] if base is None else [root]), *draft.links, ENVIRONMENT)
    help_ = "Of which link it is a part; environment: it stands around, in the frame of the base."
    home = talk.ask(Question(f"section ({', '.join(homes)})", choice(homes), None, help_, homes))
    name = ""
    if home == ENVIRONMENT:
        name = talk.ask(Question("name of the object", _some_word, "object", "A word for it."))
    shape = _component(talk)
    scene = _scene_text(draft, file)
    if home == ENVIRONMENT:
        found = [e.get("name") for e in tomllib.loads(scene).get("environment", [])]
        record = {"name": name, "within": root, "shape": [shape]}
        scene = _with_shape(scene, "environment", found, name, record)
    else:
        found = [s.get("body") for s in tomllib.loads(scene).get("section", [])]
        scene = _with_shape(scene, "section", found, home, {"body": home, "shape": [shape]})
    draft = draft.with_keys((), {"scene": scene_name(draft, file)})
    return replace(draft, scene=scene)


def _with_shape(text: str, kind: str, known: list[Any], name: str, record: dict[str, Any]) -> str:
    """Return a scene with a component more, in the table of its name where there is one."""
    if name not in known:
        return with_table(text, kind, record)
    k = known.index(name)
    there = tomllib.loads(text)[kind][k].get("shape", [])
    return with_value(text, (kind, k, "shape"), [*there, *record["shape"]])


def _scene_text(draft: Draft, file: Path) -> str:
    """Return what the scene of a draft holds."""
    if draft.scene:
        return draft.scene
    path = file.parent / scene_name(draft, file)
    if path.is_file():
        return read_text(path, 16_000_000)
    return f"format = 1\nname = {value_text(file.stem)}\n"


def _component(talk: Talk) -> dict[str, Any]:
    """Ask for a shape, its dimensions, its turns and where it is."""
    kinds = tuple(_NAMES.get(kind, kind) for kind in DIMENSIONS)
    help_ = "Its axis is x from 0 on; widths and heights are halves, to both sides of it."
    word = talk.ask(Question(f"shape ({', '.join(kinds)})", choice(kinds), None, help_, kinds))
    kind = list(DIMENSIONS)[kinds.index(word)]
    record: dict[str, Any] = {"kind": kind}
    for key, old in DIMENSIONS[kind].items():
        label = key.replace("_", " ")
        if key == "bays":
            record[key] = talk.ask(Question(f"{word}: {label}", whole(1), None, f"{old}."))
            continue
        read = _length(0.0 if key.startswith("end_") else None)
        record[key] = talk.ask(Question(f"{word}: {label}, m", read, None, f"{old}, or 10 in."))
    help_ = "Axes and angles, about its own axes one after another: x 90 deg, z 30 deg; or none."
    turns = talk.ask(Question(f"{word}: turns", _turns, "none", help_))
    record |= {"turn": turns} if turns else {}
    help_ = "Where its own origin is in the section, after the turns."
    at = talk.ask(Question(f"{word}: translation, m", _place, "0, 0, 0", help_))
    record |= {"at": at} if any(at) else {}
    if talk.ask(Question(f"{word}: lines alone (yes, no)", truth, "no", "As ROBSIM drew it.")):
        record["wire"] = True
    return record


def _length(least: float | None) -> Callable[[str], float]:
    numbers = Numbers()
    read = numbers.above_zero("m") if least is None else numbers.one("m", least=least)
    return lambda text: _finite(read(text))


def _place(text: str) -> list[float]:
    return [_finite(x) for x in Numbers().place("m")(text)]


def _turns(text: str) -> list[list[Any]]:
    """Return turns as a scene file has them: axes, and degrees."""
    return [
        [axis, round(math.degrees(_finite(angle)), 12)] for axis, angle in Numbers().turns(text)
    ]


def _finite(value: Any) -> float:
    try:
        return float(constant(value))
    except InputError as error:
        raise wrong(error.what, error.remedy or "give a number") from None


def _some_word(text: str) -> str:
    if not words(text):
        raise wrong("a name is needed here", "such as table")
    return text
