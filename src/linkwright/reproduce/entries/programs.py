"""AUTOSIM 9 and appendices B to E: programs, their operations, and what they compute."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cache, partial
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
from numpy.typing import NDArray

from linkwright.algebra import symbol
from linkwright.algebra.printers import text
from linkwright.codegen import codegen
from linkwright.equations import derive
from linkwright.equations.description import written_out
from linkwright.equations.evaluation import Evaluator, all_values
from linkwright.equations.kernels import kernel_program
from linkwright.equations.rules import operations_without
from linkwright.equations.shipped import shipped_program
from linkwright.models import load_model
from linkwright.program import Namer, Program, count_operations, counts_as_dict, program
from linkwright.program.linear import ldlt
from linkwright.program.passes import optimize
from linkwright.reproduce.entries.printouts import listing
from linkwright.reproduce.reproduction import Check, DataTable, Listing, Reproduction, checks

Array = NDArray[np.float64]
INCH = 0.0254
ADD, MUL = "adds and subtracts", "multiplies, divides, and function calls"


@cache
def written(model: str) -> Program:
    """Return the derivative of a shipped model as it is derived."""
    return kernel_program(derive(load_model(model)), "forward")


@cache
def counted(model: str, thorough: bool = False) -> dict[str, int]:
    """Return the operations of the derivative: optimized, or of the smallest that ships."""
    program = shipped_program(written(model)) if thorough else optimize(written(model))
    assert program is not None, model
    found = counts_as_dict(program)["derivative"]
    assert isinstance(found, dict)
    return found


def bounds(what: str, printed: str, model: str) -> list[Check]:
    """Return checks of adds, multiplies and calls against those of the printed program."""
    found = counted(model)
    names = [f"{what}: {k}" for k in ("adds", "multiplies", "calls")]
    return checks(names, printed, [found[k] for k in ("add", "mul", "call")], at_most=True)


@cache
def _evaluator(model: str, values: tuple[tuple[str, float], ...]) -> Evaluator:
    mechanism = load_model(model)
    known = all_values(mechanism, dict(values))
    return Evaluator(mechanism, optimize(written(model)), known, backend="python")


def rates(
    model: str,
    q: Sequence[float],
    u: Sequence[float] | Array,
    values: Mapping[str, float] | None = None,
) -> tuple[Array, Array]:
    """Return the rates of coordinates and speeds at a state, in SI units."""
    evaluate = _evaluator(model, tuple((values or {}).items()))
    found = evaluate(q=np.asarray(q, float), u=np.asarray(u, float))
    return found[0], found[1]


def as_code(model: str) -> list[Listing]:
    """Return the optimized equations as lines, group by group."""
    lines = []
    for title, rows in written_out(derive(load_model(model))).items():
        lines += ["", f"* {title}"]
        for name, value in rows:
            lines.append(f"{name} = {text(value)}")
    return [listing(lines[1:])]


def _in_inches(model: str, q: Sequence[float], u: Sequence[float]) -> Array:
    scale = np.array([INCH, 1, 1])
    found: Array = rates(model, q, scale * u)[1] / scale
    return found


_CAR = {
    "car": {
        (0.0, 0, 0, 0): "12.4409473909 .7620956764 -1.2365734163",
        (0.05, -20, 0.15, 0.2): "-11.0341932432 .6819562058 -5.6488600767",
        (0.4, -50, 0.5, -0.7): "-86.8569013280 2.2765034471 -23.9985173688",
    },
    "car-small": {
        (0.0, 0, 0, 0): "12.4409473909 .7620956764 -1.2365734163",
        (0.05, -20, 0.15, 0.2): "-10.8095584250 .6792632470 -5.6507499439",
    },
}
_NAMES = ("UP(1)", "UP(2)", "UP(3)")
_EVALUATED = "The printed listing was evaluated at states that are given here, in in, rad and s."


def _car_checks(model: str) -> list[Check]:
    made = []
    for (roll, *u), printed in _CAR[model].items():
        names = [f"{n} at Q4 = {roll:g}, U = {tuple(u)}" for n in _NAMES]
        ours = _in_inches(model, [0, 0, 0, roll], u)
        made += checks(names, printed, ours, recomputed=True, within=2e-9, why="evaluated to 1e-10")
    return made


def car_equations() -> Reproduction:
    """Return figures 9.1.12 to 9.1.14: the equations of the nonlinear car."""
    made = [*bounds("derivative", "69 108 6", "car"), *_car_checks("car")]
    return Reproduction(as_code("car"), made, note=_EVALUATED)


def cart_equations() -> Reproduction:
    """Return figures 9.2.9 and 9.2.10: kinematical and dynamical equations of the cart."""
    made = bounds("derivative", "48 94 4", "cart")
    rest = rates("cart", [0, 0, 0, 0.25, 0, 0, 0, 0], [0, 0])[1]
    made += checks(
        ["UP(1) at rest", "UP(2) at rest"], "3.1340506241 .2123356258", rest, recomputed=True
    )
    moving = rates("cart", [0, 0, 0.3, 0.25, 0, 0, 0, 0], [2, 0.7])
    order = [0, 1, 2, 3, 4, 5, 6, 7]
    printed = "1.91067298 .59104041 1.54 15.89379776 56.13113434 -31.03785444 13.85 6.15"
    names = [f"QP({k + 1}) moving" for k in order]
    made += checks(names, printed, moving[0], recomputed=True)
    made += checks(["UP(1) moving", "UP(2) moving"], "-7.25744006 10.90173865", moving[1],
                   recomputed=True)  # fmt: skip
    note = "Wheels in the order LFW, RFW, LRW, RRW. " + _EVALUATED.replace("in, rad", "m, rad")
    return Reproduction(as_code("cart"), made, note=note)


def spacecraft_equations() -> Reproduction:
    """Return appendix D: the equations of spacecraft 1."""
    model = "spacecraft-1:external=off"
    q = [0, 0, 0, 0.1, 0.2, 0.3, 4, -0.5, 0.02, -0.03]
    u = [0.1, -0.2, 0.3, 0.04, -0.05, 0.06, 0.07, -0.08, 0.09, -0.1]
    inputs = {"CLKCMD": 3.9, "CAMCMD": -0.45, "FIRE1": 1.0, "FIRE2": 0.0, "FIRE3": -1.0}
    q_dot, u_dot = rates(model, q, u, inputs)
    made = bounds("derivative", "628 773 18", "spacecraft-1")
    made += checks([f"QP({k})" for k in range(1, 7)],
                   ".21072496 -.18764820 .24588041 .05406721 -.03594602 .04925850", q_dot[:6],
                   recomputed=True)  # fmt: skip
    printed = (
        ".671533334 .590828512 .687511496 1.179478485 -1.417344888 "
        ".761932345 -54.175585005 18.769519138 -1.382731812 -.888297600"
    )
    made += checks([f"UP({k})" for k in range(1, 11)], printed, u_dot, recomputed=True)
    off = dict.fromkeys(("FIRE1", "FIRE2", "FIRE3"), 0.0)
    start = [0] * 6 + [4, -0.5, 0, 0]
    still = rates(model, start, [0] * 10, {"CLKCMD": 3.99, "CAMCMD": -0.49, **off})[1]
    printed = (
        ".06772863 .05381652 .13136429 .08227973 -.18730615 "
        ".06142988 -5.35109065 3.81153586 -.09561702 -.0742635"
    )
    made += checks([f"UP({k}) at rest" for k in range(1, 11)], printed, still, recomputed=True)
    return Reproduction(as_code("spacecraft-1"), made, note=_EVALUATED.replace("in, rad", "m, rad"))


_ARM_Q, _ARM_U = [0.1, 0.2, 0.3, 0.4, 0.5, 0.6], [0.7, -0.8, 0.9, -1, 1.1, -1.2]
_ARM = "stanford-arm-controlled"


def arm_equations() -> Reproduction:
    """Return appendix E: the equations of the arm under control."""
    made = bounds("derivative", "268 378 8", _ARM)
    made += _arm(_ARM, "controlled", "-9.9628061686 4.7271557222 -7.4315643353 "
                 "113.4112467426 -54.5129570678 112.7956012161")  # fmt: skip
    made += _arm("stanford-arm", "free", "-1.8387701184 3.9205186867 -9.2911155187 "
                 "18.035202185 -2.2476184599 -15.5278301809")  # fmt: skip
    start = rates(_ARM, [0, np.pi / 2, 0, 0, 0, 0], [0] * 6)[1]
    printed = "2.1431461358 -1.8038658227 .7061178923 43.6332312999 21.3032198588 87.2664625997"
    made += checks([f"UP({k}) at the start" for k in range(1, 7)], printed, start, recomputed=True)
    note = "MB is illegible in the scan: 6 kg. " + _EVALUATED.replace("in, rad", "m, rad")
    return Reproduction(as_code(_ARM), made, note=note)


def _arm(model: str, what: str, printed: str) -> list[Check]:
    names = [f"UP({k}), {what}" for k in range(1, 7)]
    return checks(names, printed, rates(model, _ARM_Q, _ARM_U)[1], recomputed=True)


# -- comparisons of programs -----------------------------------------------------------------------
def _comparison(
    rows: Sequence[tuple[str, str, str]], ours: Sequence[tuple[str, str, str]], title: str = ""
) -> tuple[DataTable, list[Check]]:
    """Return a table of programs with ours below, each (name, model, row that it is held to)."""
    cells, made = [list(row) for row in rows], []
    printed = {row[0]: row[1:] for row in rows}
    for name, model, row in ours:
        for thorough, way in ((False, "optimized"), (True, "smallest that ships")):
            found = counted(model, thorough)
            other = found["mul"] + ("without calls" not in row) * found["call"]
            cells.append([f"Linkwright, {name}: {way}", str(found["add"]), str(other)])
            key = row.removesuffix(" without calls")
            for kind, bound, value in zip(("adds", "multiplies"), printed[key],
                                          (found["add"], other), strict=True):  # fmt: skip
                made.append(Check(f"{name}, {way}: {kind}", bound, value, at_most=True))
    head = ("Source", ADD, MUL if "without calls" not in ours[0][2] else "multiplies and divides")
    return DataTable(head, cells, title), made


def spacecraft_1_counts() -> Reproduction:
    """Return table 9.4.3: programs of spacecraft 1."""
    rows = [
        ("SD/FAST Users Manual", "709", "1094"),
        ("AUTOSIM, using full, nonlinear formulation", "628", "791"),
        ("AUTOSIM, using small variables for 8 d.o.f.", "442", "514"),
    ]
    ours = [("nonlinear", "spacecraft-1", rows[1][0]), ("small", "spacecraft-1-small", rows[2][0])]
    table, made = _comparison(rows, ours)
    items = Check("SD/FAST: sum of its items", "1094", 920 + 14 + 139 + 14 + 6, corrected="1093",
                  why="920 + 14 + 139 + 14 + 6")  # fmt: skip
    return Reproduction([table], [*made, items])


def spacecraft_2_counts() -> Reproduction:
    """Return table 9.5.2: programs of spacecraft 2."""
    rows = [("SYMBA [83]", "514", "760"), ("AUTOSIM", "338", "455")]
    table, made = _comparison(rows, [("free", "spacecraft-2", "AUTOSIM")])
    return Reproduction([table], made)


def arm_counts() -> Reproduction:
    """Return table 9.6.2: nine programs of the arm, and Linkwright's."""
    rows = [
        ("Symbolic using Macsyma (Hussain and Noble) [44]", "1902", "5406"),
        ("Numerical Newton-Euler (Walker and Orin) [124]", "1255", "1627"),
        ("Symbolic using Macsyma (Kane and Nielan) [82]", "521", "858"),
        ("Symbolic, by hand (Kane and Levinson) [57]", "459", "732"),
        ("SD/EXACT (Rosenthal and Sherman) [83]", "465", "718"),
        ("SD/FAST (Rosenthal and Sherman) [99]", "390", "576"),
        ("Symbolic, by hand (Wampler) [125]", "318", "448"),
        ("SYMBA (Nielan) [83]", "268", "384"),
        ("AUTOSIM", "240", "353"),
    ]
    table, made = _comparison(rows, [("free", "stanford-arm", "AUTOSIM without calls")])
    free, controlled = counted("stanford-arm"), counted(_ARM)
    for key, name, printed in (("add", "adds", "28"), ("mul", "multiplies", "25")):
        more = controlled[key] - free[key]
        made.append(Check(f"control equations: {name}", printed, more, at_most=True))
    entry = [[symbol(f"m{min(i, j)}{max(i, j)}", "coordinate") for j in range(6)] for i in range(6)]
    side = [symbol(f"f{i}", "coordinate") for i in range(6)]
    steps, (found,) = ldlt(entry, [side], Namer(None, "z"))
    flat = [*{x for row in entry for x in row}, *side]
    solve = count_operations(program("solve", {"x": flat}, {"y": found}, statements=steps))
    made += checks(
        ["dense solve: adds", "dense solve: multiplies"], "65 86", [solve.add, solve.mul]
    )
    return Reproduction([table], made, note="The scan calls it table 9.6.1, as the one before it.")


