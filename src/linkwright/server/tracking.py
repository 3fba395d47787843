"""Targets that change at any tick, and joint speeds: what an arm follows beside its chain.

`track` and `jog` take over from whatever the arm does, and go on within limits of speed,
acceleration and jerk (`linkwright.motion.online`). A leg of the chain follows when they are at
rest. A stop brakes as soon as each axis can, and forgets the target. An experiment is made about
a target at which the arm stands; where it ends, the arm goes back there. The target of a
trajectory is its last point: it is gone for where `linkwright.server.timed` leaves the motion.
"""

from __future__ import annotations

from linkwright.algebra import absolute, equal, maximum, not_equal, where
from linkwright.blocks import Block
from linkwright.motion import online
from linkwright.motion.limits import Limits
from linkwright.server.cell import CellArm
from linkwright.server.supervisor import EXCITE, TRACKED, TRAJECTORY


class Tracker(Block):
    """Chooses between an arm's chain and its online motion, and sends the latter where to go.

    >>> from linkwright.server.cell_file import read_cell
    >>> sorted(Tracker(read_cell("axes2").arms[0]).outputs)[:3]
    ['begins', 'leg', 'mode']
    """

    def __init__(self, arm: CellArm, name: str = "tracker") -> None:
        super().__init__(name)
        n, hold = len(arm.axes), self.intermediate
        count, kind = self.input("count", doc="motions so far"), self.input("kind")
        goal = self.input_vector("goal", n, doc="of the newest motion")
        share = self.input("speed", 1.0, doc="of the limits of speed")
        on, brake = self.input("on"), self.input("brake", doc="whether the arm is to stop")
        q = self.input_vector("q", n, list(arm.start), doc="measured positions")
        here = self.input_vector("here", n, list(arm.start), doc="the set-point")
        probing = self.input("probing", doc="whether an experiment goes on")
        seen, active = self.discrete_state("seen"), self.discrete_state("active")
        jogging, part = self.discrete_state("jogging"), self.discrete_state("part", None, 1.0)
        fresh = hold(not_equal(count, seen) & (on > 0))
        track, jog = (hold(equal(kind, k)) for k in TRACKED)
        excite, timed = (hold(equal(kind, k)) for k in (EXCITE, TRAJECTORY))
        own = hold(track | jog | excite | timed)
        tracking = hold((on > 0) & where(fresh, own, active > 0))
        waits = self.input("waits", doc="whether a leg of the chain waits")
        stopped = hold(tracking & ((brake > 0) | ((waits > 0) & (jogging > 0) & ~fresh)))
        legs = self.discrete_state("last_leg")
        leg = hold(where(fresh & ~own, count, legs))
        self.output("leg", leg, doc="number of the last motion that is a leg of the chain")
        mode = where(stopped | (fresh & jog), 1, where(fresh & own, 0, jogging))
        mode = hold(mode)
        most = hold(where(fresh & track, share, where(fresh & own, 1, part)))
        stays = hold(fresh & excite & equal(probing, 0))
        places, rates = [], []
        for i, (axis, at) in enumerate(zip(arm.axes, arm.start, strict=True)):
            place = self.discrete_state(f"place{i}", None, at)
            rate = self.discrete_state(f"rate{i}")
            new = fresh & (track | timed)  # a trajectory ends at its goal
            places.append(hold(where(new, goal[i], where(stays, here[i], place))))
            halts = stopped | (fresh & ~jog)
            asked = hold(where(halts, 0, where(fresh & jog, goal[i], rate)))
            kept = hold(maximum(-axis.speed, where(asked > axis.speed, axis.speed, asked)))
            way = hold(kept * kept / (2 * axis.acceleration))
            way = hold(way + absolute(kept) * axis.acceleration / axis.jerk)
            above = (kept > 0) & (q[i] + way > axis.high)
            below = (kept < 0) & (q[i] - way < axis.low)
            rates.append(hold(where(above | below, 0, kept)))
            self.update(place, places[-1])
            self.update(rate, rates[-1])
        self.output("tracking", tracking, doc="whether the chain is left")
        self.output("begins", tracking & equal(active, 0), doc="whether that begins here")
        self.output("mode", mode, doc="0: to a target; 1: with speeds")
        self.output_vector("target", places, doc="where to come to rest")
        self.output_vector("target_rate", rates, doc="speeds of a jog, zero before a limit")
        self.output_vector("most", [most * axis.speed for axis in arm.axes], doc="speeds")
        for memory, following in (
            (seen, count),
            (legs, leg),
            (active, tracking),
            (jogging, mode),
            (part, most),
        ):
            self.update(memory, following)


def online_motion(arm: CellArm, rate: float) -> Block:
    """Return the motion of an arm to targets that change (`rate` in Hz)."""
    speed, bend, jerk = (
        [getattr(axis, word) for axis in arm.axes] for word in ("speed", "acceleration", "jerk")
    )
    limits = Limits(speed=speed, acceleration=bend, jerk=jerk)
    units = [axis.unit for axis in arm.axes]
    return online(arm.start, limits, name=f"{arm.name}_online", rate=rate, unit=units)
