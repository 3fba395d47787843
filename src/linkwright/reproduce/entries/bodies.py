"""AUTOSIM 7.2, 9.1 and 9.2: bodies and worksheets printed, and the order of a solve."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import cache
from math import cos, sin

import numpy as np

from linkwright.algebra import Expr, Vector, evaluate_all, free_symbols
from linkwright.equations import Equations, derive
from linkwright.equations.worksheets import BodySheet, worksheet_sections
from linkwright.models import load_model
from linkwright.program.linear import elimination_order, fill
from linkwright.reproduce.entries.printouts import printout
from linkwright.reproduce.reproduction import Check, DataTable, Listing, Reproduction

YAW, ROLL, LATERAL, RATE, ROLLING = 0.3, 0.05, 0.5, 0.2, -0.4
FORWARD, SIDE = 2.0, 0.7  # speeds of the cart's body
_NOTE = (
    "Expressions are compared by their values at a state, in SI units; the document's with NumPy."
)
_GRAVITY = "the printout counts gravity as a force; the later chapters and Linkwright as -g here"


@cache
def kane_of(model: str) -> Equations:
    """Return the equations of a shipped model by Kane's method."""
    return derive(load_model(model), "kane")


def sheets(model: str) -> dict[str, BodySheet]:
    """Return the worksheets of a shipped model by their bodies."""
    return {s.body.name: s for s in kane_of(model).worksheets()}


def reader(model: str, **state: float) -> Callable[[BodySheet, Sequence[Expr]], list[float]]:
    """Return what evaluates expressions of a worksheet at a state, in SI units."""
    equations = kane_of(model)
    known = {**equations.mechanism.values, **state}

    def read(sheet: BodySheet, values: Sequence[Expr]) -> list[float]:
        found = {x: known[x.name] for x in _symbols(equations) if x.name in known}
        steps = [(s.target, s.value) for s in equations.assignments] + list(sheet.names.items())
        for target, value in steps:
            if all(x in found for x in free_symbols(value)):
                found[target] = float(evaluate_all([value], found)[0])
        return [float(x) for x in evaluate_all(values, found)]

    return read


def _symbols(equations: Equations) -> Iterator[Expr]:
    yield from equations.mechanism.parameters.values()
    yield from equations.coordinates
    yield from (s.symbol for s in equations.kinematics.speeds)


def alike(what: str, wanted: Sequence[float], ours: Sequence[float], **more: str) -> list[Check]:
    """Return a check for each component of a vector of the document."""
    return [
        Check(f"{what} {k}", f"{w:.9f}", x, recomputed=True, **more)  # type: ignore[arg-type]
        for k, (w, x) in enumerate(zip(wanted, ours, strict=True), 1)
    ]


def _tables(model: str, *titles: str) -> list[Listing]:
    found = {s.title: s for s in worksheet_sections(kane_of(model))}
    return [printout(found[t]) for t in titles]


def matrix_fill() -> Reproduction:
    """Return table 7.2.1: zeros of a matrix that its factors do not keep, by the order of rows."""
    n = range(5)
    cases = {
        "1. (Full)": [[1] * 5 for _ in n],
        "2. (Diagonal)": [[int(i == j) for j in n] for i in n],
        "3. (maximum fill)": [[int(i == j or 0 in (i, j)) for j in n] for i in n],
        "4. (no fill)": [[int(i == j or 4 in (i, j)) for j in n] for i in n],
        "5. (no fill)": [[int(i == j or 4 in (i, j) or (i > 0 and j > 2) or (j > 0 and i > 2))
                          for j in n] for i in n],
    }  # fmt: skip
    made, rows = [], []
    for (name, pattern), printed in zip(cases.items(), "00600", strict=True):
        filled = fill([[2 * x for x in row] for row in pattern])
        after = [[x or int((max(i, j), min(i, j)) in filled) for j, x in enumerate(row)]
                 for i, row in enumerate(pattern)]  # fmt: skip
        made.append(Check(f"{name}: pairs of zeros filled", printed, len(filled)))
        rows += [(name if i == 0 else "", _dots(pattern[i]), _dots(after[i])) for i in n]
    hub = [[2 * x for x in row] for row in cases["3. (maximum fill)"]]
    best = fill(hub, elimination_order(hub))
    made.append(Check("3., in Linkwright's own order: pairs filled", "0", len(best)))
    head = ("Case", "Structure of A", "Structure of LU")
    return Reproduction([DataTable(head, rows)], made, note="Pairs: the matrices are symmetric.")


def _dots(row: Sequence[int]) -> str:
    return "  ".join(".0"[not x] for x in row)


