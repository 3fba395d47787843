"""The stand-alone simulation program as one Python script that needs only NumPy.

It consists of the functions of each stage, the text of `script.py`, and the tables of the model.
A foreign function is taken from its C source, which the system's compiler builds when the script
starts.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from importlib.resources import files

from linkwright.algebra.foreign import ForeignFunction
from linkwright.backends.python import python_functions
from linkwright.codegen.content import Content, InputItem, OutputChannel
from linkwright.codegen.documentation import documentation, origin
from linkwright.errors import CompileError
from linkwright.program import Code

_ABOUT = (
    "Run with `python3 NAME.py [PARSFILE] [-e ECHO] [-o OUTPUT]`; `--help` says more.",
    "A parameter file starts with the record PARSFILE; then each line is a keyword and its value:",
    "any name above, Q(i), U(i), STEP, STOPT, IPRINT, METHOD (midpoint or rk4), TITLE, or PARSFILE",
    "with the name of another file; a line that starts with * is a comment; END is the end.",
)
_FUTURE = "from __future__ import annotations\n"
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
    codes: dict[str, Code] = {
        "equations_prepare": content.prepare,
        "equations_derivative": content.derivative,
        "equations_output": content.output,
    }
    if content.closure is not None:
        codes["equations_closure"] = content.closure
    text, called = python_functions(codes, [*documentation(content), "", *_ABOUT])
    fixed = _fixed_part()
    parts = [text.replace("\nimport numpy as np\n", f"\n{_FUTURE}\nimport numpy as np\n", 1)]
    if called:
        parts += ["import shutil", _BUILD]
    parts += [_foreign(name, function, fixed) for name, function in called.items()]
    return "\n".join([*parts, fixed, *_callers(content), *_tables(content, file_name)])


def _fixed_part() -> str:
    """Return the text of `script.py` without its documentation and future import."""
    text = files("linkwright.codegen").joinpath("script.py").read_text(encoding="utf-8")
    return text[text.index(_FUTURE) + len(_FUTURE) :]


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


# -- calls -----------------------------------------------------------------------------------------
def _callers(content: Content) -> Iterable[str]:
    """Yield functions of one shape, which pass the program's arrays to the equations."""
    yield "\ndef sim_prepare(p):"
    yield from _call("equations_prepare", content.prepare)
    yield f"    return np.array({_name(content.prepare, 'constants')}, dtype=float)\n\n"
    yield "def sim_derivative(t, q, u, p, w, constants):"
    yield from _call("equations_derivative", content.derivative)
    parts = ", ".join(f"*{_name(content.derivative, name)}" for name in ("q_dot", "u_dot"))
    yield f"    rates = np.array([{parts}], dtype=float)"
    yield f"    return rates, np.array({_name(content.derivative, 'work')}, dtype=float)\n\n"
    yield "def sim_outputs(t, q, u, p, w, constants, work):"
    yield from _call("equations_output", content.output)
    yield "    return np.array(y, dtype=float)\n\n"
    yield "def sim_closure(t, q, p, w):"
    if content.closure is None:
        yield "    return np.zeros(0), np.zeros(0)\n\n"
        return
    yield from _call("equations_closure", content.closure)
    yield "    return np.array(g, dtype=float), np.array(G, dtype=float)\n\n"


def _call(function: str, code: Code) -> Iterable[str]:
    passed = ", ".join("[t]" if port.name == "t" else port.name for port in code.inputs)
    results = "".join(f"{port.name}, " for port, _ in code.outputs)
    yield f"    {results.strip()} = {function}({passed})" if results else "    pass"


def _name(code: Code, output: str) -> str:
    return output if any(port.name == output for port, _ in code.outputs) else "()"


# -- tables ----------------------------------------------------------------------------------------
def _tables(content: Content, name: str) -> Iterable[str]:
    m, timing = content.mechanism, content.timing
    yield "MODEL = Model("
    yield f"    {_text(name)},"
    yield f"    {_text(m.doc or m.name)},"
    yield f"    {_text(origin(content))},"
    yield f"    {float(timing.step)!r},"
    yield f"    {float(timing.until)!r},"
    yield f"    {float(timing.every)!r},"
    for items in (content.parameters, content.inputs, content.coordinates, content.speeds):
        yield from _item_table(items)
    yield "    ("
    yield from (f"        {_channel(c)}," for c in content.channels)
    yield "    ),"
    yield f"    {len(content.relations)},"
    yield f"    {content.free},"
    yield f"    {content.computed!r},"
    yield f"    {content.corrected!r},"
    yield "    sim_prepare,"
    yield "    sim_derivative,"
    yield "    sim_outputs,"
    yield "    sim_closure,"
    yield ")"
    yield ""
    yield 'if __name__ == "__main__":'
    yield "    sys.exit(main(MODEL, sys.argv[1:]))"
    yield ""


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
