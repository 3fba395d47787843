"""What can be asked of an arm: one table, from which client, wire, cell and supervisor take theirs.

A `Verb` says what numbers it takes, in which units and ranges, what its name names, and how it
moves the arm. `check_command` holds commands to that, whoever gives them. What is special about a
verb is `becomes`: it may reject an `Order`, change its numbers, and add inputs of the cell's loop.
The place of a verb in the table is its number, on the wire and in the supervisor's ring.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Literal, TypeAlias

from linkwright.base.errors import suggestion
from linkwright.server.face import LIVES, POINTS, ArmFace, Command, RefusedError

if TYPE_CHECKING:
    from linkwright.server.cell import CellArm

Inputs: TypeAlias = dict[str, float]
"""Values of inputs of a cell's loop, by their names."""

EACH = -1
"""As a count of numbers: one for each joint."""


@dataclass(frozen=True, slots=True)
class VerbNumbers:
    """Some of the numbers of a verb, one after another."""

    what: str
    unit: str  # "|" stands between those of joints that turn and that slide
    count: int = EACH
    are: Literal["", "positions", "speeds", "time"] = ""  # of joints, within what they can do
    least: float = -math.inf
    most: float = math.inf
    optional: bool = False


@dataclass(slots=True)
class ArmQueue:
    """What a cell has put before the loop for an arm."""

    head: int = 0  # commands in the ring so far
    stops: int = 0
    beats: int = 0
    enabling: bool = False  # whether an `enable` waits in the ring
    ends: tuple[float, ...] | None = None  # joints at the end of the motions so far, if known
    pressed: int = 0  # how often it was asked to press or to comply
    modes: dict[str, float] = field(default_factory=dict)  # of axes, other than position
    knots: list[tuple[float, ...]] = field(default_factory=list)  # of a trajectory to come


@dataclass(slots=True)
class Order:
    """A command that fits its arm, on its way to become inputs of the loop."""

    arm: CellArm
    face: ArmFace
    command: Command
    state: Mapping[str, float]  # of the arm: `life`, `cause`, `tail`, `moves`, `target0` and others
    rate: float  # Hz, of the cell
    queue: ArmQueue
    stands: tuple[float, ...] | None  # joints where the arm stands as it begins, if that is known
    knots: list[tuple[float, ...]] = field(default_factory=list)  # that came right before it
    values: tuple[float, ...] = field(init=False)  # for the supervisor; at first the command's
    inputs: Inputs = field(default_factory=dict)  # that change with it

    def __post_init__(self) -> None:
        self.values = self.command.values

    @property
    def life(self) -> str:
        """How the arm is, or will be when the command comes to be taken up."""
        return "active" if self.queue.enabling else LIVES[int(self.state["life"])]


@dataclass(frozen=True, slots=True)
class Verb:
    """One thing that can be asked of an arm.

    >>> VERBS["joints"].moves, VERBS["enable"].leads
    ('leg', 'active')
    """

    name: str
    doc: str
    numbers: tuple[VerbNumbers, ...] = ()
    of: Literal["", "axis", "parameter"] = ""  # what the command's name names
    # how it moves the arm: by a leg of its chain; or by what the loop has blocks of their own for:
    # a target that takes over, times from rest on, or a probe of an axis
    moves: Literal["", "leg", "target", "times", "probe"] = ""
    goal: Literal["", "joints", "pose"] = ""  # what its values are once it has become an order
    modes: tuple[str, ...] = ("POS",)  # of axes that can follow it
    leads: str = ""  # the life that it asks for
    waits: bool = True  # in the ring, for the commands before it
    becomes: Callable[[Order], None] | None = None

    def sizes(self, joints: int) -> tuple[int, int]:
        """Return how many numbers it takes of an arm, without the optional ones and with them."""
        counts = [joints if one.count == EACH else one.count for one in self.numbers]
        needed = [n for n, one in zip(counts, self.numbers, strict=True) if not one.optional]
        return sum(needed), sum(counts)


def _home(order: Order) -> None:
    order.values = order.arm.start


def _pose(order: Order) -> None:
    if not order.arm.tool:
        raise RefusedError(
            "kind", f"{order.arm.name!r} has no tool", remedy="name one in its [[arm]] table"
        )


