"""The robot of a laboratory as a mechanism, and as the member `robot` of its System.

Gravity and the loads of end-effectors stay parameters, so that they can be changed during a run. A
base that floats can be held: then it weighs so much that nothing moves it, and is carried, which is
a robot with a fixed base to the last digits (`HELD`).

Accelerations are what a sensor could know: the change of the speeds since the tick before. With
Euler's method and one step in a tick they are those of that step, exactly.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from itertools import product

from linkwright.algebra import Expr, constant
from linkwright.base.errors import InputError
from linkwright.blocks import Block, Element
from linkwright.equations.tree import Tree, tree_of
from linkwright.formats.robot.description import Description, Place
from linkwright.formats.robot.from_mechanism import link_name
from linkwright.formats.robot.to_mechanism import Assembled, Places, as_assembled, assembled
from linkwright.formats.robot.transforms import (
    composed,
    euler_rotation,
    plus,
    rotate,
    rotation_quaternion,
)
from linkwright.formats.sl.configuration import SceneObject
from linkwright.lab.config import MEMBERS, SERVOS, EndEffector, LabConfig
from linkwright.lab.rules import of_joints_alone
from linkwright.mechanism import Body, Free, Mechanism, Point, Weld
from linkwright.mechanism.structure import extensible

HELD = 1e15
"""kg and kg*m^2 that a base that is held is given: a force of 1 kN moves it by 0.5 nm in a
quarter of an hour."""

AXES = "xyz"
GRAVITY = tuple(f"gravity_{c}" for c in AXES)
"""Parameters of the world's gravity vector, m/s^2."""

HOLD = "base_held"
"""Parameter that is 0 where a base floats, `HELD` where it is held."""


def load_names(end_effector: str) -> tuple[str, str, str, str]:
    """Return the parameters of what an end-effector carries: mass, and its center in the link.

    >>> load_names("R_HAND")
    ('R_HAND_mass', 'R_HAND_center_x', 'R_HAND_center_y', 'R_HAND_center_z')
    """
    x, y, z = (f"{end_effector}_center_{c}" for c in AXES)
    return f"{end_effector}_mass", x, y, z


def place_of(end_effector: EndEffector) -> Place:
    """Return where an end-effector is in its link."""
    return Place(end_effector.x, euler_rotation(end_effector.a))


@dataclass(frozen=True, slots=True, eq=False)
class LabMechanism:
    """A robot with what can be changed about it."""

    assembled: Assembled  # its mechanism and the places of its links and frames
    joints: tuple[Expr, ...]  # coordinates of the joints, in the laboratory's order
    speeds: tuple[Expr, ...]  # their speeds
    base: tuple[Expr, ...] = ()  # coordinates of a base that floats, or nothing
    base_speeds: tuple[Expr, ...] = ()  # along the base's own axes: velocity, then angular velocity
    # values of parameters that it has of its own
    numbers: Mapping[Expr, float] = field(default_factory=dict)
    # parameters of masses, centers and inertias, where they are not numbers of the equations
    inertial: tuple[str, ...] = ()
    # of objects that move, by name: what touches other objects
    corners: Mapping[str, tuple[Point, ...]] = field(default_factory=dict)
    objects: tuple[Expr, ...] = ()  # coordinates of these, place and quaternion

    @property
    def mechanism(self) -> Mechanism:
        """What moves."""
        return self.assembled.mechanism

    @property
    def tree(self) -> Tree:
        """What controllers compute with."""
        return tree_of(of_joints_alone(self.mechanism), self.numbers)

    def with_followers(self, places: Mapping[Expr, Expr]) -> dict[Expr, Expr]:
        """Return coordinates with those of joints that follow others.

        Args:
            places: what the other coordinates are.
        """
        found, waiting = dict(places), [x for x in self.assembled.joints if x.follows is not None]
        while waiting:
            joint = waiting.pop(0)
            assert joint.follows is not None
            leader, factor, offset = joint.follows
            if leader in found:
                found[joint.coordinates[0]] = factor * found[leader] + offset
            else:
                waiting.append(joint)
        return found

    def place(self, frame: str) -> tuple[Body, Place]:
        """Return the body of a link or frame, and where in it that is."""
        places = self.assembled.places
        if frame not in places:
            raise InputError(
                f"{self.mechanism.name!r} has no link or frame {frame!r}",
                remedy=f"there are {', '.join(places)}",
            )
        return places[frame]

    def point(self, frame: str) -> Point:
        """Return the origin of a link or frame as a point of the mechanism."""
        body, place = self.place(frame)
        return self.mechanism.point_of(body, tuple(map(constant, place.position)), frame)

    def load_values(self, end_effector: EndEffector) -> dict[str, float]:
        """Return the values of the parameters of what an end-effector carries.

        Args:
            end_effector: with its load.
        """
        mass = end_effector.mass
        inner = [x / mass if mass else 0.0 for x in end_effector.mass_center]
        _, at = self.place(end_effector.link)
        whole = composed(at, place_of(end_effector))
        center = plus(whole.position, rotate(whole.rotation, inner))
        return dict(zip(load_names(end_effector.name), (mass, *center), strict=True))


