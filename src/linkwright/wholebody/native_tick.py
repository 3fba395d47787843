"""The tick of a whole-body controller as native code, and the memory that it works on.

`tick_ir` is the routine `linkwright.wholebody.tick`, lowered once for all controllers: sizes and
addresses stand in one array of 8-byte fields, the context, which native code is called with. So
code holds no address, and what calls it is a function of ticks like any other: of a context, the
time, and the array of arguments, what is held, and results.
"""

from __future__ import annotations

import ctypes
from collections.abc import Mapping, Sequence
from functools import lru_cache
from typing import Any

import numpy as np

from linkwright.backends.llvm.blocks import empty_aligned
from linkwright.backends.llvm.compile import NativeCode, cached_native, simplified
from linkwright.backends.llvm.ir import TOGETHER, IrWriter
from linkwright.backends.llvm.routine import RARELY, NativeMemory, RoutineWriter
from linkwright.base.fingerprint import fingerprint
from linkwright.program.routine import ARRAY, INT, LANES, NUMBER, Memory, read
from linkwright.wholebody import daqp_door, tick

Array = np.ndarray[Any, np.dtype[np.float64]]
TICK = "lw_wholebody_tick"

COUNTS = (
    *("coordinates", "n", "undriven", "driven", "contacts", "tasks", "rows", "levels", "groups"),
    "out",
)
REALS = ("small_a", "small_f", "braking")
CHANGING = ("m", "free", "d", "e", "limits", "asked", "flag")
CELLS = ("miss",)
INTEGERS = (
    *("own_q", "own_u", "own_c", "rest", "own", "begin", "points", "contact", "first", "level"),
    *("place", "row"),
)
GIVEN = ("target", "gain", "share", "slope", "heavy", "axes", "most", "low", "high", "root")
TERMS = ("q", "u", "M", "h", "J", "drift", "slow", "A", "b")
WORK = (
    *("E", "wanted", "X", "Y", "T", "F", "S", "s0", "G", "V", "B", "P", "R", "base", "lower"),
    *("upper", "below", "above", "group", "amount", "H", "f", "w", "z", "W", "x", "error", "y"),
    *("L", "K", "tau", "pivot", "order", "tau_k", "pivot_k", "order_k", "multipliers"),
)
ARRAYS = (*GIVEN, *TERMS, *WORK)
_LINKS = ("terms", "p", "has_p", "solver", "result", "problem", "sense")
CONTEXT = {
    name: k
    for k, name in enumerate((*COUNTS, *REALS, *CHANGING, *CELLS, *INTEGERS, *ARRAYS, *_LINKS))
}
EXTERNALS = ("evaluate_terms", "solve", "square_root", "clear", "dot", "axpy")


@lru_cache(maxsize=1)
def tick_ir() -> str:
    """Return the text of the routine and of what it calls."""
    fields = dict.fromkeys((*COUNTS, *CHANGING), INT) | dict.fromkeys(REALS, NUMBER)
    fields |= dict.fromkeys(CELLS, LANES) | dict.fromkeys((*ARRAYS, "o"), ARRAY)
    functions = read(tick, "tick", Memory(fields, INTEGERS, {}), EXTERNALS)
    w = IrWriter(1)

    def at(name: str) -> str:
        return w.at("%context", str(CONTEXT[name]))

    numbers = {name: w.load("i64", at(name)) for name in COUNTS}
    numbers |= {name: w.load("double", at(name)) for name in REALS}
    places = {name: at(name) for name in (*CHANGING, *CELLS)}
    places |= {name: w.load("ptr", at(name)) for name in (*INTEGERS, *ARRAYS)} | {"o": "%o"}
    externals = dict.fromkeys(EXTERNALS, "ptr %context")
    RoutineWriter(w, functions, NativeMemory(numbers, places, externals=externals)).write("tick")
    w.label("out")
    flag = w.load("i64", at("flag"))
    wrong = w.i("icmp slt", flag, "1")
    head = f"i64 @{TICK}(ptr %context, ptr %t, ptr %o)"
    text = w.function(head, f"%wrong = zext i1 {wrong} to i64", "ret i64 %wrong")
    parts = [text, _terms(), _solve(), _clear(), _dot(), _axpy(), _ROOT]
    return "".join(parts) + RARELY


_ROOT = """define internal double @square_root(ptr %context, double %x) nounwind alwaysinline {
  %y = call double @llvm.sqrt.f64(double %x)
  ret double %y
}
declare double @llvm.sqrt.f64(double)
declare double @llvm.fabs.f64(double)
"""


def _link(w: IrWriter, name: str, kind: str = "ptr") -> str:
    return w.load(kind, w.at("%context", str(CONTEXT[name])))


