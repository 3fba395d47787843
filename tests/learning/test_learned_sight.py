"""What a laboratory learns from its cameras: where points are, and where the hand goes."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

import linkwright as lw
from linkwright.lab import Task
from linkwright.lab.config import Camera, VisionConfig
from linkwright.lab.lab import Lab
from linkwright.lab.sources import lab_config
from linkwright.learning import Regressor
from tests.support.lab_robots import planar_file

Array = NDArray[np.float64]

EYES = (
    Camera((-0.3, 2.8, 0.2), (1.5, 0.1, -0.15), (400.0, 350.0), (310.0, 250.0)),
    Camera((0.5, 2.9, -0.1), (1.6, -0.1, 0.2), (380.0, 380.0)),
)


def seeing(folder: Path, rate: float = 240.0) -> Any:
    """The laboratory of an arm of two joints with two cameras and a blob."""
    eyes = VisionConfig(blobs=("ball",), eyes=EYES)
    return replace(lab_config(planar_file(folder)), vision=eyes, vision_rate=rate, rate=240.0)


def test_stereo_of_two_cameras_is_learned_from_samples(tmp_path: Path) -> None:
    """Without their calibration: pixels of both to a point, within a millimeter at 0.4 m."""
    rng = np.random.default_rng(0)
    fusion = Regressor("features", 4, 3, scale=60.0, size=100, ridge=1e-8)
    with Lab(seeing(tmp_path)) as lab:

        def seen(x: Array) -> Array:
            lab.place_blob("ball", x.tolist())
            lab.run(2 / 240)
            return np.array(lab.raw_blobs_2d["ball"].x)

        points = np.vstack([rng.uniform(-0.2, 0.2, (130, 3)), rng.uniform(-0.17, 0.17, (30, 3))])
        pixels = np.array([seen(x) for x in points])
        own = np.array(lab.raw_blobs["ball"].x)  # by the calibration of the laboratory
    assert own == pytest.approx(points[-1], abs=1e-9)
    fusion.update(pixels[:130], points[:130])
    off = np.linalg.norm(fusion.predict(pixels[130:]) - points[130:], axis=1)
    assert off.max() < 1e-3
    frozen = lw.compile(fusion.program("stereo"))
    assert frozen.batch(pixels[130:]) == pytest.approx(fusion.predict(pixels[130:]), abs=1e-9)


def hand(q: Array, fore: float = 0.4) -> Array:
    """Where the hand of the planar arm is, for a forearm of some length."""
    q = np.atleast_2d(q)
    angle = q.sum(axis=1)
    x = 0.4 * np.cos(q[:, 0]) + fore * np.cos(angle)
    return np.column_stack([x, 0.4 * np.sin(q[:, 0]) + fore * np.sin(angle)])


def target(t: float) -> Array:
    """A circle in the plane."""
    return np.array([0.35 + 0.1 * np.cos(2 * t), 0.45 + 0.1 * np.sin(2 * t)])


class Reaching(Task):
    """Joints from places of the hand, by a model that sees where the hand really is."""

    learns = True

    def init(self, lab: Any) -> None:
        lab.go_to([0.4, 0.9])
        self.model = Regressor("features", 2, 2, scale=1.0, size=60, ridge=1e-3, over=hand)

    def run(self, t: Any, state: Any, desired: Any) -> None:
        q = np.array(state.desired.q)
        if self.learns and state.blobs["ball"].status:
            self.model.update(np.array(state.q), state.blobs["ball"].x[:2])
        place = self.model.predict(q)
        steps = self.model.predict(q + 1e-4 * np.eye(2))
        speed = (target(t + 1e-4) - target(t)) / 1e-4
        rate = np.linalg.solve((steps - place).T / 1e-4, speed + 10 * (target(t) - place))
        desired.q, desired.u = q + np.clip(rate, -3, 3) / 120, 0.0


def test_inverse_kinematics_learns_from_vision(tmp_path: Path) -> None:
    """The forearm is a quarter longer than believed: a third of the error."""
    actual = 0.5
    off = {}
    for learns in (False, True):
        with Lab(seeing(tmp_path)) as lab:
            lab.add(type("Reaching", (Reaching,), {"learns": learns}))
            lab.place_blob("ball", [0.4, 0.4, 0.0], seen=False)
            lab.start("reaching")
            start, errors = lab.time, []
            for k in range(240):
                lab.place_blob("ball", [*hand(lab.state.q, actual)[0], 0.0])
                lab.run(1 / 60)
                if k > 180:
                    wanted = target(lab.time - start)
                    errors.append(np.linalg.norm(hand(lab.state.q, actual)[0] - wanted))
        off[learns] = np.mean(errors)
    assert off[True] < off[False] / 3
