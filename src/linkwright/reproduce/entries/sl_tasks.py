"""SL 5: tasks of the sample arm."""

from __future__ import annotations

from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np

from linkwright.elements import Contact, Plane
from linkwright.lab import Task, cos, parameter, pi, sin
from linkwright.lab.drawing import DrawnSphere, picture
from linkwright.lab.lab import Lab
from linkwright.mechanism import Mechanism
from linkwright.recording import Recording, read_recording
from linkwright.reproduce.entries.motions import at
from linkwright.reproduce.reproduction import Check, Panel, Reproduction, Series
from linkwright.simulation import simulate
from linkwright.system import System

JOINTS = ["SFE", "SAA", "HR", "EB", "WR", "WFE", "WAA", "TL", "TV", "FAA"]


def recorded(*lines: str) -> Recording:
    """Return what a laboratory of the sample arm has recorded of lines of its console."""
    with Lab("sl-arm") as lab:
        record_all(lab)
        for line in lines:
            lab.do(line)
        lab.recorder.stop()
        found = lab.recorder.last
    assert found is not None
    return found


def record_all(lab: Lab) -> None:
    """Let a laboratory record angles, speeds and accelerations, measured and wanted."""
    kinds = ("th", "thd", "des_th", "des_thd", "des_thdd")
    lab.recorder.configure(names=[f"R_{joint}_{kind}" for joint in JOINTS for kind in kinds])


def sine() -> Reproduction:
    """Return the task of section 5.7.3 that follows default.sine, from when it follows it."""
    found = recorded("st sine", "run 2")
    speeds, accelerations = (
        np.array([np.abs(found[f"R_{joint}_des_{what}"]).max() for joint in JOINTS])
        for what in ("thd", "thdd")
    )
    angles = [Series(found.times, found[f"R_{joint}_th"], joint) for joint in ("SFE", "SAA", "EB")]
    rates = [Series(found.times, found[f"R_{joint}_thd"], joint) for joint in ("SFE", "SAA", "EB")]
    made = [
        Check(f"R_{joint}: largest {what}", text, float(value), unit, recomputed=True)
        for joint, *values in zip(JOINTS, speeds, accelerations, strict=True)
        for what, text, value, unit in (
            ("speed", "0.62832", values[0], "rad/s"),
            ("acceleration", "3.94784", values[1], "rad/s^2"),
        )
    ]
    return Reproduction(
        [Panel(angles, "time - s", "th - rad"), Panel(rates, "time - s", "thd - rad/s")],
        made,
        note="One sine each of 0.1 rad and 1 Hz: 0.2 pi rad/s and 0.4 pi^2 rad/s^2.",
    )


class SinusoidTask(Task):
    """The sinusoidal task of section 5.4: all joints about the middle of their ranges."""

    frequency = parameter(1.0, unit="Hz", lower=0, upper=5)
    amplitude = parameter(0.1, unit="rad", lower=0, upper=0.4)
    name = "sinusoid"
    native = True

    def init(self, lab: Any) -> None:
        """Go to the middle of the ranges, and record from there."""
        self.middle = lab.robot.limits.mean(axis=1)
        lab.go_to(self.middle, inverse_dynamics=True)
        lab.recorder.start()

    def run(self, t: Any, state: Any, desired: Any) -> None:
        """Want a sine and its derivatives."""
        w = 2 * pi * self.frequency
        desired.q = self.middle + self.amplitude * sin(w * t)
        desired.u = self.amplitude * w * cos(w * t)
        desired.a = -self.amplitude * w**2 * sin(w * t)

    def draw(self, scene: Any, state: Any) -> None:
        """Show the hand as a yellow ball."""
        scene.sphere(state.cart["R_HAND"].x, radius=0.03, color="yellow")


RANGES = {
    "SFE": "-.43 1.48", "SAA": "-1.35 .36", "HR": "-1.65 1.45", "EB": ".53 2.25", "WR": "-1.48 1.6",
    "WFE": "-.76 .95", "WAA": "-.67 .82",
}  # fmt: skip


def example_task() -> Reproduction:
    """Return the sinusoidal task of section 5.4 with its ball."""
    with Lab("sl-arm") as lab:
        record_all(lab)
        lab.add(SinusoidTask)
        lab.mode("invdyn")
        lab.start("sinusoid")
        lab.run(2.0)
        (ball,) = picture(lab).things
        lab.recorder.stop()
        found = lab.recorder.last
    assert found is not None
    assert isinstance(ball, DrawnSphere)
    made = [Check("radius of the ball", "0.03", ball.radius, "m")]
    for joint, printed in RANGES.items():
        low, high = (float(x) for x in printed.split())
        wanted = found[f"R_{joint}_des_th"]
        peaks = [float(np.abs(found[f"R_{joint}_des_{d}"]).max()) for d in ("thd", "thdd")]
        made += [
            Check(f"R_{joint}: middle", f"{(high - low) / 2:.4g}", float(wanted[0]), "rad",
                  corrected=f"{(high + low) / 2:.4g}", why="printed as (max - min)/2"),
            Check(f"R_{joint}: largest speed", "0.62832", peaks[0], "rad/s", recomputed=True),
            Check(f"R_{joint}: largest acceleration", "0.62832", peaks[1], "rad/s^2",
                  corrected="3.94784", why="printed without one factor 2 pi f", recomputed=True),
        ]  # fmt: skip
    curves = [
        Series(found.times, found[f"R_{joint}_{key}"], f"R_{joint}_{key}")
        for joint in ("SFE", "EB")
        for key in ("des_th", "th")
    ]
    return Reproduction([Panel(curves, "time - s", "angle - rad")], made)


