"""The motion that a robot is defined with: the task that it has to do, segment by segment.

As in ROBSIM's CNTROL, a segment has a start, joint or tool control, rates or positions, and the
coefficients of a polynomial of time for each channel. The task is a file beside the model.
"""

from __future__ import annotations

import tomllib
from dataclasses import replace
from pathlib import Path
from typing import Any

from linkwright.algebra.units import amount
from linkwright.base.errors import Error, InputError
from linkwright.base.files import read_text
from linkwright.formats.text.edits import with_table
from linkwright.formats.text.writer import value_text
from linkwright.heritage.dialogue.answers import (
    Question,
    Reader,
    answer_text,
    choice,
    needs_unit,
    parts_of,
    plain_number,
    toml_file,
    truth,
    wrong,
)
from linkwright.heritage.dialogue.model import Draft
from linkwright.heritage.dialogue.talk import Talk
from linkwright.motion.task_parts import TOOL

MOST = 5
"""Coefficients of a channel."""


def ask_motion(talk: Talk, draft: Draft, folder: Path) -> Draft:
    """Return the draft with the task that it names, and with that task where it is answered."""
    there = draft.data.get("task")
    question = Question(
        "motion: task file, or none",
        toml_file,
        answer_text(there),
        "The file in the folder of the model that says what the robot has to do.",
    )
    name = talk.ask(question)
    draft = draft.with_keys((), {"task": name or None})
    if not name:
        return replace(draft, task="")
    known = bool(draft.task) or (folder / name).is_file()
    if known:
        text = draft.task or read_text(folder / name, 16_000_000)
        for line in segment_table(text):
            talk.say(f"  {line}")
    help_ = "yes: segments are asked, and the file is written when the model is saved."
    wanted = Question("define its segments here (yes, no)", truth, "no" if known else "yes", help_)
    return replace(draft, task=_task(talk, draft)) if talk.ask(wanted) else draft


def segment_table(text: str) -> list[str]:
    r"""Return the parts of a task as lines of a table, as CNTROL printed them.

    >>> for line in segment_table(
    ...     "format = 1\n[[part]]\nkind = 'segment'\nduration = 2\nchannels = {q1 = [0.1, 0.2]}"
    ... ):
    ...     print(line)
      start, s  duration, s  control  profile   channels
             0            2  joint    rate      q1 0.1, 0.2
    """
    rows, at = ["  start, s  duration, s  control  profile   channels"], 0.0
    for part in tomllib.loads(text).get("part", []):
        if "start" in part:
            at = _seconds(part["start"], at)
        duration = part.get("duration", "")
        told = part.get("channels", {k: v for k, v in part.items() if k in ("by", "to")})
        channels = "; ".join(
            ", ".join(f"{axis} {way}" for axis, way in c.items())
            if isinstance(c, dict)
            else f"{name} {answer_text(c)}"
            for name, c in told.items()
        )
        control, profile = part.get("control", "joint"), part.get("profile", "rate")
        if part.get("kind") != "segment":
            control, profile = str(part.get("kind")), ""
        row = f"{at:>10.6g}  {duration!s:>11}  {control:<7}  {profile:<8}  {channels}"
        rows.append(row.rstrip())
        at += _seconds(duration or 0, 0.0)
    return rows


def _seconds(value: object, known: float) -> float:
    """Return a time of a task file, in s."""
    try:
        return amount(value, "it", "s")
    except Error:
        return known


def _task(talk: Talk, draft: Draft) -> str:
    """Return the text of a task whose segments are answered."""
    text = f"format = 1\nname = {value_text(draft.data['name'])}\n"
    tool = "tool" if draft.number("point", "name", "tool") is not None else ""
    count = 0
    while True:
        count += 1
        text = with_table(text, "part", _segment(talk, draft, f"segment {count}", bool(tool)))
        more = Question("another segment (yes, no)", truth, "no", "It begins where this one ends.")
        if not talk.ask(more):
            return text


def _segment(talk: Talk, draft: Draft, title: str, has_tool: bool) -> dict[str, Any]:
    record: dict[str, Any] = {"kind": "segment"}
    next_ = "next: where the segment before ends; or seconds from the start of the task."
    start = talk.ask(Question(f"{title}: start, s, or next", _time("next"), "next", next_))
    if start is not None:
        record["start"] = start
    last = "How long it lasts."
    record["duration"] = talk.ask(Question(f"{title}: duration, s", _time(""), None, last))
    ways = ("joint", "tool") if has_tool else ("joint",)
    help_ = "joint: each joint has a profile. tool: the tool has one along and about each axis."
    control = talk.ask(
        Question(f"{title}: control ({', '.join(ways)})", choice(ways), "joint", help_)
    )
    profiles = ("rate", "position")
    help_ = "rate: speeds over time. position: positions over time."
    profile = talk.ask(
        Question(f"{title}: profile (rate, position)", choice(profiles), "rate", help_)
    )
    record |= {"control": control} if control != "joint" else {}
    record |= {"profile": profile} if profile != "rate" else {}
    if control == "tool":
        axes = ("base", "tool", "world")
        help_ = "Of which frame the axes of the tool's motion are."
        record["axes"] = talk.ask(
            Question(f"{title}: axes ({', '.join(axes)})", choice(axes), "base", help_)
        )
    channels: dict[str, Any] = {}
    for name, unit in _channels(draft, control):
        unit = f"{unit}/s" if profile == "rate" else unit
        help_ = (
            f"Coefficients of 1, t, t^2, ... with commas between them, at most {MOST}: the first "
            f"in {unit}, each further one by s. none: it stands still."
        )
        question = Question(f"{title}: {name}, {unit}, or none", _coefficients(unit), "none", help_)
        given = talk.ask(question)
        if given:
            channels[name] = given
    return record | {"channels": channels}


def _channels(draft: Draft, control: str) -> list[tuple[str, str]]:
    """Return the names of channels and the units of their positions."""
    if control == "tool":
        return [(name, "rad" if name.startswith("r") else "m") for name in TOOL]
    return [(name, draft.unit_of(name)) for name in draft.links]


def _time(word: str) -> Reader:
    def read(text: str) -> int | float | str | None:
        if word and text == word:
            return None
        value = plain_number(text)
        size = _size(text if value is None else value, "s")
        if size < 0 or (not word and size == 0):
            raise InputError(f"{text[:40]} is out of range", remedy="give seconds", code="R110")
        return text if value is None else value

    return read


def _coefficients(unit: str) -> Reader:
    def read(text: str) -> list[Any]:
        if text == "none":
            return []
        parts = [part.strip() for part in parts_of(text)]
        if len(parts) > MOST:
            raise wrong(f"at most {MOST} coefficients are taken", "leave some out")
        made: list[Any] = []
        for k, part in enumerate(parts):
            own = unit if k == 0 else f"{unit}/s^{k}"
            value = plain_number(part)
            if value is None:
                _size(part, own)
            elif value and own.startswith("rad"):
                raise needs_unit(part, own)
            made.append(part if value is None else value)
        return made

    return read


def _size(value: object, unit: str) -> float:
    """Return a number in SI units; one of another kind is rejected."""
    try:
        return amount(value, "it", unit)
    except Error as error:
        raise InputError(
            f"{str(value)[:40]!r} is rejected: {error.what}",
            remedy=f"give a number in {unit}",
            code="R107" if isinstance(value, str) and value[:1].isdigit() else "R106",
        ) from None