# -- whole programs --------------------------------------------------------------------------------
def _program(model: str) -> str:
    """Return the program of a model in C."""
    with TemporaryDirectory() as folder:
        done = codegen(load_model(model), Path(folder))
        return next(path.read_text() for path in done.files if path.name.endswith(".c"))


def _head_checks(text: str, printed: str) -> list[Check]:
    """Return checks of what the head of a program lists."""
    lines = text.splitlines()
    first = next(line for line in lines if "ordinary differential equations" in line).split()

    def listed(head: str) -> int:
        start = next(k for k, line in enumerate(lines) if head in line)
        return lines.index(" *", start) - start - 1

    run_less_gravity = listed("PARAMETERS, array p") + 3 - 1
    names = ("ordinary differential equations", "bodies", "output channels",
             "parameters, with IPRINT, STEP, STOPT, without gravity")  # fmt: skip
    ours = [int(first[1]), int(first[5]), listed("OUTPUTS, array y"), run_less_gravity]
    return checks(names, printed, ours)


def small_car_program() -> Reproduction:
    """Return appendix B: the program of the small car."""
    source = _program("car-small")
    made = [*_head_checks(source, "7 2 9 24"), *bounds("derivative", "24 34 2", "car-small")]
    made += _car_checks("car-small")
    return Reproduction([Listing(source)], made, note=_EVALUATED)


