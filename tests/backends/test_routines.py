"""Routines: seeded random ones give the same bits in Python, in LLVM IR of any width, and in C."""

from __future__ import annotations

import ctypes
import importlib.util
import random
import subprocess
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from types import ModuleType
from typing import Any

import llvmlite.binding as llvm
import numpy as np
import pytest

from linkwright.algebra import symbol
from linkwright.backends.c.routine import CMemory, constants_of, number_text, routine_text
from linkwright.backends.c.writer import File, write_function
from linkwright.backends.llvm import codegen
from linkwright.backends.llvm.compile import native
from linkwright.backends.llvm.ir import IrWriter
from linkwright.backends.llvm.lines import IrModule
from linkwright.backends.llvm.routine import RARELY, NativeMemory, NativeTable, RoutineWriter
from linkwright.base.errors import CompileError
from linkwright.program import lower, program
from linkwright.program.routine import (
    ARRAY,
    INT,
    LANES,
    NUMBER,
    WORD,
    Memory,
    RoutineFunction,
    read,
)
from linkwright.simulation.native.driver import driver_ir
from linkwright.simulation.native.tables import Variant
from tests.seeds import seeds

SIZE = 6
INTS = ("a", "b", "c", "status", "detail")
NUMBERS = ("u", "v")
CELLS = ("p", "q")
ARRAYS = ("x", "y", "z")
ROWS = ((1, 4), (2, 5), (3, 1))
FIELDS = dict.fromkeys(INTS, INT) | dict.fromkeys(NUMBERS, NUMBER) | dict.fromkeys(CELLS, LANES)
FIELDS |= dict.fromkeys(ARRAYS, ARRAY) | {"word": WORD}
MEMORY = Memory(FIELDS, {"due"}, {"rows": {"fixed": 7}}, {"single": False, "zero": 0})

HEAD = '''
"""A routine."""
from __future__ import annotations
from dataclasses import dataclass
from math import ceil
from linkwright.simulation.loop import Array, Lanes, Leave, Mask, Word, copy, rarely, shift, some

LIMIT, MOST = 0.75, 5


def has(run: Run, name: str, index: int = -1) -> bool:
    return name == "blend" or (name == "wave" and index == 1)


def evaluate(run: Run, name: str, given: tuple, results: tuple, index: int = -1) -> None:
    results[0][:] = run.programs[name](*given)


def inner(run: Run, value: Lanes, count: int) -> Lanes:
    """Return something early, or late."""
    if count > MOST:
        return value - LIMIT
    for i in range(count):
        if i == 3:
            break
        if i == 1:
            continue
        value = value * 0.5 + run.x[i]
    return value


def nothing(run: Run) -> None:
    """Do nothing."""


def spent(run: Run) -> int:
    """Change the run, and say how often."""
    run.c += 1
    return run.c


def outer(run: Run) -> None:
    """Change the run."""
    if run.a > 40:
        raise Leave(3, run.b)
'''
TAIL = '''
    nothing(run)
    if run.single or run.zero != 0:
        run.a = 1000


def start(run: Run) -> None:
    """Go through it."""
    mix = run.word ^ (run.word >> 7) & 0xFFFF | 12
    run.word = (mix << 3) + 5 & 0xFFFFFFFF
    run.q += float(run.word) * 1e-9
    k = 0
    while True:
        k += 1
        outer(run)
        if k >= 3 or run.c > 60:
            break
    raise Leave(1)
'''


