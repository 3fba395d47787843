"""Commands that start tasks, move the robot and let time go on."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from fractions import Fraction
from typing import TYPE_CHECKING, Any

import numpy as np

from linkwright.base.errors import InputError
from linkwright.lab.config import SERVOS
from linkwright.lab.console import dialogue
from linkwright.lab.console.reports import aligned
from linkwright.lab.console.table import Answer, Value, require

if TYPE_CHECKING:
    from linkwright.lab.lab import Lab


# -- tasks -----------------------------------------------------------------------------------------
def set_task(lab: Lab, task: str, servo: str, pairs: Mapping[str, Any]) -> Answer:
    """Start a task."""
    begun = lab.start(task, servo=servo, **pairs)
    return _task_now(lab, f"{task} runs" if begun else f"{task} was not started", begun)


def redo(lab: Lab, servo: str) -> Answer:
    """Start the last task again."""
    begun = lab.redo(servo=servo)
    return _task_now(
        lab, f"{lab.last} runs again" if begun else f"{lab.last} was not started", begun
    )


def change(lab: Lab, pairs: Mapping[str, Any]) -> Answer:
    """Change parameters of the task."""
    if not pairs:
        lab.change()
        values = values_now(lab, {})
        text = "\n".join(f"{n} = {dialogue.shown(v)}" for n, v in values.items())
        return Answer(text or "the task has no parameters", dict(values))
    lab.change(**pairs)
    said = ", ".join(f"{name} = {dialogue.shown(value)}" for name, value in pairs.items())
    return Answer(said, dict(pairs))


def tasks(lab: Lab) -> Answer:
    """List the tasks and their parameters."""
    found: dict[str, dict[str, Any]] = {}
    lines = []
    width = max((len(name) for name in lab.tasks), default=0)
    for name in lab.tasks:
        units = units_of_task(lab, {"task": name})
        values = defaults_of_task(lab, {"task": name})
        found[name] = {n: {"value": plain(v), "unit": units[n]} for n, v in values.items()}
        said = ", ".join(f"{n}={dialogue.shown(v, units[n])}" for n, v in values.items())
        lines.append(f"{name.ljust(width)}  {said}".rstrip())
    return Answer("\n".join(lines), found)


def plain(value: Any) -> Any:
    """Return a setting as data."""
    if value is None or isinstance(value, str | bool | int | float):
        return value
    return np.asarray(value).tolist() if not isinstance(value, Mapping) else str(dict(value))


def reload(lab: Lab, file: str | None) -> Answer:
    """Take up the task files again."""
    if file:
        names = lab.add(file)
        return Answer(f"tasks: {', '.join(names)}", {"tasks": list(names)})
    names = lab.reload()
    mistakes = list(lab.shelf.mistakes)
    if mistakes:
        raise InputError("; ".join(mistakes), remedy="mend it; the older text goes on")
    said = f"taken up again: {', '.join(names)}" if names else "there are no task files"
    return Answer(said, {"tasks": list(names)})


def joints(lab: Lab) -> Sequence[str]:
    """Return the names of the joints."""
    names: Sequence[str] = lab.config.names
    return names


def units_of_joints(lab: Lab, given: Mapping[str, Any]) -> Mapping[str, str]:
    """Return the units of the joints' positions."""
    del given
    return {name: unit for name, (unit, _) in lab.config.units.items()}


def effectors(lab: Lab) -> Sequence[str]:
    """Return the names of the end-effectors."""
    return [effector.name for effector in lab.config.end_effectors]


def first_effector(lab: Lab) -> str:
    """Return the name of the first end-effector; nothing where there is none."""
    return next(iter(effectors(lab)), "")


def servos(lab: Lab) -> Sequence[str]:
    """Return the servos in which tasks run: the task servo, and those of one's own."""
    return [name for name in lab.rates if name == "task" or name not in SERVOS]


def task_names(lab: Lab) -> Sequence[str]:
    """Return the names of the tasks."""
    return list(lab.tasks)


def units_of_task(lab: Lab, given: Mapping[str, Any]) -> Mapping[str, str]:
    """Return the units of a task's parameters, and nothing for those of its settings, by name."""
    task = _task(lab, given.get("task"))
    if task is None:
        return {}
    found = {p.name: "" if p.unit == "1" else p.unit for p in task.parameters().values()}
    return found | dict.fromkeys(task.settings(), "")


