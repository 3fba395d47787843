"""Degrees of freedom that come and go: closed forms of rolling spokes, lift-offs, impacts."""

from __future__ import annotations

import math

import numpy as np
import pytest

import linkwright as lw
from linkwright.base.errors import InputError
from linkwright.mechanism import Mechanism
from linkwright.simulation import RunMode, Switch, simulate_modes
from tests.seeds import seldom

G, LENGTH, SPOKES = 9.81, 0.7, 6


def wheel(slope: float) -> Mechanism:
    """Return a hub with spokes but no rim, all mass at the hub, on a slope along x."""
    m = Mechanism("wheel")
    hub = m.body("hub", translate="xz", rotate="y", mass=3, inertia=(0, 1e-9, 0))
    m.gravity(along=(math.sin(slope), 0, -math.cos(slope)), g=G)
    for k in range(SPOKES):
        angle = math.pi / SPOKES * (1 - 2 * k)
        m.point(f"p{k}", hub, (-LENGTH * math.sin(angle), 0, -LENGTH * math.cos(angle)))
    return m


def rolling() -> dict[str, RunMode]:
    """Each spoke stands until the next one lands."""
    return {
        f"s{k}": RunMode(
            [f"dot(vel(p{k}), [n1])", f"dot(vel(p{k}), [n3])"],
            [Switch(f"s{(k + 1) % SPOKES}", f"dot(pos(p{(k + 1) % SPOKES}), [n3])")],
        )
        for k in range(SPOKES)
    }


@seldom(daily="test_impulses_keep_the_momentum_that_stays_free")
def test_a_wheel_without_rim_loses_at_each_spoke_what_its_geometry_says() -> None:
    """w+ = w- cos(2 alpha), and its pace comes to a limit (McGeer 1990)."""
    slope, alpha = 0.45, math.pi / SPOKES
    m = wheel(slope)
    start = 1.5
    push = start * LENGTH * np.array([math.cos(alpha), math.sin(alpha)])  # about the spoke's end
    c, s = math.cos(2 * alpha), math.sin(2 * alpha)
    initial = {
        "hub.z": LENGTH * math.cos(alpha),
        "hub.ry": -2 * alpha,
        "hub.ry_dot": start,
        "hub.u": float(push @ [c, s]),
        "hub.w": float(push @ [-s, c]),
    }
    run = simulate_modes(m, rolling(), 2.5, initial=initial, step=0.005)
    assert len(run.changes) == 5
    gained = 4 * G / LENGTH * math.sin(alpha) * math.sin(slope)
    w = start
    for change in run.changes[:5]:
        before = math.sqrt(w**2 + gained)
        w = before * math.cos(2 * alpha)
        assert change.speeds["hub.ry_dot"] == pytest.approx(w, rel=1e-6)
        assert change.lost == pytest.approx(1.5 * LENGTH**2 * (before**2 - w**2), rel=1e-5)
    c2 = math.cos(2 * alpha) ** 2
    limit = math.sqrt(c2 * gained / (1 - c2))
    assert run.changes[-1].speeds["hub.ry_dot"] == pytest.approx(limit, rel=1e-3)
    assert list(dict.fromkeys(run.recording["mode"])) == [0, 1, 2, 3, 4, 5]
    assert (np.diff(run.recording.times) >= 0).all()


def test_a_mass_leaves_a_sphere_where_its_weight_no_longer_holds_it() -> None:
    """It slides from the top without friction, and lifts off where cos = 2/3."""
    m = Mechanism("sphere")
    m.body("p", translate="xz", mass=2)
    m.gravity(g=G)
    on = RunMode(
        ["p.x*p.x_dot + p.z*p.z_dot"], [Switch("off", "9.81*p.z - p.x_dot**2 - p.z_dot**2")]
    )
    angle = 0.1
    initial = {"p.x": math.sin(angle), "p.z": math.cos(angle)}
    run = simulate_modes(m, {"on": on, "off": RunMode()}, 1.2, initial=initial, step=0.002)
    (change,) = run.changes
    place = int(np.searchsorted(run.recording.times, change.time))
    assert run.recording["p.z"][place] == pytest.approx(2 / 3 * math.cos(angle), abs=1e-6)
    assert change.lost == 0.0
    after = run.recording.times > change.time + 0.05
    radius = np.hypot(run.recording["p.x"], run.recording["p.z"])[after]
    assert (np.diff(radius) > 0).all()


@seldom(daily="test_a_mass_leaves_a_sphere_where_its_weight_no_longer_holds_it")
def test_the_force_of_what_holds_may_end_it() -> None:
    """The same lift-off by the constraint's force, which would have to pull."""
    m = Mechanism("hanging")
    m.body("p", translate="xz", mass=2)
    m.gravity(g=G)
    on = RunMode(["p.x*p.x_dot + p.z*p.z_dot"], [Switch("off", "force of hold 1")], forces=True)
    initial = {"p.x": math.sin(0.1), "p.z": math.cos(0.1)}
    run = simulate_modes(m, {"on": on, "off": RunMode()}, 1.0, initial=initial, step=0.002)
    (change,) = run.changes
    height = run.recording["p.z"][int(np.searchsorted(run.recording.times, change.time))]
    assert height == pytest.approx(2 / 3 * math.cos(0.1), abs=1e-6)


