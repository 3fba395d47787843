"""What goes over the wire: records, in the layout that windows and journals have too.

Names do not travel with each command: a kind, a frame, a parameter is its place in a table that
client and cell both have from the cell's description. The tables are part of the record's schema,
so that a client with other tables is rejected as one of another schema.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any

from linkwright.base.errors import Error, InputError, suggestion
from linkwright.base.files import parse_json
from linkwright.server.face import LIVES, ArmFace, CellFace, Command, RefusedError
from linkwright.server.verbs import VERBS
from linkwright.windows import Field, Record, RecordError
from linkwright.windows.records import Frame

PROTOCOL = 2
"""Number of this protocol; both sides must have the same."""
POSE = 7
"""Numbers of a pose: x, y, z and a unit quaternion w, x, y, z."""

LEASE = Record(
    "lease",
    Field("take", type="u8"),  # 0 gives it back, 1 takes it, 2 takes it from whoever holds it
    Field("lease", type="u64"),  # the key, of the client's choice
    Field("silence", "s"),
    Field("local", type="u8"),  # whether commands come through a window
)
GRANT = Record(
    "grant",
    Field("number", type="u64"),  # as the state shows it
    Field("sequence", type="u64"),  # of the last command; the next must be higher
    Field("silence", "s"),
)
BEAT = Record("beat", Field("lease", type="u64"), Field("seen", "ns", type="i64"))
FRAME = Record(
    "frame",
    Field("pose", "m", shape=(POSE,)),
    Field("twist", "m/s", shape=(6,)),
    Field("time", "ns", type="i64"),
)
CLOCK = Record("clock", Field("received", "ns", type="i64"), Field("answered", "ns", type="i64"))
ANSWER = Record("answer", Field("sequence", type="u64"))


def command_record(arm: ArmFace) -> Record:
    """Return the record of an arm's commands."""
    tables = json.dumps([tuple(VERBS), arm.frames, names_of(arm)])
    mark = hashlib.blake2b(tables.encode(), digest_size=8).hexdigest()
    return Record(
        f"command {arm.name} {mark}",
        Field("lease", type="u64"),
        Field("expires", "ns", type="i64"),
        Field("kind", type="u16"),
        Field("frame", type="u16"),
        Field("name", type="u16"),
        Field("count", type="u16"),
        Field("speed"),
        Field("blend", "s"),
        Field("values", shape=(max(2 * len(arm.joints) + 1, POSE),)),
    )


def names_of(arm: ArmFace) -> tuple[str, ...]:
    """What a command may name: nothing, an axis, a parameter."""
    return ("", *arm.axes, *arm.parameters)


def pack_command(arm: ArmFace, record: Record, command: Command, lease: int, clock: int) -> bytes:
    """Return the frame of a command."""
    (room,) = record.fields[-1].shape
    if len(command.values) > room:
        raise InputError(f"{command.kind} of {arm.name!r} takes no {len(command.values)} numbers")
    values = list(command.values) + [0.0] * (room - len(command.values))
    return record.pack(
        {
            "lease": lease,
            "expires": command.expires,
            "kind": _place("kind", command.kind, tuple(VERBS), "kind of command", arm),
            "frame": _place("frame", command.frame, arm.frames, "frame", arm),
            "name": _place("name", command.name, names_of(arm), "axis or parameter", arm),
            "count": len(command.values),
            "speed": float(command.speed),
            "blend": float(command.blend),
            "values": values,
        },
        sequence=command.sequence,
        clock=clock,
    )


def _place(reason: str, name: str, table: tuple[str, ...], what: str, arm: ArmFace) -> int:
    if name not in table:
        known = ", ".join(filter(None, table)) or "none"
        hint = suggestion(name, table, f"there are: {known}")
        raise RefusedError(reason, f"arm {arm.name!r} has no {what} {name!r}", remedy=hint)
    return table.index(name)


