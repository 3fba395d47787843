"""The drive of a joint by answers, in the order of JNTMOD's INPUT (section 3.1.1).

Controller, amplifier, motor, power train and load with their constants, deviations of states and
sensors, then edits of any of them; to run it, seed, times, prints, recording, and the filter.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import MISSING, fields
from pathlib import Path
from typing import TYPE_CHECKING, Any

from linkwright.base.errors import Error, InputError
from linkwright.elements.drives.amplifiers import Amplifier
from linkwright.elements.drives.controllers import Controller
from linkwright.elements.drives.loads import DriveLoad
from linkwright.elements.drives.matrices import UPDATES
from linkwright.elements.drives.motors import Motor
from linkwright.elements.drives.parts import DrivePart
from linkwright.elements.drives.registry import parts_of
from linkwright.elements.drives.trains import Train
from linkwright.heritage.dialogue.answers import (
    Numbers,
    Question,
    answer_text,
    choice,
    keeping,
    new_name,
    seconds,
    truth,
    whole,
    wrong,
)
from linkwright.heritage.dialogue.model import Draft
from linkwright.heritage.dialogue.talk import Talk

if TYPE_CHECKING:
    from linkwright.elements.drives import Chain

ROLES: dict[str, tuple[type[DrivePart], str, str]] = {
    "controller": (Controller, "PD", "PD, PI, PID or LeadLag: what makes the command."),
    "amplifier": (Amplifier, "Lag", "From the command to a voltage."),
    "motor": (Motor, "DC", "From the voltage to a torque."),
    "train": (Train, "Elastic", "The gear between motor and load."),
    "load": (DriveLoad, "Inertia", "What is turned."),
}
_STAY = ("Cascade", "Steps")  # of a Servo, at rates of their own


def chain_number(draft: Draft) -> int | None:
    """Return the number of the first member of a model that is a drive.

    >>> chain_number(Draft("format = 1\\nname = 'm'\\n")) is None
    True
    """
    members = draft.data.get("member", [])
    return next((k for k, member in enumerate(members) if member.get("kind") == "Chain"), None)


def ask_drive(talk: Talk, draft: Draft) -> Draft:
    """Return the draft with a drive as it is answered: what is there is offered as answers."""
    k = chain_number(draft)
    known = {} if k is None else dict(draft.data["member"][k])
    numbers = Numbers(tuple(draft.data.get("parameters", {})))
    record: dict[str, Any] = {"kind": "Chain", "name": known.get("name")}
    if k is None:
        record["name"] = talk.ask(
            Question("drive: name", new_name(draft.names), "joint", "A word for it.")
        )
    record["rate"] = _kept(
        talk, "rate, Hz", numbers.above_zero("Hz"), known.get("rate"), "2000", "Instants a second."
    )
    help_ = "exact: the plant as a whole. The others go part by part, as JNTMOD did."
    record["update"] = _kept(
        talk, f"update ({', '.join(UPDATES)})", choice(UPDATES), known.get("update"),
        "simultaneous", help_,
    )  # fmt: skip
    for role in ROLES:
        record[role] = _part(talk, numbers, role, known.get(role, {}))
    help_ = "no: the command is the reference alone."
    record["closed"] = _kept(
        talk, "closed loop (yes, no)", truth, known.get("closed", True), "yes", help_
    )
    record["reference"] = _kept(
        talk,
        "reference",
        numbers.one(_reference_unit(record["controller"]["kind"])),
        known.get("reference"),
        "0",
        "What is wanted of the load: 30 deg, or 0.5 rad.",
    )
    usual = {"closed": True, "reference": 0}
    record = {x: v for x, v in record.items() if x in known or v != usual.get(x)}
    if k is None:
        return draft.with_only("member", "name", record).checked()
    return draft.with_keys(("member", k), record).checked()


def _part(talk: Talk, numbers: Numbers, role: str, known: dict[str, Any]) -> dict[str, Any]:
    """Return the table of a part: its kind, and its constants that have no default of none."""
    base, usual, help_ = ROLES[role]
    kinds = {kind.__name__: kind for kind in parts_of(base) if kind.__name__ not in _STAY}
    default = known.get("kind", usual)
    words = f"{role} ({', '.join(kinds)})"
    name = talk.ask(Question(words, _named(tuple(kinds)), default, help_, tuple(kinds)))
    if name != known.get("kind"):
        known = {}
    record: dict[str, Any] = {"kind": name} | {x: known[x] for x in known if x != "kind"}
    for item in fields(kinds[name]):
        unit = item.metadata.get("unit")
        if item.default is None:
            break  # what follows counts only with what is left out: edits reach it
        if unit is None:
            continue
        there = known.get(item.name)
        default = None if item.default is MISSING else str(item.default)
        value = _kept(
            talk, f"{role}: {item.name}, {unit}", numbers.one(unit), there, default, "A constant."
        )
        if there is not None or item.default is MISSING or value != item.default:
            record[item.name] = value
    return record


def _reference_unit(kind: str) -> str:
    found = next(each for each in parts_of(Controller) if each.__name__ == kind)
    return str(getattr(found, "reference_unit", "rad"))


def _named(names: tuple[str, ...]) -> Callable[[str], str]:
    """Return the reader of one of some names, whatever their case."""
    lower = tuple(name.lower() for name in names)
    return lambda text: names[lower.index(choice(lower)(text))]


def _kept(
    talk: Talk,
    words: str,
    read: Callable[[str], Any],
    there: Any,
    default: str | None,
    help_: str,
) -> Any:
    """Ask for a value; what is there is offered, and stays as it is written."""
    shown = default if there is None else answer_text(there)
    return talk.ask(Question(words, keeping(read, there, shown), shown, help_))


# -- deviations and edits --------------------------------------------------------------------------
def ask_noise(talk: Talk, draft: Draft) -> Draft:
    """Return the draft with deviations of states and sensors as they are answered."""
    k = chain_number(draft)
    assert k is not None
    chain = _chain(draft)
    found, units = chain.matrices(), chain.signal_units()
    known = draft.data["member"][k].get("noise", {})
    numbers = Numbers(tuple(draft.data.get("parameters", {})))
    record: dict[str, Any] = {"kind": "DriveNoise"} | {x: known[x] for x in known if x != "kind"}
    for kind, names, what in (
        ("process", found.states, "deviation of what a step adds to"),
        ("sensors", found.sensors, "deviation of the sensor of"),
    ):
        there = known.get(kind, {})
        given = {
            name: _kept(
                talk,
                f"{what} {name}, {units.get(name, '?')}".removesuffix(", ?"),
                numbers.one(units.get(name, "?"), least=0),
                there.get(name),
                "0",
                "Zero for none.",
            )
            for name in names
        }
        record[kind] = {n: v for n, v in given.items() if v != 0 or n in there}
        if not record[kind]:
            del record[kind]
    if len(record) == 1 and not known:
        return draft
    return draft.with_keys(("member", k), {"noise": record}).checked()


def ask_edits(talk: Talk, draft: Draft) -> Draft:
    """Return the draft with constants and deviations changed one by one, until `done`."""
    k = chain_number(draft)
    assert k is not None
    while True:
        chain = _chain(draft)
        names = [n for n in chain.editable() if n.partition(".")[0] in ROLES and "." in n]
        help_ = "Such as motor.R. done: no more."

        def read(text: str, names: list[str] = names) -> str:
            if text == "done" or text in names:
                return text
            raise wrong(f"there is no constant {text[:40]!r}", f"give one of {', '.join(names)}")

        name = talk.ask(Question("constant to change, or done", read, "done", help_))
        if name == "done":
            return draft
        role, _, key = name.partition(".")
        part = next(p for p in chain.parts.all if p.role == role)
        unit = next(f.metadata.get("unit") for f in fields(part) if f.name == key)
        there = draft.data["member"][k][role].get(key, getattr(part, key))
        numbers = Numbers(tuple(draft.data.get("parameters", {})))
        value = _kept(
            talk, f"{name}, {unit or 'yes or no'}",
            numbers.maybe(unit) if unit else truth, there, None, "none: without it.",
        )  # fmt: skip
        try:
            draft = draft.with_keys(("member", k, role), {key: value}).checked()
        except InputError as error:
            talk.refuse(error)


def _chain(draft: Draft) -> Chain:
    """Return the drive of a draft."""
    from linkwright.elements.drives import Chain
    from linkwright.formats.text.files import parse_model

    try:
        system = parse_model(draft.text).system()
    except Error as error:
        raise InputError(error.what, remedy=error.remedy, code="R111") from None
    return next(m.block for m in system.members.values() if isinstance(m.block, Chain))


# -- to run it -------------------------------------------------------------------------------------
def run_words(
    talk: Talk, file: Path, ask_file: Callable[[Talk, str, str, Path], str], none: str
) -> list[str]:
    """Return the command that runs the drive of a file, as it is answered."""
    seed = talk.ask(Question("seed of the noise", whole(0), "0", "The same seed, the same run."))
    until = talk.ask(Question("stop time, s", seconds, "2", "It starts at 0."))
    command = ["analyze", "drives", str(file), "--seed", str(seed), "--until", str(until)]
    command.append("--force")
    prints = ask_file(talk, "print file, or none", none, file.parent)
    if prints != none:
        command += ["--print", prints]
        every = talk.ask(Question("interval of prints, s", seconds, "0.1", "JNTMOD's prints."))
        command += ["--print-every", str(every)]
    out = ask_file(talk, "file for the recording, or none", f"{file.stem}.parquet", file.parent)
    command += [] if out == none else ["-o", out]
    if talk.ask(Question("Kalman filter (yes, no)", truth, "no", "It needs deviations.")):
        help_ = "yes: the controller is given what the filter makes of the sensors."
        fed = talk.ask(Question("filtered outputs in the loop (yes, no)", truth, "no", help_))
        command.append("--filter-feedback" if fed else "--filter")
    return command
