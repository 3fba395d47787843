"""Random trees of bodies as plain numbers, and what Linkwright, Pinocchio and MuJoCo make of them.

A `Sample` holds no symbol: each body has a place, a pose at zero, and a list of elementary motions
(slide, turn, screw, quaternion) in the order in which they are applied. The three programs are fed
from it separately, so that an error in one reading of a joint cannot hide in all.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from linkwright.equations import Equations
from linkwright.mechanism import (
    Ball,
    Body,
    Cylindrical,
    Free,
    Joint,
    Mechanism,
    Planar,
    Prismatic,
    Revolute,
    Screw,
    Universal,
    Weld,
)
from linkwright.program import lower
from linkwright.program.interpret import interpret
from tests.oracles.mechanism import evaluate_numerically

Array = NDArray[np.float64]
KINDS = (
    "revolute",
    "minus",
    "opposite",
    "flipped",
    "inclined",
    "referred",
    "prismatic",
    "screw",
    "cylindrical",
    "universal",
    "ball",
    "precession",
    "quaternion",
    "planar",
    "free",
    "free quaternion",
    "weld",
    "slides",
)
_INCLINED = ((1, 2, 2), (2, -1, 2), (0, 3, 4), (2, 3, 6), (-1, 4, 8))


@dataclass(frozen=True, slots=True)
class Motion:
    """One elementary motion (slide, turn, screw, quaternion) along an axis of its frame."""

    kind: str
    axis: tuple[float, float, float] = (0.0, 0.0, 0.0)
    lead: float = 0.0


@dataclass(frozen=True, slots=True)
class Link:
    """A body: its joint, its place in the parent (-1 is the ground), its inertia."""

    name: str
    parent: int
    kind: str
    joint: Joint
    pose: Array
    motions: tuple[Motion, ...]
    at: Array
    mass: float
    center: Array
    tensor: Array


@dataclass(frozen=True, slots=True)
class Push:
    """A constant force in the ground's axes at a place of a body, and a couple."""

    link: int
    at: Array
    force: Array
    couple: Array


@dataclass(frozen=True, slots=True)
class Sample:
    """A tree with its state; `coordinates` and `speeds` are by name, as Linkwright names them."""

    links: tuple[Link, ...]
    gravity: Array
    pushes: tuple[Push, ...] = ()
    coordinates: dict[str, float] = field(default_factory=dict)
    speeds: dict[str, float] = field(default_factory=dict)


def unit(axis: Sequence[float]) -> tuple[float, float, float]:
    """Return the axis with length one."""
    a = np.array(axis, float)
    x, y, z = a / np.linalg.norm(a)
    return x, y, z


_LETTERS = {"x": (1.0, 0.0, 0.0), "y": (0.0, 1.0, 0.0), "z": (0.0, 0.0, 1.0)}


