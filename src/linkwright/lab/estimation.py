"""Parameters of a laboratory's robot from recordings, and back into its servo (SL manual, 11.4).

Excite, record, estimate, write LinkParameters.cf, exchange the servo's model: `estimate` does all.
Positions and torques of a recording go through the same filter forward and backward, so that
the equations of motion hold between them as before; speeds and accelerations are differences.
Torques may have been recorded late or early, as those of a command before it acts: by as much as
lets the equations hold best, up to `LATE`.

Torques of the first N_DOFS_EST - N_DOFS_EST_SKIP joints count, those of all where neither is given.
What LinkParameters.cf has no column for (rotors, dry friction) stays what it is believed to be, and
so does the viscous friction of joints that do not count. A link without mass has none afterward.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from linkwright.base.checks import checked
from linkwright.base.errors import Error, InputError
from linkwright.base.files import write_text
from linkwright.formats.robot.description import Description
from linkwright.lab.config import LabConfig
from linkwright.lab.slot import MEMBER
from linkwright.recording import Recording, read_recording
from linkwright.recording.in_units import si_values
from linkwright.robots.identification.estimation import Estimate

if TYPE_CHECKING:
    from linkwright.lab.lab import Lab

Array = NDArray[np.float64]
ORDER, EDGE, RATE = 4, 0.5, 50.0
"""Of the filter; s that it may swing at each end; states in a second that are counted."""
LATE = 0.02
"""s by which torques may be late or early."""
MARGIN = 1.0
"""s that is recorded beyond the motion."""


def estimate(
    lab: Lab,
    files: Sequence[str | os.PathLike[str] | Recording] | None = None,
    *,
    seconds: float = 60.0,
    cutoff: float = 5.0,
    to: str | os.PathLike[str] | None = None,
    replace_file: bool = False,
) -> Estimate:
    """Find the inertial parameters of the robot, and let inverse dynamics compute with them.

    Args:
        files: recordings of its motion, such as dNNNNN files, with positions `J_th` and torques
            `J_load` or `J_u` of each joint, best at the rate of the motor servo; without them the
            robot is excited and recorded.
        seconds: of that motion, s.
        cutoff: of the filter for what was recorded, Hz.
        to: file to write, such as "LinkParameters.cf", in the laboratory's folder.
        replace_file: whether a file that is there is replaced.
    """
    from linkwright.robots.identification import estimate as estimated, with_estimate

    checked(seconds, "the motion in s", above=0.0)
    target = None if to is None else lab.folder / to
    if target is not None and target.exists() and not replace_file:
        raise InputError("the file exists already", file=target, remedy="choose another name")
    recordings = [_read(lab, x) for x in files] if files else [_excited(lab, seconds)]
    robot = _believed(lab)
    names = lab.config.names
    parts = [_filtered(lab.config, recording, cutoff) for recording in recordings]
    order = [names.index(name) for name in robot.coordinates]
    counted = counted_joints(lab.config)
    joints = [robot.coordinates.index(name) for name in counted]
    q, u, a = (np.concatenate([part.motion[k][:, order] for part in parts]) for k in range(3))
    rows = np.asarray(robot.joint_regressor(q, u, a))[:, joints].reshape(len(q) * len(joints), -1)
    tau = _in_time(parts, rows, [order[k] for k in joints])[:, order]
    links = zip(robot.links, robot.inertial_parameters.reshape(-1, 10), strict=True)
    held = {name for name, p in links if not p.any()}
    find = [n for n in robot.inertial_names if n.rpartition(".")[0] not in held]
    friction = {f"{name}.viscous" for name in counted}
    find += [n for n in robot.full_names if n in friction]
    found = estimated(
        robot, q, u, a, tau,
        prior=[*robot.inertial_parameters, *_joint_parameters(lab, robot.full_names)],
        find=find, counted=[robot.speeds[k] for k in joints],
    )  # fmt: skip
    described = with_estimate(robot, found)
    joints_found = _with_damping(lab.model, described)
    description = replace(lab.model, links=described.links, joints=joints_found)
    if target is not None:
        from linkwright.lab.files.sl_writer import link_parameters

        write_text(target, link_parameters(lab.config, description), replace=replace_file)
    set_model(lab, description)
    return found


def set_model(lab: Lab, model: Description) -> None:
    """Let inverse dynamics compute with another model from the next tick on.

    Args:
        model: the robot as controllers are to believe it to be; of the same links and joints.
    """
    from linkwright.lab.plant import lab_mechanism
    from linkwright.lab.servos.inverse_dynamics import frictions

    config = lab.config
    if config.mechanism is not None or config.believed is not None:
        raise Error(
            f"controllers of {config.name!r} compute with a mechanism of its own",
            remedy="change its parameters in the model, or give a robot file",
        )
    before = lab_mechanism(replace(config, model=lab.model), believed=True)
    robot = lab_mechanism(replace(config, model=model), believed=True)
    if robot.inertial != before.inertial or not robot.inertial:
        raise InputError(
            f"the links of the model {model.name!r} differ from those of {config.name!r}",
            remedy="change masses, centers and inertias of links that have mass",
        )
    values = robot.mechanism.values
    given = {f"invdyn.model[{k}]": values[name] for k, name in enumerate(robot.inertial)}
    known = frictions(replace(config, model=model))
    given |= {f"invdyn.viscous[{k}]": known[name] for k, name in enumerate(config.names)}
    lab.put(given)
    lab.model = model


def counted_joints(config: LabConfig) -> tuple[str, ...]:
    """Return the joints whose torques estimation counts.

    >>> from linkwright.lab.sources import lab_config
    >>> len(counted_joints(lab_config("sl-arm")))
    10
    """
    count, skipped = config.estimated
    if not (count or skipped):
        return config.names
    if count - skipped < 1:
        raise InputError(
            f"N_DOFS_EST of {config.name!r} is {count}, and {skipped} of these are skipped",
            remedy="count more joints than N_DOFS_EST_SKIP",
        )
    return config.names[: count - skipped]


def _believed(lab: Lab) -> Any:
    """Return the robot that controllers believe in at present."""
    from linkwright.robots import Robot

    if lab.config.base == "floating":
        raise Error(
            f"the base of {lab.config.name!r} floats; estimation needs one that stands",
            remedy='freeze the base in its file: base = "fixed"',
        )
    return Robot(lab.model, base="fixed", friction=False)


def _joint_parameters(lab: Lab, names: Sequence[str]) -> list[float]:
    """Return rotors and friction as they are believed to be, in the order of their names."""
    known = {joint.name: joint for joint in lab.model.joints}
    found = []
    for name in names:
        joint, _, kind = name.rpartition(".")
        if kind in ("rotor", "viscous", "dry"):
            own = known[joint]
            values = {"rotor": own.armature, "viscous": own.damping, "dry": own.friction}
            found.append(float(values[kind]))
    return found


def _with_damping(model: Description, described: Description) -> tuple[Any, ...]:
    """Return the joints of a model with the viscous friction that was found."""
    found = {joint.name: joint.damping for joint in described.joints}
    return tuple(replace(joint, damping=found[joint.name]) for joint in model.joints)


def _excited(lab: Lab, seconds: float) -> Recording:
    """Return a recording of a motion that excites."""
    period = 10.0
    repeats = max(1, round(seconds / period))
    wanted = [f"{name}_{ending}" for name in lab.config.names for ending in ("th", "load", "u")]
    before, made = lab.recorder.settings, [*lab.recorder.recordings][-1:]
    rate = float(lab.config.rate)  # torques change with each tick; fewer samples would alias them
    lab.recorder.configure(rate=rate, duration=repeats * period + MARGIN, names=wanted)
    try:
        lab.start("excite", repeats=float(repeats))
        lab.recorder.start()
        lab.run(repeats * period + 2 * MARGIN)
    finally:
        lab.recorder.configure(rate=before.rate, duration=before.duration, names=list(before.names))
    found = lab.recorder.last
    if [*lab.recorder.recordings][-1:] == made:
        raise Error("the recording of the motion is not complete", remedy="excite it once more")
    if lab.running(MEMBER) or found.times[-1] - found.times[0] < repeats * period:
        raise Error("the motion that excites did not end by itself", remedy="excite it once more")
    return found


def _read(lab: Lab, source: str | os.PathLike[str] | Recording) -> Recording:
    if isinstance(source, Recording):
        return source
    path = Path(source)
    return read_recording(path if path.is_absolute() or path.exists() else lab.folder / path)


@dataclass(frozen=True, slots=True)
class _Part:
    """A recording, filtered: positions, speeds and accelerations, and torques at any time."""

    times: Array
    motion: tuple[Array, Array, Array]
    tau: Callable[[Array], Array]


def _in_time(parts: Sequence[_Part], rows: Array, counted: Sequence[int]) -> Array:
    """Return the torques of all states, as late as lets the equations of motion hold best."""
    from scipy.optimize import minimize_scalar

    basis, sizes, _ = np.linalg.svd(rows, full_matrices=False)
    basis = basis[:, sizes > 1e-9 * sizes[0]]

    def torques(late: float) -> Array:
        return np.concatenate([part.tau(part.times + late) for part in parts])

    def left(late: float) -> float:
        found = torques(late)[:, counted].ravel()
        return float(np.sum((found - basis @ (basis.T @ found)) ** 2))

    best = minimize_scalar(left, bounds=(-LATE, LATE), method="bounded", options={"xatol": 1e-5})
    return torques(float(best.x))


def _filtered(config: LabConfig, recording: Recording, cutoff: float) -> _Part:
    """Return the states of a recording, filtered and differentiated."""
    from scipy.interpolate import CubicSpline
    from scipy.signal import butter, sosfiltfilt

    names = config.names
    measured = [n for n in names if f"{n}_load" in recording and np.any(recording[f"{n}_load"])]
    columns = {"q": "th", "tau": "load" if measured else "u"}
    wanted = [f"{name}_{ending}" for ending in columns.values() for name in names]
    missing = [name for name in wanted if name not in recording]
    if missing:
        raise InputError(
            f"the recording has no {missing[0]}",
            remedy="record positions (J_th) and torques (J_load or J_u) of all joints",
        )
    times = np.asarray(recording.times, dtype=float)
    rate = (len(times) - 1) / (times[-1] - times[0]) if len(times) > 1 else 0.0
    if len(times) < 4 * EDGE * rate or rate <= 2 * cutoff or not cutoff > 0:
        raise InputError(
            f"a recording of {len(times)} samples at {rate:g} Hz is too short or too coarse for a "
            f"filter of {cutoff:g} Hz",
            remedy="record some seconds, at more than twice the cutoff",
        )
    sos = butter(ORDER, cutoff / (rate / 2), output="sos")
    raw = {
        key: np.column_stack([si_values(recording, f"{n}_{e}") for n in names])
        for key, e in columns.items()
    }
    smooth = {key: np.asarray(sosfiltfilt(sos, x, axis=0)) for key, x in raw.items()}
    u = np.gradient(smooth["q"], 1 / rate, axis=0)
    a = np.gradient(u, 1 / rate, axis=0)
    every = max(1, int(rate / RATE))
    kept = slice(int(EDGE * rate), len(times) - int(EDGE * rate), every)
    at = np.arange(len(times)) / rate
    return _Part(at[kept], (smooth["q"][kept], u[kept], a[kept]), CubicSpline(at, smooth["tau"]))
