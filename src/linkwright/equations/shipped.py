"""Smallest Programs that ship, found by the content of the equations that they stand for.

A thorough search made them (`linkwright.models.smallest`). `programs/index.json` says, for the name
of a Program and a digest of its equations as they are derived (quick, or with the fewest
operations), which file holds the smallest one; a model that was edited has other equations, and
gets none.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import replace
from functools import cache, lru_cache
from pathlib import Path
from typing import TYPE_CHECKING

from linkwright.algebra import Expr
from linkwright.base.cache import entry_key, stored
from linkwright.base.fingerprint import fingerprint
from linkwright.program import Assign, Namer, Program, Statement
from linkwright.program.program import ProgramError

if TYPE_CHECKING:
    from linkwright.equations.equations import Equations

FOLDER = Path(__file__).with_name("programs")
INDEX = FOLDER / "index.json"


@cache
def _index() -> Mapping[str, Mapping[str, str]]:
    found: dict[str, dict[str, str]] = json.loads(INDEX.read_text(encoding="utf-8"))
    return found


def ships(name: str) -> bool:
    """Whether a smallest Program of some name ships.

    >>> ships("cart"), ships("mine")
    (True, False)
    """
    return name in _index()


@lru_cache(maxsize=16)
def shipped_program(written: Program) -> Program | None:
    """Return the smallest Program that ships for some equations, or None.

    >>> from linkwright.program import program
    >>> shipped_program(program("mine", {"x": ["x"]}, {"y": lambda x: [2 * x]}))
    """
    plain = all(isinstance(s, Assign) for s in written.statements)
    known = _index().get(written.name) if plain else None
    if not known:
        return None
    from linkwright.program.passes.kept import from_data, to_data

    def find() -> Program:
        from linkwright.program.text import read, text_digest

        stem = known.get(text_digest(written))
        if stem is None:
            return written
        return read(json.loads((FOLDER / f"{stem}.json").read_text(encoding="utf-8")), written)

    asked = fingerprint("choices"), "shipped", written.fingerprint()  # quicker than by texts
    found = stored(
        entry_key(repr(asked).encode(), "choices"),
        lambda data: from_data(data, written) if data else written,
        find,
        lambda made: {} if made is written else to_data(made, written),
    )
    return None if found is written else found


def with_shipped(equations: Equations) -> Equations:
    """Return the equations with the smallest Program that ships as what gives their rates."""
    if not ships(equations.mechanism.name):
        return equations
    try:
        found = shipped_program(equations.program(outputs=False))
    except ProgramError:  # further loads, defined elsewhere: another model
        found = None
    if found is None:
        return equations
    from linkwright.equations.equations import in_order
    from linkwright.program.passes.names import renamed

    taken = Program(found.name, found.inputs, (), equations.statements)
    found = renamed(found, Namer(taken, "s"))
    rates = [*equations.rates, *equations.state_rates]
    q_dot, u_dot = (found.port(name).entries for name in ("q_dot", "u_dot"))
    now = dict(zip((*rates, *equations.accelerations), (*q_dot, *u_dot), strict=True))
    statements = [_redefined(s, now) for s in equations.statements]
    n = len(equations.rates)
    return replace(
        equations,
        statements=tuple(in_order([*found.statements, *statements])),
        rates=q_dot[:n],
        state_rates=q_dot[n:],
        accelerations=u_dot,
    )


def _redefined(statement: Statement, now: Mapping[Expr, Expr]) -> Statement:
    """Return a statement that defines a rate with the value that the rate has now."""
    if isinstance(statement, Assign) and statement.target in now:
        return replace(statement, value=now[statement.target])
    return statement