def random_joint(kind: str, rng: np.random.Generator) -> tuple[Joint, Array, tuple[Motion, ...]]:
    """Return a joint as Linkwright, and as pose at zero with elementary motions."""
    pose = np.eye(3)
    letter = "xyz"[rng.integers(3)]
    axis = _LETTERS[letter]
    slanted = _INCLINED[rng.integers(len(_INCLINED))]
    back = (-axis[0], -axis[1], -axis[2])
    turn, slide = Motion("turn", axis), Motion("slide", axis)
    order = "".join(rng.permutation(list("xyz")))
    turns = tuple(Motion("turn", _LETTERS[c]) for c in order)
    slides = tuple(Motion("slide", _LETTERS[c]) for c in "xyz")
    if kind == "revolute":
        return Revolute(letter), pose, (turn,)
    if kind == "minus":
        return Revolute(f"-{letter}"), pose, (Motion("turn", back),)
    if kind == "opposite":
        return Revolute(back), pose, (Motion("turn", back),)
    if kind == "flipped":
        k = "xyz".index(letter)
        flip = np.full(3, -1.0)
        flip[(k + 1) % 3] = 1.0
        return Revolute(f"-{letter}", body_axis=letter), np.diag(flip), (turn,)
    if kind == "inclined":
        return Revolute(slanted), pose, (Motion("turn", unit(slanted)),)
    if kind == "referred":
        k = int(rng.integers(3))
        along, aside = np.array(unit(slanted)), np.array(_LETTERS[letter])
        across = np.cross(along, aside)
        columns = {k: along, (k + 2) % 3: across / np.linalg.norm(across)}
        columns[(k + 1) % 3] = np.cross(columns[(k + 2) % 3], along)
        pose = np.array([columns[i] for i in range(3)]).T
        joint = Revolute(slanted, body_axis="xyz"[k], reference=letter)
        return joint, pose, (Motion("turn", _LETTERS["xyz"[k]]),)
    if kind == "prismatic":
        return Prismatic(slanted), pose, (Motion("slide", unit(slanted)),)
    if kind == "screw":
        pitch = float(rng.uniform(0.3, 2))
        return Screw(letter, pitch), pose, (Motion("screw", axis, pitch / (2 * np.pi)),)
    if kind == "cylindrical":
        return Cylindrical(letter), pose, (slide, turn)
    if kind == "universal":
        other = "xyz"[("xyz".index(letter) + 1) % 3]
        return Universal(letter, other), pose, (turn, Motion("turn", _LETTERS[other]))
    if kind == "ball":
        return Ball(order), pose, turns
    if kind == "precession":
        twice = order[:2] + order[0]
        return Ball(twice), pose, tuple(Motion("turn", _LETTERS[c]) for c in twice)
    if kind == "quaternion":
        return Ball(quaternion=True), pose, (Motion("quaternion"),)
    if kind == "planar":
        others = {"x": "yz", "y": "zx", "z": "xy"}[letter]
        return Planar(letter), pose, (*(Motion("slide", _LETTERS[c]) for c in others), turn)
    if kind == "free":
        return Free(order), pose, (*slides, *turns)
    if kind == "free quaternion":
        return Free(quaternion=True), pose, (*slides, Motion("quaternion"))
    if kind == "slides":
        pair = tuple(c for c in "xyz" if c != letter)
        slanted = (2, 3, 6)
        joint = Joint(translate=(*pair, slanted), rotate=(letter,))
        made = [Motion("slide", _LETTERS[c]) for c in pair]
        return joint, pose, (*made, Motion("slide", unit(slanted)), turn)
    return Weld(), pose, ()


def random_sample(
    seed: int, size: int = 5, kinds: Sequence[str] = KINDS, *, pushed: bool = True
) -> Sample:
    """Return a tree of some bodies; the same seed gives the same one."""
    rng = np.random.default_rng(seed)
    links = []
    for k in range(size):
        kind = kinds[int(rng.integers(len(kinds)))]
        parent = int(rng.integers(-1, k)) if rng.random() < 0.4 else k - 1
        joint, pose, motions = random_joint(kind, rng)
        root = rng.normal(size=(3, 3))
        spread = root @ root.T
        spread = spread + 1e-3 * np.eye(3)  # no plate that rounding makes impossible
        tensor = np.trace(spread) * np.eye(3) - spread
        name = f"b{k}"
        links.append(
            Link(
                name,
                parent,
                kind,
                joint,
                pose,
                motions,
                rng.uniform(-1, 1, 3).round(3),
                float(rng.uniform(0.5, 2)),
                rng.uniform(-0.5, 0.5, 3).round(3),
                (tensor * rng.uniform(0.02, 0.1)).round(6),
            )
        )
    pushes = []
    if pushed:
        for _ in range(2):
            which = int(rng.integers(size))
            at, force, couple = rng.normal(size=(3, 3)).round(3)
            pushes.append(Push(which, at, force, couple))
    sample = Sample(tuple(links), rng.uniform(-10, 10, 3).round(2), tuple(pushes))
    return with_state(sample, rng)


