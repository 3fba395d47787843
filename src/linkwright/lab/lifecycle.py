"""The life of tasks: how they are started, changed, frozen and stopped.

`init` and `change` are called beside the loop, in the thread that asks; `run` is called by the
loop. A start, a change and an end are changes of inputs that enter at one tick.
"""

from __future__ import annotations

import math
import re
import threading
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from linkwright.base.errors import Error, InputError, unknown
from linkwright.lab.config import CONTROLLERS, MODES, SERVOS
from linkwright.lab.console.dialogue import noted_answers
from linkwright.lab.life import life_of
from linkwright.lab.loop import enter, put as put_inputs, quiet
from linkwright.lab.newer_tasks import newer_function, slot_standing
from linkwright.lab.pushes import calm
from linkwright.lab.running import task_failure, task_function
from linkwright.lab.session import StoredFunction
from linkwright.lab.slot import CARTESIAN, JOINT_TARGET, MEMBER, PARAMETERS, SlotLayout
from linkwright.lab.tasks import Task
from linkwright.simulation.native.called import FUNCTIONS, SlotFunction
from linkwright.system.phases import of_guard

if TYPE_CHECKING:
    from linkwright.lab.lab import Lab

Array = NDArray[np.float64]
_GAIN = re.compile(r"motor\.(kp|kd|ki|limit)(?:\[(\d+)\])?")


def start(lab: Lab, /, name: str, *, servo: str = MEMBER, **parameters: Any) -> bool:
    """Start a task; return whether its `init` let it.

    Args:
        name: of the task.
        servo: whose slot it runs in.
        parameters: of the task, and its settings; parameters that are not given stay as they
            were, settings have their defaults.
    """
    task = _task(lab, name)
    told = {key: about.default for key, about in task.settings().items()}
    return _start(lab, task, servo, told | parameters)


def _start(lab: Lab, task: Task, servo: str, values: Mapping[str, Any]) -> bool:
    """Start a task with values of parameters and settings."""
    name = task.name
    if lab.real is not None and servo != MEMBER and not task.native:
        raise Error(
            f"the task {name!r} is one of Python, and on hardware the servo {servo!r} runs "
            "compiled tasks only",
            remedy=f"give it native = True, or start it in the servo {MEMBER!r}",
        )
    with lab.changing:
        lab.require_open()
        _require_idle(lab, servo)
        outer = lab._starting.get(servo)
        lab._starting[servo] = threading.current_thread(), name
        freezes = lab._freezes
    try:
        task.set(values)
        lab._last[servo] = name
        try:
            with noted_answers() as answers:
                willing = task.init(lab) is not False
            if not willing:
                lab.tell(f"{name} was not started: its init said no")
                return False
        except KeyboardInterrupt:
            raise
        except BaseException as error:
            raise task_failure(task, error, "init") from error
        if _install(lab, servo, task, answers, freezes):
            return True
        lab.tell(f"{name} was not started: it was frozen during its init")
        return False
    finally:
        with lab.changing:
            if outer is None:
                lab._starting.pop(servo, None)
            else:
                lab._starting[servo] = outer


def _task(lab: Lab, name: str) -> Task:
    if name not in lab.tasks:
        there = ", ".join(lab.tasks) or "none yet"
        raise unknown("task", name, lab.tasks, f"there are: {there}")
    return lab.tasks[name]


def _require_idle(lab: Lab, servo: str) -> None:
    """Reject whatever needs that no task runs."""
    if servo != MEMBER and servo not in lab.rates:
        raise InputError(f"there is no servo {servo!r}", remedy="name it in the ratios")
    if lab.stopped is not None:
        raise Error(f"the laboratory is stopped: {lab.stopped}", remedy="reset it first")
    runs = lab.running(servo)
    if runs is not None:
        raise Error(f"the task {runs!r} runs", remedy="freeze it first")
    starter, name = lab._starting.get(servo, (None, ""))
    if starter is not None and starter is not threading.current_thread():
        raise Error(f"the task {name!r} is being started", remedy="wait until its init is over")


def _layout(lab: Lab, servo: str) -> SlotLayout:
    if servo not in lab._layouts:
        lab._layouts[servo] = SlotLayout(lab.config, servo)
    return lab._layouts[servo]


