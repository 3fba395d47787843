"""A task slot without a robot, for tests of tasks."""

from __future__ import annotations

from typing import Any

import numpy as np

from linkwright.formats.robot.description import Description
from linkwright.lab.config import EndEffector, JointConfig, LabConfig, VisionConfig
from linkwright.lab.newer_tasks import newer_function, slot_standing
from linkwright.lab.running import task_function
from linkwright.lab.slot import SlotLayout
from linkwright.lab.task_files import TaskSource
from linkwright.lab.task_shelf import TaskShelf
from linkwright.lab.tasks import Task
from linkwright.simulation.native.called import SlotFunction
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
        self.functions: dict[int, SlotFunction] = {}
        self.tasks: dict[str, Task] = {}
        self.running_tasks: dict[str, Task] = {}
        self.exchanges_live, self.serial, self.exchanges = live, 0, 0
        self.told: list[str] = []
        self.shelf = TaskShelf(self)

    def tell(self, text: str) -> None:
        self.told.append(text)

    def exchange(self, servo: str, older: Task, newer: Task) -> None:
        function = newer_function(
            newer,
            older,
            self.layout,
            lambda: slot_standing(self.session, self.layout, self.loop.latest()),
        )
        number = self.install(function)
        self.exchanges += 1
        self.running_tasks[servo] = newer
        self.loop.set({"task.number": number, **self.parameters(newer)})

    def install(self, function: SlotFunction) -> int:
        number = len(self.functions) + 1
        self.functions[number] = function
        self.session.install("task", number, function)
        return number

    def parameters(self, task: Task) -> dict[str, float]:
        names = self.layout.argument_names("parameter")
        return dict(zip(names, task.numbers["parameter"].tolist(), strict=True))

    def add(self, source: Any) -> None:
        """Add a file without a thread that looks at it, or a class."""
        if isinstance(source, type):
            made = source()
            self.tasks[made.name] = made
            return
        file = TaskSource(source)
        self.shelf.watch.add(file)
        self.tasks |= {name: cls() for name, cls in file.tasks.items()}

    def start(self, name: str, **values: Any) -> Task:
        task = self.tasks[name]
        task.set(values)
        task.init(self)
        number = self.install(task_function(task, self.layout))
        self.serial += 1
        begin = {"task.number": number, "task.serial": self.serial}
        self.loop.set({**begin, **self.parameters(task)})
        self.running_tasks["task"] = task
        return task

    def freeze(self) -> None:
        self.loop.set({"task.number": 0})
        self.running_tasks.clear()

    def run(self, ticks: int) -> None:
        self.loop.go_to(self.session.tick + ticks)

    def result(self, port: str) -> np.ndarray:
        row = self.loop.latest().d
        return row[self.layout.result[port]]
