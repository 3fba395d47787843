"""The drive program of the mounts: paths of waypoints, trapezoids, steppers, and the indexer."""

from __future__ import annotations

import math
import warnings
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, strategies as st

from linkwright.base.errors import DomainError, InputError
from linkwright.cli import main
from linkwright.heritage.indexer import BUFFER, BYTE_TIME, Indexer
from linkwright.heritage.indexer_driver import (
    IndexerDriver,
    IndexerError,
    IndexerTerminal,
    SerialLine,
    SimulatedLine,
)
from linkwright.mounts.move_files import read_move
from linkwright.mounts.moves import (
    MoveError,
    MovePlan,
    MoveWarning,
    circle_path,
    line_path,
    orbit_path,
    path_error,
    plan_moves,
    stream_moves,
    synchronize,
)
from linkwright.mounts.steppers import (
    ACCELERATION,
    HOME_STEPS,
    TOP_SPEED,
    StepperAxis,
    StepperMotor,
    trapezoid_place,
    trapezoid_time,
)

R, L, D = 0.28033, 0.841, 0.98  # m: triangle, arm and plunge of the mount with three motors
AXES = [StepperAxis(home) for home in HOME_STEPS]
OUTWARD = [np.array([math.cos(a), math.sin(a), 0.0]) for a in (0.0, math.tau / 3, 2 * math.tau / 3)]


def arms(d: np.ndarray) -> list[float]:
    """Return the angles of the arms that look along d, by the report's scalar form."""
    n = np.array([0, 0, 1.0]) + d
    n /= np.linalg.norm(n)
    found = []
    for leg, x in enumerate(OUTWARD, 1):
        alpha, gamma, c = L * n @ x, L * n[2], D / 2 - R * n @ x
        size = math.hypot(alpha, gamma)
        if abs(c) > size:
            raise DomainError(f"leg {leg} is too short")
        found.append(math.atan2(alpha, gamma) + math.acos(c / size))
    return found


def beam(angles: Sequence[float]) -> np.ndarray:
    """Return where the dish looks: the normal of the plane through the middle joints, mirrored."""
    up = np.array([0, 0, 1.0])
    b = [
        x * (R + L * math.sin(a)) + up * L * math.cos(a)
        for x, a in zip(OUTWARD, angles, strict=True)
    ]
    n = np.cross(b[1] - b[0], b[2] - b[0])
    n *= np.sign(n[2]) / np.linalg.norm(n)
    return np.asarray(2 * n[2] * n - up)


def orbit(spacing: float = 10.0, speed: float = 10.0) -> MovePlan:
    """Return the plan of the report's orbit at an elevation of 30 degrees."""
    return plan_moves(
        orbit_path(1000, 577, spacing=math.radians(spacing)), arms, AXES, math.radians(speed)
    )


@given(
    st.lists(st.floats(0, 400), min_size=1, max_size=4),
    st.floats(0.01, 30),
)
def test_synchronized_trapezoids_end_together_or_are_stretched_with_a_warning(
    distances: list[float], time: float
) -> None:
    """Mount check 53."""
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        move = synchronize(distances, time)
    longest = max(distances)
    shortest = trapezoid_time(longest, TOP_SPEED, ACCELERATION)
    assert move.stretched == (shortest > time * (1 + 1e-9)) or math.isclose(shortest, time)
    assert any(w.category is MoveWarning for w in told) == move.stretched
    assert math.isclose(move.time, max(time, shortest), rel_tol=1e-9)
    for d, v in zip(distances, move.speeds, strict=True):
        assert v <= TOP_SPEED * (1 + 1e-9)
        assert math.isclose(v * (move.time - v / ACCELERATION), d, rel_tol=1e-6, abs_tol=1e-9)
        if d > 1e-6:
            assert math.isclose(trapezoid_time(d, v, ACCELERATION), move.time, rel_tol=1e-6)
        assert math.isclose(
            trapezoid_place(move.time, d, max(v, 1e-12), ACCELERATION), d, abs_tol=1e-6 * max(d, 1)
        )


def test_a_fast_orbit_is_stretched_and_says_where() -> None:
    """Mount check 53."""
    with pytest.warns(MoveWarning, match="takes"):
        plan = orbit(speed=1000.0)
    assert len(plan.stretched) == 36
    assert plan.stretched[0] == 2
    assert orbit().stretched == ()
    assert math.isclose(orbit().duration, 36.0)


def test_steps_of_the_rotary_mounts_and_their_home_angles() -> None:
    """Mount check 54."""
    assert [axis.turn for axis in AXES] == [32000] * 3
    assert AXES[0].degrees_a_step == 0.01125
    assert [round(math.degrees(axis.home_angle), 2) for axis in AXES] == [62.09, 60.83, 61.56]
    plan = orbit(spacing=3.7)
    assert (plan.steps[0] + plan.increments.sum(axis=0) == plan.steps[-1]).all()
    for row, d in zip(plan.steps, plan.path.directions, strict=True):
        for axis, steps, angle in zip(AXES, row, arms(d), strict=True):
            assert abs(axis.angle_at(steps) - angle) <= math.radians(0.01125 / 2) * (1 + 1e-9)