_FOUR_BAR = (
    ([0, 0, 0], 0.0, "-19.6133", "0 0 0"),
    ([-0.5, 0.5634732703, -0.6444917734], 0.0, "246.379342", "0 0 0"),
    ([0.2, -0.191463321, 0.250934537], 1.5, "-202.986172", "1.5 -1.36888561 1.89617199"),
)


def four_bar_program() -> Reproduction:
    """Return appendix C: the program of the four-bar."""
    source = _program("four-bar")
    made = [*_head_checks(source, "4 3 7 14"), *bounds("derivative", "81 141 6", "four-bar")]
    why = "the coordinates are given to 1e-9"
    for q, u, acceleration, printed in _FOUR_BAR:
        q_dot, u_dot = rates("four-bar", q, [u])
        at = f"Q1 = {q[0]:g}, U1 = {u:g}"
        made += checks([f"QP({k}) at {at}" for k in (1, 2, 3)], printed, q_dot, recomputed=True)
        made.append(
            Check(f"UP(1) at {at}", acceleration, u_dot[0], recomputed=True, within=2e-6, why=why)
        )
    return Reproduction([Listing(source)], made, note=_EVALUATED.replace("in, rad", "m, rad"))


def car_counts() -> Reproduction:
    """Return table 9.1.2 with the sentences below it: programs of the car with rules left out."""
    rows = [
        ("Full, nonlinear simulation.", "67", "108", "car", []),
        ('Simulation with "small" variables.', "24", "36", "car-small", []),
        ("Most efficient, with no FORCEM or Z arrays.", "15", "19", "car-small", []),
        (
            "Small, without intermediate variables",
            "",
            "about 3 times",
            "car-small",
            ["intermediates"],
        ),
        ("Full, without intermediate variables", "", "about 3 times", "car", ["intermediates"]),
        ("Expanded form, as in NEWEUL", "", "878", "car", ["factoring"]),
        ("Small, with constants in the loop", "", "", "car-small", ["constants"]),
    ]
    cells, made, found = [], [], {}
    for name, adds, others, model, rules in rows:
        c = operations_without(partial(load_model, model), rules)
        found[name] = c.add + c.mul + c.call
        cells.append((name, adds, others, str(c.add), str(c.mul + c.call)))
        if adds:
            wrong, why = ("69", "header of the program and a recount") if adds == "67" else ("", "")
            what = f"{name[:-1]}: adds"
            made.append(Check(what, adds, c.add, at_most=True, corrected=wrong, why=why))
            made.append(Check(f"{name[:-1]}: multiplies", others, c.mul + c.call, at_most=True))
    full, expanded = (found[rows[k][0]] for k in (0, 5))
    best = found[rows[1][0]]
    made.append(Check("with small variables, part of the full program", "0.343", best / full,
                      at_most=True, why="60 of 175 operations"))  # fmt: skip
    note = (
        "Linkwright writes out what is used once, so that its second and third row are one. "
        f"Without names the full program takes {found[rows[4][0]] / full:.0f} times the "
        f"operations, multiplied out {expanded / full:.0f} times: it has shared more before."
    )
    head = ("Version of simulation code", "adds", "others", "ours: adds", "ours: others")
    return Reproduction([DataTable(head, cells)], made, note=note)
