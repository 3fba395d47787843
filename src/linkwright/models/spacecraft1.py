"""Spacecraft with a camera platform and a boom: five bodies, ten degrees of freedom (thesis, 9.4).

The bus b carries a clock c, on which the camera d turns about -c.x, and a boom f on a massless
cross e. Hinge springs follow commands for clock and camera; three thrusters with memory
hold the attitude. The commands are functions of time. The thrusters are foreign functions: they
switch on beyond a dead band and stay on for at least 20 ms.
"""

from __future__ import annotations

from linkwright.algebra import ForeignFunction, foreign
from linkwright.mechanism import Mechanism
from linkwright.models.declare import declare, declare_inertia

_THRUST_C = """\
double thrust(double t, double axis, double error) {
  static double fire[3], off[3];
  int i = (int)axis - 1;
  if (t <= 0.0) fire[i] = off[i] = 0.0;
  if (error < -0.0025) { fire[i] = 1.0; off[i] = t + 0.02; }
  else if (error > 0.0025) { fire[i] = -1.0; off[i] = t + 0.02; }
  else if (t >= off[i]) fire[i] = 0.0;
  return fire[i];
}
"""


def build(small: bool = False, external: bool = True) -> Mechanism:
    """Return the spacecraft.

    >>> len(build().coordinates)
    10
    """
    m = Mechanism("spacecraft-1", "spacecraft with camera platform, boom and thrusters")
    if small:
        m.large("KB", "BB")
    _parameters(m)
    _commands(m, external)
    m.declared_only = True
    b = m.body(
        "b",
        translate="xyz",
        rotate="xyz",
        mass="BM",
        inertia=("BI11", "BI22", "BI33", "BI12", "BI23", "BI13"),
        small=small,
        doc="bus",
    )
    c = m.body(
        "c",
        parent=b,
        rotate="z",
        at=(0, 0, "-L1"),
        mass="CM",
        com=(0, 0, "L2"),
        inertia=("CI", "CI", 0),
        doc="clock",
    )
    d = m.body(
        "d",
        parent=c,
        rotate=[(-1, 0, 0)],
        body_axis="x",
        at=(0, "-L3", 0),
        mass="DM",
        com=(0, "L5", "L6"),
        inertia=("DI11", "DI22", "DI33", "DI12", "DI23", "DI13"),
        doc="camera",
    )
    e = m.body(
        "e",
        parent=b,
        rotate="z",
        at=(0, "-L7", 0),
        mass=0,
        inertia=0,
        small=small,
        doc="massless cross of the boom",
    )
    f = m.body(
        "f",
        parent=e,
        rotate="x",
        mass="FM",
        com=(0, "-L8", 0),
        inertia=("FI1", "FI2", "FI1"),
        small=small,
        doc="boom",
    )
    m.moment("boom z", "-KB*e - BB*e_dot", on=f, about=e.z, reaction=b, doc="root of the boom")
    m.moment("boom x", "-KB*f - BB*f_dot", on=f, about=f.x, reaction=b, doc="root of the boom")
    m.moment(
        "clock",
        "KCLOCK*(#clock - c) - BCLOCK*c_dot",
        on=c,
        about=c.z,
        reaction=b,
        doc="drive of the clock",
    )
    m.moment(
        "camera",
        "KCLOCK*(#camera - d) - BCLOCK*d_dot",
        on=d,
        about=d.x,
        reaction=c,
        doc="drive of the camera",
    )
    _thrusters(m, external)
    m.set_initial(c=4, d=-0.5)
    m.set_timing(30, step=0.02, every=5)
    return m


def small() -> Mechanism:
    """Return the spacecraft with small motions of the bus and small bending of the boom.

    >>> small().coordinates["e"].data.small
    1
    """
    return build(small=True)


def _commands(m: Mechanism, external: bool) -> None:
    if external:
        m.variables["clock"] = m.expr("where(t < 1, 4, where(t < 11, 4 - 0.025*(t - 1), 3.75))")
        m.variables["camera"] = m.expr(
            "where(t < 1, -0.5, where(t < 11, -0.5 + 0.01*(t - 1), -0.4))"
        )
        return
    m.variables["clock"] = m.input("CLKCMD", 4, unit="rad", doc="command of the clock")
    m.variables["camera"] = m.input("CAMCMD", -0.5, unit="rad", doc="command of the camera")


