"""SL 5.6, 5.7 and 7.1: its files, as they are printed and as they are read."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import fields
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np

from linkwright.algebra import as_expr, evaluate
from linkwright.elements.filters import coefficients
from linkwright.formats.robot.plausibility import description_findings
from linkwright.formats.sl.reader import SlRobot, read_sl, sl_from_text
from linkwright.lab.config import JointConfig
from linkwright.lab.files.sl_writer import write_sl_lab
from linkwright.lab.files.vision_files import read_vision
from linkwright.lab.servos.linkages import linkage_of
from linkwright.lab.sources import lab_config, shipped_folder
from linkwright.reproduce.reproduction import (
    Check,
    DataTable,
    Listing,
    Panel,
    Reproduction,
    Series,
    checks,
)
from linkwright.robots import Robot

SAMPLES = {  # kp, kd, most; range; weight, offset; a, h
    "R_SFE": "40 6 100 -.43 1.48 1 .753 .0508 .23622",
    "R_SAA": "40 4 100 -1.35 .36 1 2.026 .0508 .23622",
    "R_HR": "30 2 100 -1.65 1.45 .2 .108 0 0",
    "R_EB": "30 2 100 .53 2.25 .5 .124 .03175 .1397",
    "R_WR": "20 .5 100 -1.48 1.6 .2 -.071 0 0",
    "R_WFE": "10 .4 100 -.76 .95 .5 1.140 .0254 .10795",
    "R_WAA": "8 .35 100 -.67 .82 2 1.327 .0254 .10795",
    "R_TL": "10 .05 100 -.5 .5 1 1.846 .0127 .06096",
    "R_TV": "10 .05 100 -.5 .5 1 1.273 .0127 .06096",
    "R_FAA": "10 .05 100 -.5 .5 1 1.310",
}
HEAD = ("kp", "kd", "max_control", "min", "max", "weight", "offset", "a", "h")


def samples() -> Reproduction:
    """Return seven configuration files, with the printed numbers of all joints."""
    config = lab_config("sl-arm")
    made, rows = [], []
    for joint in config.joints:
        printed = SAMPLES[joint.name]
        found = [
            joint.kp, joint.kd, joint.max_effort, joint.lower, joint.upper, joint.weight,
            joint.offset, joint.moment_arm, joint.attachment,
        ][: len(printed.split())]  # fmt: skip
        names = [f"{joint.name}: {what}" for what in HEAD[: len(found)]]
        made += checks(names, printed, found)
        made += checks(f"{joint.name}: cutoff", "5 5 5 5", joint.filters, unit="%")
        rows.append([joint.name, *map(str, found), *[""] * (len(HEAD) - len(found))])
    (floor,) = config.objects
    numbers = [*floor.color, *floor.position, *floor.scale]
    made += checks("floor: color, place, scale", ".4 .6 .9 0 0 -1.3 4 4 .1", numbers)
    with TemporaryDirectory() as folder:
        home = Path(folder) / "arm"
        write_sl_lab(config, home)
        texts = [Listing(p.read_text(), p.name) for p in sorted((home / "config").glob("*.cf"))]
    note = "The manual has no line for R_FAA in SensorCalibration.cf."
    return Reproduction([DataTable(("joint", *HEAD), rows), *texts], made, note=note)


PARAMETERS = """
L_SFE 0       .332146 -.319979 0        0       0        0        0       0        .447291 .488580
L_SAA 0       .954889 -.641299 -.319979 .286594 -.044948 .119724  .2      -.057820 .015053 .450896
L_HR  .024871 -.052802 -.054841 .953177 .132839 -.039734 -.019548 .1      -.002109 .024650 .139699
L_EB  .312909 -.342849 -.083490 .054235 .052076 -.050766 -.041909 .105413 -.010289 .090583 .055556
L_WR  .312775 .059903 .071984 .342954   .091818 -.009149 .000626  .104177 -.023716 -.012890 .141069
L_WFE .423309 .069862 .028644 .078580   .049361 .003948  -.001001 .029567 -.000940 .016148 .098514
L_WAA .423950 -.062636 .096681 .069870  .019466 .003221  -.000951 .026249 -.001493 .010804 .217428
L_TL  0 0 0 0 0 0 0 0 0 0 0
"""
JOINTS = (  # name, translation, turn, successors, whether it is a link of its own
    ("L_SFE", "ZSH,-XSH,YSH", "-Pi/2,0,0", "2", 1),
    ("L_SAA", "0,0,0", "-Pi/2,0,0", "3", 0),
    ("L_HR", "0,0,0", "0,Pi/2,0", "4", 1),
    ("L_EB", "0,0,-UPPERARM", "Pi/2,0,0", "5", 0),
    ("L_WR", "0,0,0", "-Pi/2,0,0", "6", 1),
    ("L_WFE", "0,0,-FOREARM", "0,-Pi/2,0", "7", 0),
    ("L_WAA", "0,0,0", "Pi/2,0,0", "108,8", 1),
    ("L_TL", "-ZTHUMB,-YTHUMB,XTHUMB", "-Pi/2,0,0", "109", 1),
)
LENGTHS = {
    "XSH": 0.20, "YSH": 0.02, "ZSH": 0.45, "UPPERARM": 0.287, "FOREARM": 0.2781, "XTHUMB": 0.03,
    "YTHUMB": 0.05, "ZTHUMB": 0.02, "THUMB": 0.06,
}  # fmt: skip


def dyn_text(massless: bool = True) -> str:
    """Return the printed arm: eight joints, of which three may have no mass, and two dummies."""
    lists = [
        f"{{ (* {name} *)\n{{jointID,{{ID={k}}}}},\n{{jointAxis,{{0,0,1}}}},\n"
        f"{{translation,{{{place}}}}},\n{{rotationMatrix,{{{turn}}}}},\n{{successors,{{{after}}}}},\n"
        + ",\n".join(_carried(massless and not own))
        + "\n}"
        for k, (name, place, turn, after, own) in enumerate(JOINTS, 1)
    ]
    for k, name, place, turn in (
        (108, "HAND", "0,.085,0", "0,-Pi/2,0"),
        (109, "THUMB", "-THUMB,0,0", "0,0,Pi/2"),
    ):
        lists.append(
            f"{{ (* {name} *)\n{{jointID,{{ID={k}}}}},\n{{jointAxis,{{0,0,0}}}},\n"
            f"{{translation,{{{place}}}}},\n{{rotationMatrix,{{{turn}}}}},\n{{successors,{{}}}}\n}}"
        )
    return "\n\n".join(lists) + "\n"


def _carried(nothing: bool) -> Iterator[str]:
    times = "*0" if nothing else ""
    for key, what in (
        ("inertia", '["links",ID,1]'),
        ("massCenterMass", '["links",ID,1]'),
        ("mass", '["links",ID]'),
    ):
        function = {"inertia": "InertiaMatrix", "massCenterMass": "MCMVector", "mass": "Mass"}[key]
        yield f"{{{key},Gen{function}S{what}{times}}}"


def _printed_arm(parameters: str = "") -> SlRobot:
    """Return the printed arm as it is read."""
    if not parameters:
        return sl_from_text(dyn_text(), constants=LENGTHS)
    with TemporaryDirectory() as folder:
        Path(folder, "arm.dyn").write_text(dyn_text(massless=False))
        Path(folder, "LinkParametersSim.cf").write_text(parameters)
        return read_sl(Path(folder, "arm.dyn"), constants=LENGTHS)


def dyn_arm() -> Reproduction:
    """Return the arm of section 7.1: its joints, vertices, and its zero posture."""
    found = _printed_arm()
    robot = Robot(found.description)
    q = np.zeros(8)
    places = {v.name: robot.pose(q, v.link) @ [*v.place.position, 1.0] for v in found.vertices}
    shoulder, elbow, wrist = ([float(x) for x in p[:3]] for p in list(places.values())[:3])
    owners = [list(found.degrees.values()).index(v.owner) + 1 for v in found.vertices]
    made = [
        Check("degrees of freedom", "8", len(found.degrees)),
        Check("dummies", "2", len(found.dummies)),
        *checks("owner of vertex", "1 4 6 7 8 8", owners),
        Check("elbow below the shoulder", "-.287", elbow[0] - shoulder[0], "m"),
        Check("wrist below the shoulder", "-.5651", wrist[0] - shoulder[0], "m"),
    ]
    line = np.array([p[:3] for p in places.values()])
    arm = Panel([Series(line[:, 1], line[:, 0], style="o-")], "y - m", "x - m", "zero", equal=True)
    note = "The text says eleven lists and a branch of three; ten lists and a branch of two stand."
    return Reproduction([Listing(dyn_text(), "myrobot.dyn"), arm], made, note=note)


def link_parameters() -> Reproduction:
    """Return the identified parameters of section 5.6.2, and what is impossible in them."""
    rows = [line.split() for line in PARAMETERS.split("\n") if line]
    found = _printed_arm(PARAMETERS)
    read = found.configuration.links
    made = []
    for name, *printed in rows:
        values = [getattr(read[name], f.name) for f in fields(read[name])]
        made += checks([f"{name}: {k}" for k in NUMBERS], " ".join(printed), values)
    told = [str(finding) for finding in description_findings(found.description)]
    masses = {link.name: link.mass for link in found.description.links}
    hr, wr = masses["L_HR"], masses["L_WR"]
    assert hr is not None
    assert wr is not None
    xx, yy, zz, xy, yz, zx = wr.inertia
    moments = np.linalg.eigvalsh([[xx, xy, zx], [xy, yy, yz], [zx, yz, zz]])
    made += [
        Check("L_HR: center from its origin", "38.45", math.hypot(*hr.center), "m",
              recomputed=True),
        Check("L_WR: smallest moment about its center", "-0.319455", moments[0], "kg m^2",
              recomputed=True),
        Check("links that cannot be", "7", sum("inertia" in line for line in told),
              recomputed=True),
    ]  # fmt: skip
    return Reproduction(
        [DataTable(("joint", *NUMBERS), rows), Listing("\n".join(told), "What check says")], made
    )


NUMBERS = ("m", "mcmx", "mcmy", "mcmz", "i11", "i12", "i13", "i22", "i23", "i33", "vis")


def vision_filters() -> Reproduction:
    """Return vision_default.pp: filters of blobs at 60 Hz, and their delay."""
    found = read_vision(shipped_folder("sl-arm") / "prefs" / "vision_default.pp")
    butter = found.blob(1).butter
    assert butter is not None
    b, a = coefficients(butter[0][0])
    z = np.exp(1j * np.pi * np.linspace(1e-4, 1, 400))
    response = np.polyval(b, z) / np.polyval(a, z)
    at = np.polyval(b, np.exp(0.2j * np.pi)) / np.polyval(a, np.exp(0.2j * np.pi))
    delay = float(-np.angle(response[0]) / np.angle(z[0]))
    numbers = [found.predict, *(row[0] for row in butter)]
    names = ("PREDICT", "cutoff of position", "cutoff of velocity", "cutoff of acceleration")
    made = checks(names, ".033 20 100 100", numbers)
    made += [
        Check("delay of slow motions, samples", "2.18", delay, recomputed=True),
        Check("delay at 60 Hz", "36", 1e3 * delay / 60, "ms", recomputed=True),
        Check("gain at 6 Hz", "0.70711", float(abs(at)), recomputed=True),
    ]
    curve = Series(30 * np.angle(z) / np.pi, abs(response))
    return Reproduction([Panel([curve], "frequency - Hz", "gain", "BLOB1_BUTTER, position")], made)


def linear_actuator() -> Reproduction:
    """Return figure 9: the lever of a linear actuator, over the angle of its triangle."""
    joints = (("SFE", 0.0508, 0.23622, "0.04966"), ("EB", 0.03175, 0.1397, "0.03096"))
    made, curves = [], []
    angles = np.linspace(0.02, math.pi - 0.02, 300)
    for name, arm, attachment, square in joints:
        shape = JointConfig(
            name, -1.5, 1.5, moment_arm=arm, attachment=attachment, theta0=math.pi / 2
        )
        linkage = linkage_of(shape)
        levers = [float(evaluate(linkage.lever(as_expr(x - math.pi / 2)), {}) or 0) for x in angles]
        upright = float(evaluate(linkage.lever(as_expr(0.0)), {}) or 0)
        made.append(Check(f"{name}: lever at a right angle", square, upright, "m", recomputed=True))
        made.append(Check(f"{name}: largest lever", f"{arm}", max(levers), "m", within=1e-5,
                          why="it is the moment arm itself", recomputed=True))  # fmt: skip
        curves.append(Series(np.degrees(angles), levers, f"R_{name}: a {arm} m, h {attachment} m"))
    panel = Panel(curves, "angle of the triangle - deg", "torque for a force - N m/N")
    return Reproduction([panel], made, note="Torque is force times a h sin(phi)/L.")