def test_impulses_keep_the_momentum_that_stays_free() -> None:
    """A rod that falls and whose end is caught: angular momentum about that end is kept."""
    m = Mechanism("rod")
    rod = m.body("rod", translate="xz", rotate="y", mass=2, inertia=(0, 0.4, 0))
    m.point("end", rod, (-0.6, 0, 0))
    m.gravity(g=G)
    caught = RunMode(["dot(vel(end), [n1])", "dot(vel(end), [n3])", "2*dot(vel(end), [n3])"])
    modes = {"free": RunMode(switches=[Switch("caught", "dot(pos(end), [n3])")]), "caught": caught}
    run = simulate_modes(m, modes, 0.6, initial={"rod.z": 0.5, "rod.w": -1.0, "rod.ry_dot": 0.3})
    (change,) = run.changes
    place = int(np.searchsorted(run.recording.times, change.time, side="left"))
    names = ("rod.x", "rod.z", "rod.ry", "rod.u", "rod.w", "rod.ry_dot")
    x, z, turn, u, w, rate = (run.recording[n][place] for n in names)
    arm = 0.6 * np.array([math.cos(turn), -math.sin(turn)])  # from the end to the mass center
    velocity = np.array(
        [math.cos(turn) * u + math.sin(turn) * w, -math.sin(turn) * u + math.cos(turn) * w]
    )
    about_end = 0.4 * rate + 2 * (arm[1] * velocity[0] - arm[0] * velocity[1])
    inertia = 0.4 + 2 * 0.36
    assert change.speeds["rod.ry_dot"] == pytest.approx(about_end / inertia, rel=1e-9)
    assert change.lost > 0
    assert (x, z) != (0, 0)


def test_mistakes_are_said() -> None:
    m = wheel(0.1)
    with pytest.raises(InputError, match="there is no mode 's9'"):
        simulate_modes(m, {"s0": RunMode(switches=[Switch("s9", "hub.z")])}, 1.0)
    with pytest.raises(InputError, match="one mode or more"):
        simulate_modes(m, {}, 1.0)
    with pytest.raises(InputError, match="ends after it begins"):
        simulate_modes(m, rolling(), -1.0)
    m.moment("late", "sin(t)", on="hub", about="y")
    with pytest.raises(InputError, match="read the time"):
        simulate_modes(m, rolling(), 1.0)


def test_a_ball_that_lands_stays_and_the_run_goes_on() -> None:
    m = Mechanism("ball")
    m.body("b", translate="z", mass=1)
    m.gravity(g=G)
    modes = {"fall": RunMode(switches=[Switch("rest", "b")]), "rest": RunMode(["b_dot"])}
    run = simulate_modes(m, modes, 1.0, initial={"b": 1.0})
    assert run.changes[0].time == pytest.approx(math.sqrt(2 / G), abs=1e-8)
    assert run.changes[0].lost == pytest.approx(G)
    assert run.recording.times[-1] == pytest.approx(1.0)
    assert run.recording["b"][-1] == pytest.approx(0.0, abs=1e-8)
    assert isinstance(run, lw.simulation.ChangingRun)


# -- other angles ----------------------------------------------------------------------------------
def tumbling(rotate: str | None) -> Mechanism:
    """Return a body that turns about all its axes; None for a quaternion."""
    m = Mechanism(f"tumbling {rotate}")
    joint = lw.Free(quaternion=True) if rotate is None else lw.Free(rotate)
    body = m.body("b", joint=joint, mass=2, inertia=(0.3, 0.5, 0.2))
    m.point("tip", body, (0.2, 0.1, 0.7))
    for k in (1, 2, 3):
        m.output(f"tip {k}", f"dot(pos(tip), [n{k}])", unit="m")
    return m


def test_three_angles_change_their_sequence_where_they_would_be_singular() -> None:
    """xyz is singular at b.ry = pi/2, and zxz at b.r2 = 0; the switches keep away from both."""
    first, second = tumbling("xyz"), tumbling("zxz")
    modes = {
        "xyz": RunMode(switches=[Switch("zxz", "cos(b.ry)**2 - 0.1")]),
        "zxz": RunMode(switches=[Switch("xyz", "sin(b.r2)**2 - 0.1")], model=second),
    }
    start = {"b.p": 0.1, "b.q": 2.0, "b.r": 0.2, "b.u": 0.3}
    run = simulate_modes(first, modes, 2.5, initial=start, step=0.01)
    assert len(run.changes) >= 2
    assert {c.after for c in run.changes} == {"xyz", "zxz"}
    assert all(c.lost == 0.0 for c in run.changes)
    whole = lw.simulate(tumbling(None), 2.5, initial=start, step=0.01, tolerance=1e-11)
    times = run.recording.times
    for name in ("tip 1", "tip 2", "tip 3", "b.p", "b.q", "b.r"):
        wanted = np.interp(times, whole.recording.times, whole.recording[name])
        assert np.abs(run.recording[name] - wanted).max() < 3e-4  # of the interpolation
        at_samples = np.isin(times.round(9), whole.recording.times.round(9))
        assert run.recording[name][at_samples][-1] == pytest.approx(wanted[-1], abs=1e-7)
    assert "b.rx" not in run.recording.names


def test_another_mechanism_is_no_other_formulation() -> None:
    modes = {
        "a": RunMode(switches=[Switch("b", "0.1 - b.x")]),
        "b": RunMode(model=wheel(0.1)),
    }
    start = {"b.u": 1.0, "b.p": 0.3}
    with pytest.raises(InputError, match="not 'tumbling xyz' in another formulation"):
        simulate_modes(tumbling("xyz"), modes, 0.3, initial=start, step=0.05)
