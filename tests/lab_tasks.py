"""A task slot without a robot, for tests of tasks."""

from __future__ import annotations

from typing import Any

import numpy as np

from linkwright.formats.robot.description import Description
from linkwright.lab.config import EndEffector, JointConfig, LabConfig, VisionConfig
from linkwright.lab.shelf import TaskShelf
from linkwright.lab.slot import SlotLayout
from linkwright.lab.task_slot import TaskSlot
from linkwright.lab.tasks import Task
from linkwright.simulation.native.session import Session
from linkwright.simulation.pacing import PacedLoop
from linkwright.simulation.runs import session_of
from linkwright.simulation.settings import RunSettings
from linkwright.system import System


def layout(joints: int = 2) -> SlotLayout:
    """The slot of a laboratory with an end-effector and a blob."""
    config = LabConfig(
        "bare",
        Description("bare", (), ()),
        tuple(JointConfig(f"j{i}", -1.0, 1.0) for i in range(joints)),
        rate=1000.0,
        end_effectors=(EndEffector("HAND", "link"),),
        vision=VisionConfig(("blob1",)),
    )
    return SlotLayout(config)


def bare_system(slot: SlotLayout) -> System:
    """A System of the slot alone; what it reads are inputs."""
    system = System(name="bare", base=1000)
    system.add(slot.block(), rate=500)
    return system


class BareLab:
    """The slot, its loop and its tasks: what a laboratory does with tasks, without a robot."""

    def __init__(self, joints: int = 2, *, live: bool = True, waits: bool = True) -> None:
        self.layout = layout(joints)
        self.session: Session = session_of(bare_system(self.layout), RunSettings(600.0, every=0))[0]
        self.loop = PacedLoop(self.session, clock="virtual", waits=waits)
        self.slot = TaskSlot(self.session, self.layout, self.loop.latest)
        self.live, self.serial, self.exchanges = live, 0, 0
        self.tasks = TaskShelf(self.slot, self._exchange, lambda: self.live)

    def _exchange(self, task: Task, number: int) -> None:
        self.exchanges += 1
        self.loop.set({"task.number": number, **self.slot.parameters(task)})

    def start(self, name: str, **values: Any) -> Task:
        task = self.tasks[name]
        task.set(values)
        task.init(self)
        number = self.slot.install(task)
        self.serial += 1
        begin = {"task.number": number, "task.serial": self.serial}
        self.loop.set({**begin, **self.slot.parameters(task)})
        self.tasks.running = task
        return task

    def freeze(self) -> None:
        self.loop.set({"task.number": 0})
        self.tasks.running = None

    def run(self, ticks: int) -> None:
        self.loop.go_to(self.session.tick + ticks)

    def result(self, port: str) -> np.ndarray:
        row = self.loop.latest().d
        return row[self.layout.result[port]]
