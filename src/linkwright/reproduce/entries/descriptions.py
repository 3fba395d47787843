"""AUTOSIM 9: what a description says of parameters, loads, points, relations and echo files."""

from __future__ import annotations

import subprocess
import sys
from functools import cache
from math import atan2, cos
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np

from linkwright.algebra import Expr, Vector, diff, evaluate_all, free_symbols
from linkwright.codegen import codegen
from linkwright.equations import derive
from linkwright.equations.description import Section, describe
from linkwright.equations.replies import replies
from linkwright.mechanism import Mechanism
from linkwright.models import load_model
from linkwright.recording import Recording, read_recording
from linkwright.reproduce.entries.printouts import listing, printout
from linkwright.reproduce.reproduction import Check, DataTable, Listing, Reproduction, checks


@cache
def _sections(model: str) -> dict[str, Section]:
    return {s.title: s for s in describe(derive(load_model(model), "kane"))}


@cache
def _written(model: str) -> tuple[str, str, Recording]:
    """Return the parameter file, the echo file and the results of the program of a model."""
    with TemporaryDirectory() as name:
        folder = Path(name)
        codegen(load_model(model), folder, target="python")
        (script,), (given,) = folder.glob("*.py"), folder.glob("*.par")
        subprocess.run(
            [sys.executable, script.name, given.name, "-e", "echo.par"],
            cwd=folder, check=True, capture_output=True,
        )  # fmt: skip
        (results,) = folder.glob("*.erd")
        return given.read_text(), (folder / "echo.par").read_text(), read_recording(results)


def _file_values(text: str) -> dict[str, float]:
    found = {}
    for line in text.splitlines():
        word, _, rest = line.partition(" ")
        number = rest.split()[:1]
        if word and not word.startswith("*") and number:
            try:
                found[word] = float(number[0])
            except ValueError:
                continue
    return found


_DEFAULTS = (
    "CA1 -444 CA2 -428 CAM1 1080 CAM2 1000 CG1 78 CE 63.4 KRS2 -.016 IXX 5580 IYY 12000 "
    "IZZR 37080 IXZ 0 KROLL 6211 CROLL 212 CCOEF1 .82 H 15.48 L 125.5 NRBM 704 RBM 3831 "
    "SPEED 968 STEER 1 THETAR 5.1 STEP .025 IPRINT 2 STOPT 2"
)


def car_parameters() -> Reproduction:
    """Return table 9.1.1: the parameters of the car."""
    rows = [row for row in _sections("car")["parameters"].rows if row[4] != "no effect"]
    idle = [row[0] for row in _sections("car")["parameters"].rows if row[4] == "no effect"]
    with TemporaryDirectory() as name:
        done = codegen(load_model("car"), Path(name))
        values = _file_values(next(p for p in done.files if p.suffix == ".par").read_text())
    defaults = _DEFAULTS.split()
    names = defaults[::2]
    made = [
        Check("parameters, with IPRINT, STEP, STOPT, without gravity", "25", len(rows) + 3 - 1),
        Check("HRA and inertias of NRB that are left out", "6", len(idle)),
        *checks(names, " ".join(defaults[1::2]), [values[n] for n in names]),
        Check("NRBI33", "1285", values["NRBI33"], corrected="1.0",
              why="its default is given to IZZNR, a name of no parameter"),
    ]  # fmt: skip
    section = Section(
        "", ("Parameter", "Definition"), tuple((r[0], f"{r[3]} ({r[2]})") for r in rows)
    )
    return Reproduction([printout(section)], made, note="Values are the defaults of figure 9.1.8.")


def car_loads() -> Reproduction:
    """Return table 9.1.6: forces and moments of the car."""
    found = _sections("car")["forces and moments"]
    gravity = _sections("car")["gravity"]
    kinds = [row[1] for row in found.rows]
    m = load_model("car")
    v, (roll, side, rate, rolling) = m.values, (0.05, 0.5, 0.2, -0.4)
    front = atan2(side + v["L"] * rate, v["SPEED"]) - v["STEER"]
    rear = atan2(side, v["SPEED"]) - v["KRS2"] * roll
    wanted = {
        "FY1": v["CA1"] * front + v["CG1"] * v["CCOEF1"] * roll,
        "FY2": v["CA2"] * rear,
        "MZ1": v["CAM1"] * front,
        "MZ2": v["CAM2"] * rear,
        "ROLLM": -v["KROLL"] * roll - v["CROLL"] * cos(v["THETAR"]) * rolling,
    }
    state = {**v, "roll": roll, "nrb.v": side, "yaw_dot": rate, "roll_dot": rolling, "yaw": 0.3}
    made = [
        Check("forces, with that of gravity", "3", kinds.count("force") + len(gravity.rows)),
        Check("moments", "3", kinds.count("moment")),
    ]
    magnitudes = {x.name: x.magnitude for x in m.forces} | {x.name: x.magnitude for x in m.moments}
    for name, magnitude in magnitudes.items():
        ours = _at(magnitude, state)
        made.append(Check(name, f"{wanted[name]:.8f}", ours, recomputed=True))
    why = "Magnitudes by the printed formulas at a state, in SI units. "
    twice = "CROLL takes only the share of the roll rate along [nrb1], cos(THETAR)."
    return Reproduction([printout(found), printout(gravity)], made, note=why + twice)


