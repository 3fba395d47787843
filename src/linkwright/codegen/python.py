"""The stand-alone simulation program as one Python script that needs only NumPy.

It consists of the functions of a run, the texts of `loop.py` and `script.py`, and the tables of
the model.
A foreign function is taken from its C source, which the system's compiler builds when the script
starts.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Sequence
from importlib.resources import files

from linkwright.algebra.foreign import ForeignFunction
from linkwright.backends.python import python_functions
from linkwright.base.errors import CompileError, Error
from linkwright.codegen.content import Content, InputItem, OutputChannel
from linkwright.codegen.documentation import documentation, origin
from linkwright.program import Program, lower
from linkwright.system.forms import LIMIT
from linkwright.system.phases import DEPTH

_ABOUT = (
    "Run with `python3 NAME.py [PARSFILE] [-e ECHO] [-o OUTPUT]`; `--help` says more.",
    "A parameter file starts with the record PARSFILE; then each line is a keyword and its value:",
    "any name above, Q(i), U(i), STEP, STOPT, IPRINT, METHOD, SEED, TITLE, or PARSFILE with the",
    "name of another file; a line that starts with * is a comment; END is the end.",
)
_FUTURE = "from __future__ import annotations\n"
_OWN_IMPORT = re.compile(r"^from linkwright\S* import \([^)]*\)\n", re.MULTILINE)
_DEFINED = re.compile(r"^(?:def|class) (\w+)|^(\w+) =|^import (\w+)", re.MULTILINE)

_BUILD = '''
def lw_build(source, name, arity, outputs):
    """Return a function of C, built by the system's compiler."""
    import ctypes
    import subprocess
    import tempfile

    folder = tempfile.mkdtemp(prefix="foreign-")
    library = f"{folder}/{name}.so"
    command = ["cc", "-std=c99", "-O2", "-fPIC", "-shared", "-x", "c", "-", "-o", library, "-lm"]
    subprocess.run(command, input=source.encode(), check=True)
    function = getattr(ctypes.CDLL(library), name)
    shutil.rmtree(folder, ignore_errors=True)
    reals = [ctypes.c_double]*arity
    if outputs == 1:
        function.argtypes, function.restype = reals, ctypes.c_double
        return function
    function.argtypes, function.restype = [*reals, ctypes.POINTER(ctypes.c_double)], None

    def several(*arguments):
        out = (ctypes.c_double*outputs)()
        function(*arguments, out)
        return list(out)

    return several

