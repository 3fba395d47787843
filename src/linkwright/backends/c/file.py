"""The C99 file of a Program."""

from __future__ import annotations

from linkwright.backends.c.stages import CONSTANTS, split_parameters
from linkwright.backends.c.writer import File, write_function
from linkwright.backends.source import all_instructions, heading
from linkwright.base.arguments import worded
from linkwright.base.errors import CompileError
from linkwright.program import Code, Program, lower

KINDS = {"float64": "double", "float32": "float"}


@worded
def c_source(
    program: Program,
    *,
    name: str | None = None,
    dtype: str = "float64",
    fuse: bool = False,
    stages: bool = False,
) -> str:
    """Return self-contained C99 with one function `void NAME(inputs..., outputs...)`.

    Every input and output is a pointer to its entries in C order; an output array overlaps nothing.
    Compiled without contraction (`-std=c99` or `-ffp-contract=off`) it rounds as all backends do.

    Args:
        program: what the function computes.
        name: the function's name; the program's unless given.
        dtype: "float64" for `double`, "float32" for `float`.
        fuse: use `fma` where a product is the term of one sum.
        stages: write two functions: `NAME_prepare` computes from the parameters, once, an array of
            constants, which `NAME` takes as its last input.

    >>> from linkwright.algebra import sin, symbol
    >>> from linkwright.program import program
    >>> q = symbol("q", "coordinate", unit="rad")
    >>> text = c_source(program("pendulum", {"q": [q]}, {"a": [-9.81 * sin(q)]}))
    >>> print(text[text.rindex("void") :])
    void pendulum(const double *q, double *a)
    {
        const double q_value = q[0];
        /* outputs */
        a[0] = -9.81*sin(q_value);
    }
    <BLANKLINE>
    """
    kind = KINDS.get(dtype)
    if kind is None:
        raise CompileError(f"C is written for {' or '.join(KINDS)}, not {dtype!r}")
    return write_text(program, name, kind, fuse=fuse, stages=stages)[0]


def write_text(
    program: Program, name: str | None, kind: str, *, fuse: bool, stages: bool
) -> tuple[str, str]:
    """Return the source and the identifier of its main function."""
    code = lower(program, fuse=fuse)
    wanted = program.name if name is None else name
    file, title, prototypes = write_file(code, wanted, kind, stages=stages)
    about = [*heading(program, code), "", *prototypes]
    comment = "\n".join(["/*", *(f" * {line}".rstrip() for line in about), " */"])
    text = "\n".join([comment, "#include <math.h>", "", *file.preamble(), *file.functions])
    return text, title


def write_file(code: Code, name: str, kind: str, *, stages: bool) -> tuple[File, str, list[str]]:
    """Return the written file, the identifier of its main function, and the prototypes."""
    file = File(kind)
    for i in all_instructions(code):  # a foreign function keeps its name, all others give way
        if i.op == "foreign":
            file.names.reserve(file.externals.call(i.data.function))
    title = file.names(name)
    prototypes = []
    if stages:
        prepare, code = split_parameters(code)
        first = file.names(f"{title}_prepare")
        count = code.inputs[-1].size
        prototypes += [
            f"{first} leaves {count} {CONSTANTS}, which {title} takes:",
            *_lines(write_function(file, prepare, first, static=False)),
        ]
    prototypes += _lines(write_function(file, code, title, static=False))
    return file, title, prototypes


def _lines(prototype: str) -> list[str]:
    return prototype.splitlines()