def _stop(order: Order) -> None:
    queue, own = order.queue, f"{order.arm.name}_supervisor"
    queue.stops, queue.ends = queue.stops + 1, None
    order.inputs = {
        f"{own}.stops": float(queue.stops),
        f"{own}.flush": float(queue.head),
        f"{own}.stop_sequence": float(order.command.sequence),
    }


def _enable(order: Order) -> None:
    order.queue.enabling = True
    if order.arm.law.kind == "hybrid":  # nothing presses before it is asked to
        own = f"{order.arm.name}_force"
        order.inputs = {f"{own}.{word}[{i}]": 0.0 for word in ("press", "comply") for i in range(3)}
        order.inputs[f"{own}.guard"] = 0.0


def _force(order: Order) -> None:
    """Change what a law of force is asked for, of an arm that has one."""
    arm, kind, values, queue = order.arm, order.command.kind, order.values, order.queue
    if arm.law.kind != "hybrid":
        raise RefusedError(
            "kind",
            f"{arm.name!r} has no law of force, and takes no {kind!r}",
            remedy='give its [[arm]] table control = {kind = "hybrid", ...}',
        )
    if order.life != "active":
        raise RefusedError(
            "life", f"{arm.name!r} is {order.life}", remedy="clear and enable it first"
        )
    own = f"{arm.name}_force"
    if kind == "guard":
        order.inputs = {f"{own}.guard": float(values[0])}
        return
    queue.pressed += 1
    order.inputs = {f"{own}.{kind}[{i}]": float(x) for i, x in enumerate(values)}
    order.inputs[f"{own}.asked"] = float(queue.pressed)


def _set(order: Order) -> None:
    """Change a gain, to one that the cell's file could have too."""
    from linkwright.server.cell import largest_gain

    arm, name, (value,) = order.arm, order.command.name, order.values
    key, _, number = name.partition(".")
    high, zero = largest_gain(arm.law.kind, key, order.rate), key not in ("kp", "kd")
    if not 0 <= value <= high or (value == 0 and not zero):
        low = "at least 0" if zero else "above 0"
        raise RefusedError(
            "range",
            f"{name} of {arm.name!r} is {low} and at most {high:.6g}, not {value:.6g}",
            remedy="give another gain; this one has not changed",
        )
    block = "force" if key == "gain" else "control"
    order.inputs[f"{arm.name}_{block}.{key}[{int(number) - 1}]"] = float(value)
    parameters = {**order.face.parameters, name: float(value)}  # for clients that come later
    order.face = replace(order.face, parameters=parameters)


def _mode(order: Order) -> None:
    """Change the mode of an axis, which has to be at rest."""
    from linkwright.server.axis_blocks import MODES

    arm, name, (value,) = order.arm, order.command.name, order.values
    if arm.law.kind != "axes":
        raise RefusedError(
            "kind",
            f"{arm.name!r} has no axis controller, and its axes have no modes",
            remedy='give its [[arm]] table control = {kind = "axes", ...}',
        )
    if value not in [mode.value for mode in MODES]:
        listed = ", ".join(f"{mode.value} ({mode.name})" for mode in MODES)
        raise RefusedError(
            "values",
            f"an axis of a cell takes no mode {value:g}",
            remedy=f"there are {listed}; to switch it off, disable the arm",
        )
    if order.life == "active":
        raise RefusedError(
            "life", f"{arm.name!r} is active, and modes change at rest", remedy="disable it first"
        )
    order.inputs[f"{arm.name}_control.mode[{order.face.axes.index(name)}]"] = float(value)
    order.queue.modes[name] = float(value)


def _excite(order: Order) -> None:
    """Give a probe its words, in ticks and with the place of the axis."""
    from linkwright.server.probe import check_excitation

    check_excitation(order.arm, order.command, order.stands)
    kind, size, w, seconds, width = order.values
    axis = order.face.axes.index(order.command.name)
    order.values = kind, size, w, float(round(seconds * order.rate)), width, float(axis)


def _knot(order: Order) -> None:
    order.queue.knots = [*order.knots, order.values][-POINTS:]


