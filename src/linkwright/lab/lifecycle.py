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

from linkwright.base.errors import Error, InputError, suggestion
from linkwright.lab.config import CONTROLLERS, MODES, SERVOS, LabConfig
from linkwright.lab.console.dialogue import noted_answers
from linkwright.lab.life import life_of
from linkwright.lab.loop import LabLoop
from linkwright.lab.newer_tasks import newer_function, slot_standing
from linkwright.lab.running import task_failure, task_function
from linkwright.lab.session import SessionJournal, StoredFunction
from linkwright.lab.slot import CARTESIAN, JOINT_TARGET, MEMBER, PARAMETERS, SlotLayout
from linkwright.lab.task_shelf import TaskShelf
from linkwright.lab.tasks import Task
from linkwright.simulation.native.called import FUNCTIONS, SlotFunction
from linkwright.simulation.native.session import Session
from linkwright.system.phases import of_guard

if TYPE_CHECKING:
    from linkwright.lab.real import RealSide

Array = NDArray[np.float64]
_GAIN = re.compile(r"motor\.(kp|kd|ki|limit)(?:\[(\d+)\])?")


class LifeCycle(LabLoop):
    """A laboratory's loop with tasks in its slots.

    Args:
        config: of the laboratory.
        session: of its System, at its start.
        journal: that the laboratory's session goes to, if any.
        real: the robot, where it is a real one.
    """

    def __init__(
        self,
        config: LabConfig,
        session: Session,
        journal: SessionJournal | None = None,
        real: RealSide | None = None,
    ) -> None:
        self.real = real
        """The robot, where it is a real one."""
        self.tasks: dict[str, Task] = {}
        """The tasks that can be started, by name."""
        self.shelf = TaskShelf(self)
        """The files that tasks come from, taken up again when they are saved."""
        self.stopped: str | None = None
        """Why all output is disabled, or None."""
        self._layouts: dict[str, SlotLayout] = {}
        self._running: dict[str, Task] = {}
        self._last: dict[str, str] = {}
        self._numbers: dict[str, int] = {}
        self._serials: dict[str, int] = {}
        self.changing = threading.RLock()
        """Held by whoever looks at what runs and then changes it."""
        self._ended = 0
        self._starting: dict[str, tuple[threading.Thread, str]] = {}
        self._freezes = 0
        options = None if real is None else real.loop_options(session)
        super().__init__(config, session, journal, options)

    # -- what runs ---------------------------------------------------------------------------------
    @property
    def task(self) -> str | None:
        """Name of the task that runs, or None (SL: NO_TASK)."""
        return self.running(MEMBER)

    def running(self, servo: str) -> str | None:
        """Return the name of the task that runs in a servo, or None.

        Args:
            servo: "task", or a servo of one's own.
        """
        self.attend()
        found = self._running.get(servo)
        return None if found is None else found.name

    @property
    def last(self) -> str | None:
        """Name of the task that runs, or of the one that was started last; None before any."""
        return self.task or self._last.get(MEMBER)

    @property
    def parameters(self) -> Mapping[str, float]:
        """The parameters of the task that runs, or of the last one."""
        name = self.last
        return {} if name is None or name not in self.tasks else self.tasks[name].values

    def attend(self) -> None:
        """Take notice of tasks that have ended by themselves, or failed."""
        if self.closed:
            return
        self._recover()
        with self.changing:
            for servo, task in tuple(self._running.items()):
                life = life_of(servo)
                serial = self._serials[servo]
                done, begun, lost, told = (
                    float(x[0])
                    for x in self.values(
                        *(f"{servo}.done", f"{servo}.begun", f"{life}.expired", f"{life}.told")
                    )
                )
                if done > 0 and begun == serial:
                    self._ended = serial if servo == MEMBER else self._ended
                    self.end(servo, f"{task.name} is done")
                elif lost > 0 and told == serial:
                    row = f"{self.given(f'{life}.patience'):.0f} ticks in a row"
                    self.end(
                        servo,
                        f"{task.name} took too long at {row}: frozen; make it native, or give it "
                        "more patience (0 for any number of ticks)",
                    )

    def _failed(self, error: BaseException) -> bool:
        """End the tasks whose function failed; the laboratory goes on without them."""
        failed = [(servo, t) for servo, t in self._running.items() if not t.native]
        for servo, task in failed:
            self.end(servo, f"{task.name} failed: {error}")
        return bool(failed)

    def end(self, servo: str, words: str) -> None:
        """Take a task out of its slot.

        Args:
            servo: whose slot it is.
            words: that are told.
        """
        with self.changing:
            self._running.pop(servo, None)
            self.put({f"{life_of(servo)}.number": 0.0, **self._quiet(servo)})
        self.tell(words)

    def _quiet(self, servo: str) -> dict[str, float]:
        return {"invdyn.always": 0.0} if servo == MEMBER else {}

    # -- starts ------------------------------------------------------------------------------------
    def start(self, name: str, *, servo: str = MEMBER, **parameters: Any) -> bool:
        """Start a task; return whether its `init` let it.

        Args:
            name: of the task.
            servo: whose slot it runs in.
            parameters: of the task, and its settings; parameters that are not given stay as they
                were, settings have their defaults.
        """
        task = self._task(name)
        told = {key: about.default for key, about in task.settings().items()}
        return self._start(task, servo, told | parameters)

    def _start(self, task: Task, servo: str, values: Mapping[str, Any]) -> bool:
        """Start a task with values of parameters and settings."""
        name = task.name
        if self.real is not None and servo != MEMBER and not task.native:
            raise Error(
                f"the task {name!r} is one of Python, and on hardware the servo {servo!r} runs "
                "compiled tasks only",
                remedy=f"give it native = True, or start it in the servo {MEMBER!r}",
            )
        with self.changing:
            self.require_open()
            self._require_idle(servo)
            outer = self._starting.get(servo)
            self._starting[servo] = threading.current_thread(), name
            freezes = self._freezes
        try:
            task.set(values)
            self._last[servo] = name
            try:
                with noted_answers() as answers:
                    willing = task.init(self) is not False
                if not willing:
                    self.tell(f"{name} was not started: its init said no")
                    return False
            except KeyboardInterrupt:
                raise
            except BaseException as error:
                raise task_failure(task, error, "init") from error
            if self._install(servo, task, answers, freezes):
                return True
            self.tell(f"{name} was not started: it was frozen during its init")
            return False
        finally:
            with self.changing:
                if outer is None:
                    self._starting.pop(servo, None)
                else:
                    self._starting[servo] = outer

    def _task(self, name: str) -> Task:
        if name not in self.tasks:
            there = ", ".join(self.tasks) or "none yet"
            raise InputError(
                f"there is no task {name!r}",
                remedy=suggestion(name, self.tasks, f"there are: {there}"),
            )
        return self.tasks[name]

    def _require_idle(self, servo: str) -> None:
        """Refuse whatever needs that no task runs."""
        if servo != MEMBER and servo not in self.rates:
            raise InputError(f"there is no servo {servo!r}", remedy="name it in the ratios")
        if self.stopped is not None:
            raise Error(f"the laboratory is stopped: {self.stopped}", remedy="reset it first")
        runs = self.running(servo)
        if runs is not None:
            raise Error(f"the task {runs!r} runs", remedy="freeze it first")
        starter, name = self._starting.get(servo, (None, ""))
        if starter is not None and starter is not threading.current_thread():
            raise Error(f"the task {name!r} is being started", remedy="wait until its init is over")

    def _layout(self, servo: str) -> SlotLayout:
        if servo not in self._layouts:
            self._layouts[servo] = SlotLayout(self.config, servo)
        return self._layouts[servo]

    def _install(self, servo: str, task: Task, answers: Sequence[Any], freezes: int) -> bool:
        """Put a task into its slot: it begins with what is wanted now.

        Where more than so many `freezes` were asked for, it is not, and False is returned.
        """
        layout, life = self._layout(servo), life_of(servo)
        wants = bool(getattr(task, "inverse_dynamics", False))
        function = None
        if self.real is None or servo != MEMBER:
            function = task_function(task, layout)
        with self.changing:
            if self._freezes != freezes:
                return False
            self._require_idle(servo)
            serial = self._serials[servo] = self._serials.get(servo, 0) + 1
            values = self._parameter_values(servo, task)
            wanted = self._wanted(layout, wants)
            values |= self._lent(servo, wanted, layout, wants)
            if self.real is not None and servo == MEMBER:
                names = [name for port in layout.outputs for name in layout.result_names(port)]
                start = np.array([wanted.get(name, 0.0) for name in names])
                function = self.real.function(task, serial, start)
                values["watch.remote"] = float(not task.native)
            assert function is not None
            number = self._number(servo, task, function, answers)
            values |= wanted
            values |= {f"{life}.number": float(number), f"{life}.serial": float(serial)}
            if servo == MEMBER:
                values["invdyn.always"] = float(wants)
            self._running[servo] = task
            self._enter(values)
            return True

    def _number(
        self, servo: str, task: Task, function: SlotFunction, answers: Sequence[Any] | None = None
    ) -> int:
        """Give a function the next number in a slot; without answers, it is exchanged."""
        number = self._numbers[servo] = self._numbers.get(servo, 0) % (FUNCTIONS - 1) + 1
        if self.session is not None:
            tick = self.loop.latest().tick
            function = self.session.installed(tick, servo, number, task, function, answers)
        self.loop.session.install(servo, number, function)
        return number

    # -- tasks of a newer text ---------------------------------------------------------------------
    @property
    def running_tasks(self) -> Mapping[str, Task]:
        """The tasks that run, by servo."""
        self.attend()
        return dict(self._running)

    @property
    def exchanges_live(self) -> bool:
        """Whether a task that runs may be exchanged for one of a newer text: not on hardware."""
        return self.real is None

    def exchange(self, servo: str, older: Task, newer: Task) -> None:
        """Let a task that runs be one of a newer text, between two ticks.

        It is tried on a copy of the state first; its time and its states go on.

        Args:
            servo: whose slot it runs in.
            older: that runs.
            newer: that takes its place.
        """
        layout, loop = self._layout(servo), self.loop
        function = newer_function(
            newer, older, layout, lambda: slot_standing(loop.session, layout, loop.latest())
        )
        with self.changing:
            if self._running.get(servo) is older:
                number = self._number(servo, newer, function)
                self._running[servo] = newer
                life = life_of(servo)
                self.put({f"{life}.number": float(number), **self._parameter_values(servo, newer)})

    def _wanted(self, layout: SlotLayout, by_model: bool) -> dict[str, float]:
        """Return what a task begins with: what is wanted now, at rest, and no Cartesian target.

        Feedforward that inverse dynamics gives is not the task's where it gives more.
        """
        found: dict[str, float] = {}
        mode = self.given("desired.mode")
        q, kept = self.values("desired.des_q", "feed.uff")
        rows = dict.fromkeys(JOINT_TARGET, 0 * q) | {"q": q}
        if mode:
            rows["uff"] = self._own_feed()
        elif not by_model:
            rows["uff"] = kept
        for key, row in rows.items():
            found |= dict(zip(layout.result_names(f"des_{key}"), row.tolist(), strict=True))
        if layout.end_effectors:
            keys = [(name, key) for name in layout.end_effectors for key in CARTESIAN]
            parts = self.values(*(f"cart_desired.{name}_{key}" for name, key in keys))
            target = [
                float(x) if key in ("x", "q") else 0.0
                for (_, key), part in zip(keys, parts, strict=True)
                for x in part
            ]
            found |= dict(zip(layout.result_names("target"), target, strict=True))
            found |= dict.fromkeys(layout.result_names("target_status"), 0.0)
        return found

    def _own_feed(self) -> Array:
        """Return what of the feedforward that is wanted comes from tasks, not from the model."""
        (now,) = self.values("desired.uff")
        lent, own = (
            np.array([self.given(f"feed.{key}[{i}]") for i in range(len(now))])
            for key in ("lent", "own")
        )
        return np.where(now == lent, own, now)

    def _lent(
        self, servo: str, wanted: Mapping[str, float], layout: SlotLayout, by_model: bool
    ) -> dict[str, float]:
        """Return what is told of the feedforward that a task begins with."""
        begins = np.array([wanted[name] for name in layout.result_names("des_uff")])
        own = begins if by_model or self.given("desired.mode") else self._own_feed()
        places: Sequence[int] = range(len(begins))
        if set(self.config.ratios) - set(SERVOS):
            from linkwright.lab.servos.desired import writers

            by = writers(self.config, real=self.real is not None)
            places = [i for i in places if by.get(self.config.names[i], MEMBER) == servo]
        told = {"lent": begins, "own": own}
        return {f"feed.{key}[{i}]": float(row[i]) for key, row in told.items() for i in places}

    def _parameter_values(self, servo: str, task: Task) -> dict[str, float]:
        names = self._layout(servo).argument_names("parameter")
        numbers = task.numbers["parameter"].tolist()
        return dict(zip(names[:PARAMETERS], numbers, strict=True))

    def redo(self, *, servo: str = MEMBER) -> bool:
        """Start the last task again, with its parameters and settings as they are.

        Args:
            servo: whose task it is.
        """
        if servo not in self._last:
            raise Error("no task was started yet", remedy="start one")
        return self._start(self._task(self._last[servo]), servo, {})

    def change(self, *, servo: str = MEMBER, **parameters: Any) -> None:
        """Change parameters of the task that runs, or of the last one, all at one tick.

        Without parameters, the task's own `change` is called, beside the loop.

        Args:
            servo: whose task it is.
            parameters: by name; all are checked before one is changed.
        """
        name = self.running(servo) or self._last.get(servo)
        if name is None:
            raise Error("no task was started yet", remedy="start one")
        task = self._task(name)
        if parameters:
            task.set(task.checked(parameters))
        else:
            try:
                task.change(self)
            except KeyboardInterrupt:
                raise
            except BaseException as error:
                raise task_failure(task, error, "change") from error
        with self.changing:
            if self._running.get(servo) is task:
                self.put(self._parameter_values(servo, task))

    # -- ends --------------------------------------------------------------------------------------
    def freeze(self) -> None:
        """End all tasks and hold the posture; one whose `init` is under way is not started.

        Wanted speeds and accelerations are zero; wanted positions and feedforward are kept.
        """
        with self.changing:
            self._freezes += 1
            ended = [task.name for task in self._running.values()]
            servos = {MEMBER, *self._running}
            self._running.clear()
            self.put({f"{life_of(servo)}.number": 0.0 for servo in servos} | self._quiet(MEMBER))
        if ended:
            self.tell(f"{', '.join(ended)} frozen")

    def stop(self, reason: str = "asked") -> None:
        """Disable all output, until `reset`.

        Args:
            reason: that is told.
        """
        with self.changing:
            self.stopped = reason
            self._freezes += 1
            self._running.clear()
            numbers = {f"{life_of(servo)}.number": 0.0 for servo in {MEMBER, *self._serials}}
            self.put({"guard.stop": 1.0, **numbers, **self._quiet(MEMBER)})
        self.tell(f"stopped: {reason}")

    def reset(self) -> None:
        """Begin anew: default posture, times, counters and integrators zero, output enabled.

        Gains, mode, gravity and other settings stay what they are. In lockstep it goes on to a tick
        at which all servos are due, so that they begin together; what moves before that tick, in
        one base tick, is put back there, and so is what was sensed of it. A real robot stays where
        it is; its fault is cleared, and it is enabled again.
        """
        if self.real is not None:
            self.freeze()
            self.real.reset()
            self.stopped = None
            self.tell("reset")
            return
        with self.changing:
            self._freezes += 1
            self._running.clear()
            numbers = {f"{life_of(servo)}.number": 0.0 for servo in {MEMBER, *self._serials}}
            again = {"guard.stop": 0.0, **numbers, **self._quiet(MEMBER)}
            self.put(again)
        self._align()
        with self.changing:
            self._origin = max(self.loop.latest().tick, 0) + 1
            if self.session is not None:
                self.session.say(self._origin, origin=self._origin)
            self._counted = self.loop.counters
            self._enter({**self._initial, **again})
            self.stopped = None
        if self._going.acquire(blocking=False):
            try:
                if self._speed is None:
                    self.loop.go_to(self._origin)
                    moved = {state.name for state in self.loop.session.phases.x}
                    kept = {n: v for n, v in self._initial.items() if n in moved or of_guard(n)}
                    self._enter({**kept, **self._sensed})
                    self.loop.settle()
            finally:
                self._going.release()
        self.tell("reset")

    def _align(self) -> None:
        """Go on to the tick before one at which all servos are due, in lockstep."""
        if not self._going.acquire(blocking=False):
            return
        try:
            if self._speed is not None:
                return
            whole = math.lcm(*(tick.every for tick in self.loop.session.phases.ticks))
            self.loop.go_to((self.loop.session.tick // whole + 1) * whole - 1)
        finally:
            self._going.release()

    def take_over(
        self, functions: Iterable[StoredFunction], given: Mapping[str, float], origin: int
    ) -> None:
        """Know what a session has done that the loop has gone along with.

        Args:
            functions: that it has put into slots.
            given: what inputs and parameters became.
            origin: the tick from which time counts.
        """
        with self.changing:
            self._given.update(given)
            self._origin = origin
            known = {(f.servo, f.number): f for f in functions}
            self._numbers.update((f.servo, f.number) for f in known.values())
            for servo in self._numbers:
                life = life_of(servo)
                self._serials[servo] = int(given.get(f"{life}.serial", 0))
                runs = known.get((servo, int(given.get(f"{life}.number", 0))))
                if runs is None:
                    continue
                if runs.data is None:
                    self.end(servo, f"{runs.name} is frozen: its code is not executed")
                    continue
                self._last[servo] = runs.name
                stand_in = type(runs.name, (Task,), {"name": runs.name, "native": True})
                self._running[servo] = self.tasks.setdefault(runs.name, stand_in())
            if given.get("guard.stop"):
                self.stopped = "it was, in the session"

    def put(self, values: Mapping[str, float]) -> None:
        """Change inputs and parameters of the System, all at the next tick, on the tape.

        The mode stays while a task runs, and gains are not below zero.

        Args:
            values: by name, as `motor.controller`.
        """
        for name, value in values.items():
            gain = _GAIN.fullmatch(name)
            if gain is not None and not value >= 0:
                place = int(gain[2] or 0)
                joints = self.config.names
                joint = joints[place] if place < len(joints) else name
                raise InputError(
                    f"{gain[1]} of the joint {joint!r} is {value!r}", remedy="give 0 or more"
                )
        with self.changing:
            if "desired.mode" in values:
                if values["desired.mode"] not in range(len(MODES)):
                    raise InputError(
                        f"there is no mode number {values['desired.mode']!r}",
                        remedy=f"choose one of {', '.join(MODES)} by mode",
                    )
                self._require_idle(MEMBER)
            super().put(values)

    # -- settings ----------------------------------------------------------------------------------
    def mode(self, name: str) -> None:
        """Choose what makes commands of what tasks want, while no task runs.

        Args:
            name: one of `linkwright.lab.config.MODES`.
        """
        with self.changing:
            self._require_idle(MEMBER)
            self.put({"desired.mode": float(_place(name, MODES, "mode"))})

    @property
    def servo_mode(self) -> str:
        """What makes commands of what tasks want: one of `linkwright.lab.config.MODES`."""
        return MODES[int(self.given("desired.mode"))]

    def controller(self, kind: str) -> None:
        """Choose the law of the motor servo.

        Args:
            kind: one of `linkwright.lab.config.CONTROLLERS`.
        """
        self.put({"motor.controller": float(_place(kind, CONTROLLERS, "controller"))})

    def filters(self, on: bool) -> None:
        """Switch the filters of the sensors.

        Args:
            on: whether they count.
        """
        self.put({"sensors.filters": float(bool(on))})

    @property
    def filtered(self) -> bool:
        """Whether the filters of the sensors count."""
        return self.given("sensors.filters") > 0


def _place(name: Any, known: tuple[str, ...], what: str) -> int:
    if name not in known:
        raise InputError(
            f"there is no {what} {name!r}",
            remedy=suggestion(str(name), known, f"choose one of {', '.join(known)}"),
        )
    return known.index(name)