def nonrolling_body() -> Reproduction:
    """Return table 9.1.3: body NRB of the car."""
    sheet = sheets("car")["nrb"]
    state = {"yaw": YAW, "nrb.v": LATERAL, "yaw_dot": RATE}
    read, axes = reader("car", **state), sheet.body.frame.axes
    height = kane_of("car").mechanism.values["HRA"]
    speed = kane_of("car").mechanism.values["SPEED"]
    c, s = cos(YAW), sin(YAW)
    rows = [x for row in sheet.cosines for x in row]
    made = [
        Check("symbols of its inertia", "6", len({c for _, c in sheet.inertia.terms})),
        Check("pairs of unit vectors in it", "9", len(sheet.inertia.terms)),
        Check("coordinates", "3", len(sheet.body.coordinates)),
        Check("axes of its own", "2", sum("nrb" in str(axis) for axis in axes)),
        *alike("cosines", [c, s, 0, -s, c, 0, 0, 0, 1], read(sheet, rows)),
        *alike("abs-w", [0, 0, RATE], _along(read, sheet, sheet.omega)),
        *alike("abs-vj", [speed, LATERAL, 0], _along(read, sheet, sheet.velocity)),
        *alike("cm-pos", [0, 0, -height], _along(read, sheet, sheet.center)),
    ]
    note = "U(1) is SPEED by the constraint. " + _NOTE
    return Reproduction(_tables("car", "body nrb"), made, note=note)


Read = Callable[[BodySheet, Sequence[Expr]], list[float]]


def _along(read: Read, sheet: BodySheet, v: Vector, frame: str = "own") -> list[float]:
    body = sheet.body if frame == "own" else sheet.body.parent
    assert body is not None
    return read(sheet, v.components(body.frame))


def car_worksheets() -> Reproduction:
    """Return tables 9.1.7 and 9.1.8: worksheets of bodies NRB and RB."""
    found, values = sheets("car"), kane_of("car").mechanism.values
    state = {"yaw": YAW, "roll": ROLL, "nrb.v": LATERAL, "yaw_dot": RATE, "roll_dot": ROLLING}
    read = reader("car", **state)
    speed, ce, h, g = (values[k] for k in ("SPEED", "CE", "H", "GEES"))
    ct, st, c4, s4 = cos(values["THETAR"]), sin(values["THETAR"]), cos(ROLL), sin(ROLL)
    turn = np.array([[ct, 0, st], [-st * s4, c4, ct * s4], [-st * c4, -s4, ct * c4]])
    nrb, rb = found["nrb"], found["rb"]
    made = alike("NRB acc-rem", [-LATERAL * RATE, speed * RATE, -g],
                 _along(read, nrb, nrb.acceleration), why=_GRAVITY)  # fmt: skip
    printed: dict[str, tuple[list[float], ...]] = {
        "nrb.u": ([0, 0, 0], [1, 0, 0], [0, 0, 0], [ct, -st * s4, -st * c4]),
        "nrb.v": ([0, 0, 0], [0, 1, 0], [0, 0, 0], [0, c4, -s4]),
        "yaw_dot": ([0, 0, 1], [0, 0, 0], [st, ct * s4, ct * c4],
                    [-h * ct * s4, h * st + ce * ct * c4, -ce * ct * s4]),
        "roll_dot": ([0, 0, 0], [0, 0, 0], [1, 0, 0], [0, h, 0]),
    }  # fmt: skip
    for sheet, first in ((nrb, 0), (rb, 2)):
        for p in sheet.every:
            label = f"{sheet.body.name.upper()} {p.speed.name}"
            omega, velocity = printed[p.speed.name][first : first + 2]
            made += alike(f"{label}: wi", omega, _along(read, sheet, p.omega))
            made += alike(f"{label}: v*i", velocity, _along(read, sheet, p.velocity))
    spin = np.array([ROLLING, 0, 0]) + turn @ [0, 0, RATE]
    alpha = np.cross(turn @ [0, 0, RATE], [ROLLING, 0, 0])
    arm = np.array([ce, 0, -h])
    left = turn @ [-LATERAL * RATE, speed * RATE, -g]
    left = left + np.cross(alpha, arm) + np.cross(spin, np.cross(spin, arm))
    made += alike("RB alpha-rem", list(alpha), _along(read, rb, rb.alpha))
    made += alike("RB acc-rem", list(left), _along(read, rb, rb.acceleration), why=_GRAVITY)
    titles = ("body nrb", "partial velocities of nrb", "body rb", "partial velocities of rb")
    return Reproduction(_tables("car", *titles), made, note=_NOTE)


