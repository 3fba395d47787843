"""What a laboratory says of itself: joints, end-effectors, links, blobs, base, servos.

Each report is a text with columns for people, and the same numbers as data.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

import numpy as np

from linkwright.base.results import in_columns
from linkwright.lab.config import CONTROLLERS, MODES
from linkwright.lab.console.servos import require_servo
from linkwright.lab.console.table import Answer

if TYPE_CHECKING:
    from linkwright.lab.lab import Lab
    from linkwright.lab.records import BlobState

STATE = {"th": "q", "thd": "u", "thdd": "a", "ufb": "ufb", "u": "tau", "load": "load"}
"""SL's names of a joint's measured numbers (digest 5.1), and ours."""
DESIRED = {"des_th": "q", "des_thd": "u", "des_thdd": "a", "uff": "uff", "uex": "uex"}
"""SL's names of a joint's desired numbers, and ours."""


def aligned(columns: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """Return a table as text, the first column to the left and the others to the right.

    >>> print(aligned(("joint", "th"), [("R_EB", "1.57")]))
    joint    th
    R_EB   1.57
    """
    return in_columns((columns, *rows))


def numbers(values: Any) -> list[float]:
    """Return numbers as data."""
    return [float(x) for x in np.asarray(values, dtype=float).ravel()]


def number(value: float) -> str:
    """Return a number for a column.

    >>> number(1.5), number(-1e-9)
    ('1.5000', '0.0000')
    """
    return f"{round(value, 4) + 0.0:.4f}" if abs(value) < 1e4 else f"{value:.4g}"


def by_name(head: str, data: Mapping[str, Mapping[str, Any]]) -> Answer:
    """Return a report with a line for each name; a vector takes as many columns as it has."""
    if not data:
        return Answer(f"there is no {head}", {})
    first = next(iter(data.values()))
    columns = [head]
    for key, value in first.items():
        size = len(value) if isinstance(value, list) else 1
        columns += [key] if size == 1 else _axes(key, size)
    rows = []
    for name, fields in data.items():
        cells = [name]
        for value in fields.values():
            for one in value if isinstance(value, list) else [value]:
                cells.append(number(one) if isinstance(one, float) else str(one))
        rows.append(cells)
    return Answer(aligned(columns, rows), dict(data))


def _axes(key: str, size: int) -> list[str]:
    """Return the heads of a vector's columns: x y z of x, xd yd zd of xd, axis_x ... of axis."""
    if size == 3 and key.rstrip("d") == "x":
        return [key.replace("x", axis) for axis in "xyz"]
    return [f"{key}_{axis}" for axis in "xyz"] if size == 3 else [f"{key}{k}" for k in range(size)]


# -- joints ----------------------------------------------------------------------------------------
def where(lab: Lab) -> Answer:
    """Report the measured state of the joints."""
    return by_name("joint", _joints(lab, lab.state, STATE))


def where_des(lab: Lab) -> Answer:
    """Report the desired state of the joints."""
    return by_name("joint", _joints(lab, lab.desired, DESIRED))


def _joints(lab: Lab, state: Any, names: Mapping[str, str]) -> dict[str, dict[str, Any]]:
    columns = {name: numbers(getattr(state, own)) for name, own in names.items()}
    return {
        joint: {name: column[k] for name, column in columns.items()}
        for k, joint in enumerate(lab.config.names)
    }


# -- Cartesian -------------------------------------------------------------------------------------
def cwhere(lab: Lab) -> Answer:
    """Report where the end-effectors are and how they move."""
    found = {
        effector.name: {
            key: numbers(getattr(lab.cart[effector.name], key))
            for key in ("x", "xd", "xdd", "q", "w")
        }
        for effector in lab.config.end_effectors
    }
    return by_name("end-effector", found)


def lwhere(lab: Lab) -> Answer:
    """Report where the vertices are."""
    q = np.asarray(lab.state.q, dtype=float)
    found = {
        name: {"x": numbers(lab.robot.position(q, frame))}
        for name, frame in lab.config.vertices.items()
    }
    return by_name("vertex", found)


def linfo(lab: Lab) -> Answer:
    """Report axis, mass center and origin of each link, in the world."""
    q = np.asarray(lab.state.q, dtype=float)
    links = {link.name: link for link in lab.config.description.links}
    found = {}
    for joint in lab.config.description.joints:
        pose = np.asarray(lab.robot.pose(q, joint.child))
        turn, origin = pose[:3, :3], pose[:3, 3]
        mass = links[joint.child].mass
        value = 0.0 if mass is None else mass.mass
        center = origin if mass is None else turn @ np.asarray(mass.center) + origin
        axis = np.asarray(joint.axis) if joint.kind != "weld" else np.zeros(3)
        found[joint.child] = {
            "axis": numbers(turn @ axis),
            "cog": numbers(center),
            "origin": numbers(origin),
            "mass": value,
        }
    return by_name("link", found)


