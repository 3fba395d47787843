"""Ships: the report's motion, what is seen and felt on deck, and mounts that are carried."""

import math
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray

import linkwright as lw
from linkwright.algebra import cos, diff, evaluate_all, sin, symbol
from linkwright.motion import Sines
from linkwright.mounts.ship_files import read_ship
from linkwright.mounts.ships import FREEDOMS, Ship, heave_amplitude, report_ship
from tests.seeds import seldom

Array = NDArray[np.float64]

ROWS = [
    [(1.0, 0.3, 0.1)], [(0.7, 0.1, 0.13)], [(2.0, 0.5, 0.11)],
    [(0.3, 0.0, 0.2)], [(0.2, 0.4, 0.3)], [(0.25, 1.0, 0.15)],
]  # fmt: skip
LIVELY = Ship(Sines([0.0] * 6, ROWS), offset=(3.0, -2.0, 5.0), heading=math.radians(40.0))
CLOCK = symbol("t", "time")


def rotations(ship: Ship, t: Array) -> Array:
    """Return Rz(yaw) Ry(pitch) Rx(roll) by hand."""
    assert isinstance(ship.motion, Sines)
    r, p, y = ship.motion(t)[..., 3:].T
    cr, sr, cp, sp, cy, sy = (f(x) for x in (r, p, y) for f in (np.cos, np.sin))
    o, i = np.zeros_like(r), np.ones_like(r)
    rz = np.array([[cy, -sy, o], [sy, cy, o], [o, o, i]]).transpose(2, 0, 1)
    ry = np.array([[cp, o, sp], [o, i, o], [-sp, o, cp]]).transpose(2, 0, 1)
    rx = np.array([[i, o, o], [o, cr, -sr], [o, sr, cr]]).transpose(2, 0, 1)
    turned: Array = rz @ ry @ rx
    return turned


def test_a_heave_of_a_quarter_of_gravity_in_ten_seconds_is_six_meters() -> None:
    """Mount check 43."""
    assert heave_amplitude(0.25 * 9.81, 10.0) == pytest.approx(6.21226, abs=1e-5)
    motion = report_ship().motion
    assert isinstance(motion, Sines)
    places, rates, bends = (motion.max_abs(k) for k in range(3))
    assert places[2] == pytest.approx(6.21, abs=0.005)
    assert np.degrees(rates[3:5]) == pytest.approx([9.42, 6.73], abs=0.005)
    assert np.degrees(bends[3:5]) == pytest.approx([5.92, 6.04], abs=0.005)
    assert 76 * bends[3:5] == pytest.approx([7.85, 8.02], abs=0.01)


def test_a_stabilized_platform_keeps_directions_as_they_are() -> None:
    """Mount check 41: relative directions equal inertial ones, and so do poses on a real platform.

    The platform of the test has joints: it turns by -roll, -pitch and -yaw about x, y and z on a
    ship with six coordinates, so that R_ship R_stab = I is found and not said.
    """
    steady = Ship(LIVELY.motion, LIVELY.offset, stabilized=True)
    d, rate = (0.6, 0.0, 0.8), (0.0, 0.1, 0.0)
    assert [[float(x) for x in row] for row in steady.seen([d, rate], CLOCK)] == [
        list(d),
        list(rate),
    ]
    start = {"a": 0.2, "b": -0.4, "a_dot": 0.5, "b_dot": -1.0}
    on_platform = swinging(True, platform=True)
    runs = [
        lw.simulate(m, until=1.0, initial=start, method="dopri5", tolerance=1e-9)
        for m in (steady.carry(swinging(False)), on_platform)
    ]
    for name in ("a", "b"):
        assert runs[0].final[name] == pytest.approx(runs[1].final[name], abs=1e-7)
    at = np.array([runs[1][name] for name in on_platform.coordinates]).T
    turned = lw.Robot(on_platform).pose(at, "level")[:, :3, :3]
    assert np.abs(at[:, 3:6]).max() > 0.2  # the ship does turn
    assert np.abs(turned - np.eye(3)).max() < 1e-12
    assert np.abs(steady.attitude(runs[1].times) - turned).max() < 1e-12


