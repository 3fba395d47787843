"""Whether a native task does what its text says: native code and Python are compared.

A task that is called with symbols must not ask for their values. Most such questions raise an
error; a comparison with `==` does not, because two symbols are either the same or not. It is
rejected where it stands in the text, and what was compiled is compared with Python at some points.
"""

from __future__ import annotations

import ast
import copy
import inspect
import textwrap
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from linkwright.base.errors import InputError
from linkwright.blocks.slot import NUMBER
from linkwright.lab.slot import SERIAL, SlotLayout
from linkwright.lab.tasks import Task
from linkwright.simulation.native.called import SlotFunction

Array = NDArray[np.float64]
_POINTS = 4
_NEAR = 1e-7


def source_file(cls: type) -> Path | None:
    """Return the file that a class was written in, where there is one."""
    code = getattr(getattr(cls, "run", None), "__code__", None)
    return None if code is None else Path(code.co_filename)


def copied_task(task: Task) -> Task:
    """Return a task of its own with the same attributes, which may be changed in place."""
    made = type(task).__new__(type(task))
    made.__dict__.update(
        {
            name: copy.copy(value) if isinstance(value, np.ndarray | list | dict | set) else value
            for name, value in task.__dict__.items()
        }
    )
    for kind, numbers in task.numbers.items():
        made.numbers[kind][:] = numbers
    return made


def refuse_equality(task: Task) -> None:
    """Reject a comparison with `==` or `!=` of what is a symbol in a native task."""
    try:
        lines, first = inspect.getsourcelines(type(task).run)
        tree = ast.parse(textwrap.dedent("".join(lines)))
    except (OSError, SyntaxError, TypeError):
        return  # no text is at hand; what is compiled is compared with Python all the same
    for node in ast.walk(tree):
        if isinstance(node, ast.Compare) and any(
            isinstance(op, ast.Eq | ast.NotEq) for op in node.ops
        ):
            asked = [x for part in (node.left, *node.comparators) for x in _symbolic(task, part)]
            if asked:
                raise InputError(
                    f"run of the native task {task.name!r} compares {asked[0]} with ==",
                    file=str(source_file(type(task))),
                    line=first + node.lineno - 1,
                    remedy="write where(equal(a, b), ..., ...), or leave out native = True",
                )


def _symbolic(task: Task, part: ast.expr) -> Iterator[str]:
    """Yield what is a symbol in a part of an expression of `run`."""
    names = list(inspect.signature(type(task).run).parameters)
    declared = {name for kind in task.places.values() for name in kind}
    for node in ast.walk(part):
        if isinstance(node, ast.Name) and node.id in names[1:]:
            yield node.id
        match node:
            case ast.Attribute(value=ast.Name(id=owner), attr=name) if owner == names[0]:
                if name in declared:
                    yield f"self.{name}"


def require_agreement(task: Task, layout: SlotLayout, function: SlotFunction) -> None:
    """Reject a native task that gives other numbers than its text in Python."""
    from linkwright.lab.running import python_task

    for arguments, held in _points(task, layout):
        found, wanted = held.copy(), held.copy()
        function.call(0.0, arguments, found)
        try:
            with np.errstate(all="ignore"):
                python_task(copied_task(task), layout).call(0.0, arguments, wanted)
        except (InputError, ArithmeticError, ValueError):
            continue  # the point lies outside of what the text computes
        scale = np.maximum(np.abs(wanted), 1.0)
        both = np.isfinite(wanted) & np.isfinite(found)
        wrong = np.flatnonzero(both & ~(np.abs(found - wanted) <= _NEAR * scale))
        if len(wrong):
            i = int(wrong[0])
            port = next(n for n, at in layout.result.items() if at.start <= i < at.stop)
            raise InputError(
                f"the native task {task.name!r} gives {found[i]:g} for "
                f"{port}[{i - layout.result[port].start}] where its text in Python gives "
                f"{wanted[i]:g}",
                file=str(source_file(type(task))),
                line=type(task).run.__code__.co_firstlineno,
                remedy="let run depend on its arguments alone, and branch with where(...)",
            )


def _points(task: Task, layout: SlotLayout) -> Iterator[tuple[Array, Array]]:
    """Yield arguments and held values: at a start, and while it goes on."""
    random = np.random.default_rng(1)
    at = layout.argument
    for k in range(_POINTS):
        arguments = 0.5 * random.normal(size=layout.argument_count)
        held = 0.5 * random.normal(size=layout.result_count)
        arguments[at[NUMBER]], arguments[at[SERIAL]] = 1.0, 1.0
        for name, about in task.parameters().items():
            low, high = max(about.low, about.default - 10), min(about.high, about.default + 10)
            given: Any = (about.default, low, high, low + (high - low) * random.random())[k % 4]
            arguments[at["parameter"].start + task.places["parameter"][name].start] = given
        held[layout.result["begun"]] = float(k > 0)
        held[layout.result["chosen"]] = float(k > 0)
        held[layout.result["ticks"]] = float(100 * k)
        yield arguments, held
