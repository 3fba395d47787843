"""The report of a requirement: verdict first, then loads, drives, worst cases, errors and energy.

One file of HTML that needs nothing else. Every number in it comes from the objects that are given;
the report computes nothing but sums for display.
"""

from __future__ import annotations

import math
import os
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from linkwright.base.errors import InputError
from linkwright.base.files import path_of, write_text
from linkwright.base.optional import extra
from linkwright.base.reprs import brief
from linkwright.recording.colors import TRACES
from linkwright.recording.document import (
    document,
    facts,
    heading,
    inner_page,
    paragraph,
    picture,
    table,
    typeset,
    verdict,
)
from linkwright.recording.plots import figure, styled
from linkwright.version import __version__

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from linkwright.parallel.error_budgets import ErrorBudget
    from linkwright.recording import Recording
    from linkwright.sizing.choice import Sizing
    from linkwright.sizing.requirements import JointInfo, Requirement
    from linkwright.sizing.requirements.worst import Worst
    from linkwright.sizing.verdicts import Verdict

Array = NDArray[np.float64]
_MOST_POINTS = 2000  # of a cloud or a curve in the report
_ENDINGS = (".html", ".htm")
_PLAYER = 700_000  # bytes of the page of the motion
_RANKED = 5  # drives of a joint in the ranking


def write_report(
    path: str | os.PathLike[str],
    need: Requirement,
    found: Sizing | None = None,
    run: Any = None,
    *,
    worst: Worst | None = None,
    budget: ErrorBudget | None = None,
    title: str = "",
    motion: bool = True,
) -> int:
    """Write the report of a requirement, and return its size in bytes."""
    _refuse_other(path, found, run, worst, budget)
    words = title or f"{need.task.name or 'Task'} · {need.robot.mechanism.name}"
    parts = list(_parts(need, found, run, worst, budget, motion))
    text = document(words, parts)
    write_text(path, text, replace=True)
    return len(text.encode())


def _refuse_other(path: object, *given: object) -> None:
    """Reject a name that is not of a page, and what a report cannot hold."""
    from linkwright.parallel.error_budgets import ErrorBudget
    from linkwright.recording.holder import Recorded
    from linkwright.sizing.choice import Sizing
    from linkwright.sizing.requirements.worst import Worst

    if not isinstance(path, str | os.PathLike) or path_of(path).suffix.lower() not in _ENDINGS:
        raise InputError(
            f"{path if isinstance(path, os.PathLike) else brief(path)}: a report is a page",
            remedy="give a name that ends in .html",
            code="R807",
        )
    kinds = (("found", Sizing), ("run", Recorded), ("worst", Worst), ("budget", ErrorBudget))
    for (name, kind), value in zip(kinds, given, strict=True):
        if value is not None and not isinstance(value, kind):
            what = "run or recording" if kind is Recorded else kind.__name__
            raise InputError(
                f"{name} of a report is a {what}, not {brief(value)}",
                remedy="leave it out, or see Requirement.report",
                code="R808",
            )


def _parts(
    need: Requirement,
    found: Sizing | None,
    run: Any,
    worst: Worst | None,
    budget: ErrorBudget | None,
    motion: bool,
) -> Iterator[str]:
    yield from _verdict(need, found)
    yield heading("Joints")
    yield from _joint_tables(need)
    if need.excesses:
        yield heading("Limits that are exceeded")
        yield table(
            ("joint", "quantity", "value", "limit", "excess", "unit", "time (s)", "first (s)"),
            [
                (e.joint, e.quantity, e.value, e.limit, e.excess, e.unit, e.time, e.first)
                for e in need.excesses
            ],
        )
    if need.dynamics:
        yield heading("Torque over speed")
        yield paragraph(
            "Each point is a sample of the task. Gray lines are limits of the joint"
            + ("; curves are what the chosen drive can do, for moments and without end."
               if found is not None else ".")
        )  # fmt: skip
        yield picture(_clouds(need, found))
    yield heading("Over time")
    yield picture(_curves(need))
    if motion:
        from linkwright.base.viewer import page_text

        yield heading("Motion")
        yield inner_page(page_text(need.recording, most=_PLAYER), "motion of the robot")
    if found is not None:
        yield from _drives(found)
        yield from _bus(found)
    if worst is not None:
        yield heading("Worst payloads")
        yield _worst_table(worst)
    if budget is not None:
        yield heading("Errors at the tool")
        yield from _budget(budget)
    if need.dynamics:
        yield heading("Energy of a cycle")
        yield _energy_table(need)
    if run is not None:
        yield from _run(need, run, found)


