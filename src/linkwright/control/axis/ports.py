"""The inputs of an axis controller: what is measured, demanded, switched and tuned.

All of them are inputs and not parameters, so that they may change at any tick of a run. Positions
are in rad or m, axis by axis, so that the ports themselves have no unit.
"""

from __future__ import annotations

from dataclasses import dataclass

from linkwright.control.axis.codes import DAC_SCALE


@dataclass(frozen=True, slots=True)
class AxisPort:
    """An input of an axis controller.

    >>> AxisPort("ilim", 5.0, "limit", "A", whole=1023).whole
    1023
    """

    name: str  # of the port
    default: float  # of the SI form; of the integer form where `whole` gives no other
    doc: str  # what it is
    unit: str = "?"  # in the SI form
    alone: bool = False  # whether there is one for all axes, and not one for each
    whole: float | None = None  # the default of the integer form, None for the same
    # of the SI form, that it belongs to; "" for all controllers, "card" for the integer form alone
    part: str = ""


PARTS = ("following", "heat", "brakes", "limits", "feedforward", "notch", "home")
"""What the SI form has beyond the integer one, each only where it is asked for."""

PORTS = (
    AxisPort("demand", 0.0, "set-point: position, speed or current, by the mode"),
    AxisPort("encoder", 0.0, "measured position, rad or m; in integers the encoder's register"),
    AxisPort("adc", 0.0, "A/D converter, raw"),
    AxisPort("offset", 0.0, "added to the current", "A"),
    AxisPort("mode", 1.0, "a number of AxisMode", whole=0.0),
    AxisPort("coulcomp", 0.0, "whether Coulomb friction is compensated (S3)"),
    AxisPort("adfb", 0.0, "whether feedback comes from the A/D converter (S4)"),
    AxisPort("zerofb", 0.0, "whether the loop is open: no feedback (S5)"),
    AxisPort("addmd", 0.0, "whether the demand comes from the A/D converter (S1)"),
    AxisPort("adoff", 0.0, "whether the offset comes from the A/D converter"),
    AxisPort("poschk", 0.0, "whether limits of position are checked"),
    AxisPort("softerr", 0.0, "whether errors are only reported"),
    AxisPort("a0", 1.0, "coefficient of the error"),
    AxisPort("a1", 0.0, "coefficient of the error a sample ago"),
    AxisPort("a2", 0.0, "coefficient of the error two samples ago"),
    AxisPort("b0", 1.0, "by which all is divided"),
    AxisPort("b1", 0.0, "coefficient of the output a sample ago"),
    AxisPort("b2", 0.0, "coefficient of the output two samples ago"),
    AxisPort("ic_pos", 0.0, "current against Coulomb friction, turning forward", "A"),
    AxisPort("ic_neg", 0.0, "current against Coulomb friction, turning backward", "A"),
    AxisPort("ilim", 0.0, "limit of the current", "A", whole=DAC_SCALE // 2),
    AxisPort("ilimmax", 0.0, "samples above the limit before a trip; 0 clips instead", "1"),
    AxisPort("plo", 0.0, "lowest position"),
    AxisPort("phi", 0.0, "highest position"),
    AxisPort("adc_a", 1.0, "slope of the A/D law"),
    AxisPort("adc_b", 0.0, "offset of the A/D law"),
    AxisPort("ipole", 0.0, "pole of the filter of the current; 0 for none", "1"),
    AxisPort("clkdivisor", 1.0, "ticks in a sample of the axis", "1"),
    AxisPort("preset", 0.0, "what the position is set to"),
    AxisPort("presets", 0.0, "raised by one where the position is to be set", "1"),
    AxisPort("enable", 1.0, "its rise lets currents flow, 0 takes them away", "1", True, 0.0),
    AxisPort("clear", 0.0, "its rise forgets a trip or PANIC that is over", "1", True),
    AxisPort("service", 1.0, "whether the host serves this tick", "1", True),
    AxisPort("heartbeat", 0.0, "silence of the host before PANIC; 0 for ever", "s", True),
    AxisPort("button", 0.0, "the PANIC button", "1", True),
    AxisPort("connected", 1.0, "0 where a cable is broken", "1", True),
    AxisPort("panic_line", 0.0, "PANIC line from elsewhere", "1", True),
    AxisPort("following", 0.0, "largest error of position; 0 for none", part="following"),
    AxisPort("rated", 0.0, "current that may flow for ever; 0 for any", "A", part="heat"),
    AxisPort("overload", 0.0, "what i2 may add up to above it", "A^2*s", part="heat"),
    AxisPort("release", 0.0, "from enabling to open brakes", "s", True, part="brakes"),
    AxisPort("engage", 0.0, "from disabling to closed brakes", "s", True, part="brakes"),
    AxisPort("lowest", -1e9, "lowest demand", part="limits"),
    AxisPort("highest", 1e9, "highest demand", part="limits"),
    AxisPort("deceleration", 1e9, "of the demand before them", part="limits"),
    AxisPort("demand_rate", 0.0, "speed of the demand", part="feedforward"),
    AxisPort("demand_acceleration", 0.0, "of the demand", part="feedforward"),
    AxisPort("kv", 0.0, "current for speed, A*s/rad or A*s/m", part="feedforward"),
    AxisPort("ka", 0.0, "current for acceleration, A*s^2/rad or A*s^2/m", part="feedforward"),
    AxisPort("n0", 1.0, "notch filter, numerator", "1", part="notch"),
    AxisPort("n1", 0.0, "notch filter, numerator, a sample ago", "1", part="notch"),
    AxisPort("n2", 0.0, "notch filter, numerator, two samples ago", "1", part="notch"),
    AxisPort("d1", 0.0, "notch filter, denominator, a sample ago", "1", part="notch"),
    AxisPort("d2", 0.0, "notch filter, denominator, two samples ago", "1", part="notch"),
    AxisPort("switch", 0.0, "the home switch", "1", part="home"),
    AxisPort("home_speed", 0.0, "with which it is looked for", part="home"),
    AxisPort("home_place", 0.0, "where it is", part="home"),
    AxisPort("dac", 0.0, "D/A converter of an axis that is off", part="card"),
    AxisPort("leds", 0.0, "lamps of the axis", part="card"),
    AxisPort("encoder_loop", 0.0, "encoders count ticks", alone=True, part="card"),
    AxisPort("analog_loop", 0.0, "A/D converters read the D/A converters", alone=True, part="card"),
    AxisPort("double_buffer", 0.0, "currents of all axes change at the next tick", "?", True,
             part="card"),
)  # fmt: skip
"""All inputs; `fault`, one for each card, is the only one that is not here."""