class Text:
    """Writes random statements that are the same for each lane by itself."""

    def __init__(self, seed: int) -> None:
        self.random = random.Random(seed)
        self.lines: list[str] = []

    def pick(self, *words: str) -> str:
        return self.random.choice(words)

    def whole(self, depth: int = 2) -> str:
        if not depth:
            rows = f"run.rows[{self.random.randrange(3)}]"
            one = f"run.due[{self.random.randrange(4)}]"
            return self.pick("run.a", "run.b", "run.c", "2", "-3", f"{rows}.width", one, "MOST")
        a, b = self.whole(depth - 1), self.whole(depth - 1)
        forms = (f"({a} + {b})", f"({a} - {b})", f"min({a}, {b})", f"max({a}, {b})", a)
        return self.pick(*forms, f"({a} if {self.truth()} else {b})", f"(-{a})")

    def number(self) -> str:
        return self.pick("run.u", "run.v", "1.5", "run.u * run.v", "float(run.b)", "run.b / 7")

    def lanes(self, depth: int = 2) -> str:
        i = self.random.randrange(SIZE)
        if not depth:
            return self.pick("run.p", "run.q", f"run.x[{i}]", f"run.y[{i}]", self.number())
        a, b = self.lanes(depth - 1), self.lanes(depth - 1)
        forms = (f"({a} + {b})", f"({a} - {b})", f"{a} * {b}", f"abs({a})", f"({a}) / 3.25")
        chosen = f"({a} if {self.mask()} else {b})"
        return self.pick(*forms, chosen, f"inner(run, {a}, {self.random.randrange(7)})")

    def truth(self) -> str:
        a, b = (self.pick("run.a", "run.b", "run.c", "4") for _ in range(2))
        sign = self.pick("<", "<=", ">", ">=", "==", "!=")
        return f"({self.pick('', 'not ')}{a} {sign} {b} {self.pick('and', 'or')} run.u < run.v)"

    def mask(self) -> str:
        a, b = self.lanes(0), self.pick("run.p", "run.q", "run.y[2]")
        sign = self.pick("<", "<=", ">", ">=", "==", "!=")
        return f"({self.pick('', 'not ')}{a} {sign} {b} {self.pick('and', 'or')} run.q > LIMIT)"

    def masked(self, indent: str) -> None:
        """Write what is done in some lanes."""
        place = self.pick("run.p", "run.q", f"run.z[{self.random.randrange(SIZE)}]")
        self.lines += [
            f"{indent}mask = {self.mask()}",
            f"{indent}if {self.pick('', 'rarely')}(some(mask)):",
            f"{indent}    {place} = {self.lanes()} if mask else {place}",
        ]

    def statement(self, indent: str, depth: int = 2) -> None:
        add, i = self.lines.append, self.random.randrange(SIZE)
        kind = self.random.randrange(10 if depth else 6)
        if kind < 2:
            add(f"{indent}run.{self.pick('a', 'b', 'c')} = min({self.whole()}, 50)")
        elif kind < 4:
            place = self.pick("run.p", "run.q", f"run.x[{i}]", f"run.y[{i}]")
            add(f"{indent}{place} = {self.lanes()}")
        elif kind == 4:
            self.masked(indent)
        elif kind == 5:
            add(f"{indent}copy(run.z, run.x, {i}, True)")
            add(f"{indent}shift(run.y, {i // 2}, run.z, 1, 3, True)")
            add(f"{indent}run.due[{i % 4}] += ceil(run.u * 3.1) - int(run.v)")
            add(f"{indent}if has(run, 'blend') and not has(run, 'wave', {i % 2}):")
            add(f"{indent}    evaluate(run, 'blend', (run.x, run.p), (run.y,))")
        elif kind < 8:
            add(f"{indent}if {self.truth()}:")
            self.statement(indent + "    ", depth - 1)
            add(f"{indent}else:")
            self.statement(indent + "    ", depth - 1)
        else:
            n = f"n{depth}"
            add(f"{indent}for {n} in range({self.pick('2', '1, 4', 'min(run.b, 3)')}):")
            add(f"{indent}    run.x[{n}] = run.x[{n}] * 0.75 + run.rows[1].fixed")
            self.statement(indent + "    ", depth - 1)

    def module(self, folder: Path) -> ModuleType:
        for _ in range(8):
            self.statement("    ")
        path = folder / "made.py"
        path.write_text(HEAD + "\n".join(self.lines) + TAIL)
        spec = importlib.util.spec_from_file_location("made", path)
        assert spec is not None
        assert spec.loader is not None
        module = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(module)
        return module


def blend() -> Any:
    """y = x p + p."""
    x, p = [symbol(f"x{i}", "local") for i in range(SIZE)], symbol("p", "local")
    return program("blend", {"x": x, "p": [p]}, {"y": [a * p + p for a in x]})


Values = dict[str, Any]


def values(seed: int, lane: int) -> Values:
    """Return where a run begins; what is not of lanes is the same in all."""
    same, own = random.Random(seed), random.Random(seed * 100 + lane)
    made: Values = {name: same.randrange(-5, 9) for name in INTS}
    made |= {name: same.uniform(-2, 2) for name in NUMBERS} | {"due": [3, 1, 4, 1]}
    made |= {name: own.uniform(-2, 2) for name in CELLS}
    made |= {name: [own.uniform(-2, 2) for _ in range(SIZE)] for name in ARRAYS}
    return made | {"word": own.randrange(2**32)}


def in_python(module: ModuleType, given: Values) -> Values:
    kernel = native_blend(1)

    class Start:
        single, zero = False, 0

    class Row:
        fixed = 7

        def __init__(self, width: int) -> None:
            self.width = width

    run: Any = Start()
    for name, value in given.items():
        setattr(run, name, list(value) if isinstance(value, list) else value)
    run.rows = [Row(width) for width, _ in ROWS]

    def called(x: list[float], p: float) -> list[float]:
        arrays = [np.array(x), np.array([p]), np.zeros(SIZE)]
        kernel(*(a.ctypes.data for a in arrays))
        found: list[float] = arrays[2].tolist()
        return found

    run.programs = {"blend": called}
    try:
        module.start(run)
    except module.Leave as leave:
        run.status, run.detail = leave.status, leave.detail
    return {name: getattr(run, name) for name in given}