def with_state(sample: Sample, rng: np.random.Generator) -> Sample:
    """Return the sample at a random state."""
    m = mechanism_of(sample)
    coordinates = {name: float(rng.uniform(-1.2, 1.2)) for name in m.coordinates}
    for body in m.bodies.values():
        if body.joint.quaternion:
            e = rng.normal(size=4)
            e /= np.linalg.norm(e)
            coordinates.update(zip((q.name for q in body.rotations), map(float, e), strict=True))
        elif len(body.rotations) == 3:
            coordinates[body.rotations[1].name] = float(rng.uniform(0.4, 1.1))
    speeds = {s.symbol.name: float(rng.uniform(-1, 1)) for s in m.kinematics().speeds}
    return Sample(sample.links, sample.gravity, sample.pushes, coordinates, speeds)


# -- Linkwright ------------------------------------------------------------------------------------
def mechanism_of(sample: Sample, name: str = "sample") -> Mechanism:
    """Return the sample as Linkwright's mechanism, its numbers as parameters."""
    m = Mechanism(name)
    values: dict[str, float] = {}
    bodies: list[Body] = []

    def triple(stem: str, numbers: Array) -> list[str]:
        names = [f"{stem}{c}" for c in "xyz"]
        values.update(zip(names, map(float, numbers), strict=True))
        return names

    for link in sample.links:
        bodies.append(
            m.body(
                link.name,
                parent=None if link.parent < 0 else bodies[link.parent],
                joint=link.joint,
                at=triple(f"{link.name}_a", link.at),
                com=triple(f"{link.name}_c", link.center),
            )
        )
        t = link.tensor
        entries = (t[0, 0], t[1, 1], t[2, 2], t[0, 1], t[1, 2], t[0, 2])
        keys = (f"{link.name}_I{k}" for k in ("xx", "yy", "zz", "xy", "yz", "zx"))
        values.update(zip(keys, map(float, entries), strict=True))
        values[f"{link.name}_m"] = link.mass
    m.gravity(along=m.ground.vector(*(m.expr(g) for g in triple("g", sample.gravity))), g=1)
    for k, push in enumerate(sample.pushes):
        body = bodies[push.link]
        point = m.point(f"p{k}", body, triple(f"p{k}_", push.at))
        for force, couple, axis in zip(
            triple(f"f{k}", push.force), triple(f"t{k}", push.couple), "xyz", strict=True
        ):
            m.force(f"{force}_", force, at=point, along=axis)
            m.moment(f"{couple}_", couple, on=body, about=axis)
    m.defaults({k: v for k, v in values.items() if k in m.parameters})
    return m


def solved(
    equations: Equations, coordinates: Mapping[str, float], speeds: Mapping[str, float], **more: Any
) -> dict[str, Array]:
    """Return q', u' and more results of the equations at a state."""
    m = equations.mechanism
    program = (
        equations.program(outputs=bool(m.outputs))
        if not more
        else equations.assemble("sample", more["results"], {}, more["roots"])
    )
    given = {**m.values, **coordinates, **speeds, "t": 0.0}
    inputs = [np.array([given[x.name] for x in port.entries]) for port in program.inputs]
    found = interpret(lower(program), inputs)
    return {port.name: np.asarray(x) for port, x in zip(program.outputs, found, strict=True)}


def angular_rates(sample: Sample, link: Link) -> Array:
    """Return the relative angular velocity of a quaternion joint in the body's axes."""
    return np.array([sample.speeds[f"{link.name}.{c}"] for c in "pqr"])


def coordinates_of(sample: Sample, link: Link) -> list[str]:
    """Return the names of a link's coordinates, in the order of its motions."""
    body = mechanism_of(Sample(sample.links, sample.gravity)).bodies[link.name]
    if link.kind == "universal":
        assert body.parent is not None
        return [q.name for q in (*body.parent.coordinates, *body.coordinates)]
    return [q.name for q in body.coordinates]