def _trajectory(order: Order) -> None:
    """Plan the motion through the last knots; reject one that cannot begin now."""
    from linkwright.server.timed import inputs_of, planned

    count, knots, state, name = int(order.values[0]), order.knots, order.state, order.arm.name
    if not 2 <= count <= len(knots):
        raise RefusedError(
            "values", f"a trajectory has 2 to {POINTS} points, not {count} of {len(knots)}"
        )
    waits = order.queue.head > state["tail"] or state["goals"] > state["over"]
    if waits or state["moves"] or state["braking"]:
        raise RefusedError(
            "moving",
            f"{name!r} moves, and a trajectory begins where it stands",
            remedy="wait() for the motion before",
        )
    here = [state[f"target{i}"] for i in range(len(order.arm.axes))]
    motion = planned(order.arm, knots[-count:], here)
    order.values = tuple(map(float, motion.end))
    order.inputs |= inputs_of(order.arm, motion)


_JOINTS = VerbNumbers("where the joints are to be", "rad|m", are="positions")
_RATES = VerbNumbers("how fast they are to go", "rad/s|m/s", are="speeds")

VERBS: dict[str, Verb] = {
    verb.name: verb
    for verb in (
        Verb("enable", "switch it on", leads="active", becomes=_enable),
        Verb("disable", "switch it off", leads="inactive"),
        Verb("clear", "clear a fault", leads="inactive"),
        Verb("stop", "brake along the path, and hold", waits=False, becomes=_stop),
        Verb("joints", "move to coordinates", (_JOINTS,), moves="leg", goal="joints"),
        Verb(
            "pose",
            "move the tool straight to a pose",
            (VerbNumbers("position", "m", 3), VerbNumbers("unit quaternion w, x, y, z", "1", 4)),
            moves="leg",
            goal="pose",
            becomes=_pose,
        ),
        Verb("track", "go for coordinates now", (_JOINTS,), moves="target", goal="joints"),
        Verb("jog", "move with speeds", (_RATES,), moves="target", modes=("POS", "VEL")),
        Verb("home", "go to where it started", moves="leg", goal="joints", becomes=_home),
        Verb(
            "trajectory",
            "go through the knots that came before",
            (VerbNumbers("how many they are", "1", 1),),
            moves="times",
            goal="joints",
            becomes=_trajectory,
        ),
        Verb("set", "change a gain", (VerbNumbers("it", "?", 1),), of="parameter", becomes=_set),
        Verb(
            "mode",
            "change the mode of an axis",
            (VerbNumbers("number of an `AxisMode`", "1", 1),),
            of="axis",
            becomes=_mode,
        ),
        Verb(
            "excite",
            "make an experiment on an axis",
            (
                VerbNumbers("place in EXCITATIONS", "1", 1),
                VerbNumbers("amplitude", "rad|m", 1),
                VerbNumbers("of a sine", "rad/s", 1),
                VerbNumbers("how long", "s", 1),
                VerbNumbers("hysteresis of a relay", "rad|m", 1),
            ),
            of="axis",
            moves="probe",
            becomes=_excite,
        ),
        Verb(
            "knot",
            "a point of the trajectory that is to come",
            (VerbNumbers("when", "s", 1, are="time"), _JOINTS, replace(_RATES, optional=True)),
            waits=False,
            becomes=_knot,
        ),
        Verb(
            "press",
            "press with a force along axes of the base; where it is zero the tool does not",
            (VerbNumbers("force", "N", 3, least=-1e4, most=1e4),),
            becomes=_force,
        ),
        Verb(
            "comply",
            "give way along axes of the base",
            (VerbNumbers("1 along axes that give way, 0 along others", "1", 3, least=0, most=1),),
            becomes=_force,
        ),
        Verb(
            "guard",
            "stop where the force on the tool exceeds one; 0 for none",
            (VerbNumbers("force", "N", 1, least=0, most=1e4),),
            becomes=_force,
        ),
    )
}
"""What can be asked of an arm, by name; a new verb comes last."""


def number_of(kind: str) -> int:
    """Return the number that stands for a verb."""
    return list(VERBS).index(kind)


def motions() -> list[str]:
    """Return the verbs that move an arm, but for experiments."""
    return [verb.name for verb in VERBS.values() if verb.moves not in ("", "probe")]


