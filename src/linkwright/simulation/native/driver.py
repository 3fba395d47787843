"""The loop of a run, as native code: `linkwright.simulation.loop` on memory that Python shares.

One function drives one *block* of W runs (W = 1 for a single run). Memory of a block:

- `whole`: integers, the fields `WHOLE`, then for each tick entry the base tick when it is due next;
- `arena`: values of W lanes, at the places that the fields `*_at` of the configuration name;
- samples: a row of W values for each channel, and the log of events of a single run.

The configuration (`CONFIG`) is shared by all blocks: sizes, addresses of the compiled Programs, the
tables of ticks and events.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache

from linkwright.backends.llvm.ir import TOGETHER, IrWriter
from linkwright.backends.llvm.routine import RARELY, NativeMemory, NativeTable, RoutineWriter
from linkwright.program.routine import (
    ARRAY,
    INT,
    LANES,
    MASK,
    NUMBER,
    WORD,
    Memory,
    RoutineFunction,
    read,
)
from linkwright.simulation import loop
from linkwright.simulation.native.fields import FieldTable
from linkwright.simulation.native.tables import (
    CONFIG,
    CONSTANTS,
    EVENT,
    FUNCTION,
    HOLD,
    LOG,
    PREPARE,
    RUN,
    STAGE,
    STAGED,
    TICK,
    WHOLE,
    Variant,
)

Entry = Callable[..., str]
_HOLD = f"""
define i64 @{HOLD}(ptr %context, ptr %t, ptr %o) nounwind {{
entry:
  ret i64 0
}}
"""

# -- the memory of the routine ---------------------------------------------------------------------
COUNTS = (
    *("states", "discretes", "events", "followed", "memory", "tick_count", "row_count"),
    *("log_rows", "until", "every"),
)
SECONDS = ("tick_seconds", "end", "step_size", "smallest", "most", "often")
_CELLS = ("t", "h", "number", "theta", "b", "s", "proposed", "stop", "why", "stale", "steps_taken")
_WORDS = ("seed", "run_number")
OWN = {
    "left": INT,
    "looked": INT,
    "fitted": INT,
    "refusals": INT,
    "finished": INT,
    "uncut": MASK,
    "taken": MASK,
}
_ARRAYS = (
    *("x", "d", "w", "n", "o", "y", "z", "z_new", "f", "y_f", "e", "r", "curve", "fit", "c"),
    *("g", "g_new", "g_mid", "count", "first", "turn", "turn_new", "top", "top_new", "change"),
    *("calm", "m", "m_new", "hit", "verdict", "fired", "ahead", "pace"),
)
PARAMETERS = dict.fromkeys(("step", "slope", "first", "curve"), "step")
PARAMETERS |= {n: n for n in ("accepted", "events", "turns", "terms", "breaks")}
_RUNS = NativeTable(3, {"first": 0, "slot": 1, "length": 2})
_TICKS: dict[str, int | tuple[int, NativeTable]] = {
    "every": TICK["every"],
    "foreign": TICK["foreign"],
    "stream_count": TICK["streams"],
    "streams": (TICK["stream_list"], NativeTable(1, {})),
    "run_count": TICK["runs"],
    "runs": (TICK["run_list"], _RUNS),
}
_CROSSINGS = {name: EVENT[name] for name in ("direction", "terminal")}
_EXTERNALS = {
    "keep_sample": "ptr %config, ptr %arena, ptr %whole, ptr %rows",
    "log_event": "ptr %config, ptr %arena, ptr %whole",
    "call_function": "ptr %config, ptr %arena",
}


FIELDS = dict.fromkeys((*COUNTS, *WHOLE.fields), INT)
FIELDS |= dict.fromkeys(SECONDS, NUMBER) | dict.fromkeys(_CELLS, LANES)
FIELDS |= dict.fromkeys(_WORDS, WORD) | dict.fromkeys(_ARRAYS, ARRAY) | OWN
"""What the loop works on: the types of its fields."""


def routine(variant: Variant) -> dict[str, RoutineFunction]:
    """Return the loop of one kind of run."""
    single = variant.width == 1 and not variant.lanes
    known = {
        "single": single,
        "adaptive": variant.adaptive,
        "dense": variant.dense,
        "implicit": variant.implicit,
    }
    memory = Memory(FIELDS, {"due"}, {"ticks": {}, "crossings": {}}, known)
    return read(loop, "go", memory, _EXTERNALS if single else {"keep_sample"})


@lru_cache(maxsize=8)
def driver_ir(variant: Variant) -> str:
    """Return the text of the driver.

    >>> "define void @run_blocks" in driver_ir(Variant(1, False))
    True
    """
    width = variant.width
    texts = [_run(variant), _keep_sample(width), _blocks(width), _prepare(width), _HOLD, _staged()]
    if width == 1:
        texts += [_log_event(), _call_function()]
    return "".join(texts) + RARELY


def _run(variant: Variant) -> str:
    """Return the function that drives one block."""
    w = IrWriter(variant.width)
    read_config = _reader(w, "%config", CONFIG)
    numbers = {name: read_config(name) for name in COUNTS}
    numbers |= {name: read_config(name, "double") for name in SECONDS}
    places = {name: w.at("%whole", str(WHOLE[name])) for name in WHOLE.fields}
    places["due"] = w.at("%whole", str(len(WHOLE)))
    for name in (*_ARRAYS, *_CELLS, *_WORDS):
        places[name] = w.at("%arena", read_config(f"{name}_at"), "double")
    kinds = {INT: "i64", MASK: w.truth}
    places |= {name: w.reserve(kinds[kind]) for name, kind in OWN.items()}
    w.store("i64", read_config("budget"), places["left"])
    w.store("i64", "0", places["refusals"])
    programs = {}
    for name in (n.removesuffix("_fn") for n in CONFIG.fields if n.endswith("_fn")):
        parameters = ""
        if name in PARAMETERS:
            parameters = w.at("%arena", read_config(f"p_{PARAMETERS[name]}_at"), "double")
        programs[name] = read_config(f"{name}_fn", "ptr"), parameters
    memory = NativeMemory(
        numbers,
        places,
        {
            "ticks": (read_config("tick_table", "ptr"), NativeTable(len(TICK), _TICKS)),
            "crossings": (read_config("event_table", "ptr"), NativeTable(len(EVENT), _CROSSINGS)),
        },
        programs,
        {
            "tick": ("ticks", TICK["fn"], TICK["p_at"]),
            "action": ("crossings", EVENT["action_fn"], EVENT["p_at"]),
        },
        "%arena",
        _EXTERNALS if w.width == 1 else {"keep_sample": _EXTERNALS["keep_sample"]},
    )
    RoutineWriter(w, routine(variant), memory).write("go")
    w.label("out")
    return w.function(
        "internal void @run(ptr %config, ptr %arena, ptr %whole, ptr %rows)", "ret void"
    )


def _reader(w: IrWriter, base: str, table: FieldTable) -> Entry:
    """Return what reads the fields of a table at an address."""

    def load(name: str, kind: str = "i64") -> str:
        return w.load(kind, w.at(base, str(table[name])))

    return load


# -- externals of the routine, and what is around it -----------------------------------------------
def _keep_sample(width: int) -> str:
    """Return the function that writes a row of samples at the time that is set."""
    w = IrWriter(width)
    config, whole = _reader(w, "%config", CONFIG), _reader(w, "%whole", WHOLE)
    place = w.at("%rows", w.i("mul", whole("row"), config("channels")), w.value)
    names = ("d_at", "p_output_at", "w_at", "t_at")
    arrays = ["%x", *(w.at("%arena", config(n), "double") for n in names), place]
    w.do(f"call void {config('output_fn', 'ptr')}({', '.join(f'ptr {a}' for a in arrays)})")
    head = f"internal void @keep_sample({_EXTERNALS['keep_sample']}, ptr %x)"
    return w.function(head, "ret void")


def _log_event() -> str:
    """Return the function that logs an event where a run stands."""
    w = IrWriter(1)
    config, whole = _reader(w, "%config", CONFIG), _reader(w, "%whole", WHOLE)
    row = w.at(config("log", "ptr"), w.i("mul", whole("logged"), str(len(LOG))))
    s = w.load("i64", w.at("%arena", config("s_at"), "double"))
    for name, value in (("event", "%i"), ("start", whole("start")), ("s", s)):
        w.store("i64", value, w.at(row, str(LOG[name])))
    w.store("i64", w.i("add", whole("logged"), "1"), w.at("%whole", str(WHOLE["logged"])))
    return w.function(f"internal void @log_event({_EXTERNALS['log_event']}, i64 %i)", "ret void")


def _call_function() -> str:
    """Return the function that calls that of a tick, with what it gives in place of what is held.

    Where there is none, where it fails, and where what a slot's function gives is not finite, it
    returns 1, and the tick is left to Python.
    """
    w = IrWriter(1)
    config = _reader(w, "%config", CONFIG)
    o, t = (w.at("%arena", config(name), "double") for name in ("o_at", "t_at"))
    entry = _reader(w, w.at(config("tick_table", "ptr"), w.i("mul", "%i", str(len(TICK)))), TICK)
    choice, arguments, results = (entry(n) for n in ("choice", "arguments", "results"))
    number = w.variable("i64", "0")
    slot = w.i("icmp sge", choice, "0")
    with w.when(slot):
        wanted = w.load("double", w.at(o, choice, "double"))
        number.set(w.op(f"call i64 @llvm.fptosi.sat.i64.f64(double {wanted})"))
        again = w.op(f"sitofp i64 {number.get()} to double")
        with w.when(w.op(f"fcmp une double {again}, {wanted}")):
            w.leave("i64", "1")
    with w.when(w.i("icmp uge", number.get(), entry("function_count"))):
        w.leave("i64", "1")
    at = w.at(entry("functions", "ptr"), w.i("mul", number.get(), str(len(FUNCTION))))
    chosen = _reader(w, at, FUNCTION)
    function = chosen("fn", "ptr")
    with w.when(w.op(f"icmp eq ptr {function}, null")):
        w.leave("i64", "1")
    given = w.at(o, arguments, "double")
    with w.when(slot):
        w.copy(w.at(o, w.i("sub", arguments, results), "double"), given, results)
    called = f"call i64 {function}(ptr {chosen('context', 'ptr')}, ptr {t}, ptr {o})"
    with w.when(w.i("icmp ne", w.op(called), "0")):
        w.leave("i64", "1")
    with w.when(slot), w.when(_any_not_finite(w, given, results)):
        w.leave("i64", "1")
    head = f"internal i64 @call_function({_EXTERNALS['call_function']}, i64 %i)"
    return w.function(head, "ret i64 0")


def _any_not_finite(w: IrWriter, values: str, count: str) -> str:
    """Return whether one of some values is not a finite number: x - x is 0 for all others."""
    several = f"<{TOGETHER} x double>"
    sums = w.variable(several, "zeroinitializer")
    with w.count(w.i("sdiv", count, str(TOGETHER))) as i:
        some = w.load(several, w.at(values, i, several))
        none = w.op(f"fsub {several} {some}, {some}")
        sums.set(w.op(f"fadd {several} {sums.get()}, {none}"))
    total = w.variable("double", "0.0")
    start = w.i("sub", count, w.i("srem", count, str(TOGETHER)))
    with w.count(count, start) as i:
        one = w.load("double", w.at(values, i, "double"))
        none = w.op(f"fsub double {one}, {one}")
        total.set(w.op(f"fadd double {total.get()}, {none}"))
    for lane in range(TOGETHER):
        part = w.op(f"extractelement {several} {sums.get()}, i32 {lane}")
        total.set(w.op(f"fadd double {total.get()}, {part}"))
    return w.op(f"fcmp une double {total.get()}, 0.0")


def _staged() -> str:
    """Return the function that takes results which were put beside a run."""
    w = IrWriter(1)
    source, target, count = (
        w.load(kind, w.at("%context", str(STAGE[name])))
        for name, kind in (("source", "ptr"), ("target", "i64"), ("count", "i64"))
    )
    with w.count(count) as i:
        value = w.load("double", w.at(source, i, "double"))
        w.store("double", value, w.at("%o", w.i("add", target, i), "double"))
    return w.function(f"i64 @{STAGED}(ptr %context, ptr %t, ptr %o)", "ret i64 0")


def _prepare(width: int) -> str:
    """Return the function that computes, for several blocks, what depends on parameters alone."""
    w = IrWriter(width)
    config = _reader(w, "%config", CONFIG)
    end = w.i("add", "%first", "%count")
    table, entries, size = config("constants", "ptr"), config("constant_count"), config("p_size")
    with w.count(end, "%first") as b:
        arena = w.at(config("arena", "ptr"), w.i("mul", b, config("arena_stride")))
        given = w.at(arena, config("p_at"), "double")
        with w.count(entries) as i:
            row = w.at(table, w.i("mul", i, str(len(CONSTANTS))))
            place = w.at(arena, w.load("i64", w.at(row, str(CONSTANTS["at"]))), "double")
            function = w.load("ptr", w.at(row, str(CONSTANTS["fn"])))
            none = w.op(f"icmp eq ptr {function}, null")
            with w.when(none), w.count(size) as j:
                value = w.load(w.value, w.at(given, j, w.value))
                w.store(w.value, value, w.at(place, j, w.value))
            with w.when(w.op(f"xor i1 {none}, true")):
                w.do(f"call void {function}(ptr {given}, ptr {place})")
    return w.function(f"void @{PREPARE}(ptr %config, i64 %first, i64 %count)", "ret void")


def _blocks(width: int) -> str:
    """Return the function that drives several blocks one after the other."""
    w = IrWriter(width)
    config = _reader(w, "%config", CONFIG)
    end = w.i("add", "%first", "%count")
    with w.count(end, "%first") as b:
        arena = w.at(config("arena", "ptr"), w.i("mul", b, config("arena_stride")))
        whole = w.at(config("whole", "ptr"), w.i("mul", b, config("whole_stride")))
        samples = w.at(config("samples", "ptr"), w.i("mul", b, config("samples_stride")))
        w.do(f"call void @run(ptr %config, ptr {arena}, ptr {whole}, ptr {samples})")
    return w.function(f"void @{RUN}(ptr %config, i64 %first, i64 %count)", "ret void")