def _cart() -> tuple[dict[str, BodySheet], Read, dict[str, float], float]:
    """Return worksheets of the cart, what reads them, its values, and its yaw rate."""
    state = {"yaw": YAW, "steer": 0.25, "b.u": FORWARD, "b.v": SIDE, "lrw": 0.6, "rrw": 0.6}
    values = {k: float(v) for k, v in kane_of("cart").mechanism.values.items()}
    heavy = values["BM"] + 2 * values["MW"]
    rate = SIDE * heavy / (values["BM"] * values["CMB1"])
    return sheets("cart"), reader("cart", **state), values, rate


def cart_bodies() -> Reproduction:
    """Return tables 9.2.7 and 9.2.8: bodies B and LRW."""
    found, read, v, rate = _cart()
    b, wheel = found["b"], found["lrw"]
    heavy, track, radius = v["BM"] + 2 * v["MW"], v["TRK2"], v["R"]
    center = v["BM"] * v["CMB1"] / heavy
    inertia = v["BI33"] + v["BM"] * ((1 - v["BM"] / heavy) * v["CMB1"]) ** 2
    inertia += v["MW"] * (2 * center**2 + 2 * track**2)
    axis, spin = b.body.frame.z, (track * rate + FORWARD) / radius
    turned = [cos(0.6), 0, -sin(0.6), 0, 1, 0, sin(0.6), 0, cos(0.6)]
    along = wheel.inertia.expressed(b.body.frame).components(b.body.frame)
    made = [
        Check("B: masses that count with it", "2", len(b.counted)),
        *alike("B: mass", [heavy], read(b, [b.mass])),
        *alike("B: cm-pos", [center, 0, 0], _along(read, b, b.center)),
        *alike("B: inertia, [N3].[N3]", [inertia], read(b, [axis @ (b.inertia @ axis)])),
        *alike("B: abs-w", [0, 0, rate], _along(read, b, b.omega)),
        *alike("B: abs-v0", [FORWARD, 0, 0], _along(read, b, b.velocity)),
        *alike("B: cosines", [cos(YAW), sin(YAW)], read(b, b.cosines[0][:2])),
        Check("LRW is a rotor", "1", wheel.turning == "rotor"),
        Check("LRW is a fixed mass", "1", wheel.moving == "fixed mass"),
        *alike("LRW: mass", [v["MW"]], read(wheel, [wheel.mass])),
        *alike("LRW: inertia along B", [v["IT"], v["IA"], v["IT"]],
               read(wheel, [along[k][k] for k in range(3)])),
        *alike("LRW: abs-w", [0, spin, rate], _along(read, wheel, wheel.omega, "parent")),
        *alike("LRW: abs-v0", [FORWARD + track * rate, 0, 0],
               _along(read, wheel, wheel.velocity, "parent")),
        *alike("LRW: cosines", turned, read(wheel, [x for row in wheel.cosines for x in row])),
    ]  # fmt: skip
    return Reproduction(_tables("cart", "body b", "body lrw"), made, note=_NOTE)


def cart_worksheets() -> Reproduction:
    """Return tables 9.2.9 and 9.2.10: worksheets of bodies B and RRW."""
    found, read, v, rate = _cart()
    b, wheel = found["b"], found["rrw"]
    per, track, radius = rate / SIDE, v["TRK2"], v["R"]
    made = alike("B acc-rem", [-SIDE * rate, FORWARD * rate, 0], _along(read, b, b.acceleration))
    made += alike("B alpha-rem", [0, 0, 0], _along(read, b, b.alpha))
    printed: dict[str, tuple[list[float], ...]] = {
        "b.u": ([0, 0, 0], [1, 0, 0], [0, 1 / radius, 0]),
        "b.v": ([0, 0, per], [0, 1, 0], [0, -track * per / radius, per]),
    }
    for own, rolling in zip(b.independent, wheel.independent, strict=True):
        omega, velocity, turning = printed[own.speed.name]
        made += alike(f"B {own.speed.name}: nhwi", omega, _along(read, b, own.omega))
        made += alike(f"B {own.speed.name}: nhv*i", velocity, _along(read, b, own.velocity))
        made += alike(f"RRW {own.speed.name}: nhwi", turning,
                      _along(read, wheel, rolling.omega, "parent"))  # fmt: skip
        made.append(Check(f"RRW {own.speed.name}: nhv*i", "0", len(rolling.velocity.terms)))
    spin = (FORWARD - track * rate) / radius
    made += alike("RRW w", [0, spin, rate], _along(read, wheel, wheel.omega, "parent"))
    made += alike("RRW alpha-rem", [-rate * spin, 0, 0], _along(read, wheel, wheel.alpha, "parent"))
    made.append(Check("RRW acc-rem", "0", len(wheel.acceleration.terms)))
    titles = ("body b", "partial velocities of b", "body rrw", "partial velocities of rrw")
    return Reproduction(_tables("cart", *titles), made, note=_NOTE)
