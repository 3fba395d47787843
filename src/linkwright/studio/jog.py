"""Jogging an axis with a dead man's switch: it moves only while somebody holds a button or a key.

A press is a slow motion toward the end of the axis' range, and its release a stop along that path.
While it is held, the page says so again and again. Where that stops (the page stalls, its browser
is closed, the network is cut) the arm is stopped from here, and our signs of life for its lease
stop with the page's, so that the cell stops it in its own ticks even where this process hangs.
"""

from __future__ import annotations

import math
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from linkwright.base.errors import Error, InputError
from linkwright.server.experiments import axis_of

if TYPE_CHECKING:
    from linkwright.server.hand import ArmHand, GivenCommand
    from linkwright.studio.cell_link import CellLink

PAGE_SILENCE = 0.3
"""s without a word of the page that holds, after which it counts as having let go."""

_MARGIN = 1e-3  # of its range that an axis keeps from its ends
_PAGES = 50  # whose presses are remembered


@dataclass(slots=True)
class Press:
    """An axis that is being moved."""

    page: str  # which page holds it
    number: int  # of the page's presses, rising
    arm: str  # that moves
    axis: str  # that moves
    side: int  # 1 for up, -1 for down
    hand: ArmHand  # on the arm
    heard: float  # when the page was heard last, s
    command: GivenCommand | None = None  # that moves it, once it is given


class Jog:
    """Lets pages jog axes, one at a time."""

    def __init__(self, link: CellLink, clock: Callable[[], float] = time.monotonic) -> None:
        self._link, self._clock = link, clock
        self._turn = threading.RLock()
        self._over: dict[str, int] = {}
        self._doubted: set[str] = set()  # arms whose stop was not taken
        self.held: Press | None = None
        self.why = ""
        """How the last press ended."""

    def alive(self, arm: str) -> bool:
        """Return whether the cell may be informed that the one who commands an arm is there."""
        held = self.held
        if arm in self._doubted:
            return False
        if held is None or held.arm != arm:
            return True
        return self._clock() - held.heard < PAGE_SILENCE

    def hold(self, page: str, number: int, axis: str, side: int, speed: float) -> bool:
        """Take notice that a page holds an axis; return whether that moves it."""
        with self._turn:
            if number <= self._over.get(page, 0):
                return False
            held = self.held
            if held is None:
                self._begin(page, number, axis, side, speed)
            elif (held.page, held.number) != (page, number):
                raise InputError(f"{held.axis} is being moved", remedy="let go of it first")
            elif held.command is not None and held.hand.cut(held.command):
                self._stop(f"the cell ended it: {held.hand.arm.state.cut_cause}")
                return False
            else:
                held.heard = self._clock()
            return True

    def release(self, page: str, number: int) -> None:
        """Take notice that a page has let go."""
        with self._turn:
            self._end(page, number)
            held = self.held
            if held is not None and held.page == page and held.number <= number:
                self._stop("released")

    def watch(self) -> None:
        """Stop what is held by a page that has fallen silent."""
        held = self.held
        if held is not None and self._clock() - held.heard >= PAGE_SILENCE:
            with self._turn:
                if self.held is held:
                    self._stop("the page that held it fell silent")

    def _begin(self, page: str, number: int, axis: str, side: int, speed: float) -> None:
        if side not in (-1, 1) or not (math.isfinite(speed) and 0 < speed <= 1):
            raise InputError(f"an axis is not jogged by {side} with speed {speed}")
        link = self._link
        if link.busy:
            raise InputError(f"wait: {link.busy}")
        arm, k = axis_of(list(link.cell.arms.values()), axis)
        try:
            self._doubted.discard(arm.name)
            hand = link.hand(arm.name)
            goal = [float(x) for x in hand.arm.state.target]
            low, high = arm.limits[k]
            end = high - _MARGIN * (high - low) if side > 0 else low + _MARGIN * (high - low)
            if (end - goal[k]) * side <= 0:
                raise InputError(f"{axis} is at the end of its range")
            goal[k] = end
            self.held = Press(page, number, arm.name, axis, side, hand, self._clock())
            self.why = ""
            self.held.command = hand.joints(goal, speed=speed)
            self.held.heard = self._clock()
        except BaseException:
            self._end(page, number)
            if self.held is not None:
                self._stop("it was rejected")
            raise

    def _end(self, page: str, number: int) -> None:
        self._over[page] = max(number, self._over.get(page, 0))
        while len(self._over) > _PAGES:
            del self._over[next(iter(self._over))]

    def _stop(self, why: str) -> None:
        """Stop the arm; where that is not taken, let our signs of life for it stop."""
        held, self.held, self.why = self.held, None, why
        assert held is not None
        self._end(held.page, held.number)
        try:
            held.hand.stop()
        except Error:
            self._doubted.add(held.arm)
