"""Observations as frames of records, and the keys under which they are sent.

Texts do not travel in frames: kind, frame and label stand in the key, the rest in the record of the
kind. The head of a frame carries the sequence, and as clock the time on the cell's clock.
"""

from __future__ import annotations

import json
from typing import Any

from linkwright.base.errors import InputError
from linkwright.server.access import ROOT, check_name
from linkwright.server.coordinator.core import Coordinator, FusedObject, SensorReport
from linkwright.server.coordinator.observations import Observation
from linkwright.server.face import RefusedError
from linkwright.server.messages import unpack
from linkwright.server.sensors import SIZES
from linkwright.windows import Field, Record

NOTHING = "-"
"""In a key, the label of what has none."""

OBSERVATIONS = {
    kind: Record(
        f"observation.{kind}",
        Field("value", "SI", shape=(numbers,)),
        Field("covariance", "SI", shape=(freedom, freedom)),
        Field("bound", "s"),
        Field("independent", type="u8"),
    )
    for kind, (numbers, freedom) in SIZES.items()
}
"""The record of each kind."""

CELL_TIME = Record(
    "cell-time",
    Field("received", "ns", type="i64"),
    Field("answered", "ns", type="i64"),
    Field("bound", "s"),
)
"""What the coordinator answers to a node that asks for the cell's clock."""


def key_of(told: Observation) -> str:
    """Return the key under which an observation is sent.

    >>> key_of(Observation("eye", 0, "point", (0, 0, 0), (1, 1, 1), label="ball"))
    'linkwright/as/eye/observe/point/world/ball'
    """
    source = check_name(told.source, "a sensor")
    frame = check_name(told.frame, "a frame")
    label = check_name(told.label, "what a sensor sees") if told.label else NOTHING
    return f"{ROOT}/as/{source}/observe/{told.kind}/{frame}/{label}"


def pack_observation(told: Observation) -> bytes:
    """Return the frame of an observation."""
    freedom = SIZES[told.kind][1]
    given = list(told.covariance)
    if len(given) == freedom:
        given = [given[i] if i == j else 0.0 for i in range(freedom) for j in range(freedom)]
    return OBSERVATIONS[told.kind].pack(
        {
            "value": list(told.value),
            "covariance": [given[i * freedom : (i + 1) * freedom] for i in range(freedom)],
            "bound": told.bound,
            "independent": int(told.independent),
        },
        sequence=told.sequence,
        clock=told.time,
    )


def unpack_observation(key: str, data: bytes) -> Observation:
    """Return the observation that a key and a frame are, or raise `RefusedError`.

    >>> one = Observation(
    ...     "eye", 7, "point", (1.0, 2.0, 3.0), (1.0,) * 3, label="ball", sequence=2
    ... )
    >>> unpack_observation(key_of(one), pack_observation(one)).value
    (1.0, 2.0, 3.0)
    """
    try:
        source, _, kind, frame, label = key.removeprefix(f"{ROOT}/as/").split("/")
        record = OBSERVATIONS[kind]
        for name in (source, frame, label.replace(NOTHING, "x", 1)):
            check_name(name, "it")
    except (ValueError, KeyError, InputError):
        raise RefusedError("key", f"{key!r} is not a key of an observation") from None
    found = unpack(record, data)
    return Observation(
        source,
        found.clock,
        kind,
        tuple(map(float, found.values["value"])),
        tuple(map(float, found.values["covariance"].ravel())),
        frame,
        "" if label == NOTHING else label,
        found.sequence,
        float(found.values["bound"]),
        bool(found.values["independent"]),
    )


def report_text(coordinator: Coordinator, now: int) -> bytes:
    """Return what the coordinator knows at a time, as JSON."""
    said = {
        "time": now,
        "objects": [_object(one) for one in coordinator.objects(now)],
        "sensors": [_sensor(one) for one in coordinator.sensors(now)],
    }
    return json.dumps(said).encode()


def _object(one: FusedObject) -> dict[str, Any]:
    return {
        "name": one.name,
        "kind": one.kind,
        "value": one.value.tolist(),
        "rate": one.rate.tolist(),
        "covariance": one.covariance.tolist(),
        "sources": one.sources,
        "age": one.age,
        "disputed": one.disputed,
    }


def _sensor(one: SensorReport) -> dict[str, Any]:
    return {
        "name": one.name,
        "age": one.age if one.age < float("inf") else None,
        "interval": one.interval if one.interval < float("inf") else None,
        "used": one.used,
        "rejected": one.rejected,
        "refused": dict(one.refused),
        "lying": one.lying,
        "inconsistent": one.inconsistent,
    }
