"""The loop of a batch for targets with a thread for each run, as one text: a run in each lane.

It is the loop of batches (`linkwright.simulation.loop`) with one lane, in which runs end alone.
Sizes and tables are written into the text, so that what a run works on can stay in registers; what
differs from one batch to the next is in a table of arguments. Memory is entry by entry, with one
place after the other for each lane: threads side by side read and write side by side.

A call drives each lane some steps and keeps where it stands in `state`; the next one goes on from
there. At its end a lane writes `results`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from linkwright.backends.llvm import codegen
from linkwright.backends.llvm.functions.emitter import float_literal
from linkwright.backends.llvm.ir import IrWriter
from linkwright.backends.llvm.lines import IrModule
from linkwright.backends.llvm.routine import RARELY, NativeMemory, NativeTable, RoutineWriter
from linkwright.program import Program
from linkwright.program.code import Code
from linkwright.program.lowering import lower
from linkwright.program.routine import INT, MASK
from linkwright.simulation.native import driver
from linkwright.simulation.native.fields import FieldTable, fields
from linkwright.simulation.native.guards import FAINT, NEVER, followed
from linkwright.simulation.native.machine import layout_sizes, slot_runs
from linkwright.simulation.native.methods import Method
from linkwright.simulation.native.schedule import RunSchedule, make_schedule
from linkwright.simulation.native.tables import CONFIG, DONE, WHOLE, Variant
from linkwright.system.phases import Phases

LANE, LANES, CONSTANTS = "lane", "run_lanes", "lane_constants"
"""The functions: of one lane, of several in turn, and of what depends on parameters alone."""
GIVEN = ("x", "d", "p", "w", "c", "seed", "run_number")
"""Arrays that come from outside. Each entry has an address, and the step from lane to lane: 0 for
one number that all share."""
ARGUMENTS = fields(
    ["lanes", "begin", "budget", "until", "every", "row_count", "log_rows"],
    ["tick_seconds", "end", "step_size", "smallest", "most", "often", "first_step"],
)
RESULTS = ("x", "d", "stop", "why", "count", "first", "last")
"""What a run leaves, after its status and its number of steps."""
_FREE = (
    *("y", "z", "z_new", "o", "n", "y_f", "e", "r", "curve", "fit", "g_new", "g_mid", "h", "t"),
    *("turn_new", "top_new", "m_new", "hit", "verdict", "ahead", "calm", "theta", "number"),
)
"""What no step leaves to the next."""
_LASTS = ("x", "d", "stop", "why", "count", "first", "status", "steps")
"""What lasts whether the loop uses it or not."""
_RUNS = NativeTable(3, {"first": 0, "slot": 1, "length": 2})
_TICKS = NativeTable(
    6,
    {
        "every": 0,
        "foreign": 1,
        "stream_count": 2,
        "streams": (3, NativeTable(1, {})),
        "run_count": 4,
        "runs": (5, _RUNS),
    },
)
_CROSSINGS = NativeTable(2, {"direction": 0, "terminal": 1})
_NUMBERS = ("until", "every", "row_count", "log_rows")


@dataclass(frozen=True, slots=True)
class LaneSizes:
    """How much memory a lane takes, in numbers of 8 bytes, and what lies where."""

    arrays: Mapping[str, int]
    kept: tuple[str, ...]  # arrays that last from one call to the next
    whole: tuple[str, ...]  # the same of integers
    state: int  # how many numbers that is, with when each tick is due
    results: Mapping[str, tuple[int, int]]  # place and size; `status` and `steps` come first
    constants: Mapping[str, int]  # where those of each Program begin
    constant_count: int
    given: Mapping[str, int]  # where entries from outside stand in the table of arguments
    argument_count: int

    @property
    def result_count(self) -> int:
        """How many numbers a run leaves."""
        return sum(size for _, size in self.results.values())


def lane_schedule(phases: Phases, method: Method) -> RunSchedule:
    """Return what a run in a lane does: samples lie at the ends of gaps."""
    return make_schedule(phases, method, dense=False)


def lane_sizes(phases: Phases, made: RunSchedule) -> LaneSizes:
    """Return the memory of a lane."""
    constants = {part.name: part.main.port("p").size for part in made.parts}
    arrays = layout_sizes(phases, made.rest, {}, curved=False)
    text = repr(driver.routine(variant_of(phases, made.method)))
    used = {n for n in (*arrays, *WHOLE.fields) if n in _LASTS or f"'{n}'" in text}
    used -= {*_FREE, *GIVEN[2:]} | (set() if followed(phases.event_list) else {"m"})
    kept = tuple(n for n in arrays if n in used)
    whole = tuple(n for n in WHOLE.fields if n in used)
    state = sum(arrays[n] for n in kept) + len(whole) + len(phases.ticks)
    results: dict[str, tuple[int, int]] = {"status": (0, 1), "steps": (1, 1)}
    at = 2
    for name in RESULTS:
        size = len(phases.outputs) if name == "last" else arrays[name]
        results[name] = (at, size)
        at += size
    places, at = {}, 0
    for name, size in constants.items():
        places[name] = at
        at += size
    given, last = {}, len(ARGUMENTS)
    for name in GIVEN:
        given[name] = last
        last += 2 * arrays[name]
    return LaneSizes(arrays, kept, whole, state, results, places, at, given, last)


def variant_of(phases: Phases, method: Method) -> Variant:
    """Return the kind of a run in a lane."""
    follows = followed(phases.event_list) > 0
    return Variant(1, method.adaptive, False, method.implicit and follows, lanes=True)


def lanes_ir(phases: Phases, made: RunSchedule, *, shared: bool, fuse: bool, entry: str) -> str:
    """Return the text of a lane, of its Programs and of what enters it.

    Where parameters are `shared` by all lanes, what depends on them alone comes from outside.
    """
    module = IrModule("f64")
    codes: dict[int, Code] = {}

    def write(name: str, program: Program) -> None:
        code = codes.get(id(program)) or lower(program, fuse=fuse, codes=codes)
        codegen.write_function(module, code, name, 1, internal=True)

    for part in made.parts:
        write(f"constants_{part.name}", part.constants)
        if part.name != "step":
            write(part.name, part.main)
    for name, program in made.steps.items():
        write(name, program)
    if made.method.implicit:
        from linkwright.simulation.native.implicit import step_ir

        text = step_ir(len(phases.x), 1)
        module.functions.append(text.replace("define void", "define internal void"))
    names = {part.name for part in made.parts if part.name != "step"} | set(made.steps) | {"step"}
    sizes = lane_sizes(phases, made)
    for text in (
        *_tables(phases),
        _keep_sample(len(phases.outputs), "output" in names),
        _Lane(phases, made, sizes, names, shared).text(),
        _constants(made, sizes),
        entry,
    ):
        module.functions.append(text)
    return module.text() + RARELY


# -- tables ----------------------------------------------------------------------------------------
def _tables(phases: Phases) -> list[str]:
    """Return the tables of ticks and events as constants."""
    texts, rows = [], []
    for i, tick in enumerate(phases.ticks):
        runs = slot_runs(tick.slots)
        for name, numbers in (("streams", tick.streams), ("runs", [x for r in runs for x in r])):
            texts.append(_array(f"{name}{i}", [f"i64 {n}" for n in numbers]))
        rows += [
            f"i64 {tick.every}",
            "i64 0",
            f"i64 {len(tick.streams)}",
            f"i64 ptrtoint (ptr @streams{i} to i64)",
            f"i64 {len(runs)}",
            f"i64 ptrtoint (ptr @runs{i} to i64)",
        ]
    texts.append(_array("ticks", rows))
    ends = [(e.direction, int(e.terminal or e.guard)) for e in phases.event_list]
    texts.append(_array("crossings", [f"i64 {n}" for row in ends for n in row]))
    return texts


def _array(name: str, numbers: Sequence[str]) -> str:
    given = [*numbers, "i64 0"]  # none is empty
    return f"@{name} = internal constant [{len(given)} x i64] [{', '.join(given)}]\n"


# -- the functions ---------------------------------------------------------------------------------
_HEAD = (
    "i64 %lane, ptr noalias readonly %arguments, ptr noalias readonly %constants, "
    "ptr noalias %state, ptr noalias %samples, ptr noalias %results"
)


def _reader(w: IrWriter, table: FieldTable = ARGUMENTS) -> driver.Entry:
    def load(name: str, kind: str = "i64") -> str:
        return w.load(kind, w.at("%arguments", str(table[name])))

    return load


class _Lane:
    """Writes the function of a lane."""

    def __init__(
        self, phases: Phases, made: RunSchedule, sizes: LaneSizes, names: set[str], shared: bool
    ) -> None:
        self.phases, self.made, self.sizes, self.names = phases, made, sizes, names
        self.shared = shared
        self.w = w = IrWriter(1, together=1)
        self.read = _reader(w)
        self.lanes = self.read("lanes")
        self.places: dict[str, str] = {}
        for name, size in sizes.arrays.items():
            self.places[name] = w.reserve("double", max(size, 1))
        for name in WHOLE.fields:
            self.places[name] = w.reserve("i64")
        self.places["due"] = w.reserve("i64", max(len(phases.ticks), 1))
        self.constants = {
            part.name: w.at("%constants", str(sizes.constants[part.name]), "double")
            if shared
            else w.reserve("double", max(part.main.port("p").size, 1))
            for part in made.parts
        }

    def text(self) -> str:
        """Return the function."""
        w = self.w
        for name in GIVEN[2:]:
            self.take(name)
        for name in self.sizes.arrays:
            if name not in GIVEN[2:]:
                self.fill(name, "0.0")
        for name in WHOLE.fields:
            w.store("i64", "0", self.places[name])
        if not self.shared:
            for part in self.made.parts:
                w.do(
                    f"call void @constants_{part.name}(ptr {self.places['p']}, "
                    f"ptr {self.constants[part.name]})"
                )
        begin = w.i("icmp ne", self.read("begin"), "0")
        going, work, out, store = (w.fresh(n) for n in ("going", "work", "out", "store"))
        first = w.fresh("first")
        w.do(f"br i1 {begin}, label %{first}, label %{going}")
        w.lines.append(f"{first}:")
        self.begin()
        w.do(f"br label %{work}")
        w.lines.append(f"{going}:")
        self.transfer(load=True)
        status = w.load("i64", self.places["status"])
        w.do(f"br i1 {w.i('icmp eq', status, str(DONE))}, label %{out}, label %{work}")
        w.lines.append(f"{work}:")
        self.loop(store)
        w.label(store)
        self.transfer(load=False)
        self.leave()
        w.label(out)
        return w.function(f"internal void @{LANE}({_HEAD})", "ret void")

    # -- memory ------------------------------------------------------------------------------------
    def item(self, name: str, k: int) -> str:
        """Return the address of an entry."""
        place = self.places[name]
        return place if k == 0 else self.w.at(place, str(k), "double")

    def fill(self, name: str, value: str) -> None:
        """Write a number into all entries of an array."""
        for k in range(self.sizes.arrays[name]):
            self.w.store("double", value, self.item(name, k))

    def take(self, name: str) -> None:
        """Read an array that comes from outside."""
        w = self.w
        if not self.sizes.arrays[name]:
            return
        for k in range(self.sizes.arrays[name]):
            place = self.sizes.given[name] + 2 * k
            data = w.load("ptr", w.at("%arguments", str(place)))
            step = w.load("i64", w.at("%arguments", str(place + 1)))
            at = w.at(data, w.i("mul", "%lane", step), "double")
            w.store("double", w.load("double", at), self.item(name, k))

    def far(self, base: str, k: str) -> str:
        """Return the address of an entry of this lane outside."""
        place = self.w.i("add", self.w.i("mul", k, self.lanes), "%lane")
        return self.w.at(base, place, "double")

    def transfer(self, *, load: bool) -> None:
        """Read or write what lasts from one call to the next."""
        w = self.w
        reals = sum(self.sizes.arrays[n] for n in self.sizes.kept)
        cells = [self.item(n, i) for n in self.sizes.kept for i in range(self.sizes.arrays[n])]
        cells += [self.places[n] for n in self.sizes.whole]
        cells += [w.at(self.places["due"], str(i)) for i in range(len(self.phases.ticks))]
        for k, cell in enumerate(cells):
            kind = "double" if k < reals else "i64"
            outside = self.far("%state", str(k))
            source, target = (outside, cell) if load else (cell, outside)
            w.store(kind, w.load(kind, source), target)

    # -- begin, run, end ---------------------------------------------------------------------------
    def begin(self) -> None:
        """Write what every run begins with, as `Machine` does."""
        w, phases = self.w, self.phases
        w.store("i64", "1", self.places["watched"])
        for name in GIVEN[:2]:
            self.take(name)
        literal = {"b": 1e-4, "stop": float("inf"), "first": float("nan"), "change": NEVER}
        for name, value in {**literal, "top": FAINT}.items():
            self.fill(name, float_literal(value, "f64"))
        w.store("double", self.read("first_step", "double"), self.places["proposed"])
        for i, event in enumerate(phases.event_list):
            w.store("double", float_literal(event.before, "f64"), self.item("g", i))
        for i, tick in enumerate(phases.ticks):
            w.store("i64", str(tick.offset), w.at(self.places["due"], str(i)))
        slots = [i for i, s in enumerate(phases.d) if s.name.startswith("guard.inverse")]
        if slots:
            names = ("x", "d", "", "w", "t", "y", "o")
            given = [self.places[n] if n else self.constants["accepted"] for n in names]
            w.do(f"call void @accepted({', '.join(f'ptr {a}' for a in given)})")
            for k in slots:
                w.store("double", w.load("double", self.item("o", k)), self.item("d", k))

    def loop(self, out: str) -> None:
        """Write the loop."""
        w, phases = self.w, self.phases
        numbers = {name: str(self.count(name)) for name in driver.COUNTS if name not in _NUMBERS}
        numbers |= {name: self.read(name) for name in _NUMBERS}
        numbers |= {name: self.read(name, "double") for name in driver.SECONDS}
        places = dict(self.places)
        kinds = {INT: "i64", MASK: w.truth}
        places |= {name: w.reserve(kinds[kind]) for name, kind in driver.OWN.items()}
        w.store("i64", self.read("budget"), places["left"])
        w.store("i64", "0", places["refusals"])
        parameters = {n: self.constants.get(p, "") for n, p in driver.PARAMETERS.items()}
        wanted = [n.removesuffix("_fn") for n in CONFIG.fields if n.endswith("_fn")]
        programs = {
            n: (f"@{n}" if n in self.names else "null", parameters.get(n, "")) for n in wanted
        }
        chosen = {
            kind: tuple(
                (f"@{kind}{i}", self.constants[f"{kind}{i}"])
                if f"{kind}{i}" in self.names
                else ("null", "")
                for i in range(count)
            )
            for kind, count in (("tick", len(phases.ticks)), ("action", len(phases.event_list)))
        }
        output = self.constants.get("output", "%constants")
        cells = [self.places[n] for n in ("d", "w", "t", "row")]
        kept = ", ".join(f"ptr {c}" for c in (*cells[:1], output, *cells[1:], "%samples"))
        memory = NativeMemory(
            numbers,
            places,
            {"ticks": ("@ticks", _TICKS), "crossings": ("@crossings", _CROSSINGS)},
            programs,
            externals={"keep_sample": f"i64 %lane, i64 {self.lanes}, {kept}"},
            chosen=chosen,
            masked=True,
        )
        functions = driver.routine(variant_of(phases, self.made.method))
        RoutineWriter(w, functions, memory).write("go", out)

    def count(self, name: str) -> int:
        """Return a size that does not change."""
        phases = self.phases
        return {
            "states": len(phases.x),
            "discretes": len(phases.d),
            "events": len(phases.event_list),
            "followed": followed(phases.event_list),
            "memory": self.sizes.arrays["m"],
            "tick_count": len(phases.ticks),
        }[name]

    def leave(self) -> None:
        """Write what the run leaves, and its outputs at its end."""
        w = self.w
        for name in ("status", "steps"):
            number = w.op(f"sitofp i64 {w.load('i64', self.places[name])} to double")
            place = self.far("%results", str(self.sizes.results[name][0]))
            w.store("double", number, place)
        done = w.i("icmp eq", w.load("i64", self.places["status"]), str(DONE))
        with w.when(done):
            for name in RESULTS[:-1]:
                at, size = self.sizes.results[name]
                for k in range(size):
                    value = w.load("double", self.item(name, k))
                    w.store("double", value, self.far("%results", str(at + k)))
            at, size = self.sizes.results["last"]
            if size:
                stop, last = w.load("double", self.places["stop"]), w.reserve("double", size)
                over = w.op(f"sitofp i64 {self.read('until')} to double")
                over = w.f("fmul", over, self.read("tick_seconds", "double"))
                for other in (self.read("end", "double"), stop):
                    less = w.op(f"fcmp olt double {other}, {over}")
                    over = w.select(less, other, over)
                w.store("double", over, self.places["t"])
                given = [self.places[n] for n in ("x", "d")]
                given += [self.constants["output"], self.places["w"], self.places["t"], last]
                w.do(f"call void @output({', '.join(f'ptr {a}' for a in given)})")
                for k in range(size):
                    value = w.load("double", w.at(last, str(k), "double"))
                    w.store("double", value, self.far("%results", str(at + k)))


def _keep_sample(channels: int, known: bool) -> str:
    """Return the function that writes a sample of a lane."""
    w = IrWriter(1, together=1)
    if channels and known:
        found = w.reserve("double", channels)
        given = ", ".join(f"ptr {a}" for a in ("%x", "%d", "%p", "%w", "%t", found))
        w.do(f"call void @output({given})")
        base = w.i("mul", w.load("i64", "%row"), str(channels))
        with w.count(str(channels)) as k:
            place = w.i("add", w.i("mul", w.i("add", base, k), "%lanes"), "%lane")
            value = w.load("double", w.at(found, k, "double"))
            w.store("double", value, w.at("%samples", place, "double"))
    given = ", ".join(f"ptr %{n}" for n in ("d", "p", "w", "t", "row", "samples", "x"))
    return w.function(f"internal void @keep_sample(i64 %lane, i64 %lanes, {given})", "ret void")


def _constants(made: RunSchedule, sizes: LaneSizes) -> str:
    """Return the entry that computes what depends on parameters alone."""
    w = IrWriter(1)
    for part in made.parts:
        place = w.at("%constants", str(sizes.constants[part.name]), "double")
        w.do(f"call void @constants_{part.name}(ptr %p, ptr {place})")
    return w.function(f"void @{CONSTANTS}(ptr %p, ptr %constants)", "ret void")


PASSED = ("arguments", "constants", "state", "samples", "results")
"""Addresses that each call of a lane is given."""


def one_by_one() -> str:
    """Return the entry of a processor, which drives lanes one after the other."""
    w, given = IrWriter(1), ", ".join(f"ptr %{name}" for name in PASSED)
    with w.count("%end", "%first") as lane:
        w.do(f"call void @{LANE}(i64 {lane}, {given})")
    return w.function(f"void @{LANES}(i64 %first, i64 %end, {given})", "ret void")