# -- Pinocchio -------------------------------------------------------------------------------------
@dataclass(frozen=True, slots=True)
class Peer:
    """A sample in Pinocchio: its model, state, loads, and the joint that carries each body."""

    model: Any
    q: Array
    v: Array
    loads: Any
    carriers: tuple[int, ...]
    poses: tuple[Any, ...]


def pinocchio_of(sample: Sample, rates: Mapping[str, float]) -> Peer:
    """Return the sample as Pinocchio sees it; `rates` are those of the coordinates."""
    import pinocchio as pin

    model = pin.Model()
    model.gravity.linear = sample.gravity
    q: list[float] = []
    v: list[float] = []
    carriers: dict[int, int] = {}
    poses: dict[int, Any] = {}
    for number in depth_first(sample):
        link = sample.links[number]
        base = 0 if link.parent < 0 else carriers[link.parent]
        above = pin.SE3.Identity() if link.parent < 0 else poses[link.parent]
        place = above * pin.SE3(link.pose, link.at)
        names = coordinates_of(sample, link)
        for k, motion in enumerate(link.motions):
            base = model.addJoint(base, _pin_joint(pin, motion), place, f"{link.name}_{k}")
            place = pin.SE3.Identity()
            if motion.kind == "quaternion":
                e0, e1, e2, e3 = (sample.coordinates[n] for n in names[k:])
                q.extend((e1, e2, e3, e0))
                v.extend(angular_rates(sample, link))
            else:
                q.append(sample.coordinates[names[k]])
                v.append(rates[names[k]])
        carriers[number], poses[number] = base, place
        inertia = pin.Inertia(link.mass, link.center, link.tensor)
        model.appendBodyToJoint(base, inertia, place)
    data = model.createData()
    where, speed = np.array(q), np.array(v)
    pin.forwardKinematics(model, data, where)
    loads = [pin.Force.Zero() for _ in range(model.njoints)]
    for push in sample.pushes:
        joint = carriers[push.link]
        turned = data.oMi[joint].rotation.T
        force = turned @ push.force
        at = poses[push.link].act(push.at)
        loads[joint] += pin.Force(force, np.cross(at, force) + turned @ push.couple)
    count = range(len(sample.links))
    return Peer(
        model,
        where,
        speed,
        loads,
        tuple(carriers[k] for k in count),
        tuple(poses[k] for k in count),
    )


def depth_first(sample: Sample) -> list[int]:
    """Return the links in the order that Pinocchio's sparse factorization needs."""
    order: list[int] = []
    stack = [k for k, link in enumerate(sample.links) if link.parent < 0][::-1]
    while stack:
        k = stack.pop()
        order.append(k)
        stack.extend(c for c, link in enumerate(sample.links) if link.parent == k)
    return order


def _pin_joint(pin: Any, motion: Motion) -> Any:
    axis = np.array(motion.axis)
    if motion.kind == "slide":
        return pin.JointModelPrismaticUnaligned(axis)
    if motion.kind == "turn":
        return pin.JointModelRevoluteUnaligned(axis)
    if motion.kind == "screw":
        return pin.JointModelHelicalUnaligned(axis, motion.lead)
    return pin.JointModelSpherical()


def pinocchio_accelerations(peer: Peer, rates: Array) -> Array:
    """Return, by body, acceleration of the origin and angular acceleration in the ground's axes."""
    import pinocchio as pin

    data = peer.model.createData()
    pin.forwardKinematics(peer.model, data, peer.q, peer.v, rates)
    rows = []
    for joint, pose in zip(peer.carriers, peer.poses, strict=True):
        frame = pin.Frame("at", joint, pose, pin.FrameType.OP_FRAME)
        classical = pin.getFrameClassicalAcceleration(
            peer.model, data, joint, frame.placement, pin.LOCAL_WORLD_ALIGNED
        )
        rows.append(np.concatenate([classical.linear, classical.angular]))
    return np.array(rows)