def member_names(config: LabConfig) -> tuple[str, ...]:
    """Return the names that members of a laboratory's System have, so that no body has them."""
    own = [name for name in config.ratios if name not in SERVOS]
    lives = [f"{name}_{part}" for name in own for part in ("life", "pulse")]
    seen = [f"{effector.name}_seen" for effector in config.end_effectors]
    things = [*(x.name for x in config.muscles), *(x.name for x in config.objects)]
    things += [object_body(x) for x in moving(config)]
    return (*MEMBERS, *own, *lives, *seen, *things)


def _copied(mechanism: Mechanism) -> Mechanism:
    """Return a mechanism to be extended, whose links are called as in robot files."""
    made = extensible(mechanism)
    for body in mechanism.bodies.values():
        name = link_name(body)
        if name not in (body.name, *made.points):
            made.frames.setdefault(name, body.origin)
    return made


def moving(config: LabConfig) -> tuple[SceneObject, ...]:
    """Return the objects that move."""
    return tuple(thing for thing in config.objects if thing.mass)


def object_body(thing: SceneObject) -> str:
    """Return the name of the body of an object that moves.

    >>> object_body(
    ...     SceneObject("box", "cube", (), (0, 0, 0), (0, 0, 0), (1, 1, 1), 1, mass=2.0)
    ... )
    'box_body'
    """
    return f"{thing.name}_body"


def _add_objects(config: LabConfig, m: Mechanism) -> None:
    """Add the objects that move: each a free body of even density."""
    for thing in moving(config):
        a, b, c = (x * x for x in thing.scale)
        part = thing.mass / (12 if thing.kind == "cube" else 20)
        body = m.body(
            object_body(thing),
            joint=Free(quaternion=True),
            mass=thing.mass,
            inertia=(part * (b + c), part * (a + c), part * (a + b)),
        )
        turn = rotation_quaternion(euler_rotation(thing.rotation))
        names = [q.name for q in body.coordinates]
        m.initial.update(zip(names, (*thing.position, *turn), strict=True))


def without_objects(config: LabConfig, robot: LabMechanism) -> LabMechanism:
    """Return the robot of a laboratory without objects that move."""
    if not moving(config):
        return robot
    return lab_mechanism(replace(config, objects=()))


def _corners(config: LabConfig, m: Mechanism) -> dict[str, tuple[Point, ...]]:
    """Return the corners of cubes that move."""
    found = {}
    for thing in moving(config):
        if thing.kind == "cube":
            body, halves = m.bodies[object_body(thing)], [(-x / 2, x / 2) for x in thing.scale]
            found[thing.name] = tuple(
                m.point_of(body, tuple(map(constant, at)), f"{thing.name}_corner_{k}")
                for k, at in enumerate(product(*halves), 1)
            )
    return found


