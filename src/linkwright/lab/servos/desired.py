"""What joints should do: one writer for each, by WhichDOFs, within range, speed and jumps."""

from __future__ import annotations

from linkwright.algebra import Expr, equal, maximum, minimum, not_equal, where
from linkwright.base.errors import InputError, suggestion
from linkwright.blocks import Block
from linkwright.lab.config import MODES, SERVOS, LabConfig
from linkwright.lab.servos.columns import column, is_number

WANTED = ("q", "u", "a", "uff", "uex")
"""What a servo that commands joints gives for each."""


def listed(config: LabConfig, servo: str, *, real: bool = False) -> tuple[str, ...]:
    """Return the joints that a servo is about; all where it is not named.

    >>> from linkwright.formats.robot.description import Description, Link
    >>> from linkwright.lab.config import JointConfig
    >>> joints = JointConfig("elbow", 0.0, 2.0), JointConfig("eye", 0.0, 2.0)
    >>> lab = LabConfig(
    ...     "arm", Description("arm", (Link("base"),), ()), joints, servos={"task": ("elbow",)}
    ... )
    >>> listed(lab, "task"), listed(lab, "invdyn")
    (('elbow',), ('elbow', 'eye'))
    """
    lists = (config.real_servos or config.servos) if real else config.servos
    if servo not in lists:
        return () if servo == "vision" else config.names
    unknown = [name for name in lists[servo] if name not in config.names]
    if unknown:
        raise InputError(
            f"the {servo} servo lists {unknown[0]!r}, which is not a joint",
            remedy=suggestion(unknown[0], config.names, f"there is {', '.join(config.names)}"),
        )
    return tuple(lists[servo])


def writers(config: LabConfig, *, real: bool = False) -> dict[str, str]:
    """Return the servo that commands each joint; two that claim one are rejected by name.

    >>> from linkwright.formats.robot.description import Description, Link
    >>> from linkwright.lab.config import JointConfig
    >>> joints = JointConfig("elbow", 0.0, 2.0), JointConfig("eye", 0.0, 2.0)
    >>> lists = {"task": ("elbow",), "eyes": ("eye",)}
    >>> arm = Description("arm", (Link("base"),), ())
    >>> writers(LabConfig("arm", arm, joints, servos=lists))
    {'elbow': 'task', 'eye': 'eyes'}
    """
    lists = (config.real_servos or config.servos) if real else config.servos
    others = [servo for servo in lists if servo not in SERVOS or servo == "vision"]
    found: dict[str, str] = {}
    for servo in ("task", *others):
        for name in listed(config, servo, real=real):
            if name in found and found[name] != servo:
                raise InputError(
                    f"{name} is commanded by the {found[name]} servo and by the {servo} servo",
                    remedy="let WhichDOFs list it for one of them alone",
                )
            found[name] = servo
    return found


def _freeze(servo: str) -> str:
    return "freeze" if servo == "task" else f"{servo}_freeze"


