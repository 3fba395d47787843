"""Servos of a laboratory, each against the same computed with NumPy."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np
import pytest

from linkwright.base.errors import InputError
from linkwright.lab.config import CONTROLLERS, JointConfig
from linkwright.lab.servos import Actuators, Desired, Guard, MotorServo, RawSensors, Sensors
from tests.support.lab_blocks import RATE, Array, driven, lab
from tests.support.late import Late

if TYPE_CHECKING:
    from scipy import signal
else:
    signal = Late("scipy.signal")

EXECUTORS = ("native", "python")
N, TICKS = 3, 60

JOINTS = tuple(
    JointConfig(
        name, -1.0, 1.5, default, kp=kp, kd=kd, ki=ki, max_effort=limit, max_speed=2, max_jump=0.3
    )
    for name, default, kp, kd, ki, limit in (
        ("SFE", 0.1, 40.0, 6.0, 5.0, 20.0),
        ("EB", 0.5, 30.0, 2.0, 0.0, 15.0),
        ("WR", -0.2, 20.0, 0.5, 50.0, 1e3),
    )
)


def random(*shape: int, seed: int = 0, scale: float = 1.0) -> Array:
    return scale * np.random.default_rng(seed).standard_normal(shape)


# -- motor servo -----------------------------------------------------------------------------------
def motor_by_hand(given: dict[str, Array]) -> dict[str, Array]:
    """The law in plain words: tick by tick, joint by joint."""
    table = {k: np.array([getattr(j, k) for j in JOINTS]) for k in ("kp", "kd", "ki")}
    limit = np.array([j.max_effort for j in JOINTS])
    integral, zero = np.zeros(N), 0.0
    rows: dict[str, list[Array]] = {"ufb": [], "ahead": [], "tau": []}
    for k in range(TICKS):
        kind = CONTROLLERS[int(given["controller"][k])]
        ki = table["ki"] if "i" in kind else np.zeros(N)
        if given["zero"][k] != zero:
            integral, zero = np.zeros(N), given["zero"][k]
        integral = np.where(ki == 0, 0.0, integral)
        e = given["des_q"][k] - given["q"][k]
        ufb = table["kp"] * e + table["kd"] * (given["des_u"][k] - given["u"][k]) + integral
        ahead = given["uff"][k] if kind.endswith("ff") else np.zeros(N)
        tau = np.clip(ahead + ufb, -limit, limit)
        pushes_on = (ahead + ufb - tau) * e > 0
        integral = integral + np.where(pushes_on, 0.0, ki * e / RATE)
        for key, row in (("ufb", ufb), ("ahead", ahead), ("tau", tau)):
            rows[key].append(row)
    return {key: np.array(found) for key, found in rows.items()}


@pytest.mark.parametrize("executor", EXECUTORS)
def test_the_motor_servo_is_its_law(executor: str) -> None:
    """SL checks 6 and 7: u = uff + PD + I within 1e-12, clipped; all four laws, and zeroing."""
    keys = ("q", "u", "des_q", "des_u", "uff")
    given = {key: random(TICKS, N, seed=i, scale=0.3) for i, key in enumerate(keys)}
    given["uff"] *= 20
    given["controller"] = np.repeat([0.0, 1.0, 2.0, 3.0, 3.0, 1.0], TICKS // 6)
    given["zero"] = np.repeat([0.0, 1.0, 1.0, 1.0, 2.0, 1.0], TICKS // 6)
    found = driven(MotorServo(lab(*JOINTS)), given, executor)
    wanted = motor_by_hand(given)
    for key, rows in wanted.items():
        np.testing.assert_allclose(found[key], rows, rtol=1e-12, atol=1e-12, err_msg=key)
    assert np.abs(wanted["tau"][:, 0]).max() == 20.0
    free = np.abs(found["tau"]) < 15
    sums = found["ufb"] + found["ahead"]
    np.testing.assert_allclose(found["tau"][free], sums[free], rtol=1e-12, atol=1e-12)


def still(**given: Array) -> dict[str, Array]:
    rows = {"q": np.zeros((TICKS, 1)), "des_q": np.zeros((TICKS, 1)), "zero": np.zeros(TICKS)}
    return {**rows, **given}


def test_integrals_do_not_wind_up_and_are_zeroed() -> None:
    """SL check 7: at the bound the integral stands; it is exactly zero after `zero` changed."""
    joint = JointConfig("EB", -1, 1, kp=10.0, ki=40.0, max_effort=2.0)
    error, zero = np.full((TICKS, 1), 0.15), np.zeros(TICKS)
    error[30:], zero[50:] = -0.01, 1.0
    found = driven(MotorServo(lab(joint, controller="pid")), still(des_q=error, zero=zero))
    assert found["tau"].max() <= 2.0
    integral = found["integral0"]
    assert integral[:30].max() == integral[29] < 0.6  # 10 * 0.15 + 0.6 would be past the bound
    assert found["tau"][30, 0] < 2.0  # off the bound at once
    assert found["ufb"][50, 0] == -0.1
    assert integral[49] != 0


def test_a_measured_state_sent_as_wanted_leaves_the_feedforward_alone() -> None:
    """SL check 8: ufb = 0, and the integral does not go on acting."""
    joint = JointConfig("EB", -1, 1, kp=10.0, kd=1.0, ki=40.0)
    q, u = random(TICKS, 1, seed=1, scale=0.1), random(TICKS, 1, seed=2)
    des_q, des_u = q + 0.1, u.copy()
    des_q[20:] = q[20:]
    uff = np.full((TICKS, 1), 0.7)
    given = still(q=q, u=u, des_q=des_q, des_u=des_u, uff=uff)
    found = driven(MotorServo(lab(joint)), given)
    assert found["integral0"][19] > 0.5
    assert not found["ufb"][20:].any()
    np.testing.assert_array_equal(found["tau"][20:], uff[20:])


def test_a_joint_that_stands_where_it_should_keeps_its_integral() -> None:
    joint = JointConfig("EB", -1, 1, kp=10.0, kd=1.0, ki=40.0)
    des_q = np.zeros((TICKS, 1))
    q = np.where(np.arange(TICKS) < 20, -0.1, 0.0)[:, None]  # it arrives, and rests there exactly
    found = driven(MotorServo(lab(joint)), still(q=q, des_q=des_q))
    assert found["ufb"][-1, 0] == found["ufb"][20, 0] > 0.5


# -- sensors ---------------------------------------------------------------------------------------
LINEAR = JointConfig(
    "EB",
    0.53,
    2.25,
    1.57,
    offset=0.124,
    linear_sensor=True,
    linear_actuator=True,
    linear_load_cell=True,
    moment_arm=0.03175,
    attachment=0.1397,
    position_polarity=-1.0,
    load_polarity=-1.0,
)
ROTARY = JointConfig("HR", -1.65, 1.45, 0.0, offset=0.108, position_polarity=-1.0)
CALIBRATED = lab(LINEAR, ROTARY)


def state_rows() -> dict[str, Array]:
    """Positions within range, speeds, accelerations and loads."""
    rng = np.random.default_rng(3)
    q = rng.uniform([LINEAR.lower, ROTARY.lower], [LINEAR.upper, ROTARY.upper], (TICKS, 2))
    return {"q": q, **{key: rng.standard_normal((TICKS, 2)) for key in ("u", "a", "load")}}


@pytest.mark.parametrize("executor", EXECUTORS)
def test_raw_and_calibrated_readings_are_inverses(executor: str) -> None:
    """SL check 66, of offsets, polarities and linear sensors alike."""
    given = state_rows()
    raw = driven(RawSensors(CALIBRATED), given, executor)
    readings = {f"raw_{key}": raw[f"raw_{key}"] for key in given}
    back = driven(Sensors(CALIBRATED, real=True), readings, executor)
    for key, rows in given.items():
        np.testing.assert_allclose(back[key], rows, rtol=1e-11, atol=1e-11, err_msg=key)
    np.testing.assert_allclose(back["without_offset"] - [0.124, 0.108], given["q"], atol=1e-12)
    np.testing.assert_allclose(readings["raw_q"][:, 1], -(given["q"][:, 1] + 0.108), rtol=1e-14)


def length(q: Array) -> Array:
    """By the law of cosines, where the middle of the range has the longest lever."""
    a, h = LINEAR.moment_arm, LINEAR.attachment
    phi = math.pi / 2 - (q - (LINEAR.lower + LINEAR.upper) / 2)
    return np.sqrt(a * a + h * h - 2 * a * h * np.cos(phi))


def test_a_linear_actuator_gives_force_times_lever() -> None:
    """SL check 65: torque = F dL/dtheta, by a numeric derivative; and the way back."""
    given = state_rows()
    q, force = given["q"], given["load"]
    raw = driven(RawSensors(CALIBRATED), given)
    np.testing.assert_allclose(raw["raw_q"][:, 0], length(q[:, 0]), rtol=1e-13)
    step = 1e-5
    lever = (length(q[:, 0] + step) - length(q[:, 0] - step)) / (2 * step)
    torque = driven(Actuators(CALIBRATED, back=True), {"tau": force, "q": q})["drive"]
    np.testing.assert_allclose(torque[:, 0], force[:, 0] * lever, rtol=1e-7)
    np.testing.assert_array_equal(torque[:, 1], force[:, 1])
    back = driven(Actuators(CALIBRATED), {"tau": torque, "q": q})["drive"]
    np.testing.assert_allclose(back, force, rtol=1e-12)
    np.testing.assert_allclose(raw["raw_u"][:, 0], given["u"][:, 0] * lever, rtol=1e-7)
    # the load cell sits on the actuator
    np.testing.assert_allclose(-raw["raw_load"][:, 0] * lever, given["load"][:, 0], rtol=1e-7)


def test_dead_points_in_the_range_are_refused_by_name() -> None:
    joint = JointConfig("EB", 0.5, 2.2, linear_sensor=True, moment_arm=0.03, attachment=0.14)
    RawSensors(lab(joint))
    with pytest.raises(InputError, match="EB goes through a dead point") as caught:
        RawSensors(lab(replace(joint, theta0=math.pi / 2)))
    assert "theta0" in str(caught.value)
    with pytest.raises(InputError, match=r"EB has a linear sensor .* moment arm 0"):
        RawSensors(lab(replace(joint, moment_arm=0.0)))


def test_nothing_is_divided_by_zero_beyond_the_range_of_a_linear_joint() -> None:
    """At a dead point and beyond, forces stay those of the shortest lever of the range."""
    joint = JointConfig("EB", -0.8, 0.8, linear_actuator=True, moment_arm=0.03, attachment=0.14)
    q = np.linspace(-3.0, 3.0, 61)[:, None]
    force = driven(Actuators(lab(joint)), {"tau": np.ones((61, 1)), "q": q})["drive"]
    ends = driven(Actuators(lab(joint)), {"tau": np.ones((2, 1)), "q": np.array([[-0.8], [0.8]])})[
        "drive"
    ]
    assert np.isfinite(force).all()
    assert force.max() <= ends.max() * (1 + 1e-12)


def test_a_length_that_cannot_be_is_counted_and_held() -> None:
    joint = replace(LINEAR, filters=(0.0,) * 4)
    raw_q = np.full((TICKS, 1), 0.14)
    raw_q[[5, 9], 0] = [0.5, 0.01]  # sides of 0.03175 m and 0.1397 m
    found = driven(Sensors(lab(joint), real=True), {"raw_q": raw_q})
    assert found["bad"][-1, 0] == 2
    assert np.ptp(found["q"]) == 0


def filtered(rows: Array, cutoff: float, start: float = 0.0) -> Array:
    """By SciPy, at rest at the start."""
    b, a = signal.butter(2, cutoff / 100)
    found, _ = signal.lfilter(b, a, rows, zi=signal.lfilter_zi(b, a) * start)
    return np.asarray(found)


@pytest.mark.parametrize("executor", EXECUTORS)
def test_filters_are_scipys_and_toggle_live(executor: str) -> None:
    """SL check 57: switched on again, outputs are those of a filter that was never off."""
    joints = (
        JointConfig("EB", -2, 2, 0.4, filters=(5.0, 10.0, 20.0, 40.0)),
        JointConfig("WR", -2, 2, 0.1, filters=(0.0, 100.0, 5.0, 0.0)),
    )
    given = {
        f"raw_{key}": random(TICKS, 2, seed=i) for i, key in enumerate(("q", "u", "a", "load"))
    }
    on = given["filters"] = np.repeat([1.0, 0.0, 1.0], TICKS // 3)
    found = driven(Sensors(lab(*joints)), given, executor)
    for i, joint in enumerate(joints):
        for key, cutoff in zip(("q", "u", "a", "load"), joint.filters, strict=True):
            rows = given[f"raw_{key}"][:, i]
            smooth = rows
            if cutoff not in (0, 100):
                smooth = filtered(rows, cutoff, joint.default if key == "q" else 0.0)
            wanted = np.where(on > 0, smooth, rows)
            np.testing.assert_allclose(found[key][:, i], wanted, atol=1e-12, err_msg=f"{key} {i}")


def test_equal_cutoffs_keep_speeds_the_rates_of_positions() -> None:
    """SL check 57."""
    joint = JointConfig("EB", -2, 2, filters=(5.0, 5.0, 5.0, 5.0))
    raw_q = np.cumsum(random(TICKS, 1, scale=0.1), axis=0)
    raw_q[0] = 0
    found = driven(Sensors(lab(joint), derived=("u", "a")), {"raw_q": raw_q})
    q, u, a = (found[key][:, 0] for key in ("q", "u", "a"))
    np.testing.assert_allclose(u[1:], np.diff(q) * RATE, atol=1e-10)
    np.testing.assert_allclose(a[1:], np.diff(u) * RATE, atol=1e-8)


def test_a_reading_that_is_no_number_is_counted_and_leaves_no_trace() -> None:
    joint = JointConfig("EB", -2, 2, filters=(5.0, 5.0, 5.0, 5.0))
    raw_q = random(TICKS, 1)
    raw_q[[7, 8, 20], 0] = [np.nan, np.inf, -np.inf]
    held = raw_q.copy()
    held[[7, 8, 20]] = raw_q[[6, 6, 19]]
    found = driven(Sensors(lab(joint), real=True), {"raw_q": raw_q})
    np.testing.assert_allclose(found["q"][:, 0], filtered(held[:, 0], 5.0), atol=1e-12)
    assert found["bad"][-1, 0] == 3


# -- desired ---------------------------------------------------------------------------------------
KEYS = ("q", "u", "a", "uff", "uex")


def task_rows(scale: float = 1.0) -> dict[str, Array]:
    return {f"task_{key}": random(TICKS, N, seed=i, scale=scale) for i, key in enumerate(KEYS)}


def desired_by_hand(given: dict[str, Array]) -> dict[str, Array]:
    """Range, jump, speed; hold where a number is none, frozen or following."""
    last = {"q": np.array([j.default for j in JOINTS]), "uff": np.zeros(N), "uex": np.zeros(N)}
    counts = {key: np.zeros(N) for key in ("ranges", "speeds", "jumps", "bad")}
    rows: dict[str, list[Array]] = {key: [] for key in (*KEYS, *counts)}
    for k in range(TICKS):
        for i, joint in enumerate(JOINTS):
            q, u, a, uff, uex = (given[f"task_{key}"][k, i] for key in KEYS)
            good = np.isfinite([q, u, a, uff, uex]).all()
            counts["bad"][i] += not (good or given["follow"][k] or given["freeze"][k])
            if given["follow"][k]:
                last["q"][i], last["uff"][i], last["uex"][i] = given["q"][k, i], 0, 0
                u = a = 0.0
            elif given["freeze"][k]:
                last["uex"][i] = u = a = 0.0
            elif not good:
                u = a = 0.0
            else:
                inside = float(np.clip(q, joint.lower, joint.upper))
                counts["ranges"][i] += inside != q
                counts["jumps"][i] += abs(inside - last["q"][i]) > joint.max_jump
                counts["speeds"][i] += abs(u) > joint.max_speed
                if (q > joint.upper and u > 0) or (q < joint.lower and u < 0):
                    u = a = 0.0
                u = float(np.clip(u, -joint.max_speed, joint.max_speed))
                near = (last["q"][i] - joint.max_jump, last["q"][i] + joint.max_jump)
                last["q"][i], last["uff"][i], last["uex"][i] = np.clip(inside, *near), uff, uex
            for key, x in (*((key, last[key][i]) for key in last), ("u", u), ("a", a)):
                rows[key].append(x)
        for key in counts:
            rows[key].extend(counts[key])
    return {key: np.array(found).reshape(TICKS, N) for key, found in rows.items()}


@pytest.mark.parametrize("executor", EXECUTORS)
def test_wanted_motion_is_kept_within_range_speed_and_jumps(executor: str) -> None:
    """SL check 31, and 16 for what freezing keeps; numbers that are none hold the joint."""
    given = task_rows(1.2)
    given["task_q"][[11, 17], 0] = np.nan  # the second while it is frozen
    given["task_uff"][7, 1], given["task_u"][50, 2] = np.inf, np.nan
    given["freeze"] = np.repeat([0.0, 1.0, 0.0, 0.0], TICKS // 4)
    given["follow"] = np.repeat([0.0, 0.0, 1.0, 0.0], TICKS // 4)
    given["q"] = random(TICKS, N, seed=9, scale=2.0)
    found = driven(Desired(lab(*JOINTS)), given, executor)
    for key, rows in desired_by_hand(given).items():
        port = f"des_{key}" if key in ("q", "u", "a") else key
        np.testing.assert_allclose(found[port], rows, rtol=0, atol=1e-14, err_msg=key)
    assert found["bad"][-1].tolist() == [1, 1, 1]
    assert (found["ranges"][-1] > 0).all()
    assert (found["jumps"][-1] > 0).all()


def test_joints_are_written_by_the_servo_that_lists_them() -> None:
    """SL checks 4 and 5: what is not listed is not overwritten, and holds if nobody lists it."""
    config = lab(*JOINTS, servos={"task": ("SFE",), "eye": ("WR",), "motor": ("SFE",)})
    given = task_rows(0.05)
    given |= {f"eye_{key}": random(TICKS, N, seed=20 + i, scale=0.05) for i, key in enumerate(KEYS)}
    found = driven(Desired(config), given)
    np.testing.assert_array_equal(found["des_q"][:, 0], given["task_q"][:, 0])
    np.testing.assert_array_equal(found["des_q"][:, 1], np.full(TICKS, 0.5))
    np.testing.assert_array_equal(found["des_q"][:, 2], given["eye_q"][:, 2])
    np.testing.assert_array_equal(found["uff"][:, 2], given["eye_uff"][:, 2])
    assert MotorServo(config).outputs["tau"].shape == (3,)  # all of them


def test_a_second_writer_of_a_joint_is_refused_by_name() -> None:
    """SL checks 4 and 5."""
    with pytest.raises(InputError, match="WR is commanded by the task servo and by the eye servo"):
        Desired(lab(*JOINTS, servos={"eye": ("WR",)}))
    with pytest.raises(InputError, match=r"task servo lists 'WRR'.*'WR'"):
        Desired(lab(*JOINTS, servos={"task": ("WRR",)}))
    lists = {"real_servos": {"task": ("SFE",), "eye": ("WR",)}}
    assert Desired(lab(*JOINTS, **lists), real=True).writers == {"SFE": "task", "WR": "eye"}
    assert set(Desired(lab(*JOINTS, **lists)).writers.values()) == {"task"}


def test_modes_say_where_the_wanted_motion_comes_from() -> None:
    config = lab(*JOINTS, servos={"invkin": ("SFE", "EB")})
    given = task_rows(0.05)
    given |= {f"invkin_{k}": random(TICKS, N, seed=30 + i, scale=0.05) for i, k in enumerate("qua")}
    given["mode"] = np.repeat([0.0, 1.0, 2.0], TICKS // 3)
    found, cart = driven(Desired(config), given), given["mode"] == 2
    cart &= np.arange(TICKS) > 40  # the step from one to the other is within the jump
    for key in ("u", "a"):
        rows, task = found[f"des_{key}"], given[f"task_{key}"]
        np.testing.assert_array_equal(rows[cart][:, :2], given[f"invkin_{key}"][cart][:, :2])
        np.testing.assert_array_equal(rows[cart][:, 2], task[cart][:, 2])
        np.testing.assert_array_equal(rows[:40], task[:40])


# -- guard -----------------------------------------------------------------------------------------
def guard_by_hand(given: dict[str, Array], grace: int) -> dict[str, Array]:
    """Every tick: good numbers, effort, a stop that latches."""
    last = {"tau": np.zeros(N), "q": np.array([j.default for j in JOINTS]), "u": np.zeros(N)}
    counts = {key: np.zeros(N) for key in ("efforts", "bad")}
    row, stopped, cause, reset = 0, False, 0, 0.0
    rows: dict[str, list[Array]] = {key: [] for key in (*last, *counts, "stopped", "cause")}
    limit = np.array([j.max_effort for j in JOINTS])
    for k in range(TICKS):
        good = (
            np.isfinite(given["tau"][k]) & np.isfinite(given["q"][k]) & np.isfinite(given["u"][k])
        )
        row = 0 if good.all() else row + 1
        if given["reset"][k] != reset:
            stopped, cause, reset = False, 0, given["reset"][k]
        if row > grace:
            stopped, cause = True, 2
        if given["stop"][k]:
            stopped, cause = True, 1
        counts["efforts"] += good & (np.abs(np.nan_to_num(given["tau"][k])) >= limit)
        counts["bad"] += ~good
        if stopped:
            last["tau"], last["u"] = np.zeros(N), np.zeros(N)
        else:
            last["tau"] = np.where(good, np.clip(given["tau"][k], -limit, limit), last["tau"])
            last["q"] = np.where(good, given["q"][k], last["q"])
            last["u"] = np.where(good, given["u"][k], last["u"])
        for key in last:
            rows[key].append(last[key])
        for key in counts:
            rows[key].append(counts[key].copy())
        rows["stopped"].append(np.array(float(stopped)))
        rows["cause"].append(np.array(float(cause)))
    return {key: np.array(found) for key, found in rows.items()}


@pytest.mark.parametrize("executor", EXECUTORS)
def test_the_guard_lets_nothing_wrong_through(executor: str) -> None:
    """SL check 17: a stop latches until a reset; numbers that are none stop after a while."""
    given = {key: random(TICKS, N, seed=i, scale=15.0) for i, key in enumerate(("tau", "q", "u"))}
    given["tau"][3, 1], given["q"][5, 0], given["u"][6, 2] = np.nan, np.inf, -np.inf
    given["tau"][40:46, 0] = np.nan
    given["stop"], given["reset"] = np.zeros(TICKS), np.zeros(TICKS)
    given["stop"][[15, 33]] = 1
    given["reset"][25:] = 1  # ends the first stop
    given["reset"][33:] = 2  # in vain: it is asked for
    given["reset"][36:] = 3
    given["reset"][43:] = 4  # in vain: still no numbers
    given["reset"][50:] = 5
    found = driven(Guard(lab(*JOINTS), grace=2), given, executor)
    for key, rows in guard_by_hand(given, 2).items():
        port = f"safe_{key}" if key in ("tau", "q", "u") else key
        np.testing.assert_allclose(found[port], rows, rtol=0, atol=1e-14, err_msg=key)
    assert np.isfinite(found["safe_tau"]).all()
    assert found["stopped"][[14, 15, 24, 25, 33, 35, 36, 41, 42, 49, 50]].tolist() == [
        0, 1, 1, 0, 1, 1, 0, 0, 1, 1, 0,
    ]  # fmt: skip
    assert found["cause"][[15, 45]].tolist() == [1, 2]
    assert not found["safe_tau"][15:25].any()
