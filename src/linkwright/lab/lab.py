"""The laboratory: a robot with its servos, tasks that make it move, and what surrounds them.

lab = lw.Lab("sl-arm")
lab.add("wave.py")
with lab:
    lab.start("wave", frequency=2.0)
    lab.run(5.0)
"""

from __future__ import annotations

import math
import os
from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from linkwright.base.errors import Error, InputError
from linkwright.base.lazy import Later
from linkwright.base.viewer import Open, show
from linkwright.formats.robot.description import NamedFrame
from linkwright.lab.builtin import builtin_tasks
from linkwright.lab.config import EndEffector, LabConfig
from linkwright.lab.console.commanded import Commanded
from linkwright.lab.motions import Motions
from linkwright.lab.ready import ready_session
from linkwright.lab.recorder import LabRecorder
from linkwright.lab.records import DesiredState, FrameState, JointState
from linkwright.lab.session import RATE, SessionJournal, read_session
from linkwright.lab.slot import CARTESIAN
from linkwright.lab.sources import lab_config
from linkwright.lab.tasks import Task, require_run
from linkwright.lab.vision.sight import Sighted
from linkwright.robots import Robot

if TYPE_CHECKING:  # what a laboratory is put together from is not needed from a warm cache
    from linkwright.lab import cartesian, plant, system as systems
    from linkwright.lab.plant import LabMechanism
    from linkwright.lab.servos import invkin
    from linkwright.system import System
else:
    cartesian, plant = Later("linkwright.lab.cartesian"), Later("linkwright.lab.plant")
    systems, invkin = Later("linkwright.lab.system"), Later("linkwright.lab.servos.invkin")

Array = NDArray[np.float64]


def _made_folder(folder: str | os.PathLike[str]) -> Path:
    """Return a folder, which is made where it is not there."""
    path = Path(folder)
    try:
        path.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise InputError(f"the folder cannot be made: {error.strerror}", file=path) from None
    return path


