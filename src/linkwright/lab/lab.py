"""The laboratory: a robot with its servos, tasks that make it move, and what surrounds them.

lab = lw.Lab("sl-arm")
lab.add("wave.py")
with lab:
    lab.start("wave", frequency=2.0)
    lab.run(5.0)
"""

from __future__ import annotations

import os
import threading
from collections.abc import Mapping, Sequence
from dataclasses import replace
from fractions import Fraction
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from linkwright.base.errors import Error, InputError
from linkwright.base.lazy import Later
from linkwright.base.viewer import Open, show
from linkwright.formats.robot.description import NamedFrame
from linkwright.lab import estimation, lifecycle, loop as loops, motions, pushes, world
from linkwright.lab.builtin import builtin_tasks
from linkwright.lab.config import MODES, EndEffector, LabConfig
from linkwright.lab.console.commanded import Commanded
from linkwright.lab.ready import ready_session
from linkwright.lab.recorder import LabRecorder
from linkwright.lab.records import BlobState, DesiredState, FrameState, JointState, ServoCounters
from linkwright.lab.session import RATE, SessionJournal, read_session
from linkwright.lab.slot import CARTESIAN, MEMBER, SlotLayout
from linkwright.lab.sources import lab_config
from linkwright.lab.task_shelf import TaskShelf
from linkwright.lab.tasks import Task, require_run
from linkwright.lab.vision import sight
from linkwright.robots import Robot
from linkwright.simulation.pacing.counters import Counters
from linkwright.system.phases import of_guard

if TYPE_CHECKING:  # what a laboratory is put together from is not needed from a warm cache
    from linkwright.lab import plant, system as systems
    from linkwright.lab.plant import LabMechanism
    from linkwright.lab.real import RealSide
    from linkwright.lab.servos import invkin
    from linkwright.system import System
else:
    plant, systems = Later("linkwright.lab.plant"), Later("linkwright.lab.system")
    invkin = Later("linkwright.lab.servos.invkin")

Array = NDArray[np.float64]


def _made_folder(folder: str | os.PathLike[str]) -> Path:
    """Return a folder, which is made where it is not there."""
    path = Path(folder)
    try:
        path.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise InputError(f"the folder cannot be made: {error.strerror}", file=path) from None
    return path