def _install(lab: Lab, servo: str, task: Task, answers: Sequence[Any], freezes: int) -> bool:
    """Put a task into its slot: it begins with what is wanted now.

    Where more than so many `freezes` were asked for, it is not, and False is returned.
    """
    layout, life = _layout(lab, servo), life_of(servo)
    wants = bool(getattr(task, "inverse_dynamics", False))
    function = None
    if lab.real is None or servo != MEMBER:
        function = task_function(task, layout)
    with lab.changing:
        if lab._freezes != freezes:
            return False
        _require_idle(lab, servo)
        serial = lab._serials[servo] = lab._serials.get(servo, 0) + 1
        values = _parameter_values(lab, servo, task)
        wanted = _wanted(lab, layout, wants)
        values |= _lent(lab, servo, wanted, layout, wants)
        if lab.real is not None and servo == MEMBER:
            names = [name for port in layout.outputs for name in layout.result_names(port)]
            start = np.array([wanted.get(name, 0.0) for name in names])
            function = lab.real.function(task, serial, start)
            values["watch.remote"] = float(not task.native)
        assert function is not None
        number = _number(lab, servo, task, function, answers)
        values |= wanted
        values |= {f"{life}.number": float(number), f"{life}.serial": float(serial)}
        if servo == MEMBER:
            values["invdyn.always"] = float(wants)
        lab._running[servo] = task
        enter(lab, values)
        return True


def _number(
    lab: Lab, servo: str, task: Task, function: SlotFunction, answers: Sequence[Any] | None = None
) -> int:
    """Give a function the next number in a slot; without answers, it is exchanged."""
    number = lab._numbers[servo] = lab._numbers.get(servo, 0) % (FUNCTIONS - 1) + 1
    if lab.session is not None:
        tick = lab.loop.latest().tick
        function = lab.session.installed(tick, servo, number, task, function, answers)
    lab.loop.session.install(servo, number, function)
    return number


def exchange(lab: Lab, servo: str, older: Task, newer: Task) -> None:
    """Let a task that runs be one of a newer text, between two ticks.

    It is tried on a copy of the state first; its time and its states go on.

    Args:
        servo: whose slot it runs in.
        older: that runs.
        newer: that takes its place.
    """
    layout, loop = _layout(lab, servo), lab.loop
    function = newer_function(
        newer, older, layout, lambda: slot_standing(loop.session, layout, loop.latest())
    )
    with lab.changing:
        if lab._running.get(servo) is older:
            number = _number(lab, servo, newer, function)
            lab._running[servo] = newer
            life = life_of(servo)
            lab.put({f"{life}.number": float(number), **_parameter_values(lab, servo, newer)})


def _wanted(lab: Lab, layout: SlotLayout, by_model: bool) -> dict[str, float]:
    """Return what a task begins with: what is wanted now, at rest, and no Cartesian target.

    Feedforward that inverse dynamics gives is not the task's where it gives more.
    """
    found: dict[str, float] = {}
    mode = lab.given("desired.mode")
    q, kept = lab.values("desired.des_q", "feed.uff")
    rows = dict.fromkeys(JOINT_TARGET, 0 * q) | {"q": q}
    if mode:
        rows["uff"] = _own_feed(lab)
    elif not by_model:
        rows["uff"] = kept
    for key, row in rows.items():
        found |= dict(zip(layout.result_names(f"des_{key}"), row.tolist(), strict=True))
    if layout.end_effectors:
        keys = [(name, key) for name in layout.end_effectors for key in CARTESIAN]
        parts = lab.values(*(f"cart_desired.{name}_{key}" for name, key in keys))
        target = [
            float(x) if key in ("x", "q") else 0.0
            for (_, key), part in zip(keys, parts, strict=True)
            for x in part
        ]
        found |= dict(zip(layout.result_names("target"), target, strict=True))
        found |= dict.fromkeys(layout.result_names("target_status"), 0.0)
    return found


def _own_feed(lab: Lab) -> Array:
    """Return what of the feedforward that is wanted comes from tasks, not from the model."""
    (now,) = lab.values("desired.uff")
    lent, own = (
        np.array([lab.given(f"feed.{key}[{i}]") for i in range(len(now))])
        for key in ("lent", "own")
    )
    return np.where(now == lent, own, now)