def with_ends(config: LabConfig, mechanism: Mechanism) -> Mechanism:
    """Return a mechanism with the end-effectors of a laboratory as frames."""
    made = _copied(of_joints_alone(mechanism))
    places = as_assembled(made).places
    for end in config.end_effectors:
        if end.link in places and end.name not in places:
            body, at = places[end.link]
            place = composed(at, place_of(end))
            made.point(end.name, body, place.position, matrix=place.rotation)
    return made


def _whole(config: LabConfig, mechanism: Mechanism, believed: bool) -> Assembled:
    """Return the mechanism of a laboratory with what its end-effectors carry."""
    taken = {*GRAVITY, HOLD, *(n for e in config.end_effectors for n in load_names(e.name))}
    for name in (*mechanism.parameters, *mechanism.inputs, *mechanism.coordinates):
        if name in taken:
            raise InputError(
                f"{mechanism.name!r} has something called {name!r}, as a laboratory has",
                remedy="give it another name in the model",
            )
    made = as_assembled(_copied(mechanism.with_parts(ranges=())))  # no joint has stops there
    for effector in config.end_effectors:
        _add_load(made.mechanism, made.places, effector)
    if not believed:
        _add_objects(config, made.mechanism)
    joints = (replace(x, name=x.coordinates[0].name) for x in made.joints)
    return replace(made, joints=tuple(joints))


def lab_mechanism(config: LabConfig, *, believed: bool = False) -> LabMechanism:
    """Return the robot of a laboratory, or the one that controllers believe it to be, with gravity
    and loads as parameters.

    A mechanism is taken as it is, with its parameters and all that acts in it; of a description,
    and where a base is made to float, one is made. Masses, centers and inertias of the latter are
    parameters where it is what controllers believe in, so that they can change during a run.

    >>> from linkwright.lab.sources import lab_config
    >>> found = lab_mechanism(lab_config("sl-arm"))
    >>> [x.name for x in found.joints][:2], sorted(found.mechanism.parameters)[:1]
    (['R_SFE', 'R_SAA'], ['R_HAND_center_x'])
    """
    floats = config.base == "floating"
    given, own = config.description, config.mechanism
    if believed and config.model is not None:
        given, own = config.model, config.believed
    free = any(joint.kind == "free" for joint in given.joints)
    base = "fixed" if not floats else "file" if free else "free"

    inertial: tuple[str, ...] = ()

    def extend(m: Mechanism, places: Places) -> None:
        nonlocal inertial
        inertial = tuple(m.parameters)
        for effector in config.end_effectors:
            _add_load(m, places, effector)
        if not believed:
            _add_objects(config, m)
        if floats:
            anchor = m.parameter(HOLD, 0.0, unit="kg")
            body = places[given.root if base == "free" else _child_of_root(given)][0]
            m.body("held_base", parent=body, joint=Weld(), mass=anchor, inertia=anchor)

    if own is not None and not floats:
        made = _whole(config, own, believed)
        numbers = {x: own.values[name] for name, x in own.parameters.items()}
    else:
        numbers = {}
        reserved = member_names(config)
        made = assembled(
            given,
            base=base,
            limits=False,
            symbolic=believed and _free_of_clashes(given),
            extend=extend,
            reserved=reserved,
        )
    m = made.mechanism
    if not believed and moving(config):  # which are pushed by name
        own_places = {x.name: (m.bodies[object_body(x)], Place()) for x in moving(config)}
        made = replace(made, places={**own_places, **made.places})
    root = next((joint for joint in made.joints if len(joint.coordinates) == 7), None)
    by_name = {joint.name: joint for joint in made.joints}
    wanted = []
    for name in config.names:
        joint = by_name.get(name)
        if joint is None or len(joint.coordinates) != 1:
            raise InputError(
                f"the robot {given.name!r} has no joint {name!r} with one coordinate",
                remedy=f"it has {', '.join(by_name)}",
            )
        wanted.append(joint.coordinates[0])
    vector = [m.parameter(n, x, unit="m/s^2") for n, x in zip(GRAVITY, config.gravity, strict=True)]
    m.gravity(along=m.ground.frame.vector(*vector), g=1)
    if floats:
        anchor = m.parameters[HOLD]
        for c, axis, g in zip(AXES, m.ground.frame.axes, vector, strict=True):
            m.force(f"carried_{c}", -anchor * g, at=m.bodies["held_base"].origin, along=axis)
    kinematics = m.kinematics()
    speed_of = {
        body: [s.symbol for s in kinematics.motions[body].speeds] for body in m.bodies.values()
    }
    joints = tuple(wanted)
    owner = {q: body for body in m.bodies.values() for q in body.coordinates}
    speeds = tuple(speed_of[owner[q]][owner[q].coordinates.index(q)] for q in joints)
    found = LabMechanism(
        made,
        joints,
        speeds,
        () if root is None else root.coordinates,
        () if root is None else tuple(speed_of[root.body]),
        numbers,
        inertial,
        {} if believed else _corners(config, m),
        ()
        if believed
        else tuple(q for x in moving(config) for q in m.bodies[object_body(x)].coordinates),
    )
    for effector in config.end_effectors:
        m.defaults(dict(found.load_values(effector)))
    m.initial.update({q.name: j.default for q, j in zip(joints, config.joints, strict=True)})
    return found