def _terms() -> str:
    """Return the function that calls the Program of the robot, which may take parameters."""
    w = IrWriter(1)
    given = [_link(w, name) for name in ("q", "u", "target", "gain")]
    found = [_link(w, name) for name in ("M", "h", "J", "drift", "slow", "A", "b")]
    function, p = _link(w, "terms"), _link(w, "p")
    has = w.i("icmp ne", _link(w, "has_p", "i64"), "0")
    for condition, arrays in (
        (has, [*given, p, *found]),
        (w.op(f"xor i1 {has}, true"), [*given, *found]),
    ):
        with w.when(condition):
            w.do(f"call void {function}({', '.join(f'ptr {a}' for a in arrays)})")
    return w.function("internal void @evaluate_terms(ptr %context)", "ret void")


def _solve() -> str:
    """Return the function that calls DAQP."""
    w = IrWriter(1)
    problem, result, sense = (_link(w, name) for name in ("problem", "result", "sense"))
    limits = _link(w, "limits", "i64")
    for value, offset in (("%size", 0), (limits, 4)):
        w.do(
            f"store i32 {w.op(f'trunc i64 {value} to i32')}, ptr {w.at(problem, str(offset), 'i8')}"
        )
    narrow = w.op("trunc i64 %kind to i32")
    with w.count(limits) as i:
        w.do(f"store i32 {narrow}, ptr {w.at(sense, i, 'i32')}")
    w.do(f"call void {_link(w, 'solver')}(ptr {result}, ptr {problem}, ptr null)")
    place = w.at(result, str(daqp_door.DaqpResult.flag.offset), "i8")
    flag = w.op(f"sext i32 {w.op(f'load i32, ptr {place}')} to i64")
    return w.function("internal i64 @solve(ptr %context, i64 %size, i64 %kind)", f"ret i64 {flag}")


_SEVERAL = f"<{TOGETHER} x double>"


def _clear() -> str:
    w = IrWriter(1)
    start = w.at("%target", "%at", "double")
    with w.count("%count") as i:
        w.store("double", "0.0", w.at(start, i, "double"))
    head = "internal void @clear(ptr %context, ptr %target, i64 %at, i64 %count)"
    return w.function(head, "ret void")


def _dot() -> str:
    w = IrWriter(1)
    first, second = w.at("%first", "%i", "double"), w.at("%second", "%j", "double")
    sums = w.variable(_SEVERAL, "zeroinitializer")
    whole = w.i("lshr", "%count", "3")
    with w.count(whole) as k:
        a, b = (w.load(_SEVERAL, w.at(x, k, _SEVERAL)) for x in (first, second))
        product = w.op(f"fmul {_SEVERAL} {a}, {b}")
        sums.set(w.op(f"fadd {_SEVERAL} {sums.get()}, {product}"))
    total = w.variable("double", "0.0")
    with w.count("%count", w.i("shl", whole, "3")) as k:
        a, b = (w.load("double", w.at(x, k, "double")) for x in (first, second))
        product = w.op(f"fmul double {a}, {b}")
        total.set(w.op(f"fadd double {total.get()}, {product}"))
    parts = sums.get()
    found = w.op(
        f"call double @llvm.vector.reduce.fadd.v8f64(double {total.get()}, {_SEVERAL} {parts})"
    )
    head = "internal double @dot(ptr %context, ptr %first, i64 %i, ptr %second, i64 %j, i64 %count)"
    text = w.function(head, f"ret double {found}")
    return text + f"declare double @llvm.vector.reduce.fadd.v8f64(double, {_SEVERAL})\n"


def _axpy() -> str:
    w = IrWriter(1)
    to, source = w.at("%target", "%at", "double"), w.at("%source", "%start", "double")
    wide = (
        w.splat("%scale", "double", _SEVERAL)
        if TOGETHER == 1
        else w.op(f"insertelement {_SEVERAL} poison, double %scale, i32 0")
    )
    wide = w.op(
        f"shufflevector {_SEVERAL} {wide}, {_SEVERAL} poison, <{TOGETHER} x i32> zeroinitializer"
    )
    whole = w.i("lshr", "%count", "3")
    for kind, factor, first, last in (
        (_SEVERAL, wide, "0", whole),
        ("double", "%scale", w.i("shl", whole, "3"), "%count"),
    ):
        with w.count(last, first) as k:
            place = w.at(to, k, kind)
            product = w.op(f"fmul {kind} {factor}, {w.load(kind, w.at(source, k, kind))}")
            w.store(kind, w.op(f"fadd {kind} {w.load(kind, place)}, {product}"), place)
    head = (
        "internal void @axpy(ptr %context, ptr %target, i64 %at, double %scale, ptr %source, "
        "i64 %start, i64 %count)"
    )
    return w.function(head, "ret void")