# -- eyes, base, sensors ---------------------------------------------------------------------------
def bwhere(lab: Lab) -> Answer:
    """Report the blobs after filters and prediction."""
    return by_name("blob", _blobs(lab.blobs, ("x", "xd", "xdd")))


def rbwhere(lab: Lab) -> Answer:
    """Report the blobs as they were measured in space."""
    return by_name("blob", _blobs(lab.raw_blobs, ("x",)))


def rbwhere_2d(lab: Lab) -> Answer:
    """Report the blobs as each camera sees them."""
    found: dict[str, dict[str, Any]] = {}
    for name, blob in lab.raw_blobs_2d.items():
        pixels = numbers(blob.x)
        fields = {f"{axis}{k // 2 + 1}": x for k, (axis, x) in enumerate(_axed(pixels))}
        found[name] = {"status": bool(blob.status), **fields}
    return by_name("blob", found)


def _axed(pixels: Sequence[float]) -> list[tuple[str, float]]:
    return [("xy"[k % 2], x) for k, x in enumerate(pixels)]


def _blobs(blobs: Mapping[str, BlobState], fields: Sequence[str]) -> dict[str, dict[str, Any]]:
    return {
        name: {"status": bool(blob.status)} | {key: numbers(getattr(blob, key)) for key in fields}
        for name, blob in blobs.items()
    }


def where_base(lab: Lab) -> Answer:
    """Report the state of the base."""
    base = lab.base
    return by_name("base", {lab.config.name: {key: numbers(getattr(base, key)) for key in _BASE}})


_BASE = ("x", "xd", "xdd", "q", "w", "wd")


def where_misc(lab: Lab) -> Answer:
    """Report other sensors."""
    return by_name("other sensor", {name: {"value": v} for name, v in lab.misc.items()})


def where_off(lab: Lab) -> Answer:
    """Report the positions of the joints without their offsets taken off."""
    (values,) = lab.values("sensors.without_offset")
    return by_name("joint", _column(lab, th=values))


def where_raw(lab: Lab) -> Answer:
    """Report the sensors of the joints as they are read: before offsets, polarity and filters.

    Those of a simulation are angles as they are.
    """
    keys = {"th": "q", "thd": "u", "thdd": "a", "load": "load"}
    columns = {}
    for name, key in keys.items():
        if lab.has(f"sensors.held_{key}0"):
            ports = [f"sensors.held_{key}{k}" for k in range(len(lab.config.names))]
            columns[name] = [float(value[0]) for value in lab.values(*ports)]
    if not columns:
        columns["th"] = numbers(*lab.values("sensors.without_offset"))
    return by_name("joint", _column(lab, **columns))


def _column(lab: Lab, **columns: Any) -> dict[str, dict[str, Any]]:
    return {
        joint: {name: float(column[k]) for name, column in columns.items()}
        for k, joint in enumerate(lab.config.names)
    }


# -- servos ----------------------------------------------------------------------------------------
def status(lab: Lab) -> Answer:
    """Report what runs."""
    settings = {
        "time": lab.time,
        "task": lab.task,
        "stopped": lab.stopped,
        "pace": lab.paced,
        "mode": MODES[round(lab.given("desired.mode"))],
        "controller": CONTROLLERS[round(lab.given("motor.controller"))],
        "filters": lab.filtered,
        "gravity": numbers(lab.gravity),
        "recording": lab.recorder.active,
        "recordings": len(lab.recorder.recordings),
    }
    servos = servo_counts(lab)
    rows = [
        (name, f"{c['rate']:g}", f"{c['ticks']}", f"{c['missed']}", f"{c['overruns']}")
        for name, c in servos.items()
    ]
    width = max(len(name) for name in settings)
    lines = [f"{name.ljust(width)}  {_said(value)}" for name, value in settings.items()]
    table = aligned(("servo", "Hz", "ticks", "missed", "overruns"), rows)
    return Answer("\n".join((*lines, table)), {**settings, "servos": servos})


def servo_counts(lab: Lab) -> dict[str, dict[str, Any]]:
    """Return what was counted of each servo, as data."""
    return {name: asdict(counted) for name, counted in lab.counters.items()}


def jitter(lab: Lab, servo: str) -> Answer:
    """Report how late each servo ran."""
    servos = servo_counts(lab)
    if servo:
        servos = {servo: servos[require_servo(lab, servo)]}
    rows = [
        (name, f"{1e6 * c['mean']:.1f}", f"{1e6 * c['worst']:.1f}", f"{c['overruns']}")
        for name, c in servos.items()
    ]
    return Answer(aligned(("servo", "mean us", "worst us", "overruns"), rows), servos)


def _said(value: Any) -> str:
    if value is None:
        return "-"
    if isinstance(value, bool):
        return "on" if value else "off"
    if isinstance(value, list):
        return ", ".join(f"{x:g}" for x in value)
    return f"{value:g}" if isinstance(value, float) else str(value)
