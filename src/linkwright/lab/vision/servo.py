"""The vision servo: blobs in space, filtered, differentiated and predicted (SL manual, 5.7.2).

Positions go through a Butterworth filter each, or a filter with constant gains (alpha-beta-gamma,
the steady Kalman filter of a constant acceleration; Bar-Shalom and others 2001, section 6.5), or a
Kalman filter whose covariances follow from the pictures: along each axis it has position, velocity
and acceleration, a white jerk of density s^2 between pictures h apart,

    P- = F P F' + s^2 [h^5/20  h^4/8  h^3/6;  h^4/8  h^3/3  h^2/2;  h^3/6  h^2/2  h],

and as variance of the measurement that of the point of all cameras which see the blob. Of
the last three filtered positions x0, x1, x2, taken at times h1 and h2 apart, follow

    a = 2 ((x0 - x1) / h1 - (x1 - x2) / h2) / (h1 + h2),   v = (x0 - x1) / h1 + a h1 / 2,

exact where the acceleration is constant. A picture is old when it arrives: the outputs are what
x + v T + a T^2 / 2 makes of it, with T the age of the picture and the time to look ahead.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import chain

from linkwright.algebra import PI, Expr, equal, sqrt, tan, where
from linkwright.algebra.triples import dot
from linkwright.blocks import Block
from linkwright.formats.robot.transforms import euler_rotation
from linkwright.lab.config import LabConfig
from linkwright.lab.files.vision_files import VisionPreferences
from linkwright.lab.servos.columns import is_number
from linkwright.lab.vision.cameras import cameras_of, triangulated

NINE = ("x", "xd", "xdd")
"""Position, velocity, acceleration; each along x, y, z: the order of the nine numbers."""

GAP = 0.1
"""s without a blob, after which its filters begin anew."""

SPEED, PULL = 2.0, 20.0
"""m/s and m/s^2, deviations of what a blob may do when it is seen first."""

NEAR = 0.001
"""m, the deviation of a blob that is given in place of pictures."""

LONGEST = 0.5
"""s, the age beyond which a picture counts no more."""


def preference_values(
    config: LabConfig, preferences: VisionPreferences, name: str = "vision"
) -> dict[str, float]:
    """Return the parameters of the vision servo that a `.pp` file stands for.

    >>> from linkwright.formats.robot.description import Description, Link
    >>> from linkwright.lab.config import VisionConfig
    >>> eyes = VisionConfig(blobs=("blob1",))
    >>> lab = LabConfig("arm", Description("arm", (Link("base"),), ()), (), vision=eyes)
    >>> preference_values(lab, VisionPreferences(predict=0.033))["vision.predict"]
    0.033
    """
    found = {f"{name}.predict": preferences.predict}
    for number, blob in enumerate(config.vision.blobs, 1):
        given = preferences.blob(number)
        zero = ((0.0,) * 3,) * 3
        rows = {
            "butter": tuple(chain(*(given.butter or zero))),
            "kalman": tuple(chain(*(given.kalman or zero))),
            "acceleration": given.acceleration or (0.0,) * 3,
            "noise": given.noise or (0.0, 0.0),
        }
        for key, values in rows.items():
            found |= {f"{name}.{blob}_{key}{i}": float(x) for i, x in enumerate(values, 1)}
        found[f"{name}.{blob}_gains"] = float(given.kalman is not None)
        found[f"{name}.{blob}_weighs"] = float(given.noise is not None)
        found[f"{name}.{blob}_prescribed"] = float(given.acceleration is not None)
    return found


class VisionServo(Block):
    """Where blobs are in the robot's frame, how they move, and whether they are seen.

    With cameras, inputs are `pixels` (for each blob and camera the two of its center) and `visible`
    (whether it sees it); without, `NAME_raw` and `NAME_visible` of each blob, a point in the frame
    of vision. `stamp` is the time at which the picture was taken. A blob for which `NAME_simulated`
    is not zero comes from `NAME_given` instead, a point in the robot's frame of this instant, seen
    where `NAME_there` is not zero.

    Filters are parameters, which may change during a run: `NAME_butter1` to `NAME_butter9` are
    cutoffs in percent of the Nyquist frequency, 0 or 100 for none; `NAME_gains`, not zero, lets
    `NAME_kalman1` to `NAME_kalman9` filter instead (1, 1/s, 1/s^2); `NAME_weighs`, not zero, lets a
    Kalman filter do it, with the deviation `NAME_noise1` of pictures (pixels; m without cameras)
    and the density `NAME_noise2` of the jerk (m/s^2.5); `NAME_prescribed`, not zero, lets
    `NAME_acceleration1` to `3` replace what is differentiated; `predict` is the time to look ahead.

    Outputs are `NAME_x`, `NAME_xd`, `NAME_xdd`, `NAME_status`, `NAME_unfiltered` and, of the Kalman
    filter, the deviations `NAME_sigma` of position, velocity and acceleration at the picture; zero
    of the other filters. A blob
    that is not seen has the status 0 and stays where it was last, at rest; one that comes
    back within `GAP` goes on in its filters.

    >>> from linkwright.formats.robot.description import Description, Link
    >>> from linkwright.lab.config import VisionConfig
    >>> eyes = VisionConfig(blobs=("blob1",))
    >>> lab = LabConfig("arm", Description("arm", (Link("base"),), ()), (), vision=eyes)
    >>> list(VisionServo(lab).outputs)
    ['blob1_x', 'blob1_xd', 'blob1_xdd', 'blob1_status', 'blob1_unfiltered', 'blob1_sigma']
    """

    needs_rate = True
    """It remembers from instant to instant."""

    def __init__(
        self,
        config: LabConfig,
        preferences: VisionPreferences | None = None,
        name: str = "vision",
    ) -> None:
        super().__init__(name, doc="blobs, filtered and predicted")
        vision = config.vision
        start = preference_values(config, preferences or VisionPreferences(), "")
        turn = euler_rotation(vision.a)
        eyes = cameras_of(config) if vision.cameras else ()
        n, c = len(vision.blobs), len(eyes)
        pixels: tuple[Expr, ...] = ()
        visible: tuple[Expr, ...] = ()
        if eyes:
            pixels = self.input_vector("pixels", n * c * 2, doc="by blob, camera and axis")
            visible = self.input_vector("visible", n * c, doc="by blob and camera")
        taken = self.input("stamp", self.time, unit="s", doc="when the picture was taken")
        self._predict = self.parameter("predict", start[".predict"], unit="s", doc="to look ahead")
        for i, blob in enumerate(vision.blobs):
            if eyes:
                pairs = [(pixels[2 * (i * c + k)], pixels[2 * (i * c + k) + 1]) for k in range(c)]
                point, seen, spread = triangulated(self, eyes, pairs, visible[i * c : (i + 1) * c])
                rough = [
                    self.intermediate(dot(row, [dot(row, line) for line in spread])) for row in turn
                ]
            else:
                point = list(self.input_vector(f"{blob}_raw", 3, unit="m", doc="of the camera"))
                seen = self.input(f"{blob}_visible", doc="whether the camera sees it")
                rough = [self.expr(1)] * 3
            there = [
                self.intermediate(at + dot(row, point))
                for row, at in zip(turn, vision.position, strict=True)
            ]
            self._tracked(blob, there, seen, taken, rough, start)

    def _tracked(
        self,
        blob: str,
        there: list[Expr],
        seen: Expr,
        taken: Expr,
        rough: list[Expr],
        start: dict[str, float],
    ) -> None:
        """Filter, differentiate and predict one blob."""
        hold = self.intermediate
        simulated = self.input(f"{blob}_simulated", doc="whether it is simulated")
        given = self.input_vector(f"{blob}_given", 3, unit="m", doc="where it is then")
        status = self.input(f"{blob}_there", 1.0, doc="whether it is seen then")
        rows = {
            key: tuple(
                self.parameter(f"{blob}_{key}{k}", start[f".{blob}_{key}{k}"], doc=doc)
                for k in range(1, count + 1)
            )
            for key, count, doc in (
                ("butter", 9, "cutoff, percent"),
                ("kalman", 9, "gain"),
                ("acceleration", 3, "m/s^2"),
                ("noise", 2, "deviation of pictures, density of the jerk"),
            )
        }
        gains, weighs, prescribed = (
            self.parameter(f"{blob}_{key}", start[f".{blob}_{key}"], doc=doc)
            for key, doc in (
                ("gains", "whether constant gains filter it"),
                ("weighs", "whether a Kalman filter filters it"),
                ("prescribed", "whether its acceleration is given"),
            )
        )
        z = [hold(where(simulated, x, y)) for x, y in zip(given, there, strict=True)]
        stamp = hold(where(simulated, self.time, taken))
        valid = is_number(stamp)
        for x in z:
            valid = valid & is_number(x)
        valid = hold(valid & where(where(simulated, status, seen), 1, 0))

        # how many pictures in a row, and how far apart
        last, before = (self.discrete_state(f"{blob}_{w}") for w in ("stamped", "step"))
        count = self.discrete_state(f"{blob}_count")
        new = hold(valid & (equal(count, 0) | (stamp > last)))
        begins = hold(equal(count, 0) | (stamp - last > GAP))
        number = hold(where(new, where(begins, 1, count + 1), count))
        step = hold(where(new & ~begins, stamp - last, 1))
        self.update(count, number)
        self.update(last, where(new, stamp, last))
        self.update(before, where(new, step, before))
        many = [hold(number >= k) for k in (1, 2, 3)]
        starts = [hold(new & equal(number, k)) for k in (1, 2, 3)]

        kept: dict[str, list[Expr]] = {key: [] for key in NINE}
        deviations: list[list[Expr]] = []
        for k, c in enumerate("xyz"):
            ahead = rows["acceleration"][k]
            place = self._smoothed(f"{blob}_{c}", z[k], rows["butter"][k], new, starts[0])
            x1, x2 = (self.discrete_state(f"{blob}_{c}{w}") for w in ("1", "2"))
            slope = hold((place - x1) / step)
            bend = hold(2 * (slope - (x1 - x2) / where(many[2], before, 1)) / (step + before))
            bend = hold(where(prescribed, ahead, where(many[2], bend, 0)))
            rate = hold(where(many[1], slope + bend * step / 2, 0))
            self.update(x1, where(new, place, x1))
            self.update(x2, where(new, x1, x2))
            rate = self._smoothed(f"{blob}_{c}d", rate, rows["butter"][3 + k], new, starts[1])
            change = self._smoothed(f"{blob}_{c}dd", bend, rows["butter"][6 + k], new, starts[2])
            change = where(prescribed, ahead, where(many[2], change, 0))
            smooth = [place, where(many[1], rate, 0), change]
            memory = [self.discrete_state(f"{blob}_{c}_{key}") for key in NINE]
            here, speed, pull = memory
            pull = where(prescribed, ahead, pull)
            guess = hold(here + step * (speed + step * pull / 2))
            miss = hold(z[k] - guess)
            variance = where(simulated, NEAR**2, rows["noise"][0] ** 2 * rough[k])
            gain, deviation = self._weighed(
                f"{blob}_{c}", hold(variance), rows["noise"][1], step, (new, begins, prescribed)
            )
            deviations.append([hold(where(weighs, x, 0)) for x in deviation])
            by = [hold(where(weighs, g, rows["kalman"][3 * i + k])) for i, g in enumerate(gain)]
            corrected = [
                where(begins, z[k], guess + by[0] * miss),
                where(begins, 0, speed + step * pull + by[1] * miss),
                where(begins, 0, pull + by[2] * miss),
            ]
            corrected[2] = where(prescribed, ahead, corrected[2])
            for key, old, one, other in zip(NINE, memory, corrected, smooth, strict=True):
                now = hold(where(new, where(gains + weighs, one, other), old))
                self.update(old, now)
                kept[key].append(now)
        self._predicted(blob, kept, z, hold(where(new, stamp, last)), valid, many[0])
        sigma = [axis[i] for i in range(3) for axis in deviations]
        self.output_vector(f"{blob}_sigma", sigma, doc="deviations of x, xd and xdd")

    def _weighed(
        self, name: str, variance: Expr, jerk: Expr, h: Expr, told: tuple[Expr, Expr, Expr]
    ) -> tuple[list[Expr], list[Expr]]:
        """Return the gains of a Kalman filter along an axis, and the deviations behind it.

        `told` says whether there is a new picture, whether the filter begins with it, and whether
        the acceleration is prescribed.
        """
        hold = self.intermediate
        new, begins, prescribed = told
        places = [(i, j) for i in range(3) for j in range(i + 1)]
        memory = {at: self.discrete_state(f"{name}_P{at[0]}{at[1]}") for at in places}
        density, one, zero = hold(jerk * jerk), self.expr(1), self.expr(0)
        moves = [[one, h, h * h / 2], [zero, one, h], [zero, zero, one]]
        grows = {
            (0, 0): h**5 / 20, (1, 0): h**4 / 8, (2, 0): h**3 / 6,
            (1, 1): h**3 / 3, (2, 1): h**2 / 2, (2, 2): h,
        }  # fmt: skip
        P: dict[tuple[int, int], Expr] = {}
        for i, j in places:
            P[i, j] = self.expr(0)
            for a in range(i, 3):
                for b in range(j, 3):
                    P[i, j] = P[i, j] + moves[i][a] * moves[j][b] * memory[max(a, b), min(a, b)]
            P[i, j] = hold(P[i, j] + density * grows[i, j])
        weight = hold(P[0, 0] + variance)
        weight = hold(where(weight > 0, weight, 1))
        gain = [hold(P[i, 0] / weight) for i in range(3)]
        first = {(1, 1): self.expr(SPEED**2), (2, 2): self.expr(PULL**2)}
        deviations = []
        for i, j in places:
            # Joseph's form, (1 - K H) P (1 - K H)' + K R K'
            left = P[i, j] - gain[i] * P[j, 0] - gain[j] * P[i, 0] + gain[i] * gain[j] * weight
            began = variance if (i, j) == (0, 0) else first.get((i, j), self.expr(0))
            known = where(begins, began, left)
            if i == 2:
                known = where(prescribed, 0, known)
            now = hold(where(new, known, memory[i, j]))
            self.update(memory[i, j], now)
            if i == j:
                deviations.append(sqrt(where(now > 0, now, 0)))
        return gain, deviations

    def _smoothed(self, name: str, u: Expr, cutoff: Expr, new: Expr, starts: Expr) -> Expr:
        """Return a value behind a Butterworth filter whose cutoff may change.

        Where it starts, it is at rest at the value.
        """
        hold = self.intermediate
        passes = hold(equal(cutoff, 0) | equal(cutoff, 100))
        k = hold(tan(PI * where(passes, 50, cutoff) / 200))
        d = hold(1 + sqrt(self.expr(2)) * k + k * k)
        b0 = hold(k * k / d)
        a1, a2 = hold(2 * (k * k - 1) / d), hold((1 - sqrt(self.expr(2)) * k + k * k) / d)
        # direct form I: its memory means the same whatever the cutoff
        u1, u2, y1, y2 = (self.discrete_state(f"{name}_{w}") for w in ("u1", "u2", "y1", "y2"))
        y = hold(b0 * (u + 2 * u1 + u2) - a1 * y1 - a2 * y2)
        y = hold(where(passes | starts, u, y))
        for memory, following in ((u2, u1), (u1, u), (y2, y1), (y1, y)):
            fresh = u if following in (u1, u) else y
            self.update(memory, where(new, where(starts, fresh, following), memory))
        return y

    def _predicted(
        self,
        blob: str,
        kept: dict[str, list[Expr]],
        z: Sequence[Expr],
        stamp: Expr,
        valid: Expr,
        known: Expr,
    ) -> None:
        """Say where a blob will be, and whether it is seen."""
        hold = self.intermediate
        age = hold(self.time - stamp)
        ahead = hold(age + self._predict)
        good = hold(valid & known & (age <= LONGEST))
        found: dict[str, list[Expr]] = {key: [] for key in NINE}
        for c, x, v, a in zip("xyz", *(kept[key] for key in NINE), strict=True):
            place = self.discrete_state(f"{blob}_{c}_shown")
            now = hold(where(good, x + ahead * (v + ahead * a / 2), place))
            self.update(place, now)
            found["x"].append(now)
            found["xd"].append(where(good, v + ahead * a, 0))
            found["xdd"].append(where(good, a, 0))
        for key, unit in zip(NINE, ("m", "m/s", "m/s^2"), strict=True):
            self.output_vector(f"{blob}_{key}", found[key], unit=unit, doc=f"{key} of {blob}")
        self.output(f"{blob}_status", where(good, 1, 0), doc="whether it is seen")
        self.output_vector(f"{blob}_unfiltered", list(z), unit="m", doc="as it was seen")
