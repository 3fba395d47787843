"""The sensor chain: what sensors give becomes positions, speeds, accelerations and loads of joints.

Of a joint whose sensor turns with it, theta = polarity * raw - offset; a linear sensor gives the
length of a triangle instead (`linkages`). Each channel then has a Butterworth filter of its own,
which works on unfiltered data: with equal cutoffs the filtered speed stays the rate of the filtered
position. `RawSensors` and `Actuators` are the way back, for the robot's side of a driver.
"""

from __future__ import annotations

from linkwright.algebra import Expr, where
from linkwright.blocks import Block
from linkwright.elements.filters import low_passed
from linkwright.lab.config import JointConfig, LabConfig
from linkwright.lab.servos.columns import column, is_number
from linkwright.lab.servos.linkages import linkage_of

CHANNELS = ("q", "u", "a", "load")
"""What the sensors report a joint: position, speed, acceleration, load."""


class Sensors(Block):
    """From raw readings to filtered ones, as vectors over the joints.

    Inputs are `raw_q`, `raw_u`, `raw_a`, `raw_load` and `filters`, not zero for filters that
    count. A filter works on while it does not count: switched on, the outputs are at once
    those of a filter that was never off. Outputs are `q`, `u`, `a`, `load`, and `without_offset`,
    positions from which no offset was taken. A reading of a robot that is not a number, or no
    length of its linear sensor, counts in `bad`, and the one before it holds.

    >>> from linkwright.formats.robot.description import Description, Link
    >>> joint = JointConfig("elbow", 0.0, 2.0, filters=(5.0, 5.0, 5.0, 5.0))
    >>> Sensors(LabConfig("arm", Description("arm", (Link("base"),), ()), (joint,)))
    Sensors(sensors: raw_q, raw_u, raw_a, raw_load, filters -> q, u, a, load, without_offset, bad)
    """

    needs_rate = True
    """It remembers from instant to instant."""

    def __init__(
        self,
        config: LabConfig,
        *,
        real: bool = False,
        derived: tuple[str, ...] = (),
        name: str = "sensors",
    ) -> None:
        super().__init__(name, doc="calibration and filters of the sensors")
        n, hold = len(config.joints), self.intermediate
        start = column(config, "default")
        rest = {
            "q": [_raw(joint, self.expr(joint.default), real) for joint in config.joints],
            **{key: [self.expr(0)] * n for key in CHANNELS[1:]},
        }
        raw = {key: self.input_vector(f"raw_{key}", n, rest[key]) for key in CHANNELS}
        filters = self.input("filters", 1.0, doc="whether filters count")
        found: dict[str, list[Expr]] = {key: [] for key in (*CHANNELS, "free", "bad")}
        for i, joint in enumerate(config.joints):
            given, bad = {}, self.expr(0)
            for key in CHANNELS:
                if key in derived:
                    continue
                if not real:  # a simulation with no numbers stops by itself
                    given[key] = raw[key][i]
                    continue
                held = self.discrete_state(f"held_{key}{i}", initial=rest[key][i])
                good = is_number(raw[key][i])
                if key == "q" and joint.linear_sensor:
                    good = good & linkage_of(joint).is_length(raw[key][i])
                good = hold(good)
                given[key] = hold(where(good, raw[key][i], held))
                self.update(held, given[key])
                bad = bad + where(good, 0, 1)
            if real:
                count = self.discrete_state(f"bads{i}")
                bad = hold(count + bad)
                self.update(count, bad)
            found["bad"].append(bad)
            values = self._calibrated(joint, given, real)
            for key, before in (("u", "q"), ("a", "u")):
                if key in derived:
                    last = self.discrete_state(
                        f"last_{before}{i}", values[before], start[i] if before == "q" else 0.0
                    )
                    values[key] = hold((values[before] - last) / self.period)
            found["free"].append(values["q"] + (joint.offset if real else 0.0))
            for key, cutoff in zip(CHANNELS, joint.filters, strict=True):
                at = start[i] if key == "q" else 0.0
                smooth = low_passed(self, values[key], cutoff, at, suffix=f"_{key}{i}")
                found[key].append(
                    values[key] if smooth is values[key] else where(filters, smooth, values[key])
                )
        docs = ("positions", "speeds", "accelerations", "loads")
        for key, doc in zip(CHANNELS, docs, strict=True):
            self.output_vector(key, found[key], doc=doc)
        self.output_vector("without_offset", found["free"], doc="positions with their offsets")
        self.output_vector("bad", found["bad"], doc="readings that were no numbers")

    def _calibrated(
        self, joint: JointConfig, given: dict[str, Expr], real: bool
    ) -> dict[str, Expr]:
        """Return what the readings of a joint mean."""
        if not real:
            return dict(given)
        hold, found = self.intermediate, {}
        if joint.linear_sensor:
            linkage = linkage_of(joint)
            q = found["q"] = hold(linkage.angle(given["q"]) - joint.offset)
            lever = hold(linkage.divisor(q))
            if "u" in given:
                found["u"] = hold(given["u"] / lever)
            if "a" in given:
                speed = found.get("u", self.expr(0))
                found["a"] = hold((given["a"] - linkage.bend(q) * speed * speed) / lever)
        else:
            sign = joint.position_polarity
            found["q"] = hold(sign * given["q"] - joint.offset)
            found |= {key: hold(sign * given[key]) for key in ("u", "a") if key in given}
        load = joint.load_polarity * given["load"]
        if joint.linear_load_cell:
            load = load * linkage_of(joint).lever(found["q"])
        return found | {"load": hold(load)}