def seen(ship: Ship, t: Array) -> Array:
    """Return a direction that circles, its rate and acceleration on deck, at times."""
    d = (0.6 * cos(0.3 * CLOCK), 0.6 * sin(0.3 * CLOCK), 0.8 + 0 * CLOCK)
    rate = tuple(diff(x, CLOCK) for x in d)
    rows = ship.seen([d, rate, [diff(x, CLOCK) for x in rate]], CLOCK)
    found = evaluate_all([x for row in rows for x in row], {CLOCK: t})
    return np.stack([np.broadcast_to(x, t.shape) for x in found], -1).reshape(-1, 3, 3)


def angles(d: Array) -> Array:
    """Return the report's azimuth and angle from the zenith of directions."""
    return np.stack([np.arctan2(d[..., 1], d[..., 0]), np.arccos(d[..., 2])], -1)


def test_relative_directions_rates_and_accelerations_agree_with_differences() -> None:
    """Mount check 42: and the report's angles are those of the direction."""
    t, h = np.linspace(1, 7, 13), 1e-4
    now, before, after = (seen(LIVELY, t + k * h) for k in (0, -1, 1))
    assert np.abs(now[:, 1] - (after[:, 0] - before[:, 0]) / (2 * h)).max() < 1e-8
    assert np.abs(now[:, 2] - (after[:, 1] - before[:, 1]) / (2 * h)).max() < 1e-8
    east = math.pi / 2 - LIVELY.heading
    c, s = math.cos(east), math.sin(east)
    whole = np.array([[c, -s, 0], [s, c, 0], [0, 0, 1]]) @ rotations(LIVELY, t)
    assert np.abs(LIVELY.attitude(t) - whole).max() < 1e-14
    d = np.stack([0.6 * np.cos(0.3 * t), 0.6 * np.sin(0.3 * t), np.full_like(t, 0.8)], -1)
    assert np.abs(now[:, 0] - np.einsum("tji,tj->ti", whole, d)).max() < 1e-14
    # C(theta) = C(phi) C_ship^T, with passive matrices: angles of its third row
    phi = angles(d)
    c3, s3, c2, s2 = np.cos(phi[:, 0]), np.sin(phi[:, 0]), np.cos(phi[:, 1]), np.sin(phi[:, 1])
    third = np.stack([c3 * s2, s3 * s2, c2], -1)  # of C2(phi2) C3(phi3a)
    relative = np.einsum("ti,tij->tj", third, whole)
    assert np.abs(angles(now[:, 0]) - angles(relative)).max() < 1e-12
    rates = (angles(after[:, 0]) - angles(before[:, 0])) / (2 * h)
    x, y, z = now[:, 0].T
    dx, dy, dz = now[:, 1].T
    by_rate = np.stack([(x * dy - y * dx) / (x**2 + y**2), -dz / np.sqrt(1 - z**2)], -1)
    assert np.abs(rates - by_rate).max() < 1e-7


def swinging(on_deck: bool, *, platform: bool = False) -> lw.Mechanism:
    """Return a mechanism with two bodies, on the ground or on a ship with six coordinates.

    A platform on the ship turns by the opposite angles, in the opposite order.
    """
    m = lw.Mechanism("swing")
    base = None
    if on_deck:
        for name, axis in zip(("surge", "sway", "heave"), "xyz", strict=True):
            base = m.body(name, parent=base, translate=axis, mass=0, inertia=0)
        for name, axis in zip(("yaw", "pitch", "roll"), "zyx", strict=True):
            base = m.body(name, parent=base, rotate=axis, mass=0, inertia=0)
        base = m.body("deck", parent=base, at=LIVELY.offset, mass=0, inertia=0)
        if platform:
            for name, axis in (("unroll", "x"), ("unpitch", "y"), ("level", "z")):
                base = m.body(name, parent=base, rotate=axis, mass=0, inertia=0)
    tensor = (0.2, 0.3, 0.1, 0.01, 0.02, -0.01)
    a = m.body("a", parent=base, at=(0.1, 0.2, 0.5), rotate="z", mass=2, com=(0.3, 0.1, 0.2),
               inertia=tensor)  # fmt: skip
    m.body("b", parent=a, at=(0.5, 0, 0.3), rotate="x", mass=1, com=(0.1, 0.3, 0.2),
           inertia=(0.1, 0.2, 0.3))  # fmt: skip
    m.gravity()
    if on_deck:
        for name, ((amplitude, phase, hertz),) in zip(FREEDOMS, ROWS, strict=True):
            law = f"{amplitude}*sin({2 * math.pi * hertz!r}*t + {phase})"
            m.prescribe(name, law)
            back = {"roll": "unroll", "pitch": "unpitch", "yaw": "level"}.get(name)
            if platform and back is not None:
                m.prescribe(back, f"-{law}")
    return m