def _free_of_clashes(description: Description) -> bool:
    """Return whether parameters of links can be called after these."""
    endings = ("m", "cx", "cy", "cz", "Ixx", "Iyy", "Izz", "Ixy", "Iyz", "Izx")
    words = {f"{link.name}_{ending}" for link in description.links for ending in endings}
    words |= {f"{joint.name}_{ending}" for joint in description.joints for ending in endings}
    parts = (description.links, description.joints, description.frames)
    return words.isdisjoint(x.name for part in parts for x in part)


def _add_load(m: Mechanism, places: Places, effector: EndEffector) -> None:
    """Add what an end-effector carries: a mass in a point, whose numbers are parameters."""
    if effector.link not in places:
        raise InputError(
            f"the end-effector {effector.name!r} is on {effector.link!r}, which is not a link",
            remedy=f"there are {', '.join(places)}",
        )
    mass, *center = load_names(effector.name)
    m.body(
        f"{effector.name}_load",
        parent=places[effector.link][0],
        joint=Weld(),
        mass=m.parameter(mass, 0.0, unit="kg"),
        com=[m.parameter(name, 0.0, unit="m") for name in center],
        inertia=0,
    )


def _child_of_root(description: Description) -> str:
    return next(joint.child for joint in description.joints if joint.kind == "free")


class ObjectPlaces(Block):
    """Where objects that move are, for each x, y, z in m and a quaternion, at ticks."""

    def __init__(self, count: int, name: str = "objects") -> None:
        super().__init__(name, doc="places of objects")
        places = self.input_vector("places", 7 * count, doc="of each")
        self.output_vector("x", list(places), doc="of each")


class RobotDrive(Element):
    """The simulated robot: torques in its joints, and what happens.

    Inputs: `u` (torques in the joints) and `push` (more of them, from outside). Outputs: `q`, `v`
    (positions and speeds of joints) and, for a base that floats, `base` and `base_rate`.
    """

    def __init__(self, robot: LabMechanism, name: str = "robot") -> None:
        super().__init__(name, robot.mechanism, doc="the robot")
        n = len(robot.joints)
        u = self.input_vector("u", n, doc="torques in the joints")
        push = self.input_vector("push", n, doc="torques from outside")
        self.efforts("tau", robot.joints, [x + y for x, y in zip(u, push, strict=True)])
        self.output_vector("q", list(robot.joints), doc="positions of the joints")
        self.output_vector("v", list(robot.speeds), doc="speeds of the joints")
        if robot.objects:
            self.output_vector("objects", list(robot.objects), doc="places and quaternions")
        if robot.base:
            self.output_vector("base", list(robot.base), doc="position and quaternion of the base")
            self.output_vector("base_rate", list(robot.base_speeds), doc="of the base, its axes")