def _thrusters(m: Mechanism, external: bool) -> None:
    b = m.bodies["b"]
    thrust = thruster()
    for i, (letter, rate, axis) in enumerate(zip("xyz", "pqr", (b.x, b.y, b.z), strict=True), 1):
        if external:
            error = m.expr(f"GYRO*b.{rate} + b.r{letter}")
            fire = thrust(m.time, i, error)
        else:
            fire = m.input(f"FIRE{i}", unit="1", doc=f"thruster about axis {letter}: -1, 0, 1")
        m.moment(
            f"thruster {letter}",
            m.parameters[f"LTT{i}"] * fire,
            on=b,
            about=axis,
            doc=f"thrusters about axis {letter}",
        )


def thruster() -> ForeignFunction:
    """Return the thrusters' function of time, axis and error, with a memory of its own.

    Time must not go back, except to zero, where the memory is cleared; so one function serves one
    run at a time.

    >>> fire = thruster().python
    >>> fire(0.0, 1, 0.0), fire(0.1, 1, 0.003), fire(0.11, 1, 0.0), fire(0.13, 1, 0.0)
    (0.0, -1.0, -1.0, 0.0)
    """
    memory = dict.fromkeys((1, 2, 3), (0.0, 0.0))

    def thrust(t: float, axis: float, error: float) -> float:
        fire, off = (0.0, 0.0) if t <= 0 else memory[int(axis)]
        if abs(error) > 0.0025:
            fire, off = (1.0 if error < 0 else -1.0), t + 0.02
        elif t >= off:
            fire = 0.0
        memory[int(axis)] = fire, off
        return fire

    return foreign(
        "thrust",
        3,
        python=thrust,
        c_source=_THRUST_C,
        derivatives=(lambda *_: 0, lambda *_: 0, lambda *_: 0),
        pure=False,
    )


def _parameters(m: Mechanism) -> None:
    m.positive("BM", "CM")
    declare(m, "m", "clock joint behind the origin of the bus", L1=1.5)
    declare(m, "m", "mass center of the clock from its joint", L2=0.75)
    declare(m, "m", "camera joint beside the axis of the clock", L3=0.1)
    declare(m, "m", "mass center of the camera", L5=0.22, L6=0.2)
    declare(m, "m", "root of the boom beside the origin of the bus", L7=1.2)
    declare(m, "m", "mass center of the boom from its root", L8=3.3)
    declare(m, "kg", "mass of the bus", BM=410)
    declare(m, "kg", "mass of the clock", CM=6.8)
    declare(m, "kg", "mass of the camera", DM=57.5)
    declare(m, "kg", "mass of the boom", FM=10.7)
    declare_inertia(m, "BI", "kg*m^2", i11=115, i12=-14, i13=14, i22=316, i23=-34.6, i33=440)
    declare(m, "kg*m^2", "moment of inertia of the clock across its axis", CI=0.35)
    declare_inertia(m, "DI", "kg*m^2", i11=4.85, i12=-0.41, i13=-0.07, i22=2.2, i23=-0.54, i33=5.5)
    declare(m, "kg*m^2", "moment of inertia of the boom across its axis", FI1=27.2)
    declare(m, "kg*m^2", "moment of inertia of the boom about its axis", FI2=0.2)
    declare(m, "N*m", "moment of a thruster", LTT1=0.23, LTT2=0.21, LTT3=0.31)
    declare(m, "s", "weight of the rate in the attitude error", GYRO=2)
    declare(m, "N*m/rad", "stiffness of the drives of clock and camera", KCLOCK=3500)
    declare(m, "N*m*s/rad", "damping of the drives of clock and camera", BCLOCK=20)
    declare(m, "N*m/rad", "stiffness of the boom's root", KB=2000)
    declare(m, "N*m*s/rad", "damping of the boom's root", BB=10)
