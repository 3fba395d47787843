"""Functions of task slots as plain data: what a session holds of them.

A compiled task is a Program, and a Program is data: it is written as text and read again without
running anything of the task's file. A Program that has no text, and a Python function, are
reported by their names alone: what they give is on the tape.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from linkwright.algebra import symbol
from linkwright.backends.built import require_sizes, whole
from linkwright.base.errors import Error, InputError
from linkwright.base.files import digest_of
from linkwright.program import Program, program
from linkwright.program.text import read, written
from linkwright.simulation.native.called import SlotFunction, native_function, taped_function


def program_data(made: Program) -> dict[str, Any] | None:
    """Return the Program of a slot's function as plain data, or None where it has no such form.

    >>> frame = holding("task_wave", 2, 1)
    >>> held = frame.inputs[2].entries[0]
    >>> wave = program("task_wave", _inputs(2, 1), {"results": [held + 2]})
    >>> program_data(wave)["outputs"]["results"]
    ['2 + held[0]']
    """
    arguments, held = (port.size for port in made.inputs[1:])
    frame = holding(made.name, arguments, held)
    try:
        told = written(made, frame)
        if read(told, frame).fingerprint() != made.fingerprint():
            return None
    except (Error, KeyError, ValueError):
        return None
    return {"name": made.name, "arguments": arguments, "held": held, **told}


def program_of(data: Mapping[str, Any], sizes: tuple[int, int]) -> Program:
    """Return the Program that data reports, which anybody may have written."""
    try:
        name = str(data["name"])
        told = [
            whole(f"{what!r} of the task {name!r}", data[what]) for what in ("arguments", "held")
        ]
        require_sizes(f"the task {name!r} of the session", told, sizes)
        return read(data, holding(name, *sizes))
    except (ArithmeticError, LookupError, TypeError, ValueError, AttributeError, RecursionError):
        raise InputError(
            "a task of the session is damaged", remedy="take another session"
        ) from None


def program_digest(data: Mapping[str, Any]) -> str:
    """Return what stands for the data of a Program."""
    return digest_of(json.dumps(data, sort_keys=True).encode())


def for_session(function: SlotFunction) -> tuple[SlotFunction, dict[str, Any] | None]:
    """Return a function as it is to be called, and its data where it has some."""
    data = None if function.program is None else program_data(function.program)
    return (replace(function, taped=True) if data is None else function), data


def from_session(name: str, data: Mapping[str, Any] | None, sizes: tuple[int, int]) -> SlotFunction:
    """Return the function that a session reports, or what stands for one whose results it
    reports."""
    return taped_function(name) if data is None else native_function(name, program_of(data, sizes))


def _inputs(arguments: int, held: int) -> dict[str, list[Any]]:
    return {
        "t": [symbol("t", "time")],
        "arguments": [symbol(f"argument[{i}]", "input") for i in range(arguments)],
        "held": [symbol(f"held[{i}]", "input") for i in range(held)],
    }


def holding(name: str, arguments: int, held: int) -> Program:
    """Return a Program with the inputs that every function of a slot has, and which holds."""
    inputs = _inputs(arguments, held)
    return program(name, inputs, {"results": inputs["held"]})
