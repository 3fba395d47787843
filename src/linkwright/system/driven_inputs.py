"""What recordings report the inputs of a mechanism that a System drives.

An input that one output drives alone is given by its name. Others are given as an expression of
what may be recorded, `{"F": {"value": "2*value0 + value1", "of": ["pid.u", "t"]}}`, so that
forces can be computed again afterward.
"""

from __future__ import annotations

import re
import zlib
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from linkwright.algebra import Expr, SymbolInfo, free_symbols, parse, substitute, symbol
from linkwright.base.errors import Error

if TYPE_CHECKING:
    from linkwright.system.system import System

_CHANNEL = "channel"  # owner of symbols that stand for channels


def told_drives(system: System) -> dict[str, Any]:
    """Return what drives the inputs of a System's mechanism.

    >>> from linkwright import Mechanism, System
    >>> m = Mechanism("m")
    >>> F = m.input("F", unit="N")
    >>> s = System(m)
    >>> s.connect("3*sin(t)", "F")
    >>> told_drives(s)
    {'F': {'value': '3*sin(value0)', 'of': ['t']}}
    """
    inputs, wires = system.mechanism.inputs, system.wires
    wired = {n: wires[x].value for n, x in inputs.items() if x in wires}
    found = {n: x.name if free_symbols(x) == (x,) else _told(x) for n, x in wired.items()}
    return {n: told for n, told in found.items() if told is not None}


def _told(value: Expr) -> dict[str, Any] | None:
    used = free_symbols(value)
    plain = substitute(value, {x: symbol(f"value{k}") for k, x in enumerate(used)})
    text = str(plain)
    try:
        known = parse(text) is plain
    except Error:  # a table, or a function of Python's
        return None
    return {"value": text, "of": [x.name for x in used]} if known else None


def channel_symbol(name: str) -> Expr:
    """Return a symbol that stands for a channel, whose name may hold any letters.

    >>> channel_name(channel_symbol("force of pin"))
    'force of pin'
    """
    plain = re.sub(r"\W", "_", name, flags=re.ASCII)
    return symbol(f"c_{plain}_{zlib.crc32(name.encode()):08x}", owner=_CHANNEL, doc=name)


def channel_name(x: Expr) -> str:
    """Return the name of the channel that a symbol stands for: its own, for others."""
    info: SymbolInfo = x.data
    return info.doc if info.owner == _CHANNEL else x.name


def drives_in(about: Mapping[str, object]) -> dict[str, Expr]:
    """Return what drives inputs, as expressions of symbols with the names of channels.

    >>> found = drives_in({"drives": {"F": {"value": "2*value0", "of": ["pid.u"]}}})
    >>> substitute(found["F"], {channel_symbol("pid.u"): 3})
    6
    """
    told, found = about.get("drives"), {}
    for name, one in told.items() if isinstance(told, Mapping) else ():
        if isinstance(one, str):
            found[str(name)] = channel_symbol(one)
        elif isinstance(one, Mapping):
            try:
                of = {symbol(f"value{k}"): channel_symbol(str(x)) for k, x in enumerate(one["of"])}
                found[str(name)] = substitute(parse(str(one["value"])), of)
            except (Error, KeyError, TypeError):
                continue
    return found