def check_command(arm: ArmFace, command: Command, now: int) -> None:
    """Reject a command that an arm cannot take, whatever it is doing, by name.

    >>> arm = ArmFace("slide", ("x",), ("m",), ((0.0, 1.0),), ("slide.1",))
    >>> check_command(arm, Command("joints", 1, (1.5,)), 0)
    Traceback (most recent call last):
    linkwright.server.face.RefusedError: x of 'slide' goes from 0 to 1 m, not to 1.5
    """
    kind, values, n = command.kind, command.values, len(arm.joints)
    check_name("kind", "command", kind, VERBS)
    verb = VERBS[kind]
    if command.expires and now > command.expires:
        late = (now - command.expires) / 1e6
        raise RefusedError("expired", f"{kind!r} came {late:.3g} ms after it expired")
    if not all(map(math.isfinite, (*values, command.speed, command.blend))):
        raise RefusedError(
            "non-finite", f"{kind!r} of {arm.name!r} has a number that is not finite"
        )
    least, most = verb.sizes(n)
    size = most if len(values) > least else least
    if len(values) != size:
        raise RefusedError("values", f"{kind!r} of {arm.name!r} takes {size} numbers")
    if not 0 < command.speed <= 1:
        raise RefusedError("speed", f"a speed of {command.speed} is not above 0 and at most 1")
    if not 0 <= command.blend < 60:
        raise RefusedError("blend", f"a blend of {command.blend} s is not from 0 to 60")
    check_name("frame", "frame", command.frame, arm.frames)
    when, rest = "", list(values)
    for numbers in verb.numbers:
        count = n if numbers.count == EACH else numbers.count
        given, rest = rest[:count], rest[count:]
        low, high = numbers.least, numbers.most
        unit = "" if numbers.unit == "1" else f" {numbers.unit}"
        for x in given:
            if not low <= x <= high:
                raise RefusedError(
                    "range",
                    f"{numbers.what} of {kind!r} goes from {low:g} to {high:g}{unit}, "
                    f"not to {x:.6g}",
                )
        if numbers.are == "time":
            when = f" at {given[0]:g} s"
        _check_joints(arm, numbers.are, given, when)
    if verb.goal == "pose" and abs(math.hypot(*values[3:]) - 1) > 1e-6:
        raise RefusedError("values", "the quaternion of the pose does not have length 1")
    if verb.of == "parameter":
        check_name("name", f"parameter of {arm.name!r}", command.name, arm.parameters)
    if verb.of == "axis":
        check_name("name", f"axis of {arm.name!r}", command.name, arm.axes)


def check_goal(order: Order, goal: str) -> None:
    """Reject a leg whose goal, as its verb made it, is one that the arm cannot have."""
    arm, kind, values = order.face, order.command.kind, order.values
    size = 7 if goal == "pose" else len(arm.joints)
    if len(values) != size or not all(map(math.isfinite, values)):
        raise RefusedError("values", f"{kind!r} of {arm.name!r} has no goal of {size} numbers")
    _check_joints(arm, "" if goal == "pose" else "positions", list(values), "")


def _check_joints(arm: ArmFace, are: str, values: list[float], when: str) -> None:
    """Reject positions or speeds that a joint cannot have."""
    joints = zip(arm.joints, arm.units, values, strict=False)
    if are == "positions":
        for (name, unit, x), (low, high) in zip(joints, arm.limits, strict=False):
            if not low <= x <= high:
                raise RefusedError(
                    "range",
                    f"{name} of {arm.name!r} goes from {low:.6g} to {high:.6g} {unit}, "
                    f"not to {x:.6g}{when}",
                )
    if are == "speeds":
        for (name, unit, x), most in zip(joints, arm.speeds, strict=False):
            if abs(x) > most * (1 + 1e-9):
                raise RefusedError(
                    "speed",
                    f"{name} of {arm.name!r} goes with {most:.6g} {unit}/s at most, "
                    f"not {x:.6g}{when}",
                )


def check_name(reason: str, what: str, name: str, names: Iterable[str]) -> None:
    """Reject a name that is not among those that there are; say what may have been meant."""
    table = tuple(names)
    if name not in table:
        known = f"there are {', '.join(table)}" if table else "there is none"
        raise RefusedError(
            reason,
            f"no {what} is called {name!r}",
            remedy=suggestion(name, table, known),
        )
