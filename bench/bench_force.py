"""Control of force: a gantry with a compliant wrist on a wave that it does not know.

The force is what the wrist shows along the axis that is controlled. Runs are of RK4 with the steps
that are said, each System one program.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

import linkwright as lw
from bench.measure import Row
from linkwright.control import PD, Hybrid
from linkwright.elements import CompliantWrist, Contact, Wave

TITLE = "Control of force"
PUSH, T = 5.0, 0.028
WAVE = (0.01, 0.2)
SLOPE = 2 * math.pi * WAVE[0] / WAVE[1]
STIFFNESS, DAMPING = [500.0] * 3 + [8.0] * 3, [3.0] * 3 + [0.05] * 3
STEP: dict[str, Any] = {"method": "rk4", "step": 1 / 4000}


def run() -> list[Row]:
    """Return the rows of the table."""
    slow = gantry(T, 0.02, 0.2, 1.0, 100.0)
    found = lw.simulate(slow, 12.0, every=1, **STEP)
    first, _ = touched(found)
    late = found.times > first + 1.0
    error = float(np.abs(found["wrist.wrench[2]"][late] - PUSH).max())
    lost = float((found["contact.normal1"][late] <= 0).sum())
    rows = [
        Row("wave at 20 mm/s, 28 ms, KF = 0.2: largest error", error, "N", 0.6, "lower",
            "after the first second; the lag v T/KF alone is 0.44 N"),
        Row("the same: instants without contact", lost, "1", 0, "lower", "after the first second"),
    ]  # fmt: skip
    found = lw.simulate(gantry(T, 0.02, 0.2, 1.0, 100.0, follow=0.8), 12.0, every=1, **STEP)
    late = found.times > 3.0
    error = float(np.abs(found["wrist.wrench[2]"][late] - PUSH).max())
    note = "after three seconds: the speed of the surface is taken from the tool"
    rows.append(Row("the same with follow = 0.8: largest error", error, "N", None, "lower", note))
    for speed in (0.01, 0.05, 0.1):
        values = {"hybrid.approach_z": -speed}
        _, gone = touched(lw.simulate(slow, 3.0, parameters=values, every=1, **STEP))
        what = f"approach at {1e3 * speed:.0f} mm/s: longest loss of contact"
        rows.append(Row(what, 1e3 * gone, "ms", 1e3 * T, "lower", ""))
    fast = gantry(0.001, 0.1, 0.02, 0.0, 200.0)
    rms = []
    for fed in (False, True):
        if fed:
            known = f"0.1*{SLOPE}*cos({2 * math.pi / WAVE[1]}*(cart + tool.x))"
            fast.connect(known, fast["hybrid.surface_rate[2]"])
        found = lw.simulate(fast, 5.0, every=1, **STEP)
        late = found.times > 1.3
        rms.append(float(np.sqrt(np.mean((found["contact.normal1"][late] / PUSH - 1) ** 2))))
    note = f"of the normal force; without feed-forward {100 * rms[0]:.1f} %"
    rows.append(
        Row("wave at 100 mm/s, 1 kHz, fed forward: RMS", 100 * rms[1], "%", 5, "lower", note)
    )
    return rows


def gantry(
    period: float, feed: float, KF: float, Kp: float, servo: float, follow: float | None = None
) -> lw.System:
    """Return a gantry that comes down on a wave, and presses while it goes on."""
    m = lw.Mechanism("gantry")
    cart = m.body("cart", translate="x", mass=10)
    ram = m.body("ram", parent=cart, translate="z", mass=5)
    tool = m.body("tool", parent=ram, translate="xz", mass=0.1)
    m.set_initial(cart=WAVE[1] / 4, ram=0.02)
    s = lw.System(m)
    wrist = CompliantWrist(m, ram, tool, STIFFNESS, DAMPING)
    s.add(wrist)
    s.add(Contact(m, [tool], Wave(*WAVE), stiffness=1e5, dissipation=1.0))
    law = Hybrid(
        m, wrist, force="z", push={"z": -PUSH}, KF=KF, Kp=Kp, filter=0.8,
        approach={"z": -0.05}, threshold={"z": 0.002}, follow=follow,
    )  # fmt: skip
    added = s.add(law, rate=lw.sampled(period=period))
    kp, kd = [15 * servo**2, 5 * servo**2], [30 * servo, 10 * servo]
    driver = s.add(PD(m, kp, kd, joints=["cart", "ram"]), rate=1000)
    s.connect(added.command, driver.target)
    s.connect(added.command_rate, driver.target_rate)
    s.connect(feed, added.feed[0])
    return s


def touched(found: Any) -> tuple[float, float]:
    """Return when a run first touched, and how long it lost contact at most after that, s."""
    inside = found["contact.normal1"] > 0
    first = int(np.argmax(inside))
    longest = count = 0
    for x in inside[first:]:
        count = 0 if x else count + 1
        longest = max(longest, count)
    return float(found.times[first]), longest * float(found.times[1] - found.times[0])