def plotter() -> Reproduction:
    """Return figure 8: five graphs of a recorded file, as MRDPLOT shows them."""
    with TemporaryDirectory() as folder, Lab("sl-arm", folder=folder) as lab:
        for line in ("outMenu duration=1", "st sine", "run 1", "scd", "run 1.1", "saveData"):
            lab.do(line)
        saved = Path(folder) / "d00001"
        found = read_recording(saved)
        head = saved.read_bytes().split(maxsplit=4)[:4]
        counted = (Path(folder) / "last_data").read_text()
    total, columns, rows, rate = (float(x) for x in head)
    made = [
        Check("values in the file, less rows times columns", "0", total - rows * columns),
        Check("columns less variables", "0", columns - len(found.channels)),
        Check("sampling frequency", "480", rate, "Hz"),
        Check("last_data", "1", float(counted), recomputed=True),
    ]
    panels = []
    for joint in JOINTS[:5]:
        wanted, speed = found[f"R_{joint}_des_th"], found[f"R_{joint}_des_thd"]
        slope = np.gradient(wanted, found.times)[2:-2]
        made.append(Check(f"R_{joint}: largest difference of d/dt and thd", "0",
                          float(np.abs(slope - speed[2:-2]).max()), "rad/s", within=2e-4,
                          why="differences at 480 Hz"))  # fmt: skip
        traces = [Series(found.times, found[f"R_{joint}_{k}"], k) for k in ("des_th", "th")]
        panels.append(Panel(traces, "time - s", f"R_{joint} - rad"))
    return Reproduction(panels, made)


HELD = {"SFE": "3.539", "SAA": "-2.158", "HR": "1.048", "EB": "4.190"}
FED = {"SFE": "4.447", "SAA": "-2.637", "HR": "1.314", "EB": "4.248"}


def modes() -> Reproduction:
    """Return figures 4 to 6: a posture held in the three modes, and what its servos command."""
    made, errors = [], []
    for mode in ("motor", "invdyn", "cart"):
        with Lab("sl-arm") as lab:
            lab.mode(mode)
            lab.run(3.0)
            u, off = lab.state.tau.copy(), np.degrees(lab.desired.q - lab.state.q)
            way = 1e3 * float(np.linalg.norm(lab.cart_desired["R_HAND"].x - lab.cart["R_HAND"].x))
        for joint, printed in (HELD if mode == "motor" else FED).items():
            made.append(Check(f"{mode}: command of R_{joint}", printed, u[JOINTS.index(joint)],
                              "N m", within=0.004, why="the posture sags a little less or more",
                              recomputed=True))  # fmt: skip
        most = "200" if mode == "motor" else "1"
        made.append(Check(f"{mode}: hand off its place", most, way, "mm", at_most=True,
                          recomputed=True))  # fmt: skip
        errors.append(Series(np.arange(1, 11), off, f"{mode} servo", "o-"))
    note = "Commands are the weight at the posture that is reached, by another library."
    return Reproduction([Panel(errors, "joint", "error - deg")], made, note=note)


def contact() -> Reproduction:
    """Return figure 10: a mass that falls on a floor, its depth, and its sliding (model 1)."""
    m = Mechanism("ball")
    body = m.body("b", translate="xyz", mass=2.0)
    m.gravity(g=9.81)
    system = System(m)
    system.add(Contact(m, [body], Plane(), stiffness=1e4, damping=50, viscous=20, name="floor"))
    fall = simulate(system, 2.0, step=1e-4, initial={"b.z": 0.02}, every=10).recording
    rest = {"b.z": -2 * 9.81 / 1e4, "b.u": 1.0}
    slide = simulate(system, 0.5, step=1e-4, initial=rest, every=10).recording
    made = [
        Check("n at rest, m g / k_n", "1.962", -1e3 * float(fall["b.z"][-1]), "mm",
              recomputed=True),
        Check("v after 0.1 s, exp(-b_v t/m)", "0.36788", at(slide, "b.u", 0.1), "m/s",
              recomputed=True),
        Check("v after 0.5 s", "0.0067379", at(slide, "b.u", 0.5), "m/s", recomputed=True),
    ]  # fmt: skip
    return Reproduction(
        [
            Panel([Series(fall.times, -fall["b.z"])], "time - s", "n - m"),
            Panel([Series(slide.times, slide["b.u"])], "time - s", "v - m/s"),
        ],
        made,
        across=2,
    )
