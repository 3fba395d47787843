"""JNTMOD: prints of the joint model and of its filter."""

from __future__ import annotations

from linkwright.elements.drives import Chain
from linkwright.heritage.joint_prints import joint_print
from linkwright.linear.drive_filter import add_filter
from linkwright.models.library import opened
from linkwright.recording import Recording
from linkwright.reproduce.entries.joint_model import ANGLES, TIMES, chain
from linkwright.reproduce.entries.motions import samples
from linkwright.reproduce.reproduction import Check, Listing, Panel, Reproduction, Series, checks
from linkwright.simulation import simulate
from linkwright.system import System

MOTOR = "0.7774762056 -0.0110539195 0 0.2210841483"
SIGMAX = {
    "controller.u": "1e-3", "amplifier.v": "0.0128213", "motor.i": "0.0195851",
    "motor.speed": "0.219657", "motor.angle": "0.00294446", "train.twist": "1.49057e-4",
    "load.speed": "7.06573e-3", "load.angle": "1.67323e-4",
}  # fmt: skip


def blocks() -> Reproduction:
    """Return the prints of initial conditions (PTINIT) and of blocks (PRT)."""
    drive = chain(rate=2000, update="simultaneous", reference=0.5)
    system = System(name="joint")
    system.add(drive)
    run = simulate(system, 2.0, every=1).recording
    motor = drive.matrices().blocks[2]
    names = ["motor: PHI " + c for c in ("i, i", "i, speed", "i, angle")] + ["motor: THETA i, v"]
    made = checks(names, MOTOR, [*motor.phi[0], motor.theta[0, 0]], recomputed=True)
    known = dict(zip(TIMES, ANGLES["simultaneous"], strict=True))
    made += samples(
        run, "joint.XWON.load.angle", known, "XWON of load.angle", "rad", recomputed=True
    )
    return Reproduction([Listing(joint_print(run, "joint", drive, 0.1), "Print file")], made)


def kalman() -> Reproduction:
    """Return the print of the filter (PRTKF): Z, ZHAT, Z-ZHAT, XHAT and SIGMAX."""
    system = opened("joint-drive:noise=1")
    assert isinstance(system, System)
    name = add_filter(system, "joint")
    run = simulate(system, 20.0, every=100).recording
    drive = system.members["joint"].block
    assert isinstance(drive, Chain)
    made = [
        Check(f"SIGMAX of {state}", text, float(run[f"{name}.SIGMAX.{state}"][-1]), recomputed=True)
        for state, text in SIGMAX.items()
    ]
    nis = float(run[f"{name}.NIS"][20:].mean())
    made.append(Check("NIS, mean", "4", nis, recomputed=True, within=0.6, why="of 380 samples"))
    page = _filter_page(joint_print(run, "joint", drive, 20.0, name))
    return Reproduction([Listing(page, "Print file"), _settling(run, name)], made)


def _filter_page(text: str) -> str:
    """Return the page of the filter at the last instant."""
    return "KALMAN FILTER" + text.rpartition("KALMAN FILTER")[2].rstrip()


def _settling(run: Recording, name: str) -> Panel:
    deviations = [
        Series(run.times[:10], run[f"{name}.SIGMAX.{s}"][:10], s) for s in ("motor.i", "load.angle")
    ]
    return Panel(deviations, "TIME - s", "SIGMAX", "The first half second", logarithmic=True)
