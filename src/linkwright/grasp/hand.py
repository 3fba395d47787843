"""A hand of three fingers with coupled joints, and the law by which it holds things blindly.

Each finger has two links and one motor. A tendon with a spring couples the second joint with the
first, as in hands of medium complexity: it bends with it, and gives way where the second link is
held up. The law knows nothing of the object: the motors give the torques of forces that pull each
fingertip toward the middle of all three,

    f_k = squeeze (c - x_k)/r,
    tau_k = (J_k + coupling J_k')^T f_k - damping p_k' - level (p_k - p)

with r the root mean square of |c - x_k|. They sum to nothing, so that an object between the tips
is held and not carried off (stable grasping by the middle of the fingertips: Arimoto 2008; Tahara,
Arimoto and Yoshida 2010). The last term brings the fingers to bend alike, and so the object to the
middle of the palm; p is the mean of the bends.
"""

from __future__ import annotations

import math

from linkwright.algebra import sqrt
from linkwright.elements import Contact, SphereSurface
from linkwright.mechanism import Body, Mechanism, Point, Revolute
from linkwright.mechanism.shapes import Capsule, Cylinder, Sphere
from linkwright.system import System

__all__ = ["hand_with_ball", "three_finger_hand"]

FINGERS = 3


def three_finger_hand(
    m: Mechanism | None = None,
    palm: Body | None = None,
    *,
    radius: float = 0.05,
    proximal: float = 0.07,
    distal: float = 0.05,
) -> tuple[Mechanism, list[Point]]:
    """Return a hand that points along z of its palm, and its fingertips.

    The coordinates of finger k are `bendk` and `curlk`; motors, tendons and the law are in it, with
    the parameters `squeeze` (N), `damping`, `level`, `coupling` and `tendon`.

    Args:
        m: the mechanism that carries it; by default one of its own.
        palm: the body that it is mounted on; by default the ground.
        radius: of the circle that the fingers stand on, m.
        proximal: length of the first links, m.
        distal: length of the second links, m.

    >>> m, tips = three_finger_hand()
    >>> list(m.coordinates)
    ['bend1', 'curl1', 'bend2', 'curl2', 'bend3', 'curl3']
    """
    m = Mechanism("hand-3", "hand of three fingers with coupled joints") if m is None else m
    base = m.ground if palm is None else palm
    squeeze = m.parameter("squeeze", 6.0, unit="N", doc="pull of each tip to their middle")
    damping = m.parameter("damping", 0.02, unit="N*m*s/rad", doc="of the motors")
    coupling = m.parameter("coupling", 0.5, unit="1", doc="angle of the second joint by the first")
    level = m.parameter("level", 3.0, unit="N*m/rad", doc="brings the fingers to bend alike")
    tendon = m.parameter("tendon", 4.0, unit="N*m/rad", doc="stiffness of the coupling")
    m.shape(palm, Cylinder(1.3 * radius, 0.015, at=(0, 0, -0.0075), color="graphite"))
    fingers: list[tuple[Body, Body, Point]] = []
    for k in range(1, FINGERS + 1):
        angle = 2 * math.pi * (k - 1) / FINGERS
        x, y = math.cos(angle), math.sin(angle)
        inward = Revolute((y, -x, 0.0))
        first = m.body(
            f"bend{k}", parent=base, at=(radius * x, radius * y, 0), joint=inward, mass=0.04,
            com=(0, 0, proximal / 2), inertia=(2e-5, 2e-5, 4e-6),
            shape=Capsule(0.008, proximal, at=(0, 0, proximal / 2), color="steel"),
        )  # fmt: skip
        second = m.body(
            f"curl{k}", parent=first, at=(0, 0, proximal), joint=inward, mass=0.02,
            com=(0, 0, distal / 2), inertia=(6e-6, 6e-6, 2e-6),
            shape=Capsule(0.007, distal, at=(0, 0, distal / 2), color="gold"),
        )  # fmt: skip
        fingers.append((first, second, m.point(f"tip{k}", second, (0, 0, distal))))
    places = [tip.position for _, _, tip in fingers]
    middle = (places[0] + places[1] + places[2]) * (1 / FINGERS)
    ways = [middle - place for place in places]
    spread = sqrt((ways[0] @ ways[0] + ways[1] @ ways[1] + ways[2] @ ways[2]) / FINGERS + 1e-6)
    bends = [m.coordinates[f"bend{k}"] for k in range(1, FINGERS + 1)]
    mean = (bends[0] + bends[1] + bends[2]) / FINGERS
    for k, ((first, second, _), place) in enumerate(zip(fingers, places, strict=True), 1):
        angle = 2 * math.pi * (k - 1) / FINGERS
        axis = base.x * math.sin(angle) - base.y * math.cos(angle)
        pull = (middle - place) * (squeeze / spread)
        arms = [place - body.origin.position for body in (first, second)]
        levers = [(arm ^ pull) @ axis for arm in arms]
        p, d = m.coordinates[f"bend{k}"], m.coordinates[f"curl{k}"]
        rate = m.expr(f"bend{k}_dot")
        stretch = tendon * (d - coupling * p)
        slow = damping * m.expr(f"curl{k}_dot")
        apart = level * (p - mean)
        motor = -apart + levers[0] + coupling * levers[1] - damping * rate + coupling * stretch
        m.moment(f"motor{k}", motor, on=first, about=axis, reaction=palm)
        m.moment(f"tendon{k}", -stretch - slow / 10, on=second, about=axis, reaction=first)
    return m, [tip for _, _, tip in fingers]


def hand_with_ball(
    *, mass: float = 0.1, radius: float = 0.035, friction: float = 0.8, height: float = 0.121
) -> System:
    """Return the hand with a ball between its fingers, under gravity along -z.

    Args:
        mass: of the ball, kg.
        radius: of it, m.
        friction: between it and the fingertips.
        height: of its middle above the palm, m.

    >>> sorted(hand_with_ball().members)
    ['touch']
    """
    m = Mechanism("hand-with-ball", "hand of three fingers that holds a ball")
    ball = m.body(
        "ball", translate="xyz", rotate="xyz", mass=mass, inertia=0.4 * mass * radius**2,
        shape=Sphere(radius, color="clay"),
    )  # fmt: skip
    _, tips = three_finger_hand(m)
    m.gravity(along="-z")
    m.set_initial({"ball.z": height} | {f"bend{k}": 0.05 for k in range(1, FINGERS + 1)})
    m.set_timing(2.0, step=2.5e-5)
    s = System(m)
    s.add(
        Contact(
            m, tips, SphereSurface(radius, body=ball), stiffness=2e4, damping=5.0,
            static=friction, tangential=2e4, tangential_damping=5.0, name="touch",
        )
    )  # fmt: skip
    return s