'''


def python_program(content: Content, file_name: str) -> str:
    """Return the whole program in one file."""
    programs: dict[str, Program] = {}
    for tick in content.phases.ticks:
        if tick.foreign is not None:
            raise Error(
                f"{tick.name!r} is a Python function, which is not in a written program",
                remedy="write it as a Block, or leave it out",
            )
    for name, constants, main in content.programs:
        programs[f"constants_{name}"] = constants
        if name != "step":
            programs[name] = main
    for name, made in (("initialize", content.phases.initialize), ("closure", content.closure)):
        if made is not None:
            programs[name] = made
    programs |= dict(content.following)
    common = tuple(programs)
    programs |= {f"step_{_word(s.method.name)}": s.steps["step"] for s in content.schedules}
    codes = {f"equations_{name}": lower(made) for name, made in programs.items()}
    text, called = python_functions(codes, [*documentation(content), "", *_ABOUT])
    fixed = _fixed_part()
    parts = [text.replace("\nimport numpy as np\n", f"\n{_FUTURE}\nimport numpy as np\n", 1)]
    if called:
        parts += ["import shutil", _BUILD]
    parts += [_foreign(name, function, fixed) for name, function in called.items()]
    return "\n".join([*parts, fixed, *_tables(content, file_name, common)])


def _word(name: str) -> str:
    return name.replace("-", "_")


def _fixed_part() -> str:
    """Return the texts of `loop.py` and `script.py` without what only Linkwright needs."""
    texts = []
    for home, name in (
        ("linkwright.simulation", "loop.py"),
        ("linkwright.codegen", "script.py"),
    ):
        text = files(home).joinpath(name).read_text(encoding="utf-8")
        text = text[text.index(_FUTURE) + len(_FUTURE) :]
        texts.append(_OWN_IMPORT.sub("", text))
    return "\n".join(texts)


def _foreign(own: str, function: ForeignFunction, fixed: str) -> str:
    """Return the definition of a foreign function."""
    taken = {name for found in _DEFINED.findall(fixed) for name in found if name}
    if own in taken:
        raise CompileError(
            f"the foreign function {function.name!r} has a name that the program uses itself",
            remedy="give it another name",
        )
    if not function.c_source:
        raise CompileError(
            f"the foreign function {function.name!r} has no source to put into the program",
            remedy="declare it with c_source=..., or write the C program and link it",
        )
    source = function.c_source.strip()
    return f"{own} = lw_build({source!r}, {function.name!r}, {function.arity}, " + (
        f"{function.outputs})\n"
    )


# -- tables ----------------------------------------------------------------------------------------
def _tables(content: Content, name: str, common: Sequence[str]) -> Iterable[str]:
    timing, phases = content.timing, content.phases
    yield "MODEL = Model("
    yield f"    {_text(name)},"
    yield f"    {_text(content.mechanism.doc or content.system.name)},"
    yield f"    {_text(origin(content))},"
    yield f"    {float(timing.step)!r},"
    yield f"    {float(timing.until)!r},"
    yield f"    {float(timing.every)!r},"
    for group in ("parameters", "inputs", "coordinates", "speeds", "states", "memory"):
        yield from _item_table(getattr(content, group))
    yield "    ("
    yield from (f"        {_channel(c)}," for c in content.channels)
    yield "    ),"
    yield f"    {phases.tick_seconds!r},"
    yield "    ("
    for t in phases.ticks:
        yield f"        DueTick({t.every}, {t.offset}, {t.slots!r}, {t.streams!r}),"
    yield "    ),"
    yield "    ("
    for e in phases.event_list:
        flags = f"{e.terminal}, {e.action is not None}, {e.guard}, {e.before!r}"
        yield f"        DetectedCrossing({e.direction}, {flags}),"
    yield "    ),"
    yield f"    ({''.join(f'{_text(e.name)}, ' for e in phases.event_list)}),"
    yield f"    {len(content.relations)},"
    yield f"    {content.free},"
    yield f"    {content.computed!r},"
    yield "    {"
    yield from (f'        "{name}": equations_{name},' for name in common)
    yield "    },"
    yield "    {"
    for schedule in content.schedules:
        method = schedule.method
        step = f"equations_step_{_word(method.name)}"
        yield f'        "{method.name}": ({method.evaluations}, {step}),'
    yield "    },"
    yield f"    {len(phases.d) - len(content.memory)},"
    yield f"    {LIMIT},"
    yield f"    {_number(content.longest)},"
    yield f"    {DEPTH!r},"
    rows = ("".join(f"{_number(e)}, " for e in row).rstrip(", ") for row in content.ranges)
    yield f"    [{', '.join(f'({row})' for row in rows)}],"
    yield ")"
    yield ""
    yield 'if __name__ == "__main__":'
    yield "    sys.exit(main(MODEL, sys.argv[1:]))"
    yield ""


def _number(value: float) -> str:
    text = repr(abs(value)) if math.isfinite(value) else "math.inf"
    return f"-{text}" if value < 0 else text


def _item_table(items: Sequence[InputItem]) -> Iterable[str]:
    yield "    ("
    for i in items:
        texts = ", ".join(_text(x) for x in (i.name, i.unit, i.doc))
        yield f"        Item({texts}, {i.shown!r}, {i.factor!r}),"
    yield "    ),"


def _channel(c: OutputChannel) -> str:
    texts = ", ".join(_text(x) for x in (c.short, c.doc, c.unit, c.general, c.body))
    return f"Channel({texts}, {c.factor!r})"


def _text(text: str) -> str:
    """Return a text as a string of Python, in printable ASCII as the C program has it."""
    return repr("".join(c if " " <= c <= "~" else "?" for c in text))
