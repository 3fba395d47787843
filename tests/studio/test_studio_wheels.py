"""Tires tell which bodies are wheels, and how large: pages and the studio draw them round."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import linkwright as lw
from linkwright.elements import Contact, LinearTire, Plane, Tire
from linkwright.scene.motions import recorded_motion
from linkwright.scene.scene import Scene
from linkwright.studio.display import motion_of
from linkwright.studio.live import Live
from linkwright.studio.live_system import plant_of

RADIUS, TRACK = 0.3, 1.4


def car(*, wheels: float = TRACK, floor: float | None = None) -> lw.System:
    """Return a cart on four wheels, each on a hub that slides."""
    m = lw.Mechanism("cart on tires")
    inertia = (300, 900, 1000)
    chassis = m.body("chassis", translate="xyz", rotate="z", mass=800, inertia=inertia)
    m.gravity()
    places = [(x, s * wheels / 2) for x in (1.2, -1.2) for s in ((1, -1) if wheels else (1,))]
    hubs, rims = [], []
    for k, place in enumerate(places):
        at = (*place, -0.2)
        hubs.append(m.body(f"hub{k}", parent=chassis, at=at, translate="z", mass=20, inertia=0))
        rims.append(
            m.body(f"wheel{k}", parent=hubs[k], rotate="y", mass=10, inertia=(0.3, 0.6, 0.3))
        )
    system = lw.System(m, base=1000)
    x, y = chassis.frame.x, chassis.frame.y
    for k, (hub, rim) in enumerate(zip(hubs, rims, strict=True)):
        law, radius = LinearTire(1e4), RADIUS
        tire = Tire(m, hub, law, forward=x, left=y, load=2e3, wheel=rim, radius=radius)
        system.add(tire, name=f"tire{k}")
    if floor is not None:
        plane = Plane(center=(0, 0, floor))
        system.add(Contact(m, [hubs[0]], plane, stiffness=1e4, damping=10, viscous=1), name="floor")
    return system


def radii(scene: Scene) -> dict[str, float]:
    """Return the radius of each node that is drawn as a wheel."""
    return {n.name: s.size[0] for n in scene.nodes for s in n.solids if s.kind == "tire"}


def test_wheels_are_round_in_runs_in_files_of_them_and_in_systems(tmp_path: Path) -> None:
    system = car()
    round_ones = dict.fromkeys([f"wheel{k}" for k in range(4)], RADIUS)
    run = lw.simulate(system, 0.01)
    run.recording.save(tmp_path / "run.parquet")
    read = lw.load(tmp_path / "run.parquet")
    assert read.metadata["wheels"] == run.recording.metadata["wheels"]
    motions = [motion_of(run), motion_of(system)]
    for motion in motions:
        assert motion.scene is not None
        assert radii(motion.scene) == round_ones
        assert motion.scene.floor == pytest.approx(-0.2 - RADIUS)
    assert run.recording.metadata["wheels"][0] == {
        "body": "wheel0", "radius": RADIUS, "parameter": "tire0.radius"
    }  # fmt: skip


def test_a_wheel_is_as_large_as_the_run_has_it() -> None:
    system = car()
    system.set_parameters({"tire1.radius": 0.35})
    wanted = {f"wheel{k}": 0.35 if k == 1 else RADIUS for k in range(4)}
    motion = motion_of(system)
    assert motion.scene is not None
    assert radii(motion.scene) == wanted
    live = Live(plant_of(system), motion.scene)
    live.set_value("tire2.radius", 0.25)
    assert radii(motion.scene.with_parameters(live.parameters)) == wanted | {"wheel2": 0.25}
    told = lw.simulate(system, 0.01).recording
    made = recorded_motion("run", told).scene
    assert made is not None
    assert radii(made) == wanted
    assert radii(made.reaching(np.zeros((1, len(made.poses.coordinates))))) == wanted


def test_a_plane_that_is_told_of_counts_before_tires() -> None:
    motion = motion_of(lw.simulate(car(floor=-0.75), 0.01))
    assert motion.scene is not None
    assert motion.scene.floor == pytest.approx(-0.75)


@pytest.mark.parametrize("wheels", [TRACK, 0.0], ids=["four", "in line"])
def test_a_body_that_carries_wheels_leaves_them_in_sight(wheels: float) -> None:
    scene = motion_of(car(wheels=wheels)).scene
    assert scene is not None
    poses = scene.poses(scene.poses.start).poses
    boxes = scene.surfaces[scene.index("chassis")][0].points + poses[scene.index("chassis"), :3]
    low, high = boxes.min(axis=0), boxes.max(axis=0)
    for name in radii(scene):
        at = poses[scene.index(name), :3]
        beside = at[1] < low[1] or at[1] > high[1]
        assert beside or at[2] + RADIUS < low[2]
    assert scene.floor is not None
    assert low[2] > scene.floor
    for k, node in enumerate(scene.nodes):
        points = np.concatenate([s.points for s in scene.surfaces[k]] or [np.zeros((0, 3))])
        heights = (points + poses[k, :3])[:, 2]
        assert heights.min(initial=0.0) > scene.floor - 1e-6, node.name