def blend_text(width: int) -> str:
    module = IrModule("f64", width)
    codegen.write_function(module, lower(blend(), fuse=False), "blend", width)
    return module.text()


def native_blend(width: int) -> Any:
    return native(blend_text(width), ["blend"]).function("blend", None, *[ctypes.c_void_p] * 3)


def in_llvm(functions: Mapping[str, RoutineFunction], given: list[Values]) -> list[Values]:
    """Run all lanes at once."""
    width = len(given)
    w = IrWriter(width)
    places = {name: w.at("%whole", str(k)) for k, name in enumerate(INTS)}
    places["due"] = w.at("%whole", str(len(INTS)))
    for name, k in lane_places().items():
        places[name] = w.at("%lanes", str(k), w.value)
    numbers = {name: w.load("double", w.at("%fixed", str(k))) for k, name in enumerate(NUMBERS)}
    memory = NativeMemory(
        numbers,
        places,
        {"rows": ("%rows", NativeTable(2, {"width": 0}))},
        {"blend": ("@blend", "")},
        {"wave": ("rows", 1, 1)},
    )
    RoutineWriter(w, functions, memory).write("start")
    w.label("out")
    text = w.function("void @go(ptr %whole, ptr %fixed, ptr %lanes, ptr %rows)", "ret void")
    whole = np.array([*(given[0][n] for n in INTS), *given[0]["due"]], np.int64)
    fixed = np.array([given[0][n] for n in NUMBERS])
    lanes = np.zeros((sum(sizes().values()), width))
    for lane, start in enumerate(given):
        for name, k in lane_places().items():
            lanes[k : k + sizes()[name], lane] = start[name]
        lanes[lane_places()["word"], lane] = np.uint64(start["word"]).view(np.float64)
    rows = np.array([[width_of, index == 1] for index, (width_of, _) in enumerate(ROWS)], np.int64)
    code = native(blend_text(width) + text + RARELY, ["go"])
    aligned = np.zeros(lanes.size + 8)
    start_at = (-aligned.ctypes.data // 8) % 8
    held = aligned[start_at : start_at + lanes.size].reshape(lanes.shape)
    held[:] = lanes
    code.function("go", None, *[ctypes.c_void_p] * 4)(
        *(a.ctypes.data for a in (whole, fixed, held, rows))
    )
    found = []
    for lane, start in enumerate(given):
        made = {**start, **dict(zip(INTS, whole.tolist(), strict=False))}
        made["due"] = whole[len(INTS) :].tolist()
        for name, k in lane_places().items():
            part = held[k : k + sizes()[name], lane].tolist()
            made[name] = part if name in ARRAYS else part[0]
        made["word"] = int(held[lane_places()["word"], lane].view(np.uint64))
        found.append(made)
    return found


def sizes() -> dict[str, int]:
    return {**dict.fromkeys(ARRAYS, SIZE), **dict.fromkeys(CELLS, 1), "word": 1}


def lane_places() -> dict[str, int]:
    places, at = {}, 0
    for name, size in sizes().items():
        places[name], at = at, at + size
    return places


def in_c(functions: Mapping[str, RoutineFunction], given: Values, folder: Path) -> Values:
    """Compile it, run it, and read what it prints in hexadecimal digits."""
    file = File("double")
    write_function(file, lower(blend(), fuse=False), "of_blend", static=True)
    memory = CMemory(
        "run",
        "do_",
        "THE_",
        {},
        {"rows.width": "rows[{0}].width"},
        {"wave": "({0} == 1)"},
    )
    lines = [
        "#include <math.h>",
        "#include <stdint.h>",
        "#include <stdio.h>",
        "#include <string.h>",
    ]
    lines += [*file.preamble(), *file.functions]
    lines += [
        f"#define THE_{n} {number_text(e.args[0], e.type)}"
        for n, e in constants_of(functions).items()
    ]
    lines += [
        f"static struct {{ int64_t {', '.join(INTS)}, due[4]; double {', '.join(NUMBERS + CELLS)}, "
        f"{', '.join(f'{n}[{SIZE}]' for n in ARRAYS)}; uint64_t word; }} run = {{",
        f"{', '.join(str(given[n]) for n in INTS)}, {{{', '.join(map(str, given['due']))}}},",
        f"{', '.join(float(given[n]).hex() for n in NUMBERS + CELLS)},",
        *(f"{{{', '.join(v.hex() for v in given[n])}}}," for n in ARRAYS),
        f"{given['word']}u}};",
        "const struct { int64_t width; } rows[3] = {"
        + ", ".join(f"{{{width}}}" for width, _ in ROWS)
        + "};",
        "static void do_compute_blend(const double *x, const double *p, double *y)",
        "{ of_blend(x, p, y); }",
        *routine_text(functions, memory),
        "int main(void) { int i; do_start();",
        *(f'printf("%ld\\n", (long)run.{n});' for n in INTS),
        'for (i = 0; i < 4; ++i) printf("%ld\\n", (long)run.due[i]);',
        *(f'printf("%a\\n", run.{n});' for n in NUMBERS + CELLS),
        *(f'for (i = 0; i < {SIZE}; ++i) printf("%a\\n", run.{n}[i]);' for n in ARRAYS),
        'printf("%llu\\n", (unsigned long long)run.word); return 0; }',
    ]
    (folder / "made.c").write_text("\n".join(lines) + "\n")
    flags = ["-std=c99", "-O1", "-Wall", "-Wextra", "-Werror", "-ffp-contract=off"]
    command = [
        "cc",
        *flags,
        "-Wno-tautological-compare",
        "-Wno-unused-function",
        "made.c",
        "-o",
        "made",
        "-lm",
    ]
    subprocess.run(command, cwd=folder, check=True)
    done = subprocess.run(["./made"], cwd=folder, check=True, capture_output=True, text=True)
    words = iter(done.stdout.split())
    found: Values = {name: int(next(words)) for name in INTS}
    found["due"] = [int(next(words)) for _ in range(4)]
    found |= {name: float.fromhex(next(words)) for name in NUMBERS + CELLS}
    found |= {name: [float.fromhex(next(words)) for _ in range(SIZE)] for name in ARRAYS}
    return found | {"word": int(next(words))}


_NEGATED_TWICE = 730415294
"""A routine with a number that is negated twice, which C would count down."""


@pytest.mark.parametrize("seed", [_NEGATED_TWICE, *seeds(12, daily=3)])
def test_a_random_routine_gives_the_same_bits_everywhere(seed: int, tmp_path: Path) -> None:
    module = Text(seed).module(tmp_path)
    functions = read(module, "start", MEMORY)
    assert "nothing" not in functions
    given = [values(seed, lane) for lane in range(4)]
    wanted = [in_python(module, start) for start in given]
    assert wanted[0] != given[0]
    for width in (1, 4):
        for lane, found in enumerate(in_llvm(functions, given[:width])):
            assert found == wanted[lane], (width, lane)
    functions = read(module, "start", replace(MEMORY, programs=("blend", "wave1")))
    assert in_c(functions, given[0], tmp_path) == wanted[0]


@pytest.mark.parametrize(
    ("line", "why"),
    [
        ("run.a = run.u", "this is float, not int"),
        ("run.a = run.x[0]", "this is Lanes, not int"),
        ("run.nothing = 1", "the memory has no such field"),
        ("run.a = unknown(run)", "there is no such function"),
        ("run.a = elsewhere", "this is not known here"),
        ("with run.a: pass", "a routine does not say this"),
        ("run.a = [1]", "a routine has no such value"),
        ("limit = 1\n    limit = 1.5", "this is float, not int"),
        ("for n in range(2):\n        n = 1", "an index is not written to"),
        ("k = 1\n    row = run.rows[k]\n    k = 2", "an index is not written to"),
        ("run.p = run.q if run.a > 1 and spent(run) > 1 else 2", "spent changes something"),
        ("for n in range(2):\n        pass\n    run.a = n", "this is not known here"),
    ],
)
def test_what_a_routine_cannot_say_is_told_with_its_line(
    line: str, why: str, tmp_path: Path
) -> None:
    text = Text(0)
    text.lines.append(f"    {line}")
    module = text.module(tmp_path)
    with pytest.raises(CompileError, match=f"made:[0-9]+: {why}"):
        read(module, "start", MEMORY)


def test_lanes_that_differ_cannot_decide_for_all(tmp_path: Path) -> None:
    text = Text(0)
    text.lines += ["    if run.p > 0.0:", "        run.a = 1"]
    functions = read(text.module(tmp_path), "start", MEMORY)
    with pytest.raises(CompileError, match="lanes differ"):
        in_llvm(functions, [values(0, lane) for lane in range(4)])


@pytest.mark.parametrize("triple", ["wasm32-unknown-unknown", "nvptx64-nvidia-cuda"])
@pytest.mark.parametrize("variant", [Variant(1, False), Variant(1, True, True)])
def test_the_loop_of_a_run_is_written_for_other_targets(variant: Variant, triple: str) -> None:
    """For one run in each thread, or in a page."""
    llvm.initialize_all_targets()
    llvm.initialize_all_asmprinters()
    machine = llvm.Target.from_triple(triple).create_target_machine(opt=1)
    module = llvm.parse_assembly(driver_ir(variant))
    module.triple, module.data_layout = triple, str(machine.target_data)
    assert "run_blocks" in machine.emit_assembly(module)