def _at(x: Expr, state: dict[str, float]) -> float:
    return float(evaluate_all([x], {y: float(state[y.name]) for y in free_symbols(x)})[0])


def cart_channels() -> Reproduction:
    """Return table 9.2.1: the channels that the program of the cart writes."""
    _, _, run = _written("cart")
    rows = [("0", "Time", "sec")]
    rows += [(f"{k} - {c.name}", c.long or c.name, c.unit) for k, c in enumerate(run.channels, 1)]
    order = ["r", "steer rate", "X", "Y", "yaw", "steer", "lfw", "rfw", "lrw", "rrw"]
    made = [Check("channels", "10", len(run.channels))]
    made += [
        Check(f"channel {k}: {name}", "1", run.channels[k - 1].name == name[:8])
        for k, name in enumerate(order, 1)
    ]
    made.append(Check("samples, as STOPT/STEP/IPRINT + 1", "31", len(run.times)))
    return Reproduction([DataTable(("channel", "name", "unit"), rows)], made)


def _echo(model: str, printed: str, names: dict[str, str], **more: str) -> list[Check]:
    """Return a check for each number of a printed echo file."""
    values = _file_values(_written(model)[1])
    words = printed.split()
    made = []
    for name, text in zip(words[::2], words[1::2], strict=True):
        why = more.get(name, "")
        made.append(Check(name, text, values[names.get(name, name)], why=why,
                          within=1e-6 if why else 0.0))  # fmt: skip
    return made


def cart_echo() -> Reproduction:
    """Return table 9.2.2: the echo file of the cart."""
    printed = (
        "BI33 12.0000 BM 20.0000 CMB1 .500000 CMF1 0.200000E-01 EPS .100000 F 100.000 FI33 .500000 "
        "FM 5.00000 IA 0.200000E-01 IPRINT 5.00000 IT 0.100000E-01 L1 1.50000 MW 1.00000 "
        "R .200000 STEP 0.200000E-01 STOPT 3.00000 TRK2 .50000 Q(1) .000000 Q(2) .000000 "
        "Q(3) .000000 Q(4) .250000 Q(5) .000000 Q(6) .000000 Q(7) .000000 U(1) .00000 U(2) .00000"
    )
    text = _written("cart")[1]
    return Reproduction([Listing(text.strip())], _echo("cart", printed, _STATES["cart"]))


_STATES = {
    "cart": {"Q(1)": "X", "Q(2)": "Y", "Q(3)": "yaw", "Q(4)": "steer", "Q(5)": "lfw", "Q(6)": "rfw",
             "Q(7)": "lrw", "U(1)": "b.u", "U(2)": "b.v"},
    "four-bar": {"Q(1)": "a", "Q(2)": "b", "Q(3)": "c", "U(1)": "a_dot"},
}  # fmt: skip


def four_bar_echo() -> Reproduction:
    """Return table 9.3.3: the echo file of the four-bar, with its loop closed."""
    printed = (
        "BI33 1.00000 BM 10.0000 D 100.000 IPRINT 1.00000 K 10000.0 L1 .500000 L2 .100000 "
        "L3 .200000 L4 .300000 L5 .100000 L6 .300000 L7 .500000 STEP 0.500000E-02 STOPT 1.00000 "
        "Q(1) -.500000 Q(2) .563473 Q(3) -.644491 U(1) .000000"
    )
    why = {"Q(2)": "printed in single precision", "Q(3)": "printed in single precision"}
    made = _echo("four-bar", printed, _STATES["four-bar"], **why)
    return Reproduction([Listing(_written("four-bar")[1].strip())], made)