# -- MuJoCo ----------------------------------------------------------------------------------------
def mujoco_accelerations(sample: Sample, rates: Mapping[str, float]) -> Array:
    """Return, by body, acceleration of the origin and angular acceleration, found by MuJoCo."""
    import mujoco

    mujoco.set_mju_user_warning(lambda text: None)  # by default it writes a file
    model = mujoco.MjModel.from_xml_string(_mjcf(sample))
    data = mujoco.MjData(model)
    for link in sample.links:
        names = coordinates_of(sample, link)
        for k, motion in enumerate(link.motions):
            joint = model.joint(f"{link.name}_{k}")
            place, speed = joint.qposadr[0], joint.dofadr[0]
            if motion.kind == "quaternion":
                data.qpos[place : place + 4] = [sample.coordinates[n] for n in names[k:]]
                data.qvel[speed : speed + 3] = angular_rates(sample, link)
            else:
                data.qpos[place] = sample.coordinates[names[k]]
                data.qvel[speed] = rates[names[k]]
    mujoco.mj_kinematics(model, data)
    mujoco.mj_comPos(model, data)
    for push in sample.pushes:
        k = model.body(sample.links[push.link].name).id
        turned = data.xmat[k].reshape(3, 3)
        arm = data.xpos[k] + turned @ push.at - data.xipos[k]
        data.xfrc_applied[k, :3] += push.force
        data.xfrc_applied[k, 3:] += push.couple + np.cross(arm, push.force)
    mujoco.mj_forward(model, data)
    mujoco.mj_rnePostConstraint(model, data)
    rows = []
    for link in sample.links:
        found = np.zeros(6)
        body = model.body(link.name).id
        mujoco.mj_objectAcceleration(model, data, mujoco.mjtObj.mjOBJ_XBODY, body, found, 0)
        rows.append(np.concatenate([found[3:] + sample.gravity, found[:3]]))
    return np.array(rows)


def _mjcf(sample: Sample) -> str:
    def text(numbers: Sequence[float] | Array) -> str:
        return " ".join(repr(float(x)) for x in numbers)

    below: dict[int, list[int]] = {}
    for k, link in enumerate(sample.links):
        below.setdefault(link.parent, []).append(k)

    def element(k: int) -> str:
        link = sample.links[k]
        t = link.tensor
        full = (t[0, 0], t[1, 1], t[2, 2], t[0, 1], t[0, 2], t[1, 2])
        kinds = {"slide": "slide", "turn": "hinge", "quaternion": "ball"}
        joints = "".join(
            f'<joint name="{link.name}_{i}" type="{kinds[motion.kind]}" axis="'
            + (text(motion.axis) if motion.kind != "quaternion" else "0 0 1")
            + '"/>'
            for i, motion in enumerate(link.motions)
        )
        axes = text((*link.pose[:, 0], *link.pose[:, 1]))
        return (
            f'<body name="{link.name}" pos="{text(link.at)}" xyaxes="{axes}">{joints}'
            f'<inertial pos="{text(link.center)}" mass="{link.mass!r}" fullinertia="{text(full)}"/>'
            + "".join(element(c) for c in below.get(k, []))
            + "</body>"
        )

    inside = "".join(element(k) for k in below.get(-1, []))
    return (
        '<mujoco><compiler angle="radian" inertiafromgeom="false"/>'
        f'<option gravity="{text(sample.gravity)}" integrator="Euler"/>'
        f"<worldbody>{inside}</worldbody></mujoco>"
    )


def ours_at(sample: Sample, mechanism: Mechanism | None = None) -> Any:
    """Return the oracle's evaluation of a sample at its state."""
    m = mechanism_of(sample) if mechanism is None else mechanism
    return evaluate_numerically(m, sample.coordinates, sample.speeds)


