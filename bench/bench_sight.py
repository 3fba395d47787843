"""Regions of binary pictures, against labeling and sums by scipy.ndimage in the same run."""

from __future__ import annotations

import time

import numpy as np
from scipy import ndimage

from bench.measure import Row, interleaved
from linkwright import Mechanism, load, simulate
from linkwright.elements import DiscTarget, PictureMaker, PinholeCamera, find_regions

TITLE = "Sight"
_SIDE, _TARGETS = 512, 10


def run() -> list[Row]:
    """Time drawing and regions of 512x512 pixels with ten regions, on one core."""
    discs = [DiscTarget(0.1) for _ in range(_TARGETS)]
    eye = PinholeCamera(Mechanism("m"), "n", discs, focal=(500, 400), pixels=(_SIDE, _SIDE))
    maker = PictureMaker(eye)
    outline: list[float] = []
    for k in range(_TARGETS):
        place = ((k % 4 - 1.5) * 0.25, (k // 4 - 1) * 0.3, 1 + 0.02 * k)
        outline += [0.08, 0.0, 0.01, 0.0, 0.07, 0.0, *place]
    picture = maker.frame(outline)

    def labeled() -> object:
        label, count = ndimage.label(picture)
        which = np.arange(1, count + 1)
        return ndimage.sum(picture, label, which), ndimage.center_of_mass(picture, label, which)

    assert len(find_regions(picture)) == _TARGETS
    times = interleaved(
        {
            "ours": lambda: find_regions(picture),
            "peer": labeled,
            "label": lambda: ndimage.label(picture),
            "draw": lambda: maker.frame(outline),
        },
        rounds=9,
        calls=10,
        clock=time.process_time,
    )
    note = (
        f"areas, centroids, second moments, boxes; scipy.ndimage with areas and centroids alone "
        f"{1 / times['peer']:.3g}/s, its labels without any {1 / times['label']:.3g}/s; "
        f"drawing such a picture {1 / times['draw']:.3g}/s"
    )
    system = load("puma-sees")
    simulate(system, until=0.1, method="rk4", step=1e-3)
    begun = time.process_time()
    simulate(system, until=8.0, method="rk4", step=1e-3)
    pace = 8.0 / (time.process_time() - begun)
    whole = "PUMA with a camera at 60 Hz, four discs, image-based law, computed torque at 1 kHz"
    what = f"fields of {_SIDE}x{_SIDE} with {_TARGETS} regions"
    return [
        Row(what, 1 / times["ours"], "fields/s", 240, "higher", note),
        Row("the same against scipy.ndimage", times["peer"] / times["ours"], "1", None, "higher"),
        Row(whole, pace, "times real time", None, "higher", "one native program, steps of 1 ms"),
    ]
