"""PUMA 560: six revolute joints with geared drives, in standard Denavit-Hartenberg frames.

Parameters of Corke and Armstrong (1994). Frame i of the literature sits at the far end of link i;
here the frame of link i sits at its joint, z along the joint's axis, and the masses are moved
accordingly. Zero entries of the tables are left out. Gravity is along -z of the base.

A drive adds its rotor's inertia G^2 Jm to the joint, and viscous and Coulomb friction of the motor,
G^2 B and |G| Tc, the latter by the sign of the joint's speed. Below the small speed `creep` it
grows with the speed, so that a joint comes to rest; a jump would hold up any adaptive integration.

With `wrist=4r` link 4 carries the last three links of the wrist of `wrist_4r` in place of links 5
and 6, with drives like theirs, so that the arm has seven joints and q4 to q7 are the wrist's.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from linkwright.algebra import Vector
from linkwright.base.errors import InputError
from linkwright.elements import drives as electrics
from linkwright.mechanism import Body, Mechanism
from linkwright.models import wrist_4r
from linkwright.motion import point_to_point
from linkwright.system import System


@dataclass(frozen=True, slots=True)
class _Link:
    """One row of the tables; `turn` is alpha in quarter turns."""

    turn: int
    d: float = 0.0
    a: float = 0.0
    mass: float = 0.0
    center: tuple[float, float, float] = (0.0, 0.0, 0.0)
    inertia: tuple[float, float, float] = (0.0, 0.0, 0.0)


@dataclass(frozen=True, slots=True)
class _Drive:
    inertia: float
    gear: float
    viscous: float
    coulomb: tuple[float, float]


@dataclass(frozen=True, slots=True)
class _Electric:
    """Winding and gear of a drive, generic values of its size, and the load it is tuned for."""

    R: float
    L: float
    kt: float
    stiffness: float
    damping: float
    load: float


_LINKS = (
    _Link(1, d=0.67183, inertia=(0, 0.35, 0)),
    _Link(0, a=0.4318, mass=17.4, center=(-0.3638, 0.006, 0.2275), inertia=(0.13, 0.524, 0.539)),
    _Link(
        -1,
        d=0.15005,
        a=0.0203,
        mass=4.8,
        center=(-0.0203, -0.0141, 0.070),
        inertia=(0.066, 0.086, 0.0125),
    ),
    _Link(1, d=0.4318, mass=0.82, center=(0, 0.019, 0), inertia=(1.8e-3, 1.3e-3, 1.8e-3)),
    _Link(-1, mass=0.34, inertia=(0.3e-3, 0.4e-3, 0.3e-3)),
    _Link(0, mass=0.09, center=(0, 0, 0.032), inertia=(0.15e-3, 0.15e-3, 0.04e-3)),
)
_DRIVES = (
    _Drive(200e-6, -62.6111, 1.48e-3, (0.395, -0.435)),
    _Drive(200e-6, 107.815, 0.817e-3, (0.126, -0.071)),
    _Drive(200e-6, -53.7063, 1.38e-3, (0.132, -0.105)),
    _Drive(33e-6, 76.0364, 71.2e-6, (11.2e-3, -16.9e-3)),
    _Drive(33e-6, 71.923, 82.6e-6, (9.26e-3, -14.5e-3)),
    _Drive(33e-6, 76.686, 36.7e-6, (3.96e-3, -10.5e-3)),
)
_ELECTRICS = (
    _Electric(1.6, 3.0e-3, 0.19, 20_000, 60, 3.0),
    _Electric(1.6, 3.0e-3, 0.22, 20_000, 60, 3.5),
    _Electric(1.6, 3.0e-3, 0.20, 10_000, 20, 0.9),
    _Electric(3.8, 4.0e-3, 0.075, 1_500, 1.0, 0.03),
    _Electric(3.8, 4.0e-3, 0.066, 1_500, 1.0, 0.03),
    _Electric(3.8, 4.0e-3, 0.066, 800, 0.5, 0.01),
)
_BUS = 40.0
"""Voltage of the supply, V."""
_WAY = ((0.0, 0.7853981633974483, -3.141592653589793, 0.0, 0.7853981633974483, 0.0),
        (0.5, 0.4, -2.7, 0.3, 0.5, 0.4))  # fmt: skip
_AXES = "xyz"


def build(
    drives: bool | Literal["electric"] = True, wrist: Literal["3r", "4r"] = "3r"
) -> Mechanism | System:
    """Return the arm: with rotors and friction, without, or as a System with electric drives.

    >>> from linkwright.mechanism import mechanism_of
    >>> list(mechanism_of(build()).coordinates)
    ['q1', 'q2', 'q3', 'q4', 'q5', 'q6']
    >>> len(mechanism_of(build(wrist="4r")).coordinates)
    7
    """
    if drives == "electric":
        if wrist != "3r":
            raise InputError(
                "the electric drives are those of the PUMA's own wrist",
                remedy="choose drives=on or drives=off with wrist=4r",
            )
        return electric()
    return arm(drives=drives, wrist=wrist)


def arm(
    *, drives: bool, torques: bool = True, wrist: str = "3r", name: str = "puma560"
) -> Mechanism:
    """Return the arm alone."""
    four = wrist == "4r"
    doc = "PUMA 560 arm" + (" and wrist of four joints" if four else "")
    doc += " with geared drives" if drives else ""
    m = Mechanism(f"{name}-4r" if four else name, doc)
    m.parameter("g", 9.81, unit="m/s^2", doc="gravity")
    bodies: list[Body] = []
    for i, link in enumerate(_LINKS[:4] if four else _LINKS, 1):
        bodies.append(_body(m, i, link, bodies[-1] if bodies else m.ground))
    axes = "z" * len(bodies)
    if four:
        bodies += wrist_4r.add_wrist(m, bodies[-1], (0, 0, "d4"), number=5, begin=1)
        axes += wrist_4r.AXES[1:]
    m.gravity(along="-z", g="g")
    if drives:
        m.parameter("creep", 1e-3, unit="rad/s", doc="speed up to which dry friction grows")
    known = (*_DRIVES[:5], *_DRIVES[4:]) if four else _DRIVES
    for i, (body, axis, drive) in enumerate(zip(bodies, axes, known, strict=True), 1):
        about = getattr(body, axis)
        if torques:
            torque = m.input(f"tau{i}", unit="N*m", doc=f"torque of drive {i} at the joint")
            name, parent = f"drive {i}", body.parent
            m.moment(name, torque, on=body, about=about, reaction=parent, doc=name)
        if drives:
            _drive(m, i, drive, body, about)
    tool = m.point("tool", bodies[-1])
    for axis, direction in zip(_AXES, (m.x, m.y, m.z), strict=True):
        m.output(f"tool {axis}", tool.position @ direction, unit="m", doc=f"tool point, {axis}")
    m.set_initial(q2=0.7853981633974483, q3=-3.141592653589793, q5=0.7853981633974483)
    return m


def _body(m: Mechanism, i: int, link: _Link, parent: Body) -> Body:
    """Add link i; its joint stands at the far end of the link before."""
    at: tuple[object, ...] = (0, 0, 0)
    direction: tuple[int, int, int] = (0, 0, 1)
    if i > 1:
        before = _LINKS[i - 2]
        at = (_named(before.a, f"a{i - 1}"), 0, _named(before.d, f"d{i - 1}"))
        direction = ((0, 0, 1), (0, -1, 0), (0, 1, 0))[before.turn]
    _parameter(m, f"a{i}", link.a, "m", f"distance a of link {i}")
    _parameter(m, f"d{i}", link.d, "m", f"distance d of link {i}")
    mass = _parameter(m, f"m{i}", link.mass, "kg", f"mass of link {i}")
    center = [
        _parameter(m, f"{axis}{i}", value, "m", f"mass center of link {i}, {axis} of its DH frame")
        for axis, value in zip(_AXES, link.center, strict=True)
    ]
    xx, yy, zz = (
        _parameter(m, f"I{axis}{axis}{i}", value, "kg*m^2", f"inertia of link {i} about DH {axis}")
        for axis, value in zip(_AXES, link.inertia, strict=True)
    )
    x, y, z = _turned(link.turn, *center)
    if link.turn:
        yy, zz = zz, yy
    return m.body(
        f"link{i}",
        parent=parent,
        rotate=[direction],
        body_axis="z",
        reference="x",
        at=at,
        mass=mass,
        com=(_plus(x, f"a{i}", link.a), y, _plus(z, f"d{i}", link.d)) if mass else (0, 0, 0),
        inertia=(xx, yy, zz),
        coordinates=(f"q{i}",),
        doc=f"link {i}",
    )


def _named(value: float, name: str) -> str | int:
    return name if value else 0


def _parameter(m: Mechanism, name: str, value: float, unit: str, doc: str) -> str | int:
    """Declare a parameter and return its name; an entry that is zero has none."""
    if not value:
        return 0
    m.parameter(name, value, unit=unit, doc=doc)
    return name


def _turned(turn: int, x: str | int, y: str | int, z: str | int) -> tuple[str | int, ...]:
    """Return coordinates of the DH frame in axes that alpha has not yet turned."""
    if turn == 1:
        return x, _minus(z), y
    if turn == -1:
        return x, z, _minus(y)
    return x, y, z


def _minus(name: str | int) -> str | int:
    return f"-{name}" if name else 0


def _plus(name: str | int, other: str, value: float) -> str | int:
    return f"{name} + {other}" if value else name


def _drive(m: Mechanism, i: int, drive: _Drive, body: Body, about: Vector) -> None:
    m.parameter(f"Jm{i}", drive.inertia, unit="kg*m^2", doc=f"inertia of motor {i}")
    m.parameter(f"G{i}", drive.gear, unit="1", doc=f"gear ratio of drive {i}")
    m.parameter(f"B{i}", drive.viscous, unit="N*m*s/rad", doc=f"viscous friction of motor {i}")
    ahead, back = drive.coulomb
    m.parameter(f"Tcp{i}", ahead, unit="N*m", doc=f"Coulomb friction of motor {i} forward")
    m.parameter(f"Tcm{i}", back, unit="N*m", doc=f"Coulomb friction of motor {i} backward")
    m.armature(body, f"G{i}**2*Jm{i}")
    speed = f"q{i}_dot"
    m.moment(
        f"friction {i}",
        f"-G{i}**2*B{i}*{speed}"
        f" - abs(G{i})*where({speed} > 0, Tcp{i}, -Tcm{i})*max(-1, min(1, {speed}/creep))",
        on=body,
        about=about,
        reaction=body.parent,
        doc=f"friction of drive {i}",
    )


def electric() -> System:
    """Return the arm with six electric drives: elastic gears, current loops, a motion to follow.

    >>> len(electric().members)
    13
    """
    m = arm(drives=False, torques=False)
    m.doc = "PUMA 560 arm with six electric drives"
    m.set_timing(1.5, step=1e-3)
    s = System(m)
    way = s.add(point_to_point(*_WAY, duration=1.0).block("way"))
    cascade = electrics.Cascade(10_000, 2_000, 1_000, voltage_limit=_BUS)
    for i, (known, made) in enumerate(zip(_DRIVES, _ELECTRICS, strict=True)):
        dry = (known.coulomb[0] - known.coulomb[1]) / 2
        motor = electrics.DC(
            made.R, made.L, made.kt, known.inertia, known.viscous, coulomb=dry, creep=1.0
        )
        gear = electrics.Elastic(known.gear, stiffness=made.stiffness, damping=made.damping)
        amplifier = electrics.PWM(_BUS, 20e3)
        _, servo = electrics.attach(
            s,
            electrics.Drive(m, f"q{i + 1}", amplifier, motor, gear),
            electrics.Servo(cascade, motor, gear, inertia=made.load),
            f"drive{i + 1}",
        )
        s.connect(way.q[i], servo.reference)
        s.set_initial({f"drive{i + 1}.motor.angle": known.gear * _WAY[0][i]})
    return s


def rotors(m: Mechanism) -> None:
    """Give the joints of an arm without drives the inertia of its geared motors.

    >>> m = arm(drives=False)
    >>> rotors(m)
    >>> round(float(m.armatures[m.bodies["link6"]].data), 3)
    0.194
    """
    for i, drive in enumerate(_DRIVES, 1):
        m.armature(f"link{i}", drive.gear**2 * drive.inertia)