def four_bar_points() -> Reproduction:
    """Return table 9.3.1: the points of the four-bar, in the axes of their bodies."""
    m = load_model("four-bar")
    b, c = m.bodies["b"], m.bodies["c"]
    places: dict[str, tuple[str, Vector]] = {
        "BJ": ("a", b.from_parent),
        "BCM": ("b", b.frame.vector(*b.inertia.center)),
        "CJ": ("n", c.from_parent),
        **{name.upper(): (p.body.name, p.local) for name, p in m.points.items()},
    }
    wanted = {"BJ": "0.5 0.0 0.0", "BCM": "0.0 0.2 0.0", "CJ": "0.1 0.3 0.0", "BP": "0.0 0.3 0.0",
              "CP": "0.4 0.0 0.0", "S1": "0.0 0.1 0.0", "S2": "0.3 0.5 0.0"}  # fmt: skip
    made, rows = [], []
    for name, printed in wanted.items():
        body, place = places[name]
        frame = m.ground.frame if body == "n" else m.bodies[body].frame
        components = place.components(frame)
        ours = [_at(x, dict(m.values)) for x in components]
        made += checks([f"{name} {k}" for k in (1, 2, 3)], printed, ours, unit="m", recomputed=True)
        rows.append((name, body.upper(), "(" + ", ".join(map(str, components)) + ")"))
    note = (
        "The printed formulas with the values of figure 9.3.2; all are given along the axes of N."
    )
    return Reproduction([DataTable(("Point", "Body", "Coordinates"), rows)], made, note=note)


_Q = (0.2, -0.191463321, 0.250934537)


def _four_bar_state() -> dict[str, float]:
    m = load_model("four-bar")
    return {**m.values, **dict(zip("abc", _Q, strict=True)), "a_dot": 1.5}


def four_bar_constraints() -> Reproduction:
    """Return table 9.3.2: state variables and speed constraints of the four-bar."""
    m = load_model("four-bar")
    state, found = _four_bar_state(), replies(m)
    printed = {"b_dot": "-1.36888561", "c_dot": "1.89617199"}
    made = [Check("independent speeds", "1", len(m.kinematics().speeds) - len(found))]
    lines = ["U(1): a_dot"]
    for r in found:
        assert r.replaces is not None
        assert r.now is not None
        name = r.replaces.name
        lines.append(f"{name}: {r.now}")
        what = f"{name} at Q1 = 0.2, U1 = 1.5"
        made.append(Check(what, printed[name], _at(r.now, state), "rad/s", recomputed=True))
    note = (
        "The printed formulas were evaluated at a state; c_dot is printed with S(3) for S(2) once."
    )
    parts = [
        printout(_sections("four-bar")["coordinates"]),
        listing(lines, "speeds and constraints"),
    ]
    return Reproduction(parts, made, note=note)


def _closure(q: np.ndarray, m: Mechanism) -> np.ndarray:
    """Return the printed residuals BETA by NumPy."""
    l1, l4, l5 = (m.values[k] for k in ("L1", "L4", "L5"))
    (c1, c2, c3), (s1, s2, s3) = np.cos(q), np.sin(q)
    w, d = c1 * c3 + s1 * s3, c3 * s1 - c1 * s3
    first = -l1 * c2 + l5 * (c1 * c2 - s1 * s2) + l4 * (c2 * s1 + c1 * s2)
    first += (l1 - l5) * (-s2 * d + c2 * w)
    return np.array([first, -(l5 * s3 - l4 * (c3 + s2 * d - c2 * w) + l1 * d)])


def closing_jacobian() -> Reproduction:
    """Return figure 9.3.7: residuals and Jacobian that close the four-bar."""
    m = load_model("four-bar")
    state = {**_four_bar_state(), "a": -0.5, "b": 0.4, "c": -0.5}
    q = np.array([-0.5, 0.4, -0.5])
    lines, made = [], []
    for i, c in enumerate(m.constraints):
        assert c.position is not None
        lines.append(f"BETA({i + 1}) = {c.position}")
        sign = np.sign(_at(c.position, state)) * np.sign(_closure(q, m)[i])
        made.append(Check(f"BETA({i + 1})", f"{_closure(q, m)[i]:.9f}",
                          sign * _at(c.position, state), "m", recomputed=True))  # fmt: skip
        for j, name in enumerate("bc", 1):
            slope = diff(c.position, m.coordinates[name])
            lines.append(f"ALPHA({i + 1},{j}) = -({slope})")
            step = np.eye(3)[j] * 1e-6
            wanted = -(_closure(q + step, m)[i] - _closure(q - step, m)[i]) / 2e-6
            ours, what = -sign * _at(slope, state), f"ALPHA({i + 1},{j})"
            made.append(Check(what, f"{wanted:.8f}", ours, "m", recomputed=True))
    note = (
        "Printed residuals at Q = (-0.5, 0.4, -0.5), differenced; a residual may have either sign."
    )
    return Reproduction([listing(lines)], made, note=note)