def _verdict(need: Requirement, found: Sizing | None) -> Iterator[str]:
    left = {(e.joint, e.quantity, e.quantity == "position" and e.limit) for e in need.excesses}
    count = len(left)  # a limit of magnitude may be exceeded both ways
    known = sum(math.isfinite(x) for of in need.limits.values() for x in of.values())
    if count:
        yield verdict(False, f"Limits exceeded: {count} of {known}.")
    elif known:
        yield verdict(True, f"All {known} limits of the robot are kept.")
    else:
        yield paragraph("The robot has no limits that could be checked.")
    if found is not None:
        worst = min(found.chosen.values(), key=lambda c: c.margin)
        words = (
            f"Every joint has a drive; the smallest margin is {worst.margin:+.0%}, "
            f"{worst.limited_by} of {worst.joint}."
        )
        yield verdict(found.margin >= 0, words)
        short = [v for v in found.bus.verdicts if not v.passed]
        if short:
            words = ", ".join(f"{v.name} {v.value:.4g} of {v.limit:.4g} {v.unit}" for v in short)
            yield verdict(False, f"The supply does not carry all drives together: {words}.")
    yield facts(_asked(need, found))
    yield from (paragraph(f"{note}.") for note in need.notes)
    if found is not None:
        yield paragraph(
            "Torques, powers and energies of the joints, and the points of the pictures, are those "
            "of the arm without the chosen drives. Verdicts on drives and supply count their "
            "rotors, friction and masses too, so that their values differ."
        )


def _asked(need: Requirement, found: Sizing | None) -> Iterator[tuple[str, str]]:
    """Yield what was asked, by which the report can be filed."""
    task = need.task
    yield "robot", f"{need.robot.mechanism.name}, {len(need.joints)} joints"
    yield "task", f"{task.name or 'unnamed'}, {task.duration:g} s, {len(need.times)} samples"
    if need.payload is not None:
        yield "payload", f"{need.payload.mass:g} kg"
    if found is not None:
        terms = found.terms
        yield "supply", f"{found.supply or 'none in the catalog'}, {terms.voltage:g} V"
        yield "asked of drives", f"{terms.life:g} h at {terms.ambient:g} °C"
    yield "made by", f"Linkwright {__version__}"


_TABLES = (("speed", "acceleration"), ("torque", "power"), ("force", "moment"))


def _joint_tables(need: Requirement) -> Iterator[str]:
    """Make a table of motion, one of effort and one of loads, each narrow enough for a page."""
    for quantities in _TABLES if need.dynamics else _TABLES[:1]:
        limited = [q for q in quantities if any(_limit(need, j.name, q) for j in need.joints)]
        head = ["joint"]
        for q in quantities:
            head += [f"{q}, peak", "at (s)", "RMS", "unit", *(["of limit"] if q in limited else [])]
        rows = []
        for joint in need.joints:
            row: list[str | float] = [joint.name]
            for q in quantities:
                s = need.statistic(joint.name, q)
                row += [s.peak, s.time, s.rms, s.unit]
                if q in limited:
                    most = _limit(need, joint.name, q)
                    row.append(f"{abs(s.peak) / most:.0%}" if most else "")
            rows.append(row)
        yield table(head, rows)


def _limit(need: Requirement, joint: str, quantity: str) -> float | None:
    """Return the greatest magnitude that a joint may have of a quantity, None without one."""
    value = need.limits.get(joint, {}).get(quantity, math.inf)
    return value if math.isfinite(value) and value > 0.0 else None


def _energy_table(need: Requirement) -> str:
    rows = []
    for joint in need.joints:
        power = need.values(joint.name, "power")
        given = float(np.trapezoid(np.maximum(power, 0.0), need.times))
        back = float(np.trapezoid(np.maximum(-power, 0.0), need.times))
        rows.append((joint.name, given, back, given - back))
    total = ("all", *(sum(float(r[k]) for r in rows) for k in (1, 2, 3)))
    return table(("joint", "into the arm (J)", "out of the arm (J)", "net (J)"), [*rows, total])


