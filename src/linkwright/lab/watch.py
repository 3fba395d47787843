"""How often the process of a task is late: an answer to each tick of the task servo, or a count."""

from __future__ import annotations

from linkwright.algebra import where
from linkwright.blocks import Block


class AnswerWatch(Block):
    """Counts the ticks of a task servo that another process has not answered in time.

    Inputs: `remote`, not zero where a process runs the task; `calls` of the slot's life; and
    `answered`, the tick of the state that the last answer is for; and `ratio`, base ticks in one of
    the task servo. Outputs, all of the instant
    before: `late`, how many ticks were not answered when the next one came; `row`, how many of
    them in a row; and `behind`, base ticks from the state of the last answer to now.

    >>> AnswerWatch()
    AnswerWatch(watch: remote, calls, answered, ratio -> late, row, behind)
    """

    needs_rate = True
    """It counts instants."""

    def __init__(self, name: str = "watch") -> None:
        super().__init__(name, doc="whether the process of a task answers in time")
        remote = self.input("remote", doc="not zero where a process runs the task")
        calls = self.input("calls", doc="number of the function that is called")
        answered = self.input("answered", -1.0, doc="tick that the last answer is for")
        ratio = self.input("ratio", 2.0, doc="base ticks in one of the task servo")
        asked, instant = self.discrete_state("asked", initial=-1.0), self.discrete_state("instant")
        late, row = self.discrete_state("lates"), self.discrete_state("rows")
        behind = self.discrete_state("lag")
        hold = self.intermediate
        missed = hold((asked >= 0) & (answered < asked))
        runs = hold((remote > 0) & (calls > 0))
        self.update(late, where(missed, late + 1, late))
        self.update(row, where(missed, row + 1, 0))
        self.update(behind, where(runs & (answered >= 0), ratio * instant - answered, 0))
        self.update(asked, where(runs, ratio * instant, -1))
        self.update(instant, instant + 1)
        self.output("late", late, doc="ticks that were not answered in time")
        self.output("row", row, doc="of them in a row")
        self.output("behind", behind, doc="base ticks since the state of the last answer")


class Pulse(Block):
    """A line that a servo turns over whenever it runs, as it would a pin for an oscilloscope.

    A tick that was not run leaves a half-wave that is longer.

    >>> Pulse("task")
    Pulse(task_pulse: nothing -> level)
    """

    needs_rate = True
    """It turns over from instant to instant."""

    def __init__(self, servo: str) -> None:
        super().__init__(f"{servo}_pulse", doc=f"turned over by each tick of the {servo} servo")
        level = self.discrete_state("kept", unit="1")
        now = self.intermediate(1 - level)
        self.update(level, now)
        self.output("level", now, unit="1", doc="0 or 1")
