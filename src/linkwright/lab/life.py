"""When a task is called: the life of a slot between two starts, in ticks.

A task is called from the tick at which its number enters until it says that it is done, until too
many ticks in a row took too long, or until another number enters; 0 is not a task. What it gives at
its last tick still counts; from the next one on its joints are frozen.
"""

from __future__ import annotations

from linkwright.algebra import equal, where
from linkwright.blocks import Block

PATIENCE = 10
"""Ticks in a row that may take too long before a laboratory freezes."""


class SlotLife(Block):
    """Whether the task of a slot is called.

    Inputs: `number` of the task's function and `serial` of its start; `done` and `begun` of the
    slot; `overruns`, how many ticks took too long so far, or `unanswered`, how many in a row
    another process was late at, and `patience`, how many in a row may.
    Outputs: `calls`, the number of the function that is called; `frozen`, 1 where none is;
    `expired`, 1 where patience was lost; and `told`, the serial that all this is about.

    >>> SlotLife("life")
    SlotLife(life: number, serial, done, begun, overruns, unanswered, patience -> calls, frozen,
    expired, told)
    """

    needs_rate = True
    """It counts instants."""

    def __init__(self, name: str = "life", every: int = 1) -> None:
        super().__init__(name, doc="whether a task is called")
        number = self.input("number", doc="function of the task; 0 for none")
        serial = self.input("serial", doc="how many tasks were started")
        done = self.input("done", doc="1 where the task is done")
        begun = self.input("begun", doc="serial of the task that it was")
        overruns = self.input("overruns", doc="ticks that took too long so far")
        unanswered = self.input("unanswered", doc="ticks in a row that a process was late at")
        patience = self.input("patience", PATIENCE, doc="of them in a row; 0 for any number")
        ended, seen = self.discrete_state("ended"), self.discrete_state("seen", overruns)
        row, lost = self.discrete_state("row"), self.discrete_state("lost")
        quiet = self.discrete_state("quiet")
        hold = self.intermediate
        self.update(ended, where((done > 0) & equal(begun, serial), serial, ended))
        still = hold(where(overruns > seen, 0, quiet + 1))
        self.update(quiet, still)
        late = hold(where(overruns > seen, row + 1, where(still < every, row, 0)))
        self.update(row, late)
        many = hold((late >= patience) | (unanswered >= patience))
        impatient = hold((patience > 0) & many & (number > 0))
        gone = hold(where(impatient, serial, lost))
        self.update(lost, gone)
        expired = hold(equal(gone, serial) & (serial > 0))
        over = hold((equal(ended, serial) & (serial > 0)) | expired)
        calls = hold(where(over, 0, number))
        self.output("calls", calls, doc="number of the function that is called")
        self.output("frozen", where(equal(calls, 0), 1, 0), doc="1 where none is", initial=1)
        self.output("expired", where(expired, 1, 0), doc="1 where too many ticks took too long")
        self.output("told", serial, doc="serial of the start that this is about")


def life_of(servo: str) -> str:
    """Return the member that says when the task of a servo is called.

    >>> life_of("task"), life_of("eye")
    ('life', 'eye_life')
    """
    return "life" if servo == "task" else f"{servo}_life"
