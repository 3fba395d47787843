"""Follow a blob that goes around in a circle: eyes, inverse kinematics and inverse dynamics.

python examples/lab/track.py
"""

from __future__ import annotations

from typing import Any

import numpy as np

import linkwright as lw
from linkwright.lab import Task, channel, parameter, where


class Follow(Task):
    """The hand goes after the first blob, as fast as it is away, and stays where it is not seen.

    The task `track` that every laboratory has meets a blob with its speed; this is the short form.
    """

    gain = parameter(8.0, unit="1/s", lower=0, upper=30, doc="part of the way in a second")
    away = channel("m", doc="from the blob")
    native = True

    def init(self, lab: Any) -> None:
        """Joints come from inverse kinematics."""
        self.blob = lab.config.vision.blobs[0]
        self.period = float(1 / lab.rates["task"])
        lab.mode("cart")

    def run(self, t: Any, state: Any, desired: Any) -> None:
        """Want the hand a little nearer to the blob."""
        blob, hand = state.blobs[self.blob], desired.cart["R_HAND"]
        way = blob.x - hand.x
        speed = where(blob.status > 0, blob.xd + self.gain * way, 0)
        hand.x = hand.x + self.period * speed
        hand.xd = speed
        hand.status = [1, 1, 1, 0, 0, 0]
        self.away = (way[0] ** 2 + way[1] ** 2 + way[2] ** 2) ** 0.5

    def draw(self, scene: Any, state: Any) -> None:
        """Show the way to the blob."""
        hand, blob = state.cart["R_HAND"].x, state.blobs[self.blob].x
        scene.line([hand, blob], color="orange")
        scene.text(hand, f"{1000 * self.away:.0f} mm")


def main(name: str = "follow") -> float:
    """Follow a circle of 5 cm for three seconds; return how far the hand was off at last, m."""
    with lw.Lab("sl-arm") as lab:
        lab.add(Follow)
        blob = lab.config.vision.blobs[0]
        center = lab.cart_desired["R_HAND"].x + np.array([0, 0.05, 0.05])
        lab.place_blob(blob, center)
        lab.run(0.2)
        lab.start(name)
        away = 0.0
        for k in range(180):
            angle = 2 * np.pi * k / 120
            place = center + 0.05 * np.array([0, np.sin(angle), 1 - np.cos(angle)])
            lab.place_blob(blob, place)
            lab.run(1 / 60)
            if k > 90:
                away = max(away, float(np.linalg.norm(lab.cart["R_HAND"].x - place)))
        print(f"{name}: at most {1000 * away:.1f} mm from the blob")
        return away


if __name__ == "__main__":
    main("follow")
    main("track")