class Lab(Commanded):
    """A robot with its servos, and the tasks that make it move.

    Args:
        source: the name of a shipped laboratory, an SL folder, a `lab.toml`, a robot file, a text
            model, or a configuration.
        driver: URL of a real robot's driver, such as "udp://127.0.0.1:9300"; simulated by default.
        seed: of noise.
        folder: where the session and recordings go. Without one, recordings go to the working
            folder, and no session is kept.
        session_rate: samples of all states in a second that the session holds.

    >>> lab = Lab("sl-arm")
    >>> lab.run(0.1)
    >>> lab.time, lab.tick, lab.task
    (0.1, 96, None)
    """

    def __init__(
        self,
        source: LabConfig | str | os.PathLike[str],
        *,
        driver: str | None = None,
        seed: int = 0,
        folder: str | os.PathLike[str] | None = None,
        session_rate: float = RATE,
    ) -> None:
        config = lab_config(source)
        self.config = config
        self.folder = Path.cwd() if folder is None else _made_folder(folder)
        self.seed = seed
        self._is_real = is_real = driver is not None
        self._pages: list[Open] = []
        self.model = config.description if config.model is None else config.model
        """What controllers believe the robot to be."""
        self.closed = False
        """Whether it was closed: it can be looked at, and does nothing more."""
        # the simulated world, and what its System was given
        self.base_frozen = False
        """Whether a base that could float is held."""
        self._effectors = {effector.name: effector for effector in config.end_effectors}
        self._given: dict[str, float] = {}
        # tasks: those there are, and those that run, by servo
        self.tasks: dict[str, Task] = {}
        """The tasks that can be started, by name."""
        self.shelf = TaskShelf(self)
        """The files that tasks come from, taken up again when they are saved."""
        self.stopped: str | None = None
        """Why all output is disabled, or None."""
        self.changing = threading.RLock()
        """Held by whoever looks at what runs and then changes it."""
        self._layouts: dict[str, SlotLayout] = {}
        self._running: dict[str, Task] = {}
        self._last: dict[str, str] = {}
        self._numbers: dict[str, int] = {}
        self._serials: dict[str, int] = {}
        self._ended = 0
        self._starting: dict[str, tuple[threading.Thread, str]] = {}
        self._freezes = 0
        # the loop, its pace, and what was counted before the last reset
        self._going = threading.RLock()
        self._speed: float | None = None
        self._overrun = "skip"
        self._origin = 0
        self._counted: Counters | None = None
        kind = " real" if is_real else ""
        session = ready_session(config, lambda: self.system, kind=kind, seed=seed)
        self.real: RealSide | None = None
        """The robot, where it is a real one."""
        if driver is not None:
            from linkwright.lab.real import RealSide

            self.real = RealSide(config, driver)
        self.session: SessionJournal | None = None
        """The session in the making; None where there is no folder for it."""
        try:
            if folder is not None:
                self.session = SessionJournal(
                    config, session, self.folder, seed=seed, real=is_real, rate=session_rate
                )
            self.loop = loops.paced_loop(session, self.session, self.real)
        except BaseException:
            if self.real is not None:
                self.real.close()
            raise
        # what the loop begins with
        self._port_rows: dict[str, NDArray[np.intp]] = {}
        phases = session.phases
        self._d_places = {s.name: i for i, s in enumerate(phases.d)}
        self._initial = {s.name: float(s.value) for s in (*phases.x, *phases.d)}
        kept = session.place().d
        self._initial |= {n: v for n, v in kept.items() if of_guard(n)}  # what belongs to the start
        self._sensed: dict[str, float] = {}
        if self.real is None:
            self.loop.go_to(0)
            sensed = session.place().d
            self._sensed = {n: float(v) for n, v in sensed.items() if n.startswith("sensors.")}
        # tasks that every laboratory has, and who looks on
        large = any(not 0 < joint.weight < config.rate / 10 for joint in config.joints)
        if config.end_effectors and large and "system" not in vars(self):
            invkin.check_weights(config)  # who puts the System together is told there
        for task in builtin_tasks(config).values():
            self.add(task)
        self.recorder = LabRecorder(self)
        if self.session is not None:
            self.session.tell = self.tell
        if self.real is not None:
            self._speed = 1.0
            self.real.begin(self)

    @classmethod
    def from_session(
        cls,
        path: str | os.PathLike[str],
        at: float | None = None,
        *,
        folder: str | os.PathLike[str] | None = None,
        tasks: Sequence[type[Task] | Task | str | os.PathLike[str]] = (),
    ) -> Lab:
        """Return a laboratory that goes on live from a moment of a session.

        Compiled tasks go on; a Python task is frozen there, because its code is not executed.

        Args:
            path: of the session.
            at: s since its start; its end by default.
            folder: as for `Lab`; the new session has the whole of the old one up to there.
            tasks: to add.
        """
        from linkwright.lab.reruns import go_on_from

        found = read_session(path)
        if found.real:
            raise InputError(
                "the session is of a real robot, which is not where it was then",
                file=os.fspath(path),
                remedy="linkwright rerun repeats it",
            )
        lab = cls(found.config, seed=found.seed, folder=folder, session_rate=found.rate)
        for task in tasks:
            lab.add(task)
        go_on_from(lab, found, at)
        return lab

    def __repr__(self) -> str:
        return f"Lab({self.config.name}: {len(self.config.joints)} joints, t = {self.time:.3f} s)"

    def note_command(self, line: str) -> None:
        """Note a command of the console in the session.

        Args:
            line: the command.
        """
        if self.session is not None:
            self.session.say(self.loop.latest().tick, command=line)

    def layout(self, language: str = "c") -> str:
        """Return a header by which other programs read and write what a laboratory shares.

        On hardware the windows are in the folder `lab.real.path`: `motor.told`, `task.told` and
        `vision.told` have what each servo reached at its last tick; `task.state` is what a task in
        a process is given, and `task.desired` what it writes.

        Args:
            language: "c".
        """
        from linkwright.lab.remote import lab_header

        return lab_header(self.config, language)

    @cached_property
    def mechanism(self) -> LabMechanism:
        """The robot as it is simulated."""
        return plant.lab_mechanism(self.config)

    @cached_property
    def system(self) -> System:
        """The System that runs; it is put together when it is asked for."""
        return systems.lab_system(self.config, self.mechanism, real=self._is_real)

    @cached_property
    def robot(self) -> Robot:
        """The robot, for its kinematics and dynamics, with end-effectors as frames.

        They are where the configuration has them.
        """
        if self.config.mechanism is not None:
            return Robot(plant.with_ends(self.config, self.config.mechanism))
        found = self.config.description
        links = {link.name for link in found.links}
        known = links | {frame.name for frame in found.frames}
        ends = tuple(
            NamedFrame(end.name, end.link, plant.place_of(end))
            for end in self.config.end_effectors
            if end.link in links and end.name not in known
        )
        if not ends:
            return Robot(found)
        return Robot(replace(found, frames=(*found.frames, *ends)))

    def show(
        self,
        *,
        block: bool | None = None,
        browser: bool = True,
        host: str = "127.0.0.1",
        port: int = 0,
    ) -> Open | None:
        """Open the page of the laboratory, in the browser where there is one.

        Args:
            block: whether to wait until Ctrl-C; by default so where the browser opens. Otherwise
                the studio is returned, which serves until it or the laboratory is closed.
            browser: whether to open the browser.
            host: address to serve at; no other machine reaches the one by default.
            port: to serve at; 0 takes one that is free.
        """
        page = show(self, block=block, browser=browser, host=host, port=port)
        if page is not None:
            self._pages.append(page)
        return page

    def close(self) -> None:
        """End what runs beside, and the session; a recording that is to be saved is.

        A real robot is disabled.
        """
        try:
            self.recorder.finish()
            while self._pages:
                self._pages.pop().close()
        finally:
            if not self.closed:
                if self.real is not None:
                    self.real.close()
                else:
                    self.pace(None)
                if self.session is not None:
                    self.session.close(self.loop)
                self.closed = True

    def __enter__(self) -> Lab:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()
        self.shelf.close()

    def add(self, task: type[Task] | Task | str | os.PathLike[str]) -> tuple[str, ...]:
        """Add tasks; one of the same name is replaced.

        Args:
            task: its class, one of it, or the file in which tasks are written.

        Returns:
            their names.
        """
        if isinstance(task, str | os.PathLike):
            made = self.shelf.add(task)
        else:
            one = task() if isinstance(task, type) else task
            if not isinstance(one, Task):
                raise InputError(
                    f"{one!r} is not a task", remedy="derive it from linkwright.lab.Task"
                )
            require_run(type(one))
            made = {one.name: one}
        for name in made:
            if name in {running.name for running in self._running.values()}:
                raise Error(f"the task {name!r} runs", remedy="freeze it first")
        self.tasks.update(made)
        return tuple(made)

    def reload(self) -> tuple[str, ...]:
        """Take up every file of tasks again; return the names of its tasks.

        A task that runs goes on by its new text, with its parameters kept. Files that are saved
        are taken up without being asked for; `shelf.mistakes` says what is wrong in them.
        """
        return self.shelf.reload()

    @property
    def period(self) -> Fraction:
        """The base tick, s."""
        return Fraction(self.loop.session.phases.tick_seconds).limit_denominator(10**9)

    @property
    def tick(self) -> int:
        """Base ticks since the start, or since the last reset."""
        return max(self.loop.latest().tick - self._origin, 0)

    @property
    def time(self) -> float:
        """Time since the start, or since the last reset, s."""
        return float(self.tick * self.period)

    @property
    def paced(self) -> float | None:
        """The speed of the laboratory by the clock on the wall, or None in lockstep."""
        return self._speed

    @property
    def simulated(self) -> bool:
        """Whether the robot is a simulated one."""
        return self.real is None

    @property
    def counters(self) -> dict[str, ServoCounters]:
        """What was counted since the start or the last reset, by servo."""
        return loops.counters(self)

    @property
    def rates(self) -> Mapping[str, Fraction]:
        """The rate of each servo, Hz."""
        from linkwright.lab.system import servo_rates

        return servo_rates(self.config)

    run = loops.run
    go_on = loops.go_on
    attend = loops.attend
    require_open = loops.require_open
    pace = loops.pace
    patience = loops.patience
    given = loops.given
    values = loops.values
    has = loops.has

    @property
    def task(self) -> str | None:
        """Name of the task that runs, or None (SL: NO_TASK)."""
        return self.running(MEMBER)

    @property
    def last(self) -> str | None:
        """Name of the task that runs, or of the one that was started last; None before any."""
        return self.task or self._last.get(MEMBER)

    @property
    def parameters(self) -> Mapping[str, float]:
        """The parameters of the task that runs, or of the last one."""
        name = self.last
        return {} if name is None or name not in self.tasks else self.tasks[name].values

    @property
    def running_tasks(self) -> Mapping[str, Task]:
        """The tasks that run, by servo."""
        self.attend()
        return dict(self._running)

    @property
    def exchanges_live(self) -> bool:
        """Whether a task that runs may be exchanged for one of a newer text: not on hardware."""
        return self.real is None

    @property
    def servo_mode(self) -> str:
        """What makes commands of what tasks want: one of `linkwright.lab.config.MODES`."""
        return MODES[int(self.given("desired.mode"))]

    @property
    def filtered(self) -> bool:
        """Whether the filters of the sensors count."""
        return self.given("sensors.filters") > 0

    running = loops.running
    end = loops.end
    start = lifecycle.start
    exchange = lifecycle.exchange
    redo = lifecycle.redo
    change = lifecycle.change
    freeze = lifecycle.freeze
    stop = lifecycle.stop
    reset = lifecycle.reset
    take_over = lifecycle.take_over
    put = lifecycle.put
    mode = lifecycle.mode
    controller = lifecycle.controller
    filters = lifecycle.filters

    go_to = motions.go_to
    go_default = motions.go_default
    go_cartesian = motions.go_cartesian

    @property
    def state(self) -> JointState:
        """The joints as they were measured."""
        ports = ("sensors.q", "sensors.u", "sensors.a", "motor.ufb", "guard.safe_tau")
        return JointState(self.config.names, self.tick, *self.values(*ports, "sensors.load"))

    @property
    def desired(self) -> DesiredState:
        """What the joints are to do."""
        ports = ("desired.des_q", "desired.des_u", "desired.des_a", "feed.uff", "desired.uex")
        return DesiredState(self.config.names, self.tick, *self.values(*ports))

    @property
    def cart(self) -> Mapping[str, FrameState]:
        """End-effectors by name."""
        return self._frames("cart")

    @property
    def cart_desired(self) -> Mapping[str, FrameState]:
        """End-effectors as wanted joints would have them, by name."""
        return self._frames("cart_desired")

    def _frames(self, member: str) -> Mapping[str, FrameState]:
        rows = self.values(
            *(f"{member}.{name}_{key}" for name in self._effectors for key in CARTESIAN)
        )
        size = len(CARTESIAN)
        return {
            name: FrameState(*rows[size * i : size * (i + 1)])
            for i, name in enumerate(self._effectors)
        }

    @property
    def base(self) -> FrameState:
        """The base; at the origin where it is fixed."""
        if self.config.base != "floating":
            rows, at = [], 0
            for size in CARTESIAN.values():
                rows.append(np.array(systems.STILL[at : at + size]))
                at += size
            return FrameState(*rows)
        return FrameState(*self.values(*(f"base_state.{key}" for key in CARTESIAN)))

    @property
    def vertices(self) -> Mapping[str, Array]:
        """Positions of the vertices by name, m."""
        if not self.config.vertices:
            return {}
        rows = self.values("cart.vertices")[0].reshape(-1, 3)
        return dict(zip(self.config.vertices, rows, strict=True))

    @property
    def objects(self) -> Mapping[str, Array]:
        """Places of the objects that move, by name: x, y, z in m and a quaternion."""
        things = plant.moving(self.config) if self.simulated else ()
        rows = self.values("objects.x")[0].reshape(-1, 7) if things else ()
        return {thing.name: row for thing, row in zip(things, rows, strict=True)}

    @property
    def misc(self) -> Mapping[str, float]:
        """Other sensors of a robot by name; a simulation has none."""
        if not self.has("misc.value"):
            return {}
        return dict(
            zip(self.config.misc_sensors, self.values("misc.value")[0].tolist(), strict=True)
        )

    @property
    def gravity(self) -> Array:
        """Gravity of the simulated world along its axes, m/s^2."""
        if self._is_real:
            return np.array(self.config.gravity)
        return np.array([self.given(name) for name in plant.GRAVITY])

    @property
    def end_effectors(self) -> Mapping[str, EndEffector]:
        """End-effectors as they are now, by name."""
        return dict(self._effectors)

    estimate = estimation.estimate
    set_model = estimation.set_model
    set_gravity = world.set_gravity
    push = pushes.push

    @property
    def pushed(self) -> Mapping[str, list[float]]:
        """Forces and moments that push bodies now, N and N*m along the world's axes."""
        return pushes.pushed(self)

    set_end_effector = world.set_end_effector
    freeze_base = world.freeze_base

    @property
    def blobs(self) -> Mapping[str, BlobState]:
        """Blobs after filters and prediction, by name; simulated ones are seen once placed."""
        return sight.blobs(self)

    @property
    def raw_blobs(self) -> Mapping[str, BlobState]:
        """Blobs as they were measured in space, by name."""
        return sight.raw_blobs(self)

    @property
    def raw_blobs_2d(self) -> Mapping[str, BlobState]:
        """Blobs as each camera sees them, pixels, by name."""
        return sight.raw_blobs_2d(self)

    place_blob = sight.place_blob
    set_vision = sight.set_vision


for _home in (estimation, lifecycle, loops, motions, pushes, sight, world):
    vars(_home)["Lab"] = Lab  # so that hints of its methods are found at run time
