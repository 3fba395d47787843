"""A cell without mechanics, for tests of the network: arms that go where they are told at once."""

from __future__ import annotations

import threading
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Self

from linkwright.server.face import LIVES, ArmFace, Command
from linkwright.server.verbs import check_command
from linkwright.windows import Field, Record
from linkwright.windows.records import Frame

CAUSES = ("none", "silence", "stop", "halt")


def face_of(name: str) -> ArmFace:
    """An arm of two joints."""
    return ArmFace(
        name, ("a", "b"), ("rad", "m"), ((-3.0, 3.0), (0.0, 1.0)), (f"{name}.1", f"{name}.2"),
        ("base", "table"), {"gain": 2.0},
    )  # fmt: skip


class ToyCell:
    """Counts ticks in a thread; a motion takes `steps` ticks; silence is counted in ticks.

    What it was given, and what stopped it at which tick, are kept in `given` and `stops`.
    """

    def __init__(
        self, name: str, *, rate: float = 200.0, arms: tuple[str, ...] = ("puma",), steps: int = 4
    ) -> None:
        self.name, self.rate, self.causes = name, rate, CAUSES
        self.arms: Mapping[str, ArmFace] = {arm: face_of(arm) for arm in arms}
        fields = [
            field
            for arm in arms
            for field in (
                *(Field(f"{arm}.{part}", shape=(2,)) for part in ("q", "u", "target", "current")),
                *(Field(f"{arm}.{part}", type="i64") for part in _WHOLE),
            )
        ]
        fields += [Field("cell.total", type="i64"), Field("cell.missed", type="i64")]
        self.state = Record("state", *fields, Field("cell.overrun", type="i64"),
                            Field("cell.lateness", "s"))  # fmt: skip
        self.state_file: Path | None = None
        self.given: list[tuple[str, Command]] = []
        self.stops: list[tuple[int, str, str]] = []
        self.frames: dict[str, Any] = {}
        self.beats = 0
        self._steps = steps
        self._values: dict[str, Any] = {f.name: [0.0] * 2 if f.shape else 0 for f in fields}
        self._values["cell.overrun"], self._values["cell.lateness"] = 0, 0.0
        self._left = dict.fromkeys(arms, 0)
        self._silence: dict[str, tuple[int, int]] = {}
        self._lock = threading.Lock()
        self._ending = threading.Event()
        self.tick = 0
        self._latest = self._packed()
        self._thread = threading.Thread(target=self._run, daemon=True)

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._ending.set()
        self._thread.join(10.0)

    def now(self) -> int:
        return time.monotonic_ns() + 10**15

    def latest(self) -> Frame:
        return self._latest

    def command(self, arm: str, command: Command) -> None:
        check_command(self.arms[arm], command, self.now())
        with self._lock:
            self.given.append((arm, command))
            self._values[f"{arm}.taken"] = command.sequence
            if command.kind in ("enable", "disable", "clear"):
                life = {"enable": "active"}.get(command.kind, "inactive")
                self._values[f"{arm}.life"] = LIVES.index(life)
                self._values[f"{arm}.cause"] = 0
                self._values[f"{arm}.done"] = command.sequence
                return
            if self._values[f"{arm}.life"] == LIVES.index("fault"):
                self._cut(arm, "halt")
                return
            self._left[arm] = self._steps
            self._values[f"{arm}.moving"] = 1
            if command.kind == "joints":
                self._values[f"{arm}.target"] = list(command.values)

    def beat(self, arm: str, holder: int, silence: float) -> None:
        with self._lock:
            self.beats += 1
            self._values[f"{arm}.holder"] = holder
            if holder:
                self._silence[arm] = (self.tick, round(silence * self.rate))
            else:
                self._silence.pop(arm, None)

    def halt(self, cause: str) -> None:
        with self._lock:
            for arm in self.arms:
                self._stop(arm, "halt")
                self._values[f"{arm}.life"] = LIVES.index("fault")

    def place_frame(
        self, name: str, pose: tuple[float, ...], twist: tuple[float, ...], time: int
    ) -> None:
        self.frames[name] = (pose, twist, time)

    def _stop(self, arm: str, cause: str) -> None:
        self.stops.append((self.tick, arm, cause))
        if self._left[arm]:
            self._cut(arm, cause)
        self._left[arm] = 0
        self._values |= {
            f"{arm}.cause": CAUSES.index(cause), f"{arm}.moving": 0,
        }  # fmt: skip

    def _cut(self, arm: str, cause: str) -> None:
        values = self._values
        values[f"{arm}.cut"], values[f"{arm}.cut_after"] = (
            values[f"{arm}.taken"], values[f"{arm}.done"],
        )  # fmt: skip
        values[f"{arm}.cut_cause"] = CAUSES.index(cause)

    def _run(self) -> None:
        while not self._ending.wait(1.0 / self.rate):
            with self._lock:
                self.tick += 1
                for arm, (last, limit) in list(self._silence.items()):
                    if self.tick - last > limit:
                        self._stop(arm, "silence")
                        self._values[f"{arm}.holder"] = 0
                        del self._silence[arm]
                for arm, left in self._left.items():
                    if left == 1:
                        values = self._values
                        values[f"{arm}.done"] = values[f"{arm}.taken"]
                        values[f"{arm}.q"] = values[f"{arm}.target"]
                        values[f"{arm}.moving"] = 0
                    self._left[arm] = max(0, left - 1)
                self._latest = self._packed()

    def _packed(self) -> Frame:
        self._values["cell.total"] = self.tick
        data = self.state.pack(self._values, sequence=self.tick, tick=self.tick, clock=self.now())
        return self.state.unpack(data)


_WHOLE = ("life", "moving", "taken", "done", "dropped", "cause", "error", "holder",
          "cut", "cut_after", "cut_cause")  # fmt: skip