def defaults_of_task(lab: Lab, given: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return what parameters and settings of a task are now, by name."""
    task = _task(lab, given.get("task"))
    return {} if task is None else {**task.values, **{n: getattr(task, n) for n in task.settings()}}


def units_now(lab: Lab, given: Mapping[str, Any]) -> Mapping[str, str]:
    """Return the units of the parameters of the task that runs, or ran last."""
    del given
    units = {} if lab.last is None else units_of_task(lab, {"task": lab.last})
    return {name: units[name] for name in lab.parameters}


def values_now(lab: Lab, given: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return the parameters of the task that runs, or ran last."""
    del given
    return dict(lab.parameters)


def _task(lab: Lab, name: str | None) -> Any:
    return None if name is None else lab.tasks[require(name, lab.tasks, "task")]


def _task_now(lab: Lab, words: str, begun: bool) -> Answer:
    now = {"started": begun, "task": lab.task, "tick": lab.tick}
    return Answer(words, {**now, "parameters": dict(lab.parameters)})


# -- ends ------------------------------------------------------------------------------------------
def freeze(lab: Lab) -> Answer:
    """End the task and hold the posture."""
    lab.freeze()
    return Answer("frozen", {"tick": lab.tick})


def stop(lab: Lab, reason: str) -> Answer:
    """Take the power off."""
    lab.stop(reason)
    return Answer(f"stopped: {reason}; reset lets it go on", {"tick": lab.tick, "reason": reason})


def reset(lab: Lab) -> Answer:
    """Go back to the beginning."""
    lab.reset()
    return Answer("reset", {"tick": lab.tick})


# -- postures --------------------------------------------------------------------------------------
def go_default(lab: Lab) -> Answer:
    """Go to the default posture."""
    lab.go_default()
    return _posture(lab)


def go(lab: Lab, inverse_dynamics: bool, pairs: Mapping[str, Value]) -> Answer:
    """Go to a posture; joints that are not named stay as they are desired."""
    wanted = dict(pairs) or _asked_posture(lab)
    if not wanted:
        raise InputError("go needs joints", remedy=f"give some: go {lab.config.names[0]}=0.5")
    target = np.array(lab.desired.q, dtype=float)
    for name, value in wanted.items():
        target[lab.config.names.index(name)] = value
    lab.go_to(target, inverse_dynamics=inverse_dynamics)
    return _posture(lab)


def _asked_posture(lab: Lab) -> dict[str, float]:
    """Ask for joints and where they shall go, until no more is named (SL's dialogue)."""
    names = lab.config.names
    found: dict[str, float] = {}
    while True:
        name = dialogue.ask("joint; nothing to go", "")
        if not name:
            return found
        require(name, names, "joint")
        now = found.get(name, float(lab.desired.q[names.index(name)]))
        found[name] = dialogue.ask(f"target of {name}", now, unit=lab.config.units[name][0])


def _posture(lab: Lab) -> Answer:
    reached = [float(x) for x in lab.state.q]
    rows = [
        (name, f"{float(d):.4f}", f"{q:.4f}")
        for name, d, q in zip(lab.config.names, lab.desired.q, reached, strict=True)
    ]
    data = {"tick": lab.tick, "q": dict(zip(lab.config.names, reached, strict=True))}
    return Answer(aligned(("joint", "desired", "reached"), rows), data)


def go_to_blob(lab: Lab, effector: str, duration: float) -> Answer:
    """Bring an end-effector to the first blob."""
    seen = lab.blobs
    if not effector or not seen:
        what = "end-effectors" if not effector else "blobs"
        raise InputError(f"this laboratory has no {what}", remedy="add some to its files")
    name, blob = next(iter(seen.items()))
    if not blob.status:
        raise InputError(f"{name} is not seen", remedy="look with bwhere")
    lab.go_cartesian({effector: np.array(blob.x)}, duration=duration)
    x = [float(v) for v in lab.cart[effector].x]
    said = ", ".join(f"{v:.4f}" for v in x)
    return Answer(f"{effector} at {said}", {"effector": effector, "blob": name, "x": x})


def step(lab: Lab, joint: str, size: float, duration: float) -> Answer:
    """Give one joint a step."""
    given: dict[str, Any] = {"joint": joint, "size": size, "duration": duration}
    begun = lab.start("step", **given)
    return _task_now(lab, f"step of {joint} by {size:g} {lab.config.units[joint][0]}", begun)


_SLICE = 960  # base ticks after which a run looks whether it is to end


def place_blob(lab: Lab, name: str, x: float, y: float, z: float) -> Answer:
    """Put a blob of the simulated world somewhere."""
    lab.place_blob(name, (x, y, z))
    return Answer(f"{name} at {x:g}, {y:g}, {z:g} m", {"blob": name, "x": [x, y, z]})


def blob_names(lab: Lab) -> Sequence[str]:
    """Return the names of the blobs."""
    return lab.config.vision.blobs


# -- time ------------------------------------------------------------------------------------------
def run(lab: Lab, seconds: float) -> Answer:
    """Let time go on."""
    if not seconds >= 0.0:
        raise InputError(f"run cannot go {seconds:g} s", remedy="give seconds, 0 or more")
    ticks = round(Fraction(seconds).limit_denominator(10**9) / lab.period)
    end = lab.tick + ticks
    while (left := end - lab.tick) > 0 and not dialogue.interrupted():
        lab.go_on(min(left, _SLICE))
    return Answer(f"{lab.time:.3f} s", {"tick": lab.tick, "time": lab.time, "task": lab.task})


def pace(lab: Lab, speed: float) -> Answer:
    """Follow the clock, or not."""
    if not 0.0 <= speed < float("inf"):
        raise InputError(f"a pace of {speed:g} cannot be", remedy="give 0 for none, or more")
    lab.pace(speed or None)
    said = f"{speed:g} times the clock" if speed else "as run says, as fast as it goes"
    return Answer(said, {"speed": speed})