def command_of(arm: ArmFace, frame: Frame, sequence: int) -> tuple[int, Command]:
    """Return the lease's key and the command of a frame, or raise `RefusedError`."""
    values, names, kinds = frame.values, names_of(arm), tuple(VERBS)
    given = values["values"]
    for what, table in (("kind", kinds), ("frame", arm.frames), ("name", names)):
        if values[what] >= len(table):
            raise RefusedError("unknown", f"there is no {what} number {values[what]}")
    if values["count"] > len(given):
        raise RefusedError("range", f"a command has at most {len(given)} numbers")
    return values["lease"], Command(
        kinds[values["kind"]],
        sequence,
        tuple(map(float, given[: values["count"]])),
        values["speed"],
        values["blend"],
        arm.frames[values["frame"]],
        names[values["name"]],
        values["expires"],
    )


def unpack(record: Record, data: bytes) -> Frame:
    """Return the frame that bytes are; where they are not a frame, reject them by the reason's
    name."""
    try:
        return record.unpack(data)
    except RecordError as error:
        raise RefusedError(error.reason, error.what) from None


def refusal(error: Error) -> bytes:
    """Return the text of a rejection."""
    name = error.name if isinstance(error, RefusedError) else "input"
    said = {"refused": name, "what": error.what, "remedy": error.remedy}
    return json.dumps(said).encode()


def refused(data: bytes) -> RefusedError:
    """Return the rejection that a text is."""
    try:
        said = parse_json(data)
        return RefusedError(str(said["refused"]), str(said["what"]), remedy=said["remedy"])
    except (ValueError, TypeError, KeyError):
        return RefusedError("answer", "the cell's answer cannot be read")


@dataclass(frozen=True, slots=True)
class CellDescription:
    """What a cell says of itself."""

    name: str  # of the cell
    rate: float  # ticks in a second
    causes: tuple[str, ...]  # why arms stop, by number
    lives: tuple[str, ...]  # of arms, by number
    state: Record  # the record of its state
    arms: Mapping[str, ArmFace]  # by name
    divisors: tuple[int, ...]  # n for which every n-th state is published
    rights: tuple[str, ...]  # of the client that asks


def describe(cell: CellFace, divisors: tuple[int, ...], rights: tuple[str, ...]) -> bytes:
    """Return the text of a cell's description."""
    return json.dumps(
        {
            "protocol": PROTOCOL,
            "name": cell.name,
            "rate": cell.rate,
            "causes": cell.causes,
            "lives": LIVES,
            "state": cell.state.text,
            "arms": [asdict(arm) for arm in cell.arms.values()],
            "divisors": divisors,
            "rights": rights,
        }
    ).encode()


def described(data: bytes) -> CellDescription:
    """Read a cell's description."""
    try:
        said: dict[str, Any] = parse_json(data)
        protocol = said.pop("protocol")
        if protocol != PROTOCOL:
            raise InputError(
                f"the cell speaks protocol {protocol}, we speak {PROTOCOL}",
                remedy="use the same version of Linkwright on both sides",
            )
        arms = {arm["name"]: _arm(arm) for arm in said["arms"]}
        return CellDescription(
            str(said["name"]),
            float(said["rate"]),
            tuple(said["causes"]),
            tuple(said["lives"]),
            Record.from_text(said["state"]),
            arms,
            tuple(map(int, said["divisors"])),
            tuple(said["rights"]),
        )
    except (ValueError, TypeError, KeyError, AttributeError, OverflowError) as error:
        raise InputError(f"the cell's description cannot be read: {error!r}") from None


def _arm(said: Mapping[str, Any]) -> ArmFace:
    return ArmFace(
        said["name"],
        tuple(said["joints"]),
        tuple(said["units"]),
        tuple((float(low), float(high)) for low, high in said["limits"]),
        tuple(said["axes"]),
        tuple(said["frames"]),
        dict(said["parameters"]),
        str(said["model"]),
        {str(name): float(value) for name, value in said["values"].items()},
        tuple(map(float, said["speeds"])),
        tuple(map(float, said["mount"])),
    )
