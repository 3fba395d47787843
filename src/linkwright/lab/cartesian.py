"""Where end-effectors and vertices are, how they move, and how their motion changes.

Position and orientation, velocities, and accelerations with both parts, x'' = J q'' + J' q'. All
are along the world's axes. Where an end-effector is in its link is a parameter.
"""

from __future__ import annotations

from linkwright.algebra import Expr, symbol
from linkwright.blocks import Block
from linkwright.equations.tree import Results
from linkwright.equations.writer import Writer
from linkwright.formats.robot.transforms import composed
from linkwright.lab.config import EndEffector, LabConfig
from linkwright.lab.plant import LabMechanism, place_of
from linkwright.program import Program
from linkwright.robots.fixed_frames import FixedFrame, spot_in
from linkwright.robots.kinematics import acceleration, quaternion, spot_stance, velocity

STATE = {
    "x": (3, "m"),
    "xd": (3, "m/s"),
    "xdd": (3, "m/s^2"),
    "q": (4, "1"),
    "w": (3, "rad/s"),
    "wd": (3, "rad/s^2"),
}
"""What is known of a frame, with sizes and units: position, its rates, quaternion (w, x, y, z),
angular velocity and acceleration."""


def place_names(end_effector: str) -> tuple[str, ...]:
    """Return the parameters of an end-effector's place: position, then the rows of its rotation.

    >>> place_names("HAND")[2:4]
    ('HAND_at_z', 'HAND_r11')
    """
    turn = [f"{end_effector}_r{i}{j}" for i in (1, 2, 3) for j in (1, 2, 3)]
    return (*(f"{end_effector}_at_{c}" for c in "xyz"), *turn)


def place_values(robot: LabMechanism, end_effector: EndEffector) -> dict[str, float]:
    """Return the values of the parameters of an end-effector's place."""
    whole = composed(robot.place(end_effector.link)[1], place_of(end_effector))
    numbers = [*whole.position, *(x for row in whole.rotation for x in row)]
    return dict(zip(place_names(end_effector.name), numbers, strict=True))


class CartesianState(Block):
    """The state of end-effectors and vertices from that of the joints.

    Inputs `q`, `u`, `a` of the joints and, where the base floats, `base` (position and quaternion),
    `base_rate` and `base_acceleration` (along its own axes). Outputs `NAME_x`, `NAME_xd`,
    `NAME_xdd`, `NAME_q`, `NAME_w`, `NAME_wd` for each end-effector, and `vertices`, positions of
    the vertices one after the other.
    """

    def __init__(
        self, config: LabConfig, robot: LabMechanism, *, vertices: bool = True, name: str = "cart"
    ) -> None:
        super().__init__(name)
        n = len(robot.joints)
        start = [joint.default for joint in config.joints]
        q = self.input_vector("q", n, start, doc="positions of the joints")
        u = self.input_vector("u", n, doc="speeds of the joints")
        a = self.input_vector("a", n, doc="accelerations of the joints")
        base: tuple[Expr, ...] = ()
        rate: tuple[Expr, ...] = ()
        change: tuple[Expr, ...] = ()
        if robot.base:
            base = self.input_vector("base", 7, [0, 0, 0, 1, 0, 0, 0], doc="pose of the base")
            rate = self.input_vector("base_rate", 6, doc="its velocities, along its axes")
            change = self.input_vector("base_acceleration", 6, doc="and their rates")
        places = {
            effector.name: [
                self.parameter(name, value, doc=f"place of {effector.name} in its body")
                for name, value in place_values(robot, effector).items()
            ]
            for effector in config.end_effectors
        }
        points = tuple(config.vertices.values()) if vertices else ()
        program = cartesian_program(config, robot, points)
        known = dict(zip(robot.joints, q, strict=True)) | dict(zip(robot.base, base, strict=True))
        known = robot.with_followers(known)
        speeds = dict(zip(robot.speeds, u, strict=True))
        speeds |= dict(zip(robot.base_speeds, rate, strict=True))
        rates = dict(zip(robot.speeds, a, strict=True))
        rates |= dict(zip(robot.base_speeds, change, strict=True))
        tree = robot.tree
        given = {
            "q": [known[x] for x in tree.coordinates],
            "u": [speeds[x] for x in tree.speeds],
            "a": [rates[x] for x in tree.speeds],
            **{f"place_{name}": symbols for name, symbols in places.items()},
        }
        found = self.embed(program, given)
        for effector in config.end_effectors:
            for key, (_, unit) in STATE.items():
                label = f"{effector.name}_{key}"
                doc = f"{key} of {effector.name}"
                self.output_vector(label, list(found[label]), unit=unit, doc=doc)
        if points:
            self.output_vector("vertices", list(found["vertices"]), unit="m", doc="positions")


def cartesian_program(config: LabConfig, robot: LabMechanism, points: tuple[str, ...]) -> Program:
    """Return the Program of the state of end-effectors and of the positions of points."""
    tree = robot.tree
    owner = robot.mechanism.name
    symbols = {
        effector.name: tuple(
            symbol(f"place.{name}", "input", owner=owner) for name in place_names(effector.name)
        )
        for effector in config.end_effectors
    }

    def write(writer: Writer) -> Results:
        results: dict[str, list[Expr]] = {}
        rates = tree.all_rates(writer, tree.accelerations)
        for effector in config.end_effectors:
            x, y, z, *turn = symbols[effector.name]
            body = robot.place(effector.link)[0]
            a, b, c, d, e, f, g, h, i = turn
            spot = FixedFrame(body, ((a, b, c), (d, e, f), (g, h, i)), (x, y, z))
            at = spot_stance(writer, spot)
            rate = velocity(writer, tree, spot, "local-world-aligned")
            change = acceleration(writer, tree, spot, "local-world-aligned", rates)
            parts = {
                "x": at.position,
                "xd": rate[:3],
                "xdd": change[:3],
                "q": quaternion(writer, at.rotation),
                "w": rate[3:],
                "wd": change[3:],
            }
            results |= {f"{effector.name}_{key}": list(part) for key, part in parts.items()}
        if points:
            spots = [spot_in(*robot.place(frame)) for frame in points]
            results["vertices"] = [x for s in spots for x in spot_stance(writer, s).position]
        return results

    more = {f"place_{name}": entries for name, entries in symbols.items()}
    return tree.program(f"{owner}_cartesian", ["q", "u", "a"], write, more)