@lru_cache(maxsize=1)
def tick_code() -> NativeCode:
    """Return the loaded code."""
    key = f"{fingerprint('kernels')} {fingerprint('wholebody')} whole-body tick".encode()
    return cached_native(key, lambda: simplified(tick_ir()), [TICK])


class TickMemory:
    """The memory of one controller: what it takes and gives, by name, for native code and Python.

    Args:
        counts: sizes by name, of `COUNTS`.
        reals: numbers by name, of `REALS`.
        integers: arrays of whole numbers, of `INTEGERS` without those that change.
        arrays: what tasks, contacts and limits are, of `GIVEN`.
    """

    def __init__(
        self,
        counts: Mapping[str, int],
        reals: Mapping[str, float],
        integers: Mapping[str, Sequence[int]],
        arrays: Mapping[str, Sequence[float] | Array],
    ) -> None:
        self.fields = np.zeros(len(CONTEXT), np.int64)
        self.arrays: dict[str, Any] = {
            name: np.array(values, dtype=np.int64) for name, values in integers.items()
        }
        points = int(self.arrays["begin"][-1])
        sizes = _sizes(counts, points)
        self.arrays |= {name: np.zeros(max(points, 1), np.int64) for name in ("place", "row")}
        for name in ARRAYS:
            given = np.asarray(arrays.get(name, ()), dtype=float).ravel()
            made = empty_aligned((max(sizes.get(name, 0), len(given), 8),), np.dtype(np.float64))
            made[:] = 0.0
            made[: len(given)] = given
            self.arrays[name] = made
        for name, value in counts.items():
            self.fields[CONTEXT[name]] = value
        for name, real in reals.items():
            self.fields[CONTEXT[name]] = np.float64(real).view(np.int64)
        for name, array in self.arrays.items():
            self.fields[CONTEXT[name]] = array.ctypes.data
        self.sense = np.zeros(sizes["base"], np.int32)
        of = {name: array.ctypes.data for name, array in self.arrays.items()}
        self.problem = daqp_door.DaqpProblem(
            0, 0, 0, of["H"], of["f"], of["R"], of["above"], of["below"], self.sense.ctypes.data
        )
        self.result = daqp_door.DaqpResult(of["w"], of["multipliers"])
        solver, self.keep = daqp_door.solver()
        for name, address in (
            ("solver", solver),
            ("problem", ctypes.addressof(self.problem)),
            ("result", ctypes.addressof(self.result)),
            ("sense", self.sense.ctypes.data),
        ):
            self.fields[CONTEXT[name]] = address
        self.code: object = None
        self.p = np.zeros(0)

    def use(self, address: int, keep: object, p: Array | None) -> None:
        """Let the terms come from a Program, with the values of its parameters if it has any."""
        self.code, self.p = keep, np.zeros(1) if p is None else np.array(p, dtype=float)
        self.fields[CONTEXT["terms"]] = address
        self.fields[CONTEXT["p"]] = self.p.ctypes.data
        self.fields[CONTEXT["has_p"]] = p is not None

    def __getitem__(self, name: str) -> Any:
        """Return an array, or a whole number or a cell that changes."""
        if name in self.arrays:
            return self.arrays[name]
        value = self.fields[CONTEXT[name]]
        return float(value.view(np.float64)) if name in CELLS else int(value)


def _sizes(counts: Mapping[str, int], points: int) -> dict[str, int]:
    """Return how large arrays are at most; `points` counts components of forces."""
    n, rows, driven = counts["n"], counts["rows"], counts["driven"]
    width = n + points
    s = width + 1
    limits = 2 * driven + 2 * points + counts["contacts"] + 1
    asked = rows + driven
    many = max(width, points, asked, counts["undriven"])
    sizes = {
        "q": counts["coordinates"], "u": n, "M": n * n, "h": n, "J": max(points, 1) * n,
        "drift": points, "slow": points, "A": max(rows, 1) * n, "b": rows,
        "E": many * width, "wanted": many, "X": (1 + n) * n, "Y": (1 + width) * width,
        "T": width * s, "F": width * s, "S": width * width, "s0": width,
        "G": rows * s, "V": driven * s, "B": max(asked, 8) * s, "P": limits * width,
        "R": limits * width, "H": width * width, "f": width, "w": width,
        "z": many, "W": width * width, "x": width,
        "error": rows, "y": many, "L": many * width, "K": many * width, "amount": counts["groups"],
    }  # fmt: skip
    sizes |= dict.fromkeys(("base", "lower", "upper", "below", "above", "group"), limits)
    sizes |= dict.fromkeys(("tau", "pivot", "order", "tau_k", "pivot_k", "order_k"), many)
    return sizes | {"multipliers": limits}