def _lent(
    lab: Lab, servo: str, wanted: Mapping[str, float], layout: SlotLayout, by_model: bool
) -> dict[str, float]:
    """Return what is reported of the feedforward that a task begins with."""
    begins = np.array([wanted[name] for name in layout.result_names("des_uff")])
    own = begins if by_model or lab.given("desired.mode") else _own_feed(lab)
    places: Sequence[int] = range(len(begins))
    if set(lab.config.ratios) - set(SERVOS):
        from linkwright.lab.servos.desired import writers

        by = writers(lab.config, real=lab.real is not None)
        places = [i for i in places if by.get(lab.config.names[i], MEMBER) == servo]
    told = {"lent": begins, "own": own}
    return {f"feed.{key}[{i}]": float(row[i]) for key, row in told.items() for i in places}


def _parameter_values(lab: Lab, servo: str, task: Task) -> dict[str, float]:
    names = _layout(lab, servo).argument_names("parameter")
    numbers = task.numbers["parameter"].tolist()
    return dict(zip(names[:PARAMETERS], numbers, strict=True))


def redo(lab: Lab, *, servo: str = MEMBER) -> bool:
    """Start the last task again, with its parameters and settings as they are.

    Args:
        servo: whose task it is.
    """
    if servo not in lab._last:
        raise Error("no task was started yet", remedy="start one")
    return _start(lab, _task(lab, lab._last[servo]), servo, {})


def change(lab: Lab, /, *, servo: str = MEMBER, **parameters: Any) -> None:
    """Change parameters of the task that runs, or of the last one, all at one tick.

    Without parameters, the task's own `change` is called, beside the loop.

    Args:
        servo: whose task it is.
        parameters: by name; all are checked before one is changed.
    """
    name = lab.running(servo) or lab._last.get(servo)
    if name is None:
        raise Error("no task was started yet", remedy="start one")
    task = _task(lab, name)
    if parameters:
        task.set(task.checked(parameters))
    else:
        try:
            task.change(lab)
        except KeyboardInterrupt:
            raise
        except BaseException as error:
            raise task_failure(task, error, "change") from error
    with lab.changing:
        if lab._running.get(servo) is task:
            lab.put(_parameter_values(lab, servo, task))


def freeze(lab: Lab) -> None:
    """End all tasks and hold the posture; one whose `init` is under way is not started.

    Wanted speeds and accelerations are zero; wanted positions and feedforward are kept.
    """
    with lab.changing:
        lab._freezes += 1
        ended = [task.name for task in lab._running.values()]
        servos = {MEMBER, *lab._running}
        lab._running.clear()
        lab.put({f"{life_of(servo)}.number": 0.0 for servo in servos} | quiet(MEMBER))
    if ended:
        lab.tell(f"{', '.join(ended)} frozen")


def stop(lab: Lab, reason: str = "asked") -> None:
    """Disable all output, until `reset`.

    Args:
        reason: of the message.
    """
    with lab.changing:
        lab.stopped = reason
        lab._freezes += 1
        lab._running.clear()
        numbers = {f"{life_of(servo)}.number": 0.0 for servo in {MEMBER, *lab._serials}}
        lab.put({"guard.stop": 1.0, **numbers, **quiet(MEMBER)})
    lab.tell(f"stopped: {reason}")


def reset(lab: Lab) -> None:
    """Begin anew: default posture, times, counters and integrators zero, output enabled.

    Gains, mode, gravity and other settings stay what they are. In lockstep it goes on to a tick
    at which all servos are due, so that they begin together; what moves before that tick, in
    one base tick, is put back there, and so is what was sensed of it. A real robot stays where
    it is; its fault is cleared, and it is enabled again.
    """
    if lab.real is not None:
        lab.freeze()
        lab.real.reset()
        lab.stopped = None
        lab.tell("reset")
        return
    with lab.changing:
        lab._freezes += 1
        lab._running.clear()
        numbers = {f"{life_of(servo)}.number": 0.0 for servo in {MEMBER, *lab._serials}}
        again = {"guard.stop": 0.0, **numbers, **quiet(MEMBER), **calm(lab)}
        lab.put(again)
    _align(lab)
    with lab.changing:
        lab._origin = max(lab.loop.latest().tick, 0) + 1
        if lab.session is not None:
            lab.session.say(lab._origin, origin=lab._origin)
        lab._counted = lab.loop.counters
        enter(lab, {**lab._initial, **again})
        lab.stopped = None
    if lab._going.acquire(blocking=False):
        try:
            if lab._speed is None:
                lab.loop.go_to(lab._origin)
                moved = {state.name for state in lab.loop.session.phases.x}
                kept = {n: v for n, v in lab._initial.items() if n in moved or of_guard(n)}
                enter(lab, {**kept, **lab._sensed})
                lab.loop.settle()
        finally:
            lab._going.release()
    lab.tell("reset")


