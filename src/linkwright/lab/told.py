"""What a laboratory on hardware reports other programs: a window for each servo, at its ticks.

Native code writes a frame after each tick of the servo, with the base tick in its head, and wakes
who waits. `motor.told` has the joints as they were measured, `task.told` what is wanted of them and
where end-effectors and a base that floats are, `vision.told` the blobs.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from math import prod

from linkwright.lab.config import LabConfig
from linkwright.lab.slot import BLOB, CARTESIAN, FRAME, JOINT_STATE, JOINT_TARGET
from linkwright.simulation.pacing import Writes
from linkwright.windows import Field, Record, Window

_MEASURED = dict(
    zip(
        JOINT_STATE,
        ("sensors.q", "sensors.u", "sensors.a", "motor.ufb", "guard.safe_tau", "sensors.load"),
        strict=True,
    )
)
_WANTED = dict(
    zip(
        JOINT_TARGET,
        ("desired.des_q", "desired.des_u", "desired.des_a", "feed.uff", "desired.uex"),
        strict=True,
    )
)


@dataclass(frozen=True, slots=True)
class ToldField:
    """A field of what a servo reports."""

    field: Field  # as it is declared
    # of the System that its numbers come from, in their order, each with how many it has
    ports: tuple[tuple[str, int], ...]


def told_fields(config: LabConfig) -> dict[str, tuple[ToldField, ...]]:
    """Return what each servo reports, by the name of the servo.

    >>> from linkwright.lab.sources import lab_config
    >>> found = told_fields(lab_config("sl-arm"))
    >>> [field.field.name for field in found["motor"]]
    ['q', 'u', 'a', 'ufb', 'tau', 'load']
    """
    n = len(config.joints)
    effectors = [effector.name for effector in config.end_effectors]
    blobs = config.vision.blobs
    motor = [
        ToldField(Field(key, unit, shape=(n,)), ((_MEASURED[key], n),))
        for key, unit in JOINT_STATE.items()
    ]
    task = [
        ToldField(Field(f"des_{key}", unit, shape=(n,)), ((_WANTED[key], n),))
        for key, unit in JOINT_TARGET.items()
    ]
    for member in ("cart", "cart_desired") if effectors else ():
        ports = [
            (f"{member}.{e}_{key}", size) for e in effectors for key, size in CARTESIAN.items()
        ]
        task.append(ToldField(Field(member, shape=(len(effectors), FRAME)), tuple(ports)))
    if config.base == "floating":
        ports = [(f"base_state.{key}", size) for key, size in CARTESIAN.items()]
        task.append(ToldField(Field("base", shape=(FRAME,)), tuple(ports)))
    found = {"motor": tuple(motor), "task": tuple(task)}
    if blobs:
        ports = [(f"vision.{blob}_{key}", size) for blob in blobs for key, size in BLOB.items()]
        shape = (len(blobs), sum(BLOB.values()))
        found["vision"] = (ToldField(Field("blobs", shape=shape), tuple(ports)),)
    return found


def told_records(config: LabConfig) -> dict[str, Record]:
    """Return the records of what servos report, by the name of the servo."""
    return {
        servo: Record(f"{servo}.told", *(told.field for told in fields))
        for servo, fields in told_fields(config).items()
    }


def told_writes(
    config: LabConfig,
    windows: dict[str, Window],
    rates: dict[str, Fraction],  # of the servos, Hz
    base: Fraction,
    known: Callable[[str], bool],
) -> list[Writes]:
    """Return what a loop writes at the ticks of each servo."""
    return [
        Writes(
            windows[servo],
            {told.field.name: _numbers(told, known) for told in fields},
            every=round(base / rates[servo]),
        )
        for servo, fields in told_fields(config).items()
    ]


def _numbers(told: ToldField, known: Callable[[str], bool]) -> Sequence[str]:
    """Return the names of the numbers of a field."""
    names = [
        port if size == 1 and known(port) else f"{port}[{i}]"
        for port, size in told.ports
        for i in range(size)
    ]
    assert len(names) == prod(told.field.shape)
    return names