def test_a_homed_motor_knows_where_it_is() -> None:
    """Mount check 54: it meets the switch at a creep from a thirty-second of a turn outside it."""
    for start in (-900.0, 700.0):
        motor = StepperMotor(start=start)
        assert motor.counter(0.0) == 0
        motor.home(now=0.0)
        end = motor.finish_time()
        assert motor.place(end) == 0
        assert motor.counter(end) == 0
        before = motor.place(end - 0.1)
        assert math.isclose(before, -0.1 * 0.1 * 400)  # steps, at 0.1 turns/s
        assert min(motor.place(t) for t in np.linspace(0, end, 500)) < -11 or start > 0


def run_orbit(speed: float) -> tuple[Indexer, IndexerDriver, MovePlan]:
    """Follow the report's orbit on the simulated indexer."""
    plan = orbit(speed=speed)
    device = Indexer([StepperMotor(start=x) for x in (300.0, -200.0, 55.0)])
    driver = IndexerDriver(SimulatedLine(device), 3)
    driver.home()
    driver.run(plan)
    return device, driver, plan


def test_the_buffer_neither_overflows_nor_empties_on_an_orbit() -> None:
    """Mount check 56."""
    device, driver, plan = run_orbit(speed=15.0)
    assert driver.positions() == tuple(plan.steps[-1])
    assert driver.pauses > 1  # the host had to wait: the orbit does not fit into the buffer
    assert device.unknown == []
    for unit in device.units:
        assert unit.moves == 37  # the start, and 36 waypoints
        assert unit.overflows == 0
        assert unit.starved == 1  # it waited once, at the start of the orbit, as it is meant to
        assert BUFFER - 300 < unit.fullest < BUFFER
    assert device.now > plan.duration


def test_without_flow_control_the_buffer_overflows(monkeypatch: pytest.MonkeyPatch) -> None:
    """Mount check 56: the count can fail."""
    monkeypatch.setattr(IndexerDriver, "_make_room", lambda self: None)
    plan, device = orbit(), Indexer([StepperMotor(), StepperMotor(), StepperMotor()])
    driver = IndexerDriver(SimulatedLine(device), 3)
    for row, move in zip(plan.increments, plan.moves, strict=True):
        driver.move(tuple(int(x) for x in row), move.speeds)
    assert all(unit.overflows > 0 for unit in device.units)


def test_a_host_that_is_too_slow_lets_the_buffer_empty() -> None:
    """Mount check 56: the other count can fail too."""
    device = Indexer([StepperMotor()])
    driver = IndexerDriver(SimulatedLine(device), 1)
    for _ in range(3):
        driver.move((40,), (10.0,))
        device.advance(1.0)
    assert device.units[0].starved == 2


def test_axes_begin_every_move_together() -> None:
    device = Indexer([StepperMotor(), StepperMotor()])
    driver = IndexerDriver(SimulatedLine(device), 2)
    driver.move((4000, 40), (10.0, 10.0))  # the second is done long before the first
    driver.move((400, 4000), (10.0, 10.0))
    while device.units[1].moves != 2:
        device.advance(0.01)
        if device.units[1].moves < 2:
            assert device.units[1].motor.place(device.now) <= 40
    assert device.units[0].motor.place(device.now) >= 4000
    driver.wait()
    assert driver.positions() == (4400, 4040)


def test_the_line_is_echoed_at_its_speed_and_status_comes_at_once() -> None:
    device = Indexer([StepperMotor()])
    device.feed(b"1V1 1D400 G 1BS 1R FOO 1Vx \xff\xfe ")
    assert device.now == pytest.approx(device.received * BYTE_TIME)
    assert device.said() == b"1V1 1D400 G 1BS *512\r1R *B\rFOO 1Vx \xff\xfe "
    assert len(device.unknown) == 3
    device.advance(0.2)
    device.feed(b"KKKKKKKK")
    at = device.units[0].motor.place(device.now)
    assert 0 < at < 400
    device.advance(5.0)
    assert device.units[0].motor.place(device.now) == at


