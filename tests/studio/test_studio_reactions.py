"""Arrows of joint reactions, and of forces whose inputs a System drives."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import linkwright as lw
from linkwright.pages.page import write_page
from linkwright.scene.forces import ForceTrack, force_track
from linkwright.scene.motions import open_motion
from linkwright.scene.viewpoint import upright
from linkwright.studio.display import motion_of
from linkwright.studio.live import Live
from linkwright.studio.live_system import plant_of
from tests.support.chromium import opened
from tests.support.waiting import soon

G = 9.81


def tracked(thing: Any) -> tuple[ForceTrack, np.ndarray[Any, Any]]:
    """Return the arrows of a run or of a file, and the poses."""
    motion = open_motion(str(thing)) if isinstance(thing, Path) else motion_of(thing)
    assert motion.scene is not None
    assert motion.q is not None
    poses = upright(motion.scene, motion.scene.poses(motion.q).poses)
    found = force_track(motion.scene, motion.recording, slice(None), poses)
    assert found is not None
    return found, poses


def hanging() -> lw.Mechanism:
    """Return two rods below each other, which swing."""
    m = lw.Mechanism("two rods")
    above = m.body("above", rotate="y", mass=2, com=(0, 0, -0.5), inertia=(0, 0.1, 0))
    m.body("below", parent=above, at=(0, 0, -1), rotate="y", mass=3, com=(0, 0, -0.5), inertia=0.1)
    m.gravity(along="-z")
    m.output_all("reactions")
    return m


def slider_crank() -> lw.Mechanism:
    m: lw.Mechanism = lw.load("slider-crank")
    m.output_all("reactions")
    return m


def test_what_hangs_is_held_by_its_joints_and_a_system_and_files_tell_the_same(
    tmp_path: Path,
) -> None:
    run = lw.simulate(hanging(), 0.5, initial={"above": 0.8, "below": 0.3})
    track, poses = tracked(run)
    assert track.arrows.names == ("joint of above", "joint of below")
    assert track.arrows.reaction.all()
    np.testing.assert_allclose(track.arrows.points(poses), poses[:, 1:3, :3], atol=1e-9)
    # Newton's law for each rod by itself, from the motion of its mass center.
    q = np.stack([run["above"], run["below"]], axis=1)
    angle = np.cumsum(q, axis=1)
    tip = np.stack([-np.sin(angle[:, 0]), -np.cos(angle[:, 0])], axis=1)
    lower = tip + 0.5 * np.stack([-np.sin(angle[:, 1]), -np.cos(angle[:, 1])], axis=1)
    step = run.times[1] - run.times[0]
    moved = np.gradient(np.gradient(lower, step, axis=0), step, axis=0)
    wanted = 3 * (moved + np.array([0, G]))
    turn = track.arrows.scene.upright
    found = track.forces[:, 1] @ turn
    assert found[5:-5, [0, 2]] == pytest.approx(wanted[5:-5], abs=0.05)
    run.save(tmp_path / "run.npz")
    again = lw.load(tmp_path / "run.npz")
    assert again.metadata["reactions"] == ["above", "below"]
    m = hanging()
    other = lw.simulate(lw.System(m), 0.5, initial={"above": 0.8, "below": 0.3})
    assert other.recording.metadata["reactions"] == ["above", "below"]
    same, _ = tracked(other)
    assert same.forces[-1] == pytest.approx(track.forces[-1], abs=1e-3)


def test_pins_that_close_loops_have_the_force_that_balances_the_piston() -> None:
    run = lw.simulate(slider_crank(), 0.2)
    track, _ = tracked(run)
    rod, guide = "reaction of pin to piston0 along n.y", "joint of piston"
    assert {rod, guide} < set(track.arrows.names)
    names = track.arrows.names
    applied = [k for k, a in enumerate(track.arrows.each) if a.node == 3]  # the guide's among them
    on_piston = track.forces[:, applied].sum(axis=1) - track.forces[:, names.index(rod)]
    mass = track.arrows.scene.nodes[3].mass
    speed = np.gradient(run["piston_dot"], run.times)
    turn = track.arrows.scene.upright
    along = (on_piston @ turn)[:, 0]
    assert along[3:-3] == pytest.approx(mass * speed[3:-3], abs=0.02 * np.abs(along).max())


def test_a_body_without_recorded_reactions_has_no_arrow_whatever_channels_are_called() -> None:
    m = lw.Mechanism("cart")
    m.body("cart", translate="x", mass=1)
    run = lw.simulate(m, 0.1)
    data = np.column_stack([run.recording.data, np.ones((len(run.times), 3))])
    channels = [*run.recording.channels, *(lw.Channel(f"cart.F{c}", "N") for c in "xyz")]
    recording = lw.Recording(run.times, channels, data, run.recording.metadata, m)
    motion = motion_of(recording)
    assert motion.scene is not None
    assert force_track(motion.scene, recording, slice(None), np.zeros((1, 2, 7))) is None


def test_reactions_have_their_own_color_and_legend_and_go_with_the_forces(tmp_path: Path) -> None:
    write_page(tmp_path / "page.html", [motion_of(lw.simulate(hanging(), 0.1))])
    with opened(tmp_path / "page.html", offline=True, width=700, height=450) as (page, wrong):
        page.wait_for_selector("html[data-ready=yes]")
        soon(lambda: page.evaluate("studio.arrows") == 2)
        assert page.locator("#reactions").is_visible()
        assert page.locator("#legend").get_attribute("class") == "joints"
        page.keyboard.press("k")
        soon(lambda: page.evaluate("studio.arrows") == 0)
        assert not page.locator("#reactions").is_visible()
        assert wrong == []


# -- inputs that something drives ------------------------------------------------------------------
def pushed(drive: str) -> lw.System:
    """Return a cart with a force that two blocks drive together."""
    m = lw.Mechanism("pushed cart")
    cart = m.body("cart", translate="x", mass=2)
    m.parameter("scale", 1.5)
    m.force("push", m.input("F", unit="N"), at=cart, along="x")
    system = lw.System(m)
    for name, text in (("pull", "3*sin(9*t)"), ("hold", "-2*t")):
        block = lw.Block(name)
        block.output("y", block.input("u", 0.0))
        system.add(block)
        system.connect(text, f"{name}.u")
    system.connect(drive, "F")
    return system


DRIVES = ("2*pull.y + scale*hold.y", "-4*cart_dot + sin(t)", "max(pull.y, hold.y)/3")


@pytest.mark.parametrize("drive", DRIVES)
def test_a_force_that_an_expression_drives_has_its_arrow(drive: str) -> None:
    run = lw.simulate(pushed(drive), 0.5, initial={"cart_dot": 1.0})
    assert motion_of(run).notes == ()
    track, _ = tracked(run)
    assert track.arrows.names == ("push",)
    along = track.arrows.scene.upright @ [1.0, 0.0, 0.0]
    found = track.forces[:, 0] @ along
    wanted = 2 * np.gradient(run["cart_dot"], run.times)  # F = m a
    assert found[2:-2] == pytest.approx(wanted[2:-2], abs=0.01)


def test_a_live_force_that_an_expression_drives_has_its_arrow() -> None:
    system = pushed(DRIVES[0])
    motion = motion_of(system)
    assert motion.scene is not None
    live = Live(plant_of(system), motion.scene)
    live.advance(100)
    still = upright(motion.scene, motion.scene.poses(live.coordinates()[None]).poses)[0]
    arrows, shown = live.forces(live.latest, still) or pytest.fail("it has a force")
    t = live.latest.time
    wanted = motion.scene.upright @ [6 * np.sin(9 * t) - 3 * t, 0, 0]
    assert shown.forces[arrows.names.index("push")] == pytest.approx(wanted, abs=1e-6)
