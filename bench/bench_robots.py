"""Robots against Pinocchio in the same process, and the Panda against urdf2casadi's C.

Robots: PUMA 560 (Corke's and Armstrong's parameters, no drives), Panda (fingers locked), Talos on a
free base. Single calls are timed through Python on both sides, over states that take turns.
Batches are rows of plain NumPy arrays, new results each time, one thread; the peer is a loop of
Python calls, timed as one call. urdf2casadi's C is built by gcc -O3 -march=native, and both kernels
are called from the same kind of C loop. First results are timed in a process of their own, from
`lw.load` on, with what has to be imported for it; NumPy is imported before.
"""

from __future__ import annotations

import ctypes
import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import pinocchio as pin

import linkwright as lw
from bench.arms import PUMA560
from bench.example_robots import EXAMPLES, path_of
from bench.measure import Row, interleaved
from linkwright.backends.llvm import backend
from linkwright.formats.robot.files import read_description
from linkwright.robots import Robot

TITLE = "robots against Pinocchio, through Python"
STATES = 64
_FINGERS = {"panda_finger_joint1": 0.0}
# Operations of Pinocchio's algorithms as CasADi writes them after `cse` (mul, add).
_COUNTS = {
    ("Panda", "inverse_dynamics"): (556, 451),
    ("Panda", "mass_matrix"): (362, 315),
    ("Panda", "forward_dynamics"): (1050, 865),
    ("PUMA 560", "inverse_dynamics"): (331, 245),
    ("PUMA 560", "mass_matrix"): (184, 157),
    ("PUMA 560", "forward_dynamics"): (674, 519),
    ("Talos", "inverse_dynamics"): (3263, 2746),
    ("Talos", "mass_matrix"): (2723, 2230),
    ("Talos", "forward_dynamics"): (7061, 6026),
}


@dataclass(frozen=True, slots=True)
class Pair:
    """A robot on both sides.

    Args:
        name: for the table.
        ours: the robot.
        model: Pinocchio's.
        frame: of which pose and Jacobian are taken.
        scalar: the bar of single calls, as part of Pinocchio's time.
        batch: the bars of batches, as multiple of Pinocchio's rate: dynamics, other.
        rows: of a batch.
    """

    name: str
    ours: Robot
    model: Any
    frame: str
    scalar: float
    batch: tuple[float, float]
    rows: int


def puma() -> Pair:
    """Return the PUMA 560, for Pinocchio joint by joint."""
    model = pin.Model()
    at = pin.SE3.Identity()
    parent = 0
    for k, link in enumerate(PUMA560, 1):
        parent = model.addJoint(parent, pin.JointModelRZ(), at, f"q{k}")
        turn = pin.utils.rotate("x", link.quarter_turns * np.pi / 2)
        at = pin.SE3(turn, np.array([link.a, 0.0, link.d]))
        inertia = pin.Inertia(link.mass, np.array(link.center), np.diag(link.inertia))
        model.appendBodyToJoint(parent, inertia, at)
        model.addBodyFrame(f"link{k}", parent, pin.SE3.Identity(), 0)
    ours = Robot(lw.load("puma560:drives=off"))
    return Pair("PUMA 560", ours, model, "link6", 0.35, (40, 20), 1024)


def example(name: str) -> Path:
    """Return the file of an example robot."""
    return path_of(next(e for e in EXAMPLES if e.name == name))


def panda() -> Pair:
    """Return the Panda with its fingers locked."""
    path = str(example("Panda"))
    full = pin.buildModelFromUrdf(path)
    held = [full.getJointId(f"panda_finger_joint{k}") for k in (1, 2)]
    model = pin.buildReducedModel(full, held, pin.neutral(full))
    ours = lw.load(path, locked=_FINGERS, friction=False)
    return Pair("Panda", ours, model, "panda_hand", 0.35, (40, 20), 1024)


def talos() -> Pair:
    """Return Talos on a free base."""
    path = str(example("Talos"))
    model = pin.buildModelFromUrdf(path, pin.JointModelFreeFlyer())
    ours = lw.load(path, base="free", friction=False)
    return Pair("Talos", ours, model, "gripper_left_base_link", 0.7, (10, 10), 512)


def run() -> list[Row]:
    """Time everything."""
    rows: list[Row] = []
    for make in (puma, panda, talos):
        pair = make()
        rows += _dynamics(pair)
        rows += _loaded(pair)
        rows += _frames(pair)
        if pair.name != "Talos":
            rows += _derivatives(pair)
    rows += _counts()
    rows.append(_against_urdf2casadi())
    rows += _first_results()
    return rows