def _align(lab: Lab) -> None:
    """Go on to the tick before one at which all servos are due, in lockstep."""
    if not lab._going.acquire(blocking=False):
        return
    try:
        if lab._speed is not None:
            return
        whole = math.lcm(*(tick.every for tick in lab.loop.session.phases.ticks))
        lab.loop.go_to((lab.loop.session.tick // whole + 1) * whole - 1)
    finally:
        lab._going.release()


def take_over(
    lab: Lab, functions: Iterable[StoredFunction], given: Mapping[str, float], origin: int
) -> None:
    """Know what a session has done that the loop has gone along with.

    Args:
        functions: that it has put into slots.
        given: what inputs and parameters became.
        origin: the tick from which time counts.
    """
    with lab.changing:
        lab._given.update(given)
        lab._origin = origin
        known = {(f.servo, f.number): f for f in functions}
        lab._numbers.update((f.servo, f.number) for f in known.values())
        for servo in lab._numbers:
            life = life_of(servo)
            lab._serials[servo] = int(given.get(f"{life}.serial", 0))
            runs = known.get((servo, int(given.get(f"{life}.number", 0))))
            if runs is None:
                continue
            if runs.data is None:
                lab.end(servo, f"{runs.name} is frozen: its code is not executed")
                continue
            lab._last[servo] = runs.name
            stand_in = type(runs.name, (Task,), {"name": runs.name, "native": True})
            lab._running[servo] = lab.tasks.setdefault(runs.name, stand_in())
        if given.get("guard.stop"):
            lab.stopped = "it was, in the session"


def put(lab: Lab, values: Mapping[str, float]) -> None:
    """Change inputs and parameters of the System, all at the next tick, on the tape.

    The mode stays while a task runs, and gains are not below zero.

    Args:
        values: by name, as `motor.controller`.
    """
    for name, value in values.items():
        gain = _GAIN.fullmatch(name)
        if gain is not None and not value >= 0:
            place = int(gain[2] or 0)
            joints = lab.config.names
            joint = joints[place] if place < len(joints) else name
            raise InputError(
                f"{gain[1]} of the joint {joint!r} is {value!r}", remedy="give 0 or more"
            )
    with lab.changing:
        if "desired.mode" in values:
            if values["desired.mode"] not in range(len(MODES)):
                raise InputError(
                    f"there is no mode number {values['desired.mode']!r}",
                    remedy=f"choose one of {', '.join(MODES)} by mode",
                )
            _require_idle(lab, MEMBER)
        put_inputs(lab, values)


def mode(lab: Lab, name: str) -> None:
    """Choose what makes commands of what tasks want, while no task runs.

    Args:
        name: one of `linkwright.lab.config.MODES`.
    """
    with lab.changing:
        _require_idle(lab, MEMBER)
        lab.put({"desired.mode": float(_place(name, MODES, "mode"))})


def controller(lab: Lab, kind: str) -> None:
    """Choose the law of the motor servo.

    Args:
        kind: one of `linkwright.lab.config.CONTROLLERS`.
    """
    lab.put({"motor.controller": float(_place(kind, CONTROLLERS, "controller"))})


def filters(lab: Lab, on: bool) -> None:
    """Switch the filters of the sensors.

    Args:
        on: whether they count.
    """
    lab.put({"sensors.filters": float(bool(on))})


def _place(name: Any, known: tuple[str, ...], what: str) -> int:
    if name not in known:
        raise unknown(what, name, known)
    return known.index(name)