class Desired(Block):
    """The wanted state of all joints; its ports are vectors over the joints.

    Every servo that commands joints has inputs `SERVO_q`, `SERVO_u`, `SERVO_a`, `SERVO_uff`,
    `SERVO_uex`; those of joints that it does not list change nothing, and joints that nobody lists
    hold. In the mode `cart`, while `aims` is not zero, the task's joints that the invkin servo
    lists come from `invkin_q`, `invkin_u`, `invkin_a`. Further inputs are `mode`, a place in
    `MODES`; `freeze`, not zero to keep position and feedforward and stand still with no `uex`
    (`SERVO_freeze` for the joints of another servo); `follow`, not zero to go with the measured
    `q` (while commands are stopped); and the bounds `lower`, `upper`, `speed`, `jump` of each
    joint.

    Outputs are `des_q`, `des_u`, `des_a`, `uff`, `uex` within their bounds. A wanted speed that
    leads out of the range is zero at its end. Where a number is not finite, the joint holds. How
    often each was limited is reported by `ranges`, `speeds`, `jumps`, `bad`.

    >>> from linkwright.formats.robot.description import Description, Link
    >>> from linkwright.lab.config import JointConfig
    >>> joint = JointConfig("elbow", 0.0, 2.0)
    >>> block = Desired(LabConfig("arm", Description("arm", (Link("base"),), ()), (joint,)))
    >>> block.writers
    {'elbow': 'task'}
    """

    needs_rate = True
    """It remembers from instant to instant."""

    def __init__(self, config: LabConfig, *, real: bool = False, name: str = "desired") -> None:
        super().__init__(name, doc="what joints should do")
        self.writers = writers(config, real=real)
        n, start = len(config.joints), column(config, "default")
        sources = {
            servo: {
                key: self.input_vector(f"{servo}_{key}", n, start if key == "q" else 0.0)
                for key in WANTED
            }
            for servo in dict.fromkeys(["task", *self.writers.values()])
        }
        moved = {
            key: self.input_vector(f"invkin_{key}", n, start if key == "q" else 0.0)
            for key in WANTED[:3]
        }
        by_kinematics = set(listed(config, "invkin", real=real))
        mode = self.input("mode", doc="place in MODES")
        aims = self.input("aims", 1.0, doc="whether there is a Cartesian target")
        self._follows = self.input("follow", doc="go with q")
        self._ready = {
            servo: self.intermediate(
                equal(self.input(_freeze(servo), doc="stand still"), 0) & equal(self._follows, 0)
            )
            for servo in sources
        }
        self._measured = self.input_vector("q", n, start, doc="measured positions")
        self._bounds = {
            key: self.input_vector(key, n, column(config, field), doc=doc)
            for key, field, doc in (
                ("lower", "lower", "least position"),
                ("upper", "upper", "greatest position"),
                ("speed", "max_speed", "greatest wanted speed"),
                ("jump", "max_jump", "greatest step of the wanted position in a tick"),
            )
        }
        self._start = start
        cart = self.intermediate(equal(mode, MODES.index("cart")) & (aims > 0))
        given: dict[str, list[Expr]] = {
            key: [] for key in (*WANTED, "ranges", "speeds", "jumps", "bad")
        }
        for i, joint in enumerate(config.names):
            writer = self.writers.get(joint)
            wanted: dict[str, Expr] | None = None
            if writer is not None:
                wanted = {key: sources[writer][key][i] for key in WANTED}
                if writer == "task" and joint in by_kinematics:
                    for key in WANTED[:3]:
                        wanted[key] = self.intermediate(where(cart, moved[key][i], wanted[key]))
            for key, value in self._bounded(i, wanted, writer).items():
                given[key].append(value)
        for key in WANTED[:3]:
            self.output_vector(f"des_{key}", given[key], doc="wanted")
        self.output_vector("uff", given["uff"], doc="feedforward")
        self.output_vector("uex", given["uex"], doc="external torques to be compensated")
        for key in ("ranges", "speeds", "jumps", "bad"):
            self.output_vector(key, given[key], doc="how often it was limited")

    def _bounded(
        self, i: int, wanted: dict[str, Expr] | None, writer: str | None
    ) -> dict[str, Expr]:
        """Return what one joint should do, from what its writer wants."""
        hold, nothing = self.intermediate, self.expr(0)
        lower, upper, speed, jump = (
            self._bounds[key][i] for key in ("lower", "upper", "speed", "jump")
        )
        last = {
            key: self.discrete_state(f"last_{key}{i}", initial=at)
            for key, at in (("q", self._start[i]), ("uff", 0.0), ("uex", 0.0))
        }
        if wanted is None:
            wanted = {**last, "u": nothing, "a": nothing}
        good = hold(is_number(*(wanted[key] for key in WANTED)))
        ready = self._ready["task" if writer is None else writer]
        moves = hold(good & ready)
        asked = hold(where(moves, wanted["q"], last["q"]))
        ranged = hold(maximum(lower, minimum(upper, asked)))
        stepped = hold(maximum(last["q"] - jump, minimum(last["q"] + jump, ranged)))
        q = hold(where(self._follows, self._measured[i], where(moves, stepped, last["q"])))
        slow = hold(maximum(-speed, minimum(speed, wanted["u"])))
        outward = hold((asked - ranged) * slow > 0)
        found = {
            "q": q,
            "u": where(outward, 0, where(moves, slow, 0)),
            "a": where(outward, 0, where(moves, wanted["a"], 0)),
        }
        found["uff"] = hold(where(moves, wanted["uff"], where(self._follows, 0, last["uff"])))
        found["uex"] = hold(where(moves, wanted["uex"], where(ready, last["uex"], 0)))
        for key, memory in last.items():
            self.update(memory, found[key])
        for key, happens in (
            ("ranges", moves & not_equal(ranged, asked)),
            ("speeds", moves & not_equal(slow, wanted["u"])),
            ("jumps", moves & not_equal(stepped, ranged)),
            ("bad", ready & ~good),
        ):
            count = self.discrete_state(f"{key}{i}")
            found[key] = hold(count + where(happens, 1, 0))
            self.update(count, found[key])
        return found