@seldom(daily="tests/mounts/test_deck_loads.py::test_the_joints_of_a_platform_carry_more_at_sea")
def test_what_is_carried_moves_as_on_a_ship_with_six_coordinates() -> None:
    start = {"a": 0.2, "b": -0.4, "a_dot": 0.5, "b_dot": -1.0}
    carried = LIVELY.carry(swinging(False))
    assert (len(carried.coordinates), len(carried.constraints)) == (2, 0)
    runs = [
        lw.simulate(m, until=2.0, initial=start, method="dopri5", tolerance=1e-9)
        for m in (carried, swinging(True))
    ]
    for name in ("a", "b"):
        assert runs[0].final[name] == pytest.approx(runs[1].final[name], abs=1e-7)


def test_a_stabilized_mount_feels_the_acceleration_of_its_base_alone() -> None:
    ship = Ship(LIVELY.motion, LIVELY.offset, stabilized=True)
    assert not ship.carry(swinging(False)).forces
    t, h = np.linspace(0, 9, 10), 1e-4

    def place(times: Array) -> Array:
        assert isinstance(ship.motion, Sines)
        return ship.motion(times)[:, :3] + rotations(ship, times) @ ship.offset

    bend = (place(t + h) - 2 * place(t) + place(t - h)) / h**2
    assert np.abs(ship.felt(t) + bend - [0, 0, -9.81]).max() < 1e-5


ROUGH = """\
format = 1
offset = [0, 0, 76]
heading = "40 deg"
roll = {amplitude = "15 deg", period = 10}
pitch = {amplitude = 0.1, period = "7 s", phase = 0.5}
heave = {acceleration = 2.4525, period = 10}
"""


def test_a_ship_is_read_from_its_file(tmp_path: Path) -> None:
    file = tmp_path / "rough.toml"
    file.write_text(ROUGH)
    ship = read_ship(file)
    assert (ship.heading, ship.offset, ship.stabilized) == (math.radians(40), (0, 0, 76), False)
    wanted = [0, 0, 6.2123, math.radians(15), 0.1, 0]
    assert isinstance(ship.motion, Sines)
    assert ship.motion.max_abs(0) == pytest.approx(wanted, abs=1e-4)


@pytest.mark.parametrize(
    ("before", "after", "words"),
    [
        ("period = 10}\npitch", "period = 0}\npitch", "line 4, column 40: roll.period"),
        ("roll", "rol", "did you mean 'roll'"),
        ("offset = [0, 0, 76]", "offset = [0, 76]", "offset: has 2 numbers"),
        ("acceleration = 2.4525, ", "", "one of amplitude and acceleration"),
        ('"15 deg"', '"15 kg"', "roll.amplitude"),
        ("format = 1", "", "format"),
    ],
)
def test_a_wrong_file_of_a_ship_is_refused_with_its_place(
    before: str, after: str, words: str
) -> None:
    with pytest.raises(lw.InputError) as error:
        read_ship(ROUGH.replace(before, after))
    assert words in str(error.value)


def test_a_motion_of_other_than_six_values_is_refused() -> None:
    with pytest.raises(lw.InputError, match="six"):
        Ship(Sines([0.0], [[]]))