def _worst_table(worst: Worst) -> str:
    head = ("joint", "quantity", "value", "unit", "time (s)", "mass (kg)", "at (m)", "how sure")
    return table(
        head,
        [
            (c.joint, c.quantity, c.value, c.unit, c.time, c.mass,
             ", ".join(f"{x:.4g}" for x in c.position), c.proof)
            for c in worst.cases
        ],
    )  # fmt: skip


def _budget(budget: ErrorBudget) -> Iterator[str]:
    yield table(
        ("output", "worst case", "root of squares"),
        [
            (name, float(most), float(root))
            for name, most, root in zip(
                budget.outputs, budget.worst, budget.root_of_squares, strict=True
            )
        ],
    )
    yield table(
        ("source", "size", *(f"on {name}" for name in budget.outputs)),
        [(s.name, float(s.size), *map(float, s.size * s.sensitivity)) for s in budget.sources],
    )


def _bus(found: Sizing) -> Iterator[str]:
    bus = found.bus
    yield heading("Supply")
    yield table(
        ("energy of a cycle (J)", "comes back (J)", "burned (J)", "to the mains (J)",
         "capacitance that keeps it (F)"),
        [(bus.energy, bus.regenerated, bus.burned, bus.returned, bus.capacitance)],
    )  # fmt: skip
    yield _verdict_table(bus.verdicts)


def _verdict_table(verdicts: Sequence[Verdict]) -> str:
    return table(
        ("judgment", "asked", "allowed", "unit", "margin", "kept", "time (s)", "formula"),
        [
            (v.name, v.value, v.limit, v.unit, f"{v.margin:+.0%}", v.passed,
             "" if v.time is None else f"{v.time:.4g}", v.formula)
            for v in verdicts
        ],
    )  # fmt: skip


def _thinned(count: int) -> slice:
    return slice(None, None, max(1, math.ceil(count / _MOST_POINTS)))