class Lab(Commanded, Sighted, Motions):
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
        self.base_frozen = False
        """Whether a base that could float is held."""
        self._pages: list[Open] = []
        self._effectors = {effector.name: effector for effector in config.end_effectors}
        self._is_real = is_real = driver is not None
        kind = " real" if is_real else ""
        session = ready_session(config, lambda: self.system, kind=kind, seed=seed)
        real = None
        if driver is not None:
            from linkwright.lab.real import RealSide

            real = RealSide(config, driver)
        try:
            journal = None
            if folder is not None:
                journal = SessionJournal(
                    config, session, self.folder, seed=seed, real=is_real, rate=session_rate
                )
            super().__init__(config, session, journal, real)
        except BaseException:
            if real is not None:
                real.close()
            raise
        large = any(not 0 < joint.weight < config.rate / 10 for joint in config.joints)
        if config.end_effectors and large and "system" not in vars(self):
            invkin.check_weights(config)  # who puts the System together is told there
        for task in builtin_tasks(config).values():
            self.add(task)
        self.recorder = LabRecorder(self)
        if journal is not None:
            journal.tell = self.tell
        if real is not None:
            self._speed = 1.0
            real.begin(self)

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

        On hardware the windows lie in the folder `lab.real.path`: `motor.told`, `task.told` and
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
            super().close()

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
                raise InputError(f"{one!r} is no task", remedy="derive it from linkwright.lab.Task")
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
        are taken up without being asked for; `shelf.mistakes` tells what is wrong in them.
        """
        return self.shelf.reload()

    # -- what is seen ------------------------------------------------------------------------------
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
    def misc(self) -> Mapping[str, float]:
        """Other sensors of a robot by name; a simulation has none."""
        if not self.has("misc.value"):
            return {}
        return dict(
            zip(self.config.misc_sensors, self.values("misc.value")[0].tolist(), strict=True)
        )

    # -- the simulated world -----------------------------------------------------------------------
    @property
    def gravity(self) -> Array:
        """Gravity of the simulated world along its axes, m/s^2."""
        if self._is_real:
            return np.array(self.config.gravity)
        return np.array([self.given(name) for name in plant.GRAVITY])

    def set_gravity(self, vector: Sequence[float]) -> None:
        """Set the gravity of the simulated world.

        Args:
            vector: along the world's axes, m/s^2.
        """
        self._require_simulated("gravity is what it is; it cannot be set")
        self.put(dict(zip(plant.GRAVITY, _vector("gravity", vector), strict=True)))

    @property
    def end_effectors(self) -> Mapping[str, EndEffector]:
        """End-effectors as they are now, by name."""
        return dict(self._effectors)

    def set_end_effector(
        self,
        name: str,
        *,
        x: Sequence[float] | None = None,
        a: Sequence[float] | None = None,
        mass: float | None = None,
        mass_center: Sequence[float] | None = None,
    ) -> None:
        """Move an end-effector in its link, or change what it carries; the rest stays.

        Args:
            name: of it.
            x: where it is in its link, m.
            a: how it is turned there, angles about x, y, z.
            mass: of the load, kg.
            mass_center: mass times center of the load in its frame, kg*m.
        """
        if name not in self._effectors:
            there = ", ".join(self._effectors) or "none"
            raise InputError(f"there is no end-effector {name!r}", remedy=f"there are: {there}")
        given = {"x": x, "a": a, "mass": mass, "mass_center": mass_center}
        changes: dict[str, Any] = {
            k: v if k == "mass" else _vector(f"{k} of {name!r}", v)
            for k, v in given.items()
            if v is not None
        }
        if mass is not None and not (_is_number(mass) and mass >= 0):
            raise InputError(
                f"the load of {name!r} has a mass of {mass!r} kg", remedy="give 0 or more"
            )
        if mass == 0 and mass_center is None:
            changes["mass_center"] = (0.0, 0.0, 0.0)
        found = replace(self._effectors[name], **changes)
        if found.mass == 0 and mass_center is not None and any(found.mass_center):
            raise InputError(
                f"the load of {name!r} has the mass center {found.mass_center} and no mass",
                remedy="give its mass; mass_center is the mass times its center",
            )
        robot = self.mechanism
        load = robot.load_values(found)
        values = load
        if self._is_real:  # what it carries is known to inverse dynamics alone
            values = {f"invdyn.{name}_load[{i}]": v for i, v in enumerate(load.values())}
        for member in ("cart", "cart_desired"):
            values |= {f"{member}.{k}": v for k, v in cartesian.place_values(robot, found).items()}
        if self.config.end_effectors:
            at = list(self._effectors).index(name)
            tool = (*found.x, *found.a)
            values |= {f"invkin.tool[{6 * at + i}]": float(v) for i, v in enumerate(tool)}
        self.put(values)
        self._effectors[name] = found

    def freeze_base(self, on: bool = True) -> None:
        """Hold a base that floats where it started, or let it go.

        Args:
            on: whether it is held.
        """
        self._require_simulated("nothing holds the base or lets it go")
        if self.config.base != "floating":
            raise Error(f"the base of {self.config.name!r} is fixed")
        values = {plant.HOLD: plant.HELD if on else 0.0}
        if on:
            own = (*self.mechanism.base, *self.mechanism.base_speeds)
            values |= {x.name: self._initial[x.name] for x in own}
        self._enter(values)
        self.base_frozen = bool(on)


def _is_number(value: Any) -> bool:
    try:
        return math.isfinite(value)
    except TypeError:
        return False


def _vector(what: str, value: Any) -> tuple[float, float, float]:
    """Return three finite numbers, or refuse what is none of the kind."""
    found = list(value) if isinstance(value, Sequence | np.ndarray) else []
    if len(found) != 3 or not all(map(_is_number, found)):
        raise InputError(f"{what} is {value!r}", remedy="give three finite numbers")
    x, y, z = map(float, found)
    return x, y, z
