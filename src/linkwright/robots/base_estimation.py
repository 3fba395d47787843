"""Where a floating base is, from an inertial unit and the legs: an invariant Kalman filter.

The state is a matrix X of rotation R, velocity v, position p and feet d of the inertial unit, in
the world, with the biases of gyroscope and accelerometer (Hartley, Ghaffari, Eustice and Grizzle,
International Journal of Robotics Research 39, 2020). Between readings

    R' = R (w - b_g)^,   v' = R (a - b_a) + g,   p' = v,   d' = 0,

solved exactly for readings that hold. With the error eta = X^ X^-1 = exp(xi), its rate does not
depend on the state but through the biases. A foot that stands is seen by the joints at h(q):

    z = R^ h + p^ - d^,   z = xi_p - xi_d + R^ J n,

and X^ becomes exp(K z) X^. Where a foot begins to stand, its place is the one that the legs show.
Position and the turn about the vertical are seen by nothing: their deviations grow, slowly.
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from linkwright.base.errors import InputError, suggestion
from linkwright.blocks import Block, BlockError, Foreign, Rate, checked, checked_all
from linkwright.blocks.rates import Continuous
from linkwright.formats.robot.description import Triple
from linkwright.formats.robot.transforms import quaternion_rotation, rotation_quaternion

if TYPE_CHECKING:
    from linkwright.robots.robot import Robot

Array = NDArray[np.float64]
_SMALL = 1e-4  # rad, below which series stand for quotients
_ORIGIN = (0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0)
_TERMS = 4  # of the exponential of the error's rate, beyond which it has none to speak of


class BaseEstimator(Block):
    """How a floating base stands and moves, from an inertial unit and legs.

    `s.add(estimator, rate=500)` puts it into a System; `start`, then `step` for each reading, run
    it elsewhere, as in a driver of a laboratory.

    Args:
        robot: with a free base.
        feet: frames that touch the ground in a point.
        imu: frame of the inertial unit; the base by default.
        gyro_noise: of the angular velocity, rad/s/sqrt(Hz).
        accel_noise: of the specific force, m/s^2/sqrt(Hz).
        gyro_walk: of the gyroscope's bias, rad/s^2/sqrt(Hz).
        accel_walk: of the accelerometer's bias, m/s^3/sqrt(Hz).
        slip: of a foot that stands, m/s/sqrt(Hz).
        encoder_noise: deviation of the joints, rad.
        deviations: at the start, of orientation (rad), velocity (m/s), position (m), and of the
            biases (rad/s and m/s^2).
        gravity: the world's vector, m/s^2.
        name: of the block.

    Inputs of the block: `gyro` (rad/s), `accel` (m/s^2, with gravity, as accelerometers show it),
    `q` (joints, in the order of `joints`), `contact` (not zero for feet that stand), and `start`
    (position and quaternion of the base at first; the origin by default). Outputs:
    `base` (position and quaternion) and `base_rate` (along its own axes), `gyro_bias`,
    `accel_bias`, and `sigma`, deviations of orientation, velocity and position in the world.

    >>> from linkwright import load
    >>> dog = load("tests/robots/quadruped.urdf")
    >>> feet = [f"{end}_{side}_foot" for end in ("front", "hind") for side in ("left", "right")]
    >>> estimator = BaseEstimator(dog, feet)
    >>> estimator.start(dog.neutral)
    >>> for _ in range(100):
    ...     estimator.step(0.002, [0, 0, 0], [0, 0, 9.81], dog.neutral[7:], [1, 1, 1, 1])
    >>> bool(abs(estimator.base[:3]).max() < 1e-9)
    True
    """

    def __init__(
        self,
        robot: Robot,
        feet: Sequence[str],
        *,
        imu: str | None = None,
        gyro_noise: float = 1e-3,
        accel_noise: float = 1e-2,
        gyro_walk: float = 1e-5,
        accel_walk: float = 1e-4,
        slip: float = 1e-2,
        encoder_noise: float = 1e-3,
        deviations: Sequence[float] = (0.02, 0.05, 0.01, 0.01, 0.1),
        gravity: Sequence[float] = (0.0, 0.0, -9.81),
        name: str = "base_estimator",
    ) -> None:
        super().__init__(name, doc="state of a floating base from an inertial unit and legs")
        free = [joint for joint in robot.assembled.joints if joint.kind == "free"]
        if len(free) != 1 or len(free[0].coordinates) != 7:
            raise InputError(
                f"{robot.mechanism.name!r} has no base that floats with a quaternion",
                remedy="load a robot with one free base",
            )
        known = robot.frames
        for frame in (*feet, *([] if imu is None else [imu])):
            if frame not in known:
                raise InputError(
                    f"the robot has no frame {frame!r}",
                    remedy=suggestion(frame, known, f"it has {', '.join(known)}"),
                )
        if not feet:
            raise InputError("there are no feet", remedy="name one frame or more")
        self.robot, self.feet, self.imu = robot, tuple(feet), imu
        own = {x.name for x in free[0].coordinates}
        self.joints = tuple(x for x in robot.coordinates if x not in own)
        """The joints, in their order."""
        self._joints = [robot.coordinates.index(x) for x in self.joints]
        self._base = [robot.coordinates.index(x.name) for x in free[0].coordinates]
        self._columns = list(range(len(robot.speeds)))[-len(self.joints) :]
        given = {
            "gyro_noise": gyro_noise,
            "accel_noise": accel_noise,
            "gyro_walk": gyro_walk,
            "accel_walk": accel_walk,
            "slip": slip,
            "encoder_noise": encoder_noise,
        }
        for key, value in given.items():
            checked(value, f"{key} of {name!r}", least=0)
        self._noise = given
        self.deviations = checked_all(deviations, f"deviations of {name!r}", count=5)
        self.gravity = np.array(checked_all(gravity, f"gravity of {name!r}", count=3))
        self._home = np.asarray(robot.pose(robot.neutral, free[0].child))
        T = np.linalg.inv(self._home) @ robot.pose(robot.neutral, imu or free[0].child)
        self._turn, self._at = T[:3, :3], T[:3, 3]
        self._inward = np.linalg.inv(self._home @ T)
        self.start(robot.neutral)

    # -- the state ---------------------------------------------------------------------------------
    def start(self, q: ArrayLike, u: ArrayLike | None = None) -> None:
        """Begin at a state, with the deviations of the start.

        Args:
            q: coordinates of the robot.
            u: its speeds; at rest by default.
        """
        place = np.asarray(q, dtype=float)[self._base]
        rate = np.zeros(6) if u is None else np.asarray(u, dtype=float)[:6]
        moved = np.eye(4)
        moved[:3, :3], moved[:3, 3] = quaternion_rotation(place[3:].tolist()), place[:3]
        T = self._home @ moved
        base = T[:3, :3]
        n, self._standing = len(self.feet), np.zeros(len(self.feet), bool)
        self.rotation = base @ self._turn
        """Of the inertial unit in the world."""
        self.position = T[:3, 3] + base @ self._at
        """Of the inertial unit, m."""
        self.velocity = base @ (rate[:3] + np.cross(rate[3:], self._at))
        """Of the inertial unit, m/s."""
        self.places = np.tile(self.position, (n, 1))
        """Of the feet that stand, m."""
        self.gyro_bias, self.accel_bias = np.zeros(3), np.zeros(3)
        self._omega = self._turn.T @ rate[3:]
        turn, speed, place_, gyro, accel = self.deviations
        sizes = np.concatenate(
            [np.full(3, turn), np.full(3, speed), np.full(3, place_), np.zeros(3 * n)]
        )
        self.covariance = np.diag(np.concatenate([sizes, [gyro] * 3, [accel] * 3]) ** 2)
        """Of the error xi: rotation, velocity, position, feet, biases."""
        J = self._plain()
        self.covariance = np.linalg.inv(J) @ self.covariance @ np.linalg.inv(J).T

    def _plain(self) -> Array:
        """Return what takes xi to errors in the world: dv = xi_v - v x xi_R."""
        J = np.eye(len(self.covariance))
        J[3:6, :3], J[6:9, :3] = -_skew(self.velocity), -_skew(self.position)
        return J

    @property
    def base(self) -> Array:
        """Position and quaternion (w, x, y, z) of the base, as its coordinates."""
        T = np.eye(4)
        T[:3, :3] = self.rotation @ self._turn.T
        T[:3, 3] = self.position - T[:3, :3] @ self._at
        moved = np.linalg.inv(self._home) @ T
        return np.concatenate([moved[:3, 3], rotation_quaternion(_rows(moved))])

    @property
    def base_rate(self) -> Array:
        """Velocity and angular velocity of the base along its own axes."""
        omega = self._turn @ self._omega
        turn = self.rotation @ self._turn.T
        return np.concatenate([turn.T @ self.velocity - np.cross(omega, self._at), omega])

    @property
    def sigma(self) -> Array:
        """Deviations of orientation, velocity and position of the inertial unit in the world."""
        J = self._plain()[:9]
        return np.sqrt(np.diag(J @ self.covariance @ J.T))

    def error(self, rotation: Array, velocity: Array, position: Array) -> Array:
        """Return the invariant error xi of rotation, velocity and position, by the true ones.

        Args:
            rotation: of the inertial unit in the world.
            velocity: of it, m/s.
            position: of it, m.
        """
        away = self.rotation @ rotation.T
        turn = _logarithm(away)
        back = np.linalg.inv(_gamma(turn, 1))
        parts = (self.velocity - away @ velocity, self.position - away @ position)
        return np.concatenate([turn, *(back @ part for part in parts)])

    # -- readings ----------------------------------------------------------------------------------
    def step(
        self, dt: float, gyro: ArrayLike, accel: ArrayLike, q: ArrayLike, contact: ArrayLike
    ) -> None:
        """Correct by the legs, then go on with readings that hold for a time.

        Args:
            dt: the time to the next reading, s.
            gyro: angular velocity, rad/s.
            accel: specific force, m/s^2.
            q: joints, rad.
            contact: for each foot not zero where it stands.
        """
        self.correct(q, contact)
        self.predict(dt, gyro, accel)

    def predict(self, dt: float, gyro: ArrayLike, accel: ArrayLike) -> None:
        """Go on with readings of the inertial unit.

        Args:
            dt: for which they hold, s.
            gyro: angular velocity, rad/s.
            accel: specific force, m/s^2.
        """
        w = np.asarray(gyro, dtype=float) - self.gyro_bias
        a = np.asarray(accel, dtype=float) - self.accel_bias
        R, v, p, n = self.rotation, self.velocity, self.position, len(self.feet)
        size = 9 + 3 * n
        A = np.zeros((size + 6, size + 6))
        A[3:6, :3], A[6:9, 3:6] = _skew(self.gravity), np.eye(3)
        A[:3, size : size + 3], A[3:6, size + 3 :] = -R, -R
        rows = [v, p, *self.places]
        for k, x in enumerate(rows):
            A[3 * k + 3 : 3 * k + 6, size : size + 3] = -_skew(x) @ R
        adjoint = np.zeros((size + 6, size + 6))
        adjoint[size:, size:] = np.eye(6)
        for k in range(size // 3):
            adjoint[3 * k : 3 * k + 3, 3 * k : 3 * k + 3] = R
            if k:
                adjoint[3 * k : 3 * k + 3, :3] = _skew(rows[k - 1]) @ R
        noise, slips = self._noise, np.repeat(self._standing, 3) * self._noise["slip"]
        densities = np.concatenate(
            [np.full(3, noise["gyro_noise"]), np.full(3, noise["accel_noise"]), np.zeros(3), slips,
             np.full(3, noise["gyro_walk"]), np.full(3, noise["accel_walk"])]
        )  # fmt: skip
        phi, power = np.eye(size + 6), np.eye(size + 6)
        for k in range(1, _TERMS + 1):
            power = power @ A * (dt / k)
            phi += power
        spread = phi @ adjoint * densities
        self.covariance = phi @ self.covariance @ phi.T + dt * spread @ spread.T
        turn = w * dt
        self.position = p + v * dt + (R @ _gamma(turn, 2) @ a + 0.5 * self.gravity) * dt**2
        self.velocity = v + (R @ _gamma(turn, 1) @ a + self.gravity) * dt
        self.rotation = _orthogonal(R @ _gamma(turn, 0))
        self._omega = w

    def correct(self, q: ArrayLike, contact: ArrayLike) -> None:
        """Correct by the feet that stand.

        Args:
            q: joints, rad.
            contact: for each foot not zero where it stands.
        """
        stands = np.asarray(contact, dtype=float) > 0.5
        whole = self.robot.neutral.copy()
        whole[self._joints] = np.asarray(q, dtype=float)
        seen, spread = [], []
        for foot in self.feet:
            place = (self._inward @ [*self.robot.position(whole, foot), 1.0])[:3]
            J = self._inward[:3, :3] @ self.robot.jacobian(whole, foot)[:3, self._columns]
            seen.append(place)
            spread.append(self._noise["encoder_noise"] ** 2 * J @ J.T)
        old = [k for k in range(len(self.feet)) if stands[k] and self._standing[k]]
        if old:
            self._corrected(old, seen, spread)
        for k in np.flatnonzero(stands & ~self._standing):
            self._placed(int(k), seen[k], spread[k])
        self._standing = stands

    def _corrected(
        self, feet: Sequence[int], seen: Sequence[Array], spread: Sequence[Array]
    ) -> None:
        R, m, size = self.rotation, 3 * len(feet), len(self.covariance)
        H, N, z = np.zeros((m, size)), np.zeros((m, m)), np.zeros(m)
        for i, k in enumerate(feet):
            rows = slice(3 * i, 3 * i + 3)
            H[rows, 6:9], H[rows, 9 + 3 * k : 12 + 3 * k] = -np.eye(3), np.eye(3)
            N[rows, rows] = R @ spread[k] @ R.T + 1e-12 * np.eye(3)
            z[rows] = R @ seen[k] + self.position - self.places[k]
        P = self.covariance
        gain = np.linalg.solve(H @ P @ H.T + N, H @ P).T
        xi = gain @ z
        left = np.eye(size) - gain @ H
        self.covariance = left @ P @ left.T + gain @ N @ gain.T
        turn, ways = _gamma(xi[:3], 0), _gamma(xi[:3], 1)
        self.rotation = _orthogonal(turn @ R)
        self.velocity = turn @ self.velocity + ways @ xi[3:6]
        self.position = turn @ self.position + ways @ xi[6:9]
        n = len(self.feet)
        self.places = self.places @ turn.T + xi[9 : 9 + 3 * n].reshape(n, 3) @ ways.T
        self.gyro_bias = self.gyro_bias + xi[-6:-3]
        self.accel_bias = self.accel_bias + xi[-3:]

    def _placed(self, k: int, seen: Array, spread: Array) -> None:
        """Take the place of a foot that begins to stand from the legs: xi_d = xi_p + R J n."""
        at = slice(9 + 3 * k, 12 + 3 * k)
        self.places[k] = self.position + self.rotation @ seen
        P = self.covariance
        P[at], P[:, at] = P[6:9], P[:, 6:9]
        P[at, at] = P[6:9, 6:9] + self.rotation @ spread @ self.rotation.T

    # -- in a System -------------------------------------------------------------------------------
    def at_rate(self, rate: Rate) -> Block:
        """Return the block that runs it."""
        if isinstance(rate, Continuous):
            raise BlockError(f"{self.name!r} takes readings", remedy="add it with rate=500, say")
        return _running(self, rate)


def _running(estimator: BaseEstimator, rate: Rate | float | Fraction) -> Foreign:
    """Return the block of an estimator, which begins anew where time does."""
    last: list[float] = []
    held: list[Array] = []

    def estimate(
        t: float, gyro: Array, accel: Array, q: Array, contact: Array, start: Any = _ORIGIN
    ) -> dict[str, Any]:
        if not last or t <= last[0]:
            whole = estimator.robot.neutral.copy()
            whole[estimator._base], whole[estimator._joints] = start, q
            estimator.start(whole)
        else:
            estimator.predict(t - last[0], held[0], held[1])
        estimator.correct(q, contact)
        last[:], held[:] = [t], [gyro, accel]
        estimator._omega = gyro - estimator.gyro_bias
        return {
            "base": estimator.base,
            "base_rate": estimator.base_rate,
            "gyro_bias": estimator.gyro_bias,
            "accel_bias": estimator.accel_bias,
            "sigma": estimator.sigma,
        }

    return Foreign(
        estimate,
        inputs={
            "gyro": 3,
            "accel": 3,
            "q": len(estimator.joints),
            "contact": len(estimator.feet),
            "start": 7,
        },
        outputs={"base": 7, "base_rate": 6, "gyro_bias": 3, "accel_bias": 3, "sigma": 9},
        rate=rate,
        name=estimator.name,
        units={"gyro": "rad/s", "accel": "m/s^2"},
        doc=estimator.doc,
    )


# -- rotations -------------------------------------------------------------------------------------
def _skew(v: Array) -> Array:
    x, y, z = v
    return np.array([[0.0, -z, y], [z, 0.0, -x], [-y, x, 0.0]])


def _gamma(turn: Array, order: int) -> Array:
    """Return the sum of turn^k / (k + order)!: the rotation (0), its mean over time (1), and twice
    integrated (2)."""
    angle, W = float(np.linalg.norm(turn)), _skew(turn)
    if angle < _SMALL:
        factors = {0: (1.0, 1.0, 0.5), 1: (1.0, 0.5, 1 / 6), 2: (0.5, 1 / 6, 1 / 24)}[order]
    else:
        c, s = np.cos(angle), np.sin(angle)
        factors = {
            0: (1.0, s / angle, (1 - c) / angle**2),
            1: (1.0, (1 - c) / angle**2, (angle - s) / angle**3),
            2: (0.5, (angle - s) / angle**3, (angle**2 / 2 + c - 1) / angle**4),
        }[order]
    a, b, d = factors
    return np.asarray(a * np.eye(3) + b * W + d * W @ W)


def _logarithm(R: Array) -> Array:
    """Return the turn of a rotation that is not by half a circle."""
    sine = np.array([R[2, 1] - R[1, 2], R[0, 2] - R[2, 0], R[1, 0] - R[0, 1]]) / 2
    size = float(np.linalg.norm(sine))
    angle = float(np.arctan2(size, (np.trace(R) - 1) / 2))
    return sine * (angle / size if size > 1e-12 else 1.0)


def _orthogonal(R: Array) -> Array:
    """Return the rotation next to a matrix that is one but for round-off."""
    return np.asarray(R @ (1.5 * np.eye(3) - 0.5 * R.T @ R))


def _rows(T: Array) -> tuple[Triple, Triple, Triple]:
    """Return the rotation of a homogeneous matrix as rows."""
    (a, b, c), (d, e, f), (g, h, i) = T[:3, :3].tolist()
    return (a, b, c), (d, e, f), (g, h, i)
