"""Drives of joints: ROBSIM's joint model (JNTMOD) in three updates, with channels and matrices."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

import linkwright as lw
from linkwright import drives
from linkwright.elements.drives.matrices import UPDATES, StepBlock, assembled
from tests.seeds import cases

MOTOR = drives.DC(R=1, L=2e-3, kt=0.05, J=1e-4, b=1e-5)
STEP = 5e-4
SEED_NOISE = drives.DriveNoise(
    process={
        "controller.u": 1e-3, "amplifier.v": 1e-2, "motor.i": 1e-2, "motor.speed": 5e-2,
        "motor.angle": 1e-5, "train.twist": 1e-6, "load.speed": 1e-3, "load.angle": 1e-6,
    },
    sensors={"amplifier.v": 0.05, "motor.speed": 1, "motor.angle": 0.02, "load.angle": 0.002},
)  # fmt: skip
"""That of case V11."""


def joint(**more: Any) -> drives.Chain:
    """Return the drive of case V10."""
    gear = drives.Elastic(50, stiffness=500, damping=2)
    load = drives.Inertia(0.5, 0.1)
    return drives.Chain(drives.PD(8, 0.02), drives.Lag(10, 1e-3), MOTOR, gear, load, **more)


def run_of(chain: drives.Chain, until: float = 2.0, **more: Any) -> lw.Run:
    s = lw.System(name="s")
    s.add(chain)
    return lw.simulate(s, until, every=1, **more)


# -- cases -----------------------------------------------------------------------------------------
def test_v9_the_motor_as_a_block() -> None:
    """Check 55."""
    found = joint().matrices(STEP, update="simultaneous")
    block = next(b for b in found.blocks if b.name == "motor")
    np.testing.assert_allclose(block.phi[0], [0.7774762056, -0.0110539195, 0], atol=1e-10)
    np.testing.assert_allclose(block.theta[:2, 0], [0.2210841483, 0.0287929214], atol=1e-10)
    assert block.theta[2, 0] == pytest.approx(4.8976e-6, abs=1e-10)
    whole = np.eye(4)
    whole[:3, :3], whole[:3, 3] = block.phi, block.theta @ [10.0, 0.0]
    x = np.linalg.matrix_power(whole, 100)[:3, 3]
    np.testing.assert_allclose(x, [3.0012662785, 143.1136796, 4.1388467769], rtol=1e-9)
    x = np.linalg.matrix_power(whole, 100_000)[:2, 3]
    np.testing.assert_allclose(x, [0.0398406, 199.2031873], rtol=1e-6)


V10 = {
    "exact": (0.202455165, 0.398340900, 0.480830151, 0.499698774, 0.499999507),
    "simultaneous": (0.202350815, 0.398703699, 0.480405214, 0.499737386, 0.499999389),
    "sequential": (0.2052987, 0.3956842, 0.4810164, 0.4997114, 0.4999995),
}
PEAKS = {
    "exact": (37.4786, 31.2607), "simultaneous": (37.8306, 31.7332),
    "sequential": (36.3690, 30.0554),
}  # fmt: skip


@pytest.mark.parametrize("update", UPDATES)
def test_v10_the_whole_joint_in_each_update(update: str) -> None:
    """Check 56."""
    run = run_of(joint(rate=2000, update=update, reference=0.5))
    angle = run["joint.load.angle"][[200, 400, 1000, 2000, 4000]]
    digits = 6e-8 if update == "sequential" else 1.1e-9
    np.testing.assert_allclose(angle, V10[update], atol=digits)
    peaks = [np.abs(run[f"joint.{n}"]).max() for n in ("amplifier.v", "motor.i")]
    np.testing.assert_allclose(peaks, PEAKS[update], atol=6e-5)


def test_v10_the_updates_differ_by_as_much_as_they_should() -> None:
    angles = [
        run_of(joint(rate=2000, update=u, reference=0.5))["joint.load.angle"] for u in UPDATES[1:]
    ]
    assert np.abs(angles[0] - angles[1]).max() == pytest.approx(3.733e-3, abs=1e-6)


def test_the_sampled_chain_tends_to_the_continuous_one() -> None:
    whole = run_of(joint(reference=0.5), 0.2).final["joint.load.angle"]
    errors = [
        abs(run_of(joint(rate=rate, reference=0.5), 0.2)["joint.load.angle"][-1] - whole)
        for rate in (2000, 20000)
    ]
    assert errors[1] < 0.11 * errors[0] < 1e-3


# -- matrices --------------------------------------------------------------------------------------
def _random_blocks(r: np.random.Generator) -> list[StepBlock]:
    sizes = r.integers(1, 4, 5)
    total, given = int(sizes.sum()), 3
    made, first = [], 0
    for i, k in enumerate(sizes):
        ports = int(r.integers(1, 3))
        couple = r.normal(size=(ports, total)) * bool(i)
        alpha = r.normal(size=(ports, given)) * (not i)
        made.append(
            StepBlock(f"b{i}", first, r.normal(size=(k, k)), r.normal(size=(k, ports)), couple,
                      alpha, np.diag(r.uniform(0, 1, k)))
        )  # fmt: skip
        first += int(k)
    return made


@pytest.mark.parametrize("update", ["simultaneous", "sequential"])
def test_assembled_matrices_are_the_loop_over_random_blocks(update: str) -> None:
    """Check 57, with Theta and Q of the sequential loop."""
    r = np.random.default_rng(5)
    for _ in range(20):
        blocks = _random_blocks(r)
        Phi, Theta, Q = assembled(blocks, update)
        x, alpha = r.normal(size=len(Phi)), r.normal(size=3)
        w = r.normal(size=len(Phi))
        now = x.copy()
        for block in blocks:
            source = now if update == "sequential" else x
            u = block.couple @ source + block.given @ alpha
            now[block.own] = block.phi @ x[block.own] + block.theta @ u + w[block.own]
        spread, _, _ = assembled([replace(b, phi=np.eye(len(b.phi))) for b in blocks], update)
        spread = spread - assembled([replace(b, phi=0 * b.phi) for b in blocks], update)[0]
        np.testing.assert_allclose(
            now, Phi @ x + Theta @ alpha + spread @ w, rtol=1e-12, atol=1e-12
        )
        whole = np.zeros_like(Q)
        for block in blocks:
            whole[block.own, block.own] = block.noise
        np.testing.assert_allclose(Q, spread @ whole @ spread.T, rtol=1e-12, atol=1e-11)


@pytest.mark.parametrize("update", UPDATES)
def test_assembled_matrices_are_the_run_of_the_chain(update: str) -> None:
    """Check 57, of the drive itself."""
    chain = joint(rate=2000, update=update, reference=0.5)
    found = chain.matrices()
    run = run_of(chain, 0.05)
    x = np.column_stack([run[f"joint.{n}"] for n in found.states])
    alpha = np.column_stack(
        [run["joint.R.controller.u"], *(run[f"joint.Z.{n}"] for n in found.sensors)]
    )
    np.testing.assert_allclose(x[1:], x[:-1] @ found.Phi.T + alpha[:-1] @ found.Theta.T, atol=1e-11)
    np.testing.assert_allclose(alpha[:, 1:], x @ found.H.T, atol=1e-12)


def test_the_reference_reaches_sensors_one_step_later_unless_sequential() -> None:
    """Check 58, and its correction."""
    for update in ("exact", "simultaneous"):
        found = joint().matrices(STEP, update=update)
        assert np.abs(found.H @ found.Theta).max() == 0
    found = joint().matrices(STEP, update="sequential")
    assert (found.H @ found.Theta)[0, 0] == pytest.approx(3.93, abs=5e-3)


@pytest.mark.parametrize("update", cases(["exact", "simultaneous"], daily=["exact"]))
@pytest.mark.parametrize(
    "controller",
    [drives.PD(8, 0.02), drives.PI(3, 5), drives.PID(8, 2, 0.02), drives.LeadLag(4, 0.1, 0.01)],
)
def test_the_reference_reaches_no_sensor_within_a_step(controller: Any, update: str) -> None:
    """Check 58: whatever the controller; an amplifier without a state passes it on at once."""
    gears = [drives.Elastic(50, stiffness=500, damping=2), drives.Rigid(50)]
    for gear in gears if update == "exact" else gears[:1]:
        given = {"controller": controller, "train": gear}
        found = joint().edited(given).matrices(STEP, update=update)
        assert np.abs(found.Theta).max() > 0
        assert np.abs(found.H @ found.Theta).max() == 0
        found = (
            joint().edited(given | {"amplifier": drives.Ideal(10)}).matrices(STEP, update=update)
        )
        reached = found.H @ found.Theta
        others = [k for k, name in enumerate(found.sensors) if name != "amplifier.v"]
        assert np.abs(reached[others]).max() == 0


def test_only_the_simultaneous_update_is_unstable_with_a_stiff_gear() -> None:
    """10^4 N*m/rad at 0.5 ms: it takes damping away."""
    stiff = joint().edited({"train.stiffness": 1e4, "controller.kp": 0, "controller.kd": 0})
    growth = {u: stiff.matrices(STEP, update=u).growth for u in UPDATES}
    assert growth["simultaneous"] == pytest.approx(1.0011, abs=5e-5)
    assert max(growth["exact"], growth["sequential"]) < 1 + 1e-9


# -- channels --------------------------------------------------------------------------------------
def _vector(run: lw.Run, name: str) -> np.ndarray[Any, Any]:
    names = [n for n in run.recording.names if n.startswith(f"joint.{name}.")]
    return np.column_stack([run[n] for n in names])


@pytest.mark.parametrize("update", ["simultaneous", "sequential"])
def test_states_and_sensors_are_the_sums_of_their_parts(update: str) -> None:
    """Check 52."""
    chain = joint(rate=2000, update=update, reference=0.5, noise=SEED_NOISE)
    run = run_of(chain, 0.1)
    x = np.column_stack([run[f"joint.{n}"] for n in chain.matrices().states])
    home, forced, w = (_vector(run, n) for n in ("XHOM", "XPAR", "W"))
    assert np.abs(w[1:]).min() > 0
    np.testing.assert_allclose(x, home + forced + w, atol=1e-15)
    np.testing.assert_allclose(_vector(run, "XWON"), home + forced, atol=1e-15)
    np.testing.assert_allclose(_vector(run, "Z"), _vector(run, "ZWON") + _vector(run, "V"))
    block = chain.matrices().blocks[2]
    np.testing.assert_allclose(home[1:, block.own], x[:-1, block.own] @ block.phi.T, atol=1e-12)
    fed = _vector(run, "U")[1:, 2:4]
    np.testing.assert_allclose(forced[1:, block.own], fed @ block.theta.T, atol=1e-12)


@pytest.mark.parametrize("closed", [True, False])
def test_the_controller_is_fed_with_reference_and_sensors(closed: bool) -> None:
    """Check 51: U = R + M Z; in an open loop, U = R."""
    chain = joint(rate=2000, update="simultaneous", closed=closed, reference=0.5, noise=SEED_NOISE)
    run = run_of(chain, 0.1)
    z = _vector(run, "Z")
    feedback = np.array([0, -0.02, 0, -8.0]) if closed else np.zeros(4)
    np.testing.assert_allclose(_vector(run, "U")[1:, 0], 4.0 + z[:-1] @ feedback, atol=1e-12)


# -- noise -----------------------------------------------------------------------------------------
def test_noise_depends_on_the_seed_and_is_as_large_as_it_is_said_to_be() -> None:
    """Checks 53 and 54."""
    chain = joint(rate=2000, update="simultaneous", reference=0.5, noise=SEED_NOISE)
    one, same, other = (run_of(chain, 5.0, seed=seed) for seed in (1, 1, 2))
    assert np.array_equal(one.recording.data, same.recording.data)
    assert not np.array_equal(one["joint.motor.i"], other["joint.motor.i"])
    w, v = _vector(one, "W")[1:], _vector(one, "V")
    for found, said in ((w, SEED_NOISE.process or {}), (v, SEED_NOISE.sensors or {})):
        sigma, count = np.array(list(said.values())), len(found)
        assert (np.abs(found.mean(axis=0)) < 4 * sigma / np.sqrt(count)).all()
        np.testing.assert_allclose(found.std(axis=0), sigma, rtol=4 / np.sqrt(2 * count))
    silent = joint(rate=2000, reference=0.5, noise=drives.DriveNoise(sensors={"load.angle": 0.0}))
    plain = run_of(joint(rate=2000, reference=0.5), 0.1)
    assert np.array_equal(run_of(silent, 0.1)["joint.load.angle"], plain["joint.load.angle"])


def test_a_density_means_the_same_disturbance_at_any_step() -> None:
    """Van Loan's covariances of two half steps are that of the whole; deviations per step add."""
    noise = drives.DriveNoise(density={"motor.speed": 0.3, "load.speed": 0.1})
    whole = joint(noise=noise, rate=1000).matrices()
    half = joint(noise=noise, rate=2000).matrices()
    Phi = half.Phi[1:, 1:]
    np.testing.assert_allclose(
        Phi @ half.Q[1:, 1:] @ Phi.T + half.Q[1:, 1:], whole.Q[1:, 1:], rtol=1e-9, atol=1e-18
    )
    run = run_of(joint(noise=noise, rate=2000), 5.0)
    x = np.column_stack([run[f"joint.{n}"] for n in half.states])
    alpha = np.column_stack([_vector(run, "R"), _vector(run, "Z")])
    w = x[1:] - x[:-1] @ half.Phi.T - alpha[:-1] @ half.Theta.T
    scale = np.sqrt(np.maximum(np.diag(half.Q), 1e-30))
    np.testing.assert_allclose(np.cov(w.T) / scale / scale[:, None],
                               half.Q / scale / scale[:, None], atol=0.05)  # fmt: skip