def _clouds(need: Requirement, found: Sizing | None) -> Figure:
    """Draw torque over speed of each joint, its limits, and the curves of its drive."""
    names = [j.name for j in need.joints]
    columns = min(3, len(names))
    rows = -(-len(names) // columns)
    with styled():
        size = (9.0, 0.6 + 2.6 * rows)
        drawing: Figure = extra("matplotlib.figure", "plot").Figure(size, layout="constrained")
        axes = drawing.subplots(rows, columns, squeeze=False)
        every = _thinned(len(need.times))
        for ax, joint in zip(axes.flat, need.joints, strict=False):
            speed, torque = (need.values(joint.name, q) for q in ("speed", "torque"))
            ax.plot(speed[every], torque[every], ".", markersize=2.2, color=TRACES["light"][0])
            limits = need.limits.get(joint.name, {})
            for value in (limits.get("torque"), -limits.get("torque", math.inf)):
                if value is not None and math.isfinite(value):
                    ax.axhline(value, color="#9aa3af", linewidth=0.9)
            if found is not None and joint.name in found.chosen:
                _drive_curves(ax, found, joint.name, float(np.abs(speed).max()))
            ax.set_title(joint.name, loc="left")
            ax.set_xlabel(f"speed ({typeset(joint.units['speed'])})")
            ax.set_ylabel(f"torque ({typeset(joint.units['torque'])})")
        for ax in axes.flat[len(names) :]:
            ax.set_axis_off()
    return drawing


def _drive_curves(ax: Any, found: Sizing, joint: str, fastest: float) -> None:
    """Draw what a motor with its gear can do at the joint, while it drives."""
    choice = found.chosen[joint]
    motor, gear = found.catalog.motor[choice.motor], found.catalog.gear[choice.gear]
    n = gear.reduction
    top = min(motor.speed, gear.speed, found.terms.voltage / motor.kt) / n
    speed = np.linspace(0.0, max(top, fastest), 200)
    hot = motor.R * (1 + motor.alpha * (motor.hottest - 20.0))
    volts = motor.kt * (found.terms.voltage - motor.kt * n * speed) / hot
    for limit, line in ((motor.peak, "-"), (motor.continuous, "--")):
        torque = np.where(speed <= top, np.minimum(limit, volts), np.nan) * n * gear.efficiency
        torque = np.where(torque >= 0, torque, np.nan)
        for way in (1, -1):
            ax.plot(way * speed, torque, line, color=TRACES["light"][1], linewidth=1.1)
            ax.plot(way * speed, -torque, line, color=TRACES["light"][1], linewidth=1.1)


def _curves(need: Requirement) -> Figure:
    names = [n for j in need.joints for n in _shown(need, j.name)]
    return figure([_thin(need)], names, title=" ")


def _shown(need: Requirement, joint: str) -> list[str]:
    return [joint, f"{joint}.torque", f"{joint}.power"] if need.dynamics else [joint]


def _thin(need: Requirement) -> Any:
    """Return the recording with as many samples as a picture can show."""
    from linkwright.recording import Recording

    r = need.recording
    every = _thinned(len(r))
    return Recording(r.times[every], r.channels, r.data[every], r.metadata)


def _drives(found: Sizing) -> Iterator[str]:
    yield heading("Drives")
    head = ("joint", "motor", "gear", "brake", "amplifier", "bearing", "margin", "limited by",
            "mass (kg)", "energy (J)", "price")  # fmt: skip
    yield table(
        head,
        [
            (c.joint, c.motor, c.gear, c.brake, c.amplifier, c.bearing, f"{c.margin:+.0%}",
             c.limited_by, c.mass, c.energy, c.price)
            for c in found.chosen.values()
        ],
    )  # fmt: skip
    yield paragraph(f"Supply: {found.supply or 'none in the catalog'}. All drives: "
                    f"{found.mass:.4g} kg.")  # fmt: skip
    for joint, choice in found.chosen.items():
        why = found.why(choice.motor, joint, choice.gear)
        yield heading(f"{joint}: {choice.motor} with {choice.gear}")
        yield _verdict_table(why.verdicts)
        for note in why.notes:
            yield paragraph(note)
        ranked = found.ranked(joint, _RANKED)
        if len(ranked) > 1:
            yield paragraph("Next best:")
            yield table(
                ("motor", "gear", "margin", "limited by", "mass (kg)", "energy (J)", "price"),
                [
                    (c.motor, c.gear, f"{c.margin:+.0%}", c.limited_by, c.mass, c.energy, c.price)
                    for c in ranked
                ],
            )


def _run(need: Requirement, run: Any, found: Sizing | None) -> Iterator[str]:
    """Compare a run of the robot with its drives with what the task asks."""
    yield heading("The robot with its drives")
    recording = run.recording
    rows = []
    for joint in need.joints:
        if joint.name not in recording:
            continue
        asked = np.interp(recording.times, need.times, need.values(joint.name, "position"))
        error = recording[joint.name] - asked
        worst = int(np.argmax(np.abs(error)))
        rows.append(
            (joint.name, float(error[worst]), float(recording.times[worst]),
             float(np.sqrt(np.mean(error**2))), joint.units["position"])
        )  # fmt: skip
    yield table(("joint", "largest error", "at (s)", "RMS error", "unit"), rows)
    peaks = [row for joint in need.joints for row in _peaks(need, recording, joint, found)]
    if peaks:
        yield paragraph(
            "Largest torques or forces that the trains put on the joints, beside what the task "
            "asks, and what the gear may carry again and again, and once:"
        )
        yield table(
            ("joint", "asked", "in the run", "at (s)", "repeated", "momentary", "kept", "unit"),
            peaks,
        )


def _peaks(
    need: Requirement, recording: Recording, joint: JointInfo, found: Sizing | None
) -> Iterator[tuple[str | float | bool, ...]]:
    """Yield the row of a joint whose drive is in the recording."""
    names = [f"{joint.name}_drive.{end}" for end in ("train.torque", "tau")]
    name = next((n for n in names if n in recording), None)
    if name is None or not need.dynamics:
        return
    k = int(np.argmax(np.abs(recording[name])))
    peak = float(recording[name][k])
    asked = need.statistic(joint.name, "torque").peak
    limits: tuple[str | float | bool, ...] = ("", "", "")
    if found is not None and joint.name in found.chosen:
        gear = found.catalog.gear[found.chosen[joint.name].gear]
        limits = (gear.repeated, gear.momentary, abs(peak) <= gear.momentary)
    yield (joint.name, asked, peak, float(recording.times[k]), *limits, joint.units["torque"])