# -- calls -----------------------------------------------------------------------------------------
def _states(pair: Pair, count: int) -> tuple[Any, Any, Any, list[Any]]:
    q = pair.ours.random(count, seed=1)
    u, a = np.random.default_rng(2).normal(size=(2, count, len(pair.ours.speeds)))
    if not isinstance(pair.model, pin.Model):
        raise TypeError("a model of Pinocchio is needed")
    theirs = (
        [pair.ours.to_pinocchio(*row, model=pair.model) for row in zip(q, u, a, strict=True)]
        if pair.name != "PUMA 560"
        else list(zip(q, u, a, strict=True))
    )
    return q, u, a, theirs


def _taking_turns(call: Callable[..., object], states: list[tuple[Any, ...]]) -> Callable[[], None]:
    def turn() -> None:
        for state in states:
            call(*state)

    return turn


def _compared(
    pair: Pair,
    what: str,
    ours: Callable[..., Any],
    theirs: Callable[..., Any],
    mine: list[tuple[Any, ...]],
    his: list[tuple[Any, ...]],
    batch: tuple[Any, ...],
    bars: tuple[float | None, float],
    error: float,
) -> Iterator[Row]:
    """Time single calls and batches of one quantity."""
    times = interleaved(
        {"ours": _taking_turns(ours, mine), "theirs": _taking_turns(theirs, his)},
        rounds=15,
        calls=max(1, 2000 // STATES),
    )
    one, other = times["ours"] / STATES, times["theirs"] / STATES
    note = f"{one * 1e6:.3g} µs to {other * 1e6:.3g} µs; agree to {error:.0e}"
    if bars[0] is not None:
        yield Row(
            f"{pair.name}, {what}: call, part of Pinocchio's", one / other, "1", bars[0], note=note
        )
    size = len(batch[0])
    many = interleaved(
        {"ours": lambda: ours(*batch), "theirs": _taking_turns(theirs, his)}, rounds=15
    )
    each, single = many["ours"] / size, many["theirs"] / STATES
    yield Row(
        f"{pair.name}, {what}: batch of {size}, times Pinocchio's rate",
        single / each,
        "1",
        bars[1],
        "higher",
        f"{each * 1e9:.3g} ns to {single * 1e6:.3g} µs a state",
    )


def _relative(ours: Any, theirs: Any) -> float:
    return float(np.abs(ours - theirs).max() / np.abs(theirs).max())


def _dynamics(pair: Pair) -> list[Row]:
    model, data = pair.model, pair.model.createData()
    robot = pair.ours
    q, u, a, theirs = _states(pair, STATES)
    big = _states(pair, pair.rows)[:3]
    mine = list(zip(q, u, a, strict=True))
    order = np.arange(model.nv)
    if pair.name != "PUMA 560":
        numbers = robot.to_pinocchio(q[0], order, model=model)[1]
        order = np.argsort(numbers)
    rows: list[Row] = []
    s, t = mine[0], theirs[0]
    upper = pin.crba(model, data, t[0])
    full = (np.triu(upper) + np.triu(upper, 1).T)[np.ix_(order, order)]
    cases = (
        (
            "inverse dynamics",
            robot.inverse_dynamics,
            pin.rnea,
            3,
            _relative(robot.inverse_dynamics(*s), pin.rnea(model, data, *t)[order]),
        ),
        (
            "forward dynamics",
            robot.forward_dynamics,
            pin.aba,
            3,
            _relative(robot.forward_dynamics(*s), pin.aba(model, data, *t)[order]),
        ),
        ("mass matrix", robot.mass_matrix, pin.crba, 1, _relative(robot.mass_matrix(s[0]), full)),
    )
    for what, ours, peer, takes, error in cases:

        def call(*state: Any, peer: Any = peer) -> Any:
            return peer(model, data, *state)

        bar = pair.batch[0] if takes == 3 else pair.batch[1]
        rows += _compared(
            pair,
            what,
            ours,
            call,
            [x[:takes] for x in mine],
            [x[:takes] for x in theirs],
            big[:takes],
            (pair.scalar, bar),
            error,
        )
    return rows


def _loaded(pair: Pair) -> list[Row]:
    """Calls with loads by keyword, over Pinocchio's without them."""
    model, data, call, frame = (
        *(pair.model, pair.model.createData()),
        *(pair.ours.inverse_dynamics, pair.frame),
    )
    q, u, a, theirs = _states(pair, 1)
    q, u, a, his = q[0], u[0], a[0], theirs[0]
    w, p = np.ones(6), np.array([1.0, 0.1, 0.0, 0.1, 0.02, 0.0, 0.02, 0.0, 0.0, 0.02])
    ways: dict[str, Callable[[], object]] = {
        "wrench": lambda: call(q, u, a, wrench=w, frame=frame),
        "payload": lambda: call(q, u, a, payload=p, frame=frame),
        "wrench and payload": lambda: call(q, u, a, wrench=w, payload=p, frame=frame),
        "frame, payload and wrench": lambda: call(q, u, a, frame=frame, payload=p, wrench=w),
    }
    times = interleaved(
        {**ways, "theirs": lambda: pin.rnea(model, data, *his)},
        rounds=31,
        calls=500,
        clock=time.process_time,
    )
    name = f"{pair.name}, inverse dynamics with"
    return [
        Row(f"{name} {what}: call, part of Pinocchio's without", times[what] / times["theirs"],
            "1", 0.25 if len(u) < 10 else None, note=f"{times[what] * 1e6:.3g} µs")
        for what in ways
    ]  # fmt: skip


def _frames(pair: Pair) -> list[Row]:
    model, data = pair.model, pair.model.createData()
    number = model.getFrameId(pair.frame)
    q, _, _, theirs = _states(pair, STATES)
    big = _states(pair, pair.rows)[0]
    ours = pair.ours.pose_and_jacobian.of(pair.frame)

    def call(state: Any) -> Any:
        jacobian = pin.computeFrameJacobian(model, data, state, number, pin.LOCAL_WORLD_ALIGNED)
        return pin.updateFramePlacement(model, data, number).homogeneous, jacobian

    pose, _ = ours(q[0])
    error = _relative(pose, call(theirs[0][0])[0])
    return list(
        _compared(
            pair,
            "pose and Jacobian",
            ours,
            call,
            [(x,) for x in q],
            [(t[0],) for t in theirs],
            (big,),
            (None, pair.batch[1]),
            error,
        )
    )


def _derivatives(pair: Pair) -> list[Row]:
    model, data = pair.model, pair.model.createData()
    q, u, a, theirs = _states(pair, STATES)
    big = _states(pair, pair.rows)[:3]
    ours = pair.ours.forward_dynamics.derivative("q", "u", "tau")

    def call(*state: Any) -> Any:
        pin.computeABADerivatives(model, data, *state)
        return data.ddq_dq, data.ddq_dv, data.Minv

    error = _relative(ours(q[0], u[0], a[0])[0], call(*theirs[0])[0])
    return list(
        _compared(
            pair,
            "derivatives of forward dynamics",
            ours,
            call,
            list(zip(q, u, a, strict=True)),
            theirs,
            big,
            (None, 10.0),
            error,
        )
    )


# -- counts ----------------------------------------------------------------------------------------
def _counts() -> list[Row]:
    robots = {
        "PUMA 560": Robot(lw.load("puma560:drives=off")),
        "Panda": lw.load(example("Panda"), locked=_FINGERS, friction=False),
        "Talos": lw.load(example("Talos"), base="free", friction=False),
    }
    rows = []
    for (name, quantity), (mul, add) in _COUNTS.items():
        counts = getattr(robots[name], quantity).counts
        rows.append(
            Row(
                f"{name}, {quantity.replace('_', ' ')}: operations",
                counts.total,
                "1",
                mul + add,
                note=f"{counts.mul} mul, {counts.add} add, {counts.call} sin and cos; "
                f"Pinocchio in CasADi {mul} mul, {add} add",
            )
        )
    return rows


# -- urdf2casadi -----------------------------------------------------------------------------------
_DRIVER = """
typedef void (*ours_t)(const double*, const double*, const double*, double*);
void drive_ours(ours_t f, const double* q, const double* u, const double* a, double* out,
                long n, long count)
{
    for (long i = 0; i < count; i++)
        f(q + i*n, u + i*n, a + i*n, out + i*n);
}
void drive_theirs(const double* q, const double* u, const double* a, double* out,
                  long n, long count)
{
    static double work[100000];
    static casadi_int whole[1000];
    for (long i = 0; i < count; i++) {
        const double* arg[16] = {q + i*n, u + i*n, a + i*n};
        double* res[16] = {out + i*n};
        rnea(arg, res, whole, work, 0);
    }
}
"""


def _against_urdf2casadi() -> Row:
    """Time the Panda's inverse dynamics in C loops."""
    from urdf2casadi import urdfparser

    path = example("Panda")
    parser = urdfparser.URDFparser()
    parser.from_file(str(path))
    theirs = parser.get_inverse_dynamics_rnea("panda_link0", "panda_hand", [0, 0, -9.81])
    renamed = theirs.wrap()
    robot = _without_fingers(path)
    code = backend.scalar_code(robot.inverse_dynamics.program)
    with tempfile.TemporaryDirectory() as folder:
        library = _built(renamed, Path(folder))
        q, count = robot.random(1024, seed=3), 1024
        u, a = np.random.default_rng(4).normal(size=(2, count, 7))
        out, other = np.zeros((2, count, 7))
        at = [x.ctypes.data_as(ctypes.c_void_p) for x in (q, u, a)]
        address = ctypes.c_void_p(code.address(backend.SCALAR))
        size = (ctypes.c_long(7), ctypes.c_long(count))
        into, into_other = (x.ctypes.data_as(ctypes.c_void_p) for x in (out, other))
        times = interleaved(
            {
                "ours": lambda: library.drive_ours(address, *at, into, *size),
                "theirs": lambda: library.drive_theirs(*at, into_other, *size),
            },
            rounds=31,
        )
    one, peer = times["ours"] / count, times["theirs"] / count
    return Row(
        "Panda, inverse dynamics in C: part of urdf2casadi's time",
        one / peer,
        "1",
        0.7,
        note=f"{one * 1e9:.4g} ns to {peer * 1e9:.4g} ns; "
        f"hand without fingers, agree to {_relative(out, other):.0e}",
    )


def _without_fingers(path: Path) -> Robot:
    """Return the Panda up to its hand, the chain that urdf2casadi takes."""
    description = read_description(path)
    kept = tuple(j for j in description.joints if "finger" not in j.child)
    named = {description.root, *(j.child for j in kept)}
    links = tuple(link for link in description.links if link.name in named)
    return Robot(replace(description, links=links, joints=kept), friction=False)


def _built(function: Any, folder: Path) -> Any:
    """Return the shared library of a CasADi function and the drivers."""
    import casadi

    inputs = [casadi.SX.sym(f"x{k}", function.size1_in(k)) for k in range(3)]
    named = casadi.Function("rnea", inputs, [function(*inputs)])
    before = Path.cwd()
    os.chdir(folder)
    try:
        named.generate("rnea.c")
    finally:
        os.chdir(before)
    source = folder / "both.c"
    source.write_text((folder / "rnea.c").read_text() + _DRIVER)
    built = folder / "both.so"
    subprocess.run(
        ["gcc", "-O3", "-march=native", "-shared", "-fPIC", "-o", str(built), str(source), "-lm"],
        check=True,
    )
    return ctypes.CDLL(str(built))


# -- first results ---------------------------------------------------------------------------------
_FIRST = """
import json, sys, time
import numpy as np
path, base, quantity, sizes = sys.argv[1], sys.argv[2], sys.argv[3], json.loads(sys.argv[4])
states = [np.ones(n) for n in sizes]
started, worked = time.perf_counter(), time.process_time()
import linkwright as lw
robot = lw.load(path, base=base, friction=False)
imported = time.perf_counter()
getattr(robot, quantity)(*states)
took = time.perf_counter() - started
worked = time.process_time() - worked
print(json.dumps({"took": took, "cpu": worked, "load": imported - started, **robot.timings}))
"""


def _first_results() -> list[Row]:
    rows = []
    cases = (
        ("Panda", "file", (8, 8, 8), 1.5),
        ("Talos", "free", (39, 38, 38), 10.0),
    )
    for name, base, sizes, bar in cases:
        for quantity in ("inverse_dynamics", "forward_dynamics"):
            with tempfile.TemporaryDirectory() as folder:
                cache = Path(folder) / "cache"
                cold = _first(example(name), base, quantity, sizes, cache)
                warm = min(
                    (_first(example(name), base, quantity, sizes, cache) for _ in range(3)),
                    key=lambda x: x["took"],
                )
            steps = ", ".join(
                f"{'processor' if k == 'cpu' else k.split(': ')[-1]} {v:.2f}"
                for k, v in cold.items()
                if k != "took"
            )
            what = f"{name}, {quantity.replace('_', ' ')}: first result"
            rows.append(Row(f"{what}, no cache", cold["took"], "s", bar, note=f"s: {steps}"))
            rows.append(
                Row(
                    f"{what}, from the cache",
                    warm["took"],
                    "s",
                    0.2,
                    note=f"s: processor {warm['cpu']:.2f}, load {warm['load']:.2f}",
                )
            )
    return rows


def _first(
    path: Path, base: str, quantity: str, sizes: tuple[int, ...], cache: Path
) -> dict[str, float]:
    done = subprocess.run(
        [sys.executable, "-c", _FIRST, str(path), base, quantity, json.dumps(sizes)],
        env={**os.environ, "LINKWRIGHT_CACHE_DIR": str(cache)},
        check=True,
        capture_output=True,
        text=True,
    )
    found: dict[str, float] = json.loads(done.stdout)
    return found