def test_a_sensor_with_steps_says_whole_numbers_of_them() -> None:
    noise = drives.DriveNoise(quantum={"load.angle": 1e-3})
    chain = joint(rate=2000, reference=0.5, noise=noise)
    run = run_of(chain, 0.2)
    steps = run["joint.Z.load.angle"] / 1e-3
    np.testing.assert_allclose(steps, np.round(steps), atol=1e-9)
    assert np.abs(run["joint.Z.load.angle"] - run["joint.ZWON.load.angle"]).max() <= 0.5e-3 + 1e-12
    assert chain.matrices().R[3, 3] == pytest.approx(1e-6 / 12)


# -- refusals --------------------------------------------------------------------------------------
@pytest.mark.parametrize(
    ("wrong", "code"),
    [
        (lambda: replace(MOTOR, R=0), "R401"),
        (lambda: joint(rate=2000, noise=drives.DriveNoise(process={"motor.j": 1.0})), "R403"),
        (lambda: joint(rate=2000, update="parallel"), "R404"),
        (lambda: joint(rate=2000, sensors=["motor.speed"]), "R405"),
        (lambda: joint(sensors=["load.place"]), "R406"),
        (lambda: joint(noise=SEED_NOISE), "R407"),
        (lambda: joint().matrices(), "R408"),
        (lambda: lw.System(name="s").add(joint(), rate=100), "R409"),
        (lambda: drives.DriveNoise(sensors={"load.angle": -1}), "R401"),
        (lambda: joint(rate=2000, update="simultaneous").edited({"train.stiffness": 2e4}), "R420"),
        (lambda: drives.Elastic(0, stiffness=500), "R401"),
        (lambda: drives.Rigid(0), "R401"),
    ],
)
def test_what_cannot_be_meant_has_a_number(wrong: Any, code: str) -> None:
    with pytest.raises(lw.Error) as caught:
        wrong()
    assert caught.value.code == code