def difference(a: Array, b: Array) -> float:
    """Return the largest difference, relative to the largest number of the second (at least 1)."""
    found = np.abs(np.asarray(a) - np.asarray(b)).max(initial=0.0)
    return float(found / max(1.0, float(np.abs(b).max(initial=0.0))))


# -- loops -----------------------------------------------------------------------------------------
@dataclass(frozen=True, slots=True)
class Loop:
    """A sample whose last body has a tip that meets a place of another (-1 is the ground)."""

    sample: Sample
    first: int
    last: int
    tip: Array
    place: Array
    turn: Array

    @property
    def names(self) -> tuple[str | None, str]:
        """The names of the two bodies."""
        links = self.sample.links
        return None if self.first < 0 else links[self.first].name, links[self.last].name


def random_loop(seed: int, size: int = 4, kinds: Sequence[str] = KINDS) -> Loop:
    """Return a loop that is closed at the sample's own state; `turn` is last axes in first axes."""
    sample = random_sample(seed, size, kinds)
    rng = np.random.default_rng(seed + 1_000_000)
    states = ours_at(sample).bodies
    chain, k = set(), size - 1
    while k >= 0:
        chain.add(k)
        k = sample.links[k].parent
    first = int(rng.choice([-1, *(k for k in range(size) if k not in chain)]))
    tip = rng.uniform(-0.5, 0.5, 3)
    last = states[sample.links[-1].name]
    world = last.origin + last.rotation @ tip
    if first < 0:
        return Loop(sample, -1, size - 1, tip, world, last.rotation)
    other = states[sample.links[first].name]
    place = other.rotation.T @ (world - other.origin)
    return Loop(sample, first, size - 1, tip, place, other.rotation.T @ last.rotation)


def looped(loop: Loop) -> tuple[Mechanism, Any, Any]:
    """Return the mechanism, not yet closed, and the two points that meet."""
    m = mechanism_of(loop.sample)
    first, last = loop.names
    points = []
    for name, body, at in (("place", first, loop.place), ("tip", last, loop.tip)):
        names = [f"{name}_{c}" for c in "xyz"]
        for parameter, value in zip(names, at, strict=True):
            m.parameter(parameter, float(value))
        points.append(m.point(name, None if body is None else m.bodies[body], names))
    return m, points[0], points[1]


def pinocchio_loop(loop: Loop, rates: Mapping[str, float], speeds: dict[str, float]) -> Array:
    """Return accelerations by body of a loop that is closed by a ball, found by Pinocchio."""
    import pinocchio as pin

    s = loop.sample
    peer = pinocchio_of(Sample(s.links, s.gravity, s.pushes, s.coordinates, speeds), rates)
    ends = []
    for link, at in ((loop.last, loop.tip), (loop.first, loop.place)):
        offset = pin.SE3(np.eye(3), at)
        ends.append((0, offset) if link < 0 else (peer.carriers[link], peer.poses[link] * offset))
    (joint1, pose1), (joint2, pose2) = ends
    closure = pin.RigidConstraintModel(
        pin.ContactType.CONTACT_3D, peer.model, joint1, pose1, joint2, pose2, pin.LOCAL
    )
    models, datas = pin.StdVec_RigidConstraintModel(), pin.StdVec_RigidConstraintData()
    models.append(closure)
    datas.append(closure.createData())
    data, none = peer.model.createData(), np.zeros(peer.model.nv)
    tau = pin.rnea(peer.model, data, peer.q, peer.v, none)
    tau = tau - pin.rnea(peer.model, data, peer.q, peer.v, none, peer.loads)
    pin.initConstraintDynamics(peer.model, data, models, datas)
    settings = pin.ProximalSettings(1e-14, 0.0, 100)
    found = pin.constraintDynamics(peer.model, data, peer.q, peer.v, tau, models, datas, settings)
    return pinocchio_accelerations(peer, found)