def test_a_limit_switch_stops_an_axis_without_the_host() -> None:
    """Mount check 58."""
    device = Indexer([StepperMotor(limits=(-500, 500)), StepperMotor()])
    driver = IndexerDriver(SimulatedLine(device), 2)
    driver.move((8000, 8000), (5.0, 5.0))
    driver.move((400, 400), (5.0, 5.0))
    heard = device.received
    device.advance(30.0)
    assert device.received == heard  # nothing came from the host
    first, second = device.units
    assert first.motor.place(device.now) == 500
    assert first.motor.tripped == 1
    assert second.motor.place(device.now) == 8000  # it waits for the first, and does not go on
    with pytest.raises(IndexerError, match="axis 1 has run into a limit switch"):
        driver.wait()
    driver.move((-100, 0), (5.0, 5.0))  # away from the switch it may go
    device.advance(5.0)
    assert first.motor.place(device.now) == 400
    assert first.motor.tripped == 0


def test_planners_refuse_collinear_normals_and_name_waypoints_out_of_reach() -> None:
    """Mount check 57."""
    with pytest.raises(MoveError, match="along its radius"):
        circle_path((0, 0, 1), (1, 0, 1), (1, 0.00005, 0), 0.1)
    assert len(circle_path((0, 0, 1), (1, 0, 1), (1, 0.001, 0), 0.1).points) > 60
    with pytest.raises(MoveError, match="nowhere"):
        line_path((1, 0, 0), (1, 0, 0), 0.1)
    with pytest.raises(InputError, match="spacing"):
        orbit_path(1000, 577, spacing=0)
    down = line_path((0.0, 0.0, 1.0), (1.0, 0.0, -0.5), 0.2)
    with pytest.raises(MoveError, match=r"cannot be reached: 10 \(leg 2 is too short\)"):
        plan_moves(down, arms, AXES, 0.5)
    with pytest.raises(MoveError, match="is where the mount is"):
        plan_moves(line_path((1, 0, 0), (-1, 0, 0), 1.0), arms, AXES, 0.5)
    for path in (
        line_path((1, 1, 1), (-1, 1, 1), 0.1),
        circle_path((0, 0, 2), (1, 0, 2), (0, 0, 1), 0.1),
        orbit_path(1000, 577, tilt=0.35, turn=0.52),
    ):
        plan = plan_moves(path, arms, AXES, 0.1)
        assert np.allclose(
            [beam(plan.angles_at(t)) for t in (0.0, plan.duration)],
            [path.directions[0], path.directions[-1]],
            atol=math.radians(0.03),
        )


def test_the_path_error_falls_with_the_spacing_and_streaming_has_next_to_none() -> None:
    """Mount check 59."""
    errors = [path_error(orbit(spacing=s), beam, samples=300) for s in (40.0, 20.0, 10.0)]
    assert errors[0] > 3 * errors[1] > 9 * errors[2]
    smooth = stream_moves(orbit_path(1000, 577), arms, AXES, math.radians(10.0))
    assert path_error(smooth, beam, samples=300) < errors[2] / 5
    changes = np.abs(np.diff(smooth.speeds, axis=0)).max() / smooth.period
    assert changes <= ACCELERATION
    with pytest.warns(MoveWarning, match="too fast"):
        slowed = stream_moves(orbit_path(1000, 577), arms, AXES, math.radians(2000.0))
    assert np.abs(slowed.speeds).max() <= TOP_SPEED


def test_the_driver_drives_an_indexer_on_a_pseudo_terminal() -> None:
    device = Indexer([StepperMotor(start=-100.0), StepperMotor(start=40.0)])
    with IndexerTerminal(device, speed=20.0) as terminal:
        line = SerialLine(terminal.path)
        try:
            driver = IndexerDriver(line, 2)
            driver.home()
            driver.move((800, -400), (5.0, 2.5))
            driver.wait()
            assert driver.positions() == (800, -400)
        finally:
            line.close()
    with pytest.raises(IndexerError, match="cannot open"):
        SerialLine("/nowhere/at/all")
    with pytest.raises(IndexerError, match="not a serial port"):
        SerialLine("/dev/null")


def test_move_refuses_a_mount_whose_drives_slide(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    orbit = tmp_path / "orbit.toml"
    orbit.write_text('format = 1\nkind = "orbit"\nradius = 1000\nheight = 577\nspeed = 15\n')
    assert main(["mount", "move", "mount-prismatic", str(orbit)]) == 2
    assert "rotary drives" in capsys.readouterr().err


@pytest.mark.parametrize("key", ["speed", "spacing"])
def test_a_path_of_waypoints_takes_no_text_where_its_unit_follows_from_its_kind(
    tmp_path: Path, key: str
) -> None:
    values = {"format": "1", "kind": '"orbit"', "radius": "1000", "height": "577", "speed": "15"}
    orbit = tmp_path / "orbit.toml"
    for text in ("2 deg/s", "3 kg", "2"):
        lines = [f"{k} = {v}" for k, v in {**values, key: f'"{text}"'}.items()]
        orbit.write_text("\n".join(lines))
        with pytest.raises(InputError, match=rf"{key}: {key} is '{text}', and not a number"):
            read_move(orbit)