@pytest.mark.parametrize("place", range(5))
@pytest.mark.parametrize("by", range(1, 5))
def test_a_part_in_the_place_of_another_is_refused_with_that_place(place: int, by: int) -> None:
    chain = joint()
    roles = ("controller", "amplifier", "motor", "train", "load")
    parts: list[Any] = [getattr(chain.parts, role) for role in roles]
    parts[place] = parts[(place + by) % 5]
    with pytest.raises(lw.Error, match=f"the {roles[place]} is ") as caught:
        drives.Chain(*parts)
    assert caught.value.code == "R422"
    parts[place] = 3.0
    with pytest.raises(lw.Error, match=f"the {roles[place]} is float"):
        drives.Chain(*parts)


def test_a_long_exact_step_is_not_told_to_take_the_exact_update() -> None:
    with pytest.raises(lw.Error) as caught:
        joint(rate=50)
    assert caught.value.code == "R420"
    assert "exact" not in (caught.value.remedy or "")


@pytest.mark.parametrize("update", ["exact", "simultaneous", "sequential"])
def test_arrays_of_a_chain_have_the_units_of_what_they_are_of(update: str) -> None:
    """Entries of XHOM, XPAR, W and XWON are parts of states; those of Z, ZWON and V of sensors."""
    chain = joint(rate=2000, update=update)
    found, channels = chain.matrices(), run_of(chain, 0.002).recording.channels
    told = {x.name: x.unit for x in channels}
    arrays = dict.fromkeys(("Z", "ZWON", "V"), found.sensors)
    if update != "exact":
        arrays |= dict.fromkeys(("XHOM", "XPAR", "W", "XWON"), found.states)
    for name, of in arrays.items():
        units = [told[f"joint.{name}.{n}"] for n in of]
        assert units == [told[f"joint.{n}"] for n in of], name
        assert {"rad", "rad/s"} <= set(units)
        assert all(n in chain.outputs[name].doc for n in of)