def _raw(joint: JointConfig, angle: Expr, real: bool = True) -> Expr:
    """Return what the position sensor of a joint gives."""
    if not real:
        return angle
    if joint.linear_sensor:
        return linkage_of(joint).length(angle)
    return joint.position_polarity * (angle + joint.offset)


class RawSensors(Block):
    """What the sensors of a robot give: from joints to raw readings.

    Inputs are `q`, `u`, `a`, `load`; outputs `raw_q`, `raw_u`, `raw_a`, `raw_load`. `Sensors` with
    `real=True` undoes it exactly.

    >>> from linkwright.formats.robot.description import Description, Link
    >>> joint = JointConfig("elbow", 0.0, 2.0, offset=0.1, position_polarity=-1.0)
    >>> block = RawSensors(LabConfig("arm", Description("arm", (Link("base"),), ()), (joint,)))
    >>> block.outputs["raw_q"].values
    (-q[0] - 0.1,)
    """

    def __init__(self, config: LabConfig, name: str = "raw_sensors") -> None:
        super().__init__(name, doc="what the sensors of the robot give")
        n = len(config.joints)
        q = self.input_vector("q", n, column(config, "default"))
        u, a, load = (self.input_vector(key, n) for key in CHANNELS[1:])
        found: dict[str, list[Expr]] = {key: [] for key in CHANNELS}
        for i, joint in enumerate(config.joints):
            found["q"].append(_raw(joint, q[i]))
            if joint.linear_sensor:
                linkage = linkage_of(joint)
                lever = self.intermediate(linkage.lever(q[i]))
                found["u"].append(lever * u[i])
                found["a"].append(lever * a[i] + linkage.bend(q[i]) * u[i] * u[i])
            else:
                found["u"].append(joint.position_polarity * u[i])
                found["a"].append(joint.position_polarity * a[i])
            torque = joint.load_polarity * load[i]
            if joint.linear_load_cell:
                torque = torque / linkage_of(joint).divisor(q[i])
            found["load"].append(torque)
        for key in CHANNELS:
            self.output_vector(f"raw_{key}", found[key])


class MiscSensors(Block):
    """Further sensors of a robot: what comes in as `raw` is reported as `value`.

    >>> from linkwright.formats.robot.description import Description, Link
    >>> arm = Description("arm", (Link("base"),), ())
    >>> MiscSensors(LabConfig("arm", arm, (), misc_sensors=("FOOT_FZ",)))
    MiscSensors(misc: raw -> value)
    """

    def __init__(self, config: LabConfig, name: str = "misc") -> None:
        super().__init__(name, doc="further sensors")
        count = len(config.misc_sensors)
        raw = self.input_vector("raw", count, doc="as they are read")
        self.output_vector("value", list(raw), doc="in the order of their names")


class Actuators(Block):
    """From wanted torques to commands of actuators: forces where they are linear.

    Inputs are `tau` (N*m, or the forces) and the calibrated `q`; the output is `drive`. A linear
    actuator of the length L gives F dL/dtheta.

    >>> from linkwright.formats.robot.description import Description, Link
    >>> joint = JointConfig("elbow", 0.0, 2.0)
    >>> Actuators(LabConfig("arm", Description("arm", (Link("base"),), ()), (joint,)))
    Actuators(actuators: tau, q -> drive)
    """

    def __init__(self, config: LabConfig, *, back: bool = False, name: str = "actuators") -> None:
        super().__init__(name, doc="commands of actuators")
        n = len(config.joints)
        tau = self.input_vector("tau", n)
        q = self.input_vector("q", n, column(config, "default"))
        found = []
        for i, joint in enumerate(config.joints):
            if not joint.linear_actuator:
                found.append(tau[i])
                continue
            linkage = linkage_of(joint)
            found.append(tau[i] * linkage.lever(q[i]) if back else tau[i] / linkage.divisor(q[i]))
        self.output_vector("drive", found)
