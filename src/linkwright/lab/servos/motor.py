"""The motor servo: feedback, feedforward and saturation of every joint, at the base rate.

    ufb = Kp e + Kd e' + Ki integral of e,   tau = uff + ufb kept within +-limit

(SL manual, section 4). The integral stands still while the command is limited and the error would
drive it on (Astrom and Hagglund 2006, section 3.5), and is zero where the law has none.
"""

from __future__ import annotations

from linkwright.algebra import absolute, equal, not_equal, where
from linkwright.blocks import Block
from linkwright.control.pid import PidTerms, pid_parts
from linkwright.lab.config import CONTROLLERS, LabConfig
from linkwright.lab.servos.columns import column


class MotorServo(Block):
    """The law of all joints of a laboratory; its ports are vectors over the joints.

    Inputs are the measured `q` and `u`, the wanted `des_q` and `des_u`, the feedforward `uff`, the
    gains `kp`, `kd`, `ki` and the bound `limit` of each joint; `controller`, a place in
    `CONTROLLERS`; and `zero`, at each change of which the integrals begin anew. Outputs are
    `ufb`, `ahead` (the feedforward as it counts) and `tau`, their sum within the bounds.

    A task that sends the measured state as the wanted one cancels the feedback: both errors of a
    joint are then exactly zero while the wanted position moves, and the integral of the joint is
    zero. A joint that stands where it should keeps its integral.

    >>> from linkwright.formats.robot.description import Description, Link
    >>> from linkwright.lab.config import JointConfig
    >>> joint = JointConfig("elbow", 0.0, 2.0, kp=30.0)
    >>> MotorServo(
    ...     LabConfig("arm", Description("arm", (Link("base"),), ()), (joint,))
    ... ).outputs.keys()
    dict_keys(['ufb', 'ahead', 'tau'])
    """

    needs_rate = True
    """It remembers from instant to instant."""

    def __init__(self, config: LabConfig, name: str = "motor") -> None:
        super().__init__(name, doc="feedback and feedforward of the joints")
        n, hold = len(config.joints), self.intermediate
        start = column(config, "default")
        q = self.input_vector("q", n, start, doc="measured positions")
        u = self.input_vector("u", n, doc="measured speeds")
        des_q = self.input_vector("des_q", n, start, doc="wanted positions")
        des_u = self.input_vector("des_u", n, doc="wanted speeds")
        uff = self.input_vector("uff", n, doc="feedforward")
        kp, kd, ki = (
            self.input_vector(key, n, column(config, key), doc=doc)
            for key, doc in (("kp", "stiffness"), ("kd", "damping"), ("ki", "integral gain"))
        )
        limit = self.input_vector("limit", n, column(config, "max_effort"), doc="greatest command")
        kind = self.input("controller", CONTROLLERS.index(config.controller), doc="in CONTROLLERS")
        zero = self.input("zero", doc="each change lets the integrals begin anew")
        zeroed = self.discrete_state("zeroed", zero)
        integrates = hold(equal(kind, 1) | equal(kind, 3))
        fresh = hold(not_equal(zero, zeroed) | ~integrates)
        feeds = hold(equal(kind, 2) | equal(kind, 3))
        feedback, ahead, given = [], [], []
        for i in range(n):
            e, ed = hold(des_q[i] - q[i]), hold(des_u[i] - u[i])
            before = self.discrete_state(f"place{i}", des_q[i], start[i], doc="wanted before")
            cancelled = equal(absolute(e) + absolute(ed), 0) & not_equal(des_q[i], before)
            gain = hold(where(integrates, ki[i], 0))
            fed = hold(where(feeds, uff[i], 0))
            parts = pid_parts(
                self,
                PidTerms(kp[i], gain, kd[i], -limit[i], limit[i]),
                des_q[i],
                q[i],
                ed,
                feedforward=fed,
                zero=hold(fresh | equal(where(cancelled, 0, gain), 0)),
                suffix=str(i),
            )
            feedback.append(parts.feedback)
            ahead.append(fed)
            given.append(parts.given)
        self.output_vector("ufb", feedback, doc="feedback")
        self.output_vector("ahead", ahead, doc="feedforward as it counts")
        self.output_vector("tau", given, doc="command")
