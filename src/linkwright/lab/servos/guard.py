"""The last gate before any driver: no command but a finite one within its bounds goes through."""

from __future__ import annotations

from linkwright.algebra import Expr, absolute, maximum, minimum, not_equal, where
from linkwright.blocks import Block
from linkwright.lab.config import LabConfig
from linkwright.lab.servos.columns import column, is_number

CAUSES = ("none", "asked", "numbers")
"""Why commands are stopped: not at all, because it was asked for, or because numbers were none."""


class Guard(Block):
    """Commands as they go to a driver, as vectors over the joints.

    Inputs are the command `tau`, the wanted `q` and `u` for drivers of positions, `limit` of each
    effort, `stop`, not zero to stop, and `reset`, at a change of which a stop ends that is no
    longer asked for. Outputs are `safe_tau`, `safe_q`, `safe_u`; `stopped` with its `cause`, a
    place in `CAUSES`;
    and how often each joint was limited: `efforts` at the bound, `bad` by no number. While
    stopped, efforts are zero and positions stay. The memory `latched` is `stopped` of the tick
    before, for members that the commands depend on.

    >>> from linkwright.formats.robot.description import Description, Link
    >>> from linkwright.lab.config import JointConfig
    >>> joint = JointConfig("elbow", 0.0, 2.0, max_effort=5.0)
    >>> list(Guard(LabConfig("arm", Description("arm", (Link("base"),), ()), (joint,))).outputs)
    ['safe_tau', 'safe_q', 'safe_u', 'stopped', 'cause', 'efforts', 'bad']
    """

    needs_rate = True
    """It remembers from instant to instant."""

    def __init__(self, config: LabConfig, *, grace: int = 10, name: str = "guard") -> None:
        super().__init__(name, doc="bounds of commands")
        n, hold = len(config.joints), self.intermediate
        start = column(config, "default")
        tau = self.input_vector("tau", n, doc="commands")
        q = self.input_vector("q", n, start, doc="wanted positions")
        u = self.input_vector("u", n, doc="wanted speeds")
        limit = self.input_vector("limit", n, column(config, "max_effort"), doc="greatest command")
        stop = self.input("stop", doc="not zero to stop")
        reset = self.input("reset", doc="each change ends a stop")
        latched, seen = self.discrete_state("latched"), self.discrete_state("seen", reset)
        why, row = self.discrete_state("why"), self.discrete_state("row")

        good = [hold(is_number(x, y, z)) for x, y, z in zip(tau, q, u, strict=True)]
        misses = hold(where(is_number(*tau, *q, *u), 0, row + 1))
        self.update(row, misses)
        asked, lost = hold(not_equal(stop, 0)), hold(misses > grace)
        still = hold(not_equal(latched, 0) & ~not_equal(reset, seen))
        cause = hold(where(asked, 1, where(lost, 2, where(still, why, 0))))
        stopped = hold(asked | lost | still)
        self.update(latched, where(stopped, 1, 0))
        self.update(why, cause)

        given: dict[str, list[Expr]] = {key: [] for key in ("tau", "q", "u", "efforts", "bad")}
        for i in range(n):
            kept = hold(maximum(-limit[i], minimum(limit[i], tau[i])))
            for key, value, rest, at in (
                ("tau", kept, 0, 0.0),
                ("q", q[i], None, start[i]),
                ("u", u[i], 0, 0.0),
            ):
                last = self.discrete_state(f"last_{key}{i}", initial=at)
                safe = hold(where(good[i], value, last))
                safe = hold(where(stopped, last if rest is None else rest, safe))
                self.update(last, safe)
                given[key].append(safe)
            for key, happens in (
                ("efforts", good[i] & (absolute(tau[i]) >= limit[i])),
                ("bad", ~good[i]),
            ):
                count = self.discrete_state(f"{key}{i}")
                more = hold(count + where(happens, 1, 0))
                self.update(count, more)
                given[key].append(more)
        self.output_vector("safe_tau", given["tau"], doc="commands that a driver may have")
        self.output_vector("safe_q", given["q"], doc="wanted positions that it may have")
        self.output_vector("safe_u", given["u"], doc="wanted speeds that it may have")
        self.output("stopped", where(stopped, 1, 0), doc="whether commands are stopped")
        self.output("cause", cause, doc="place in CAUSES")
        self.output_vector("efforts", given["efforts"], doc="ticks at the bound")
        self.output_vector("bad", given["bad"], doc="ticks with no number")
