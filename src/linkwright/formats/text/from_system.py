"""From a System that was built in Python to the text model that describes it.

The mechanism is described as such; each member by what its block was made with, each wire that is
not there by default by its expression. A System that is built from the description is flattened to
the same Programs: that is checked member by member, and what a text cannot hold, such as a Python
function or a block that was changed after it was made, is rejected.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from linkwright.algebra import Expr, Lookup1D, Lookup2D, Vector
from linkwright.algebra.printers import text
from linkwright.blocks import Block, Continuous, Element, Parameter
from linkwright.formats.text.arguments import Unwritable
from linkwright.formats.text.from_mechanism import Describer, table_data
from linkwright.formats.text.members import written
from linkwright.formats.text.schema import ModelFile
from linkwright.formats.text.system_builder import build_system
from linkwright.mechanism import Body, Point
from linkwright.system import System
from linkwright.system.composite import Composite
from linkwright.system.member import Member


def describe_system(system: System) -> ModelFile:
    """Return the text model of a System.

    >>> from linkwright.blocks import Integrator
    >>> s = System(name="s")
    >>> added = s.add(Integrator())
    >>> s.connect("sin(t)", added.u)
    >>> describe_system(s).wire[0].target
    'integrator.u'
    """
    describer = Describer(system.mechanism)
    data = describer.data()
    names = _Names(system, describer, {table["name"] for table in data["table"]})
    plain = System(system.mechanism)  # with the same members, and the wires that these bring
    data["member"] = []
    for name, member in system.members.items():
        rate = None if isinstance(member.rate, Continuous) else member.rate
        if isinstance(member, Composite):
            raise Unwritable(
                f"the member {name!r} is a System itself, which has no text form",
                remedy="add its members one by one",
            )
        names.member = member
        data["member"].append(written(member.block, name, rate, names))
        plain.add(member.block, rate=rate, name=name)
    data["wire"] = list(_wires(system, plain))
    data["expose"] = [
        {"name": name, "value": _source(list(port.symbols), system)}
        for name, port in (system.exposed_inputs | system.exposed_outputs).items()
    ]
    data["table"] += names.tables.values()
    table: dict[str, Any] = {
        "base": None if system.base is None else float(1 / system.base),
        "formulation": system.formulation,
        "values": dict(system.values),
        "initial": dict(system.initial),
    }
    given = {k: v for k, v in table.items() if v not in (None, "quick", {})}
    if given or not (data["member"] or data["wire"]):
        data["system"] = given
    model = ModelFile.model_validate(data)
    _refuse_changed(system, build_system(model))
    return model


class _Names:
    """ArgumentNames for what the arguments of members are given as things."""

    def __init__(self, system: System, describer: Describer, taken: set[str]) -> None:
        members = reversed(system.members.items())  # of a block that is added twice, the first
        self.blocks = {id(member.block): name for name, member in members}
        self.describer = describer
        self.taken = taken
        self.tables: dict[str, Any] = {}
        self.member: Member | None = None

    def table_name(self, table: Lookup1D | Lookup2D) -> str:
        """Return the name of a table, which becomes one of the model."""
        data = table_data(table)
        name, k = table.name, 1
        while name in self.taken and {**self.tables.get(name, {}), "name": data["name"]} != data:
            k += 1
            name = f"{table.name}{k}"
        self.taken.add(name)
        self.tables[name] = {**data, "name": name}
        return name

    def member_name(self, block: Block) -> str:
        """Return the name under which a block is a member."""
        if id(block) not in self.blocks:
            raise Unwritable(
                f"the block {block.name!r} that a member is made with is not a member itself",
                remedy=f"add {block.name!r} to the System too",
            )
        return self.blocks[id(block)]

    def place(self, place: Point | Body | str) -> str:
        """Return the name of a point or body; a frame of a robot becomes a point."""
        m = self.describer.m
        if isinstance(place, str):
            if not m.frames:
                return place
            place = m.place(place)
        if isinstance(place, Body):  # a link is a point of the text, which may have a body's name
            return f"{place.name}0" if m.frames and place is not m.ground else place.name
        return self.describer.named(place)

    def direction(self, vector: Vector) -> Any:
        """Return a direction as text or components."""
        return self.describer.vector(vector)


# -- wires -----------------------------------------------------------------------------------------
def _wires(system: System, plain: System) -> Iterator[dict[str, Any]]:
    """Yield the wires that the members do not bring themselves."""
    new = {x: wire for x, wire in system.wires.items() if plain.wires.get(x) != wire}
    ports = dict(_ports(system))
    done: set[Expr] = set()
    for x, wire in new.items():
        if x in done:
            continue
        name, symbols = ports.get(x, (x.name, (x,)))
        if len({new[y].solved if y in new else None for y in symbols}) > 1:
            name, symbols = x.name, (x,)
        done.update(symbols)
        source = _source([new[y].value for y in symbols], system)
        yield {"source": source, "target": name, "solve": wire.solved}


def _ports(system: System) -> Iterator[tuple[Expr, tuple[str, tuple[Expr, ...]]]]:
    """Yield the port of each symbol that can be driven: its name and all of its symbols."""
    for member in system.members.values():
        for port, symbols in member.inputs():
            for x in symbols:
                yield x, (f"{member.name}.{port.name}", symbols)


def _source(values: list[Expr], system: System) -> Any:
    """Return what drives a port: the name of another port, an expression, or a list of them."""
    for member in system.members.values():
        for port in (*member.block.inputs.values(), *member.block.outputs.values()):
            if list(member.of(port.symbols)) == values:
                return f"{member.name}.{port.name}"
    return text(values[0]) if len(values) == 1 else [text(x) for x in values]


# -- what was written ------------------------------------------------------------------------------
def _refuse_changed(system: System, again: System) -> None:
    """Reject a System of which a text would report something else."""
    then, now = _content(system), _content(again)
    for name, content in then.items():
        if content != now[name]:
            raise Unwritable(
                f"the member {name!r} is not what it was made as, so its text would be another",
                remedy="give everything when it is made, and nothing afterward",
            )


def _content(system: System) -> dict[str, tuple[object, ...]]:
    """Return all that each member is, in the System's symbols."""
    clock = system.clock()
    for name in clock.schedules:
        system.members[name].set_period(clock.period(name))
    return {name: _member_content(member) for name, member in system.members.items()}


def _follows(member: Member, p: Parameter) -> tuple[Expr, ...]:
    return () if p.default is None else member.of([p.default])


def _member_content(member: Member) -> tuple[object, ...]:
    block = member.block
    ports = [(p.name, p.unit, x, member.of(p.values)) for p, x in member.inputs()]
    ports += [(p.name, p.unit, x, values) for p, x, values in member.outputs()]
    numbers: list[object] = [
        (p.symbol.name, p.value, p.unit, p.least, p.most, _follows(member, p))
        for p in block.parameters.values()
    ]
    numbers += member.of(relation.holds for relation in block.requirements)
    states = [
        (x, following, *member.of([state.initial]))
        for part in (member.integrated(), member.remembered())
        for state, x, following in part
    ]
    events = [
        (c.name, *member.of([c.value]), c.direction, c.terminal, c.at_start)
        for c in block.crossings
    ]
    loads: list[object] = []
    if isinstance(block, Element):
        loads += [(f.name, str(f.direction), f.point.name, f.reaction.name) for f in block.forces]
        loads += [(t.name, str(t.direction), t.body.name, t.reaction.name) for t in block.moments]
    noises = [stream.name for stream in block.noises]
    rate = str(member.rate)
    return (rate, ports, numbers, states, events, loads, [*member.statements()], noises)
