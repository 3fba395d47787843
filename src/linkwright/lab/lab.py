"""The laboratory: a robot with its servos, tasks that make it move, and what surrounds them.

lab = lw.Lab("sl-arm")
lab.add("wave.py")
with lab:
    lab.start("wave", frequency=2.0)
    lab.run(5.0)
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

from linkwright.errors import Error
from linkwright.lab.config import LabConfig
from linkwright.lab.console.commanded import Commanded
from linkwright.lab.loop import LabLoop, lab_session
from linkwright.lab.plant import GRAVITY, lab_mechanism
from linkwright.lab.recorder import LabRecorder
from linkwright.lab.sources import lab_config
from linkwright.lab.state import Array, DesiredState, EndEffectorState, JointState
from linkwright.lab.system import lab_system
from linkwright.robots import Robot


class Lab(Commanded, LabLoop):
    """A robot with its servos, and the tasks that make it move.

    Args:
        source: the name of a shipped laboratory, an SL folder, a `lab.toml`, a robot file, a text
            model, or a configuration.
        seed: of noise.
        folder: where recordings and sessions go; the working folder by default.

    >>> lab = Lab("puma560")
    >>> lab.run(0.1)
    >>> lab.time, lab.tick, lab.task
    (0.1, 96, None)
    """

    def __init__(
        self,
        source: LabConfig | str | os.PathLike[str],
        *,
        seed: int = 0,
        folder: str | os.PathLike[str] | None = None,
    ) -> None:
        config = lab_config(source)
        self.folder = Path.cwd() if folder is None else Path(folder)
        self.seed = seed
        self.tasks: dict[str, Any] = {}
        self.task: str | None = None
        """Name of the task that runs, or None (SL: NO_TASK)."""
        self._last: tuple[str, dict[str, float]] | None = None
        self._running: Any = None
        self._started = 0.0
        self._held = DesiredState(
            config.names,
            0,
            np.array([joint.default for joint in config.joints]),
            *(np.zeros(len(config.joints)) for _ in range(4)),
        )
        self._mechanism = lab_mechanism(config)
        self.system = lab_system(config, self._slot, self._mechanism)
        super().__init__(config, lab_session(config, self.system.phases([]), seed))
        self.recorder = LabRecorder(self)

    @cached_property
    def robot(self) -> Robot:
        """The robot, for its kinematics and dynamics."""
        return Robot(self.config.description)

    def __enter__(self) -> Lab:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    # -- what is seen ------------------------------------------------------------------------------
    @property
    def state(self) -> JointState:
        """The joints as they were measured."""
        ports = ("sensors.q", "sensors.u", "sensors.a", "motor.ufb", "motor.tau", "motor.tau")
        return JointState(self.config.names, self.tick, *self.values(*ports))

    @property
    def desired(self) -> DesiredState:
        """What the joints are to do."""
        ports = ("q_des", "u_des", "a_des", "uff", "uex")
        row = self.values(*(f"task.{port}" for port in ports))
        return DesiredState(self.config.names, self.tick, *row)

    @property
    def cart(self) -> Mapping[str, EndEffectorState]:
        """End-effectors by name."""
        keys = ("x", "xd", "xdd", "q", "w", "wd")
        names = [effector.name for effector in self.config.end_effectors]
        rows = self.values(*(f"cart.{name}_{key}" for name in names for key in keys))
        return {name: EndEffectorState(*rows[6 * i : 6 * i + 6]) for i, name in enumerate(names)}

    # -- tasks -------------------------------------------------------------------------------------
    def add(self, task: Any, name: str = "") -> None:
        """Add a task.

        Args:
            task: its class, or an object of it.
            name: that it is started by.
        """
        made = task() if isinstance(task, type) else task
        self.tasks[name or type(made).__name__.lower()] = made

    def start(self, name: str, **parameters: float) -> bool:
        """Start a task; return whether its init let it.

        Args:
            name: of the task.
            parameters: of the task.
        """
        if self.task is not None:
            raise Error(
                f"the task {self.task!r} runs", remedy="freeze it before another one is started"
            )
        if name not in self.tasks:
            raise Error(f"there is no task {name!r}", remedy=f"there are {', '.join(self.tasks)}")
        task = self.tasks[name]
        for key, value in parameters.items():
            setattr(task, key, value)
        self._last = (name, dict(parameters))
        if hasattr(task, "init") and task.init(self) is False:
            return False
        with self._lock:
            self._running, self._started, self.task = task, self.loop.latest().time, name
        return True

    def redo(self) -> bool:
        """Start the last task again."""
        if self._last is None:
            raise Error("no task was started yet", remedy="start one")
        return self.start(self._last[0], **self._last[1])

    def freeze(self) -> None:
        """Hold the posture: wanted speeds and accelerations are zero, feedforward is kept."""
        with self._lock:
            self._running, self.task = None, None

    def stop(self, reason: str) -> None:
        """Disable all output.

        Args:
            reason: that is told.
        """
        self.freeze()
        self.put({"motor.on": 0.0})
        self.stopped = reason

    stopped: str | None = None
    """Why all output is disabled, or None."""

    def set_gravity(self, vector: Sequence[float]) -> None:
        """Set the gravity of the simulated world.

        Args:
            vector: along the world's axes, m/s^2.
        """
        self.put(dict(zip(GRAVITY, map(float, vector), strict=True)))

    # -- the slot ----------------------------------------------------------------------------------
    def _slot(self, t: float, q: Array, u: Array, a: Array, ufb: Array, tau: Array) -> Any:
        task, held = self._running, self._held
        made = DesiredState(
            held.names, 0, held.q.copy(), 0 * held.u, 0 * held.a, held.uff.copy(), held.uex
        )
        if task is not None:
            state = JointState(held.names, 0, q, u, a, ufb, tau, tau)
            wanted = _Wanted(made)
            task.run(t - self._started, state, wanted)
            made = wanted.made(held.names)
        self._held = made
        return made.q, made.u, made.a, made.uff, made.uex


class _Wanted:
    """What a task writes."""

    def __init__(self, start: DesiredState) -> None:
        self.q, self.u, self.a, self.uff, self.uex = (
            start.q,
            start.u,
            start.a,
            start.uff,
            start.uex,
        )

    def made(self, names: tuple[str, ...]) -> DesiredState:
        """Return it as a record."""
        return DesiredState(names, 0, self.q, self.u, self.a, self.uff, self.uex)
