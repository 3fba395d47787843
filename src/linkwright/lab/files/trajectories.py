"""`.traj` files: recordings whose columns are wanted motions of joints (SL manual, section 5.4).

They have the recorder's format; any other recording is read as well. A column is a joint's where it
is called as the joint, or has one of the endings `_th`, `_thd`, `_thdd`, `_uff`, each also as
`_des_th` and so on. Where both a wanted and a measured column are there, the wanted one counts.
Columns in other units than SI, such as degrees, are converted.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from linkwright.base.errors import InputError, suggestion
from linkwright.recording.files import read_recording
from linkwright.recording.in_units import si_values
from linkwright.recording.recording import Channel, Recording

Array: TypeAlias = NDArray[np.float64]

PARTS: Mapping[str, tuple[str, ...]] = MappingProxyType(
    {
        "q": ("_des_th", "_th", ""),
        "u": ("_des_thd", "_thd"),
        "a": ("_des_thdd", "_thdd"),
        "uff": ("_des_uff", "_uff"),
    }
)
"""Endings of columns, by what they are: position, speed, acceleration, feedforward."""

UNITS = {"q": "rad", "u": "rad/s", "a": "rad/s^2", "uff": "N*m"}
_WRITTEN = {"q": "_th", "u": "_thd", "a": "_thdd", "uff": "_uff"}


@dataclass(frozen=True, slots=True, eq=False)
class JointSamples:
    """Samples of one joint; None where the file has no such column."""

    q: Array  # positions, rad
    u: Array | None = None  # speeds, rad/s
    a: Array | None = None  # accelerations, rad/s^2
    uff: Array | None = None  # feedforward, N*m


@dataclass(frozen=True, slots=True, eq=False)
class JointTrajectory:
    """Samples of joints at even times."""

    rate: float  # Hz
    # samples by joint; a joint that the file does not have is not there
    joints: Mapping[str, JointSamples]

    @property
    def samples(self) -> int:
        """How many there are."""
        return len(next(iter(self.joints.values())).q)

    @property
    def rhythmic(self) -> bool:
        """Whether the last sample is the first one in every column, so that it can be repeated.

        >>> there_and_back = JointSamples(np.array([0.0, 1.0, 0.0]))
        >>> JointTrajectory(100.0, {"EB": there_and_back}).rhythmic
        True
        """
        columns = [getattr(s, part) for s in self.joints.values() for part in PARTS]
        return all(column is None or column[0] == column[-1] for column in columns)


def read_trajectory(path: str | os.PathLike[str], joints: Iterable[str]) -> JointTrajectory:
    """Return the motion in a `.traj` file or another recording."""
    path = Path(path)
    return trajectory_of(read_recording(path), joints, file=str(path))


def trajectory_of(
    recording: Recording, joints: Iterable[str], *, file: str = ""
) -> JointTrajectory:
    """Return the motion in a recording.

    >>> made = Recording([0, 0.01], [Channel("EB_th", "rad")], [[0.5], [0.6]])
    >>> trajectory_of(made, ["EB", "WR"]).joints["EB"].q
    array([0.5, 0.6])
    """
    known = tuple(joints)
    where = file or None
    columns = [channel.name for channel in recording.channels]
    _refuse_strangers(columns, known, where)
    rate = recording.rate
    if rate is None or len(recording) < 2:
        raise InputError(
            "a trajectory has at least two samples at even times",
            file=where,
            remedy="record it at a fixed rate",
        )
    found: dict[str, JointSamples] = {}
    for name in known:
        parts = {part: _column(recording, name, ends, where) for part, ends in PARTS.items()}
        position = parts.pop("q")
        if position is not None:
            found[name] = JointSamples(position, **parts)
        elif any(part is not None for part in parts.values()):
            raise InputError(
                f"{name} has no positions",
                file=where,
                remedy=f"add a column {name}_th",
            )
    if not found:
        raise InputError(
            "no column is the position of a joint",
            file=where,
            remedy=f"call columns {known[0]}_th and so on" if known else None,
        )
    for name, samples in found.items():
        for part in PARTS:
            values = getattr(samples, part)
            if values is not None and not np.isfinite(values).all():
                row = int(np.flatnonzero(~np.isfinite(values))[0]) + 1
                raise InputError(
                    f"sample {row} of {name}{_WRITTEN[part]} is not a finite number", file=where
                )
    return JointTrajectory(rate, MappingProxyType(found))


def _column(
    recording: Recording, name: str, ends: tuple[str, ...], file: str | None
) -> Array | None:
    known = {channel.name for channel in recording.channels}
    column = next((name + end for end in ends if name + end in known), None)
    return None if column is None else si_values(recording, column, file)


def _refuse_strangers(columns: Iterable[str], known: tuple[str, ...], file: str | None) -> None:
    """Reject a column that has a joint's ending and no joint's name."""
    ends = sorted((e for many in PARTS.values() for e in many if e), key=len, reverse=True)
    for column in columns:
        end = next((end for end in ends if column.endswith(end)), None)
        if end is None or column in known:
            continue
        name = column.removesuffix(end)
        if name in known:
            continue
        raise InputError(
            f"the column {column!r} is of no joint: none is called {name!r}",
            file=file,
            remedy=suggestion(name, known, "take the column out"),
        )


def trajectory_recording(trajectory: JointTrajectory) -> Recording:
    """Return a trajectory as a recording, which `save` writes as a `.traj` file.

    >>> made = JointTrajectory(100.0, {"EB": JointSamples(np.array([0.0, 1.0]))})
    >>> [channel.name for channel in trajectory_recording(made).channels]
    ['EB_th']
    """
    channels: list[Channel] = []
    columns: list[Array] = []
    for name, samples in trajectory.joints.items():
        for part, end in _WRITTEN.items():
            values = getattr(samples, part)
            if values is not None:
                channels.append(Channel(name + end, UNITS[part]))
                columns.append(values)
    times = np.arange(1, trajectory.samples + 1) / trajectory.rate
    return Recording(times, channels, np.column_stack(columns))
