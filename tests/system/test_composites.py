"""A System as a part of a larger System."""

from __future__ import annotations

import random
from typing import Any

import numpy as np
import pytest

import linkwright as lw
from linkwright.blocks import Block, BlockError, Delay, Ticks, WhiteNoise
from linkwright.simulation.runs import RunStopped
from linkwright.system import AlgebraicLoop, System
from tests.oracles.plain_system import Ref, Source
from tests.random.systems import HERTZ, Example, Maker
from tests.seeds import seeds

Path = tuple[str, ...]


class Nest:
    """The members of a random System, put into Systems within Systems."""

    def __init__(self, example: Example, chance: random.Random) -> None:
        self.example = example
        self.chance = chance
        paths: list[Path] = [(), ("a",), ("a", "b"), ("a", "b", "c"), ("d",)]
        self.home = {p.name: chance.choice(paths) for p in example.parts}
        self.paths = paths
        self.ports: dict[Ref, str] = {}
        self.wires = {target: (self.place(target[0], s), s) for target, s in example.wires.items()}

    def place(self, target: str, source: Source) -> Path:
        """The System in which a connection is made: above all that it connects."""
        homes = [self.home[target], *(self.home[m] for _, (m, _) in source.terms if m)]
        if len(homes) == 1:
            return homes[0]
        common: Path = homes[0]
        for home in homes[1:]:
            common = common[: sum(home[: i + 1] == common[: i + 1] for i in range(len(common)))]
        return common[: self.chance.randint(0, len(common))]

    def full(self, ref: Ref) -> str:
        """The dotted name of a reference in the whole."""
        member, name = ref
        return ".".join((*self.home[member], member, name)) if member else name

    def nested(self, path: Path = ()) -> System:
        """The System of a path, with the Systems in it."""
        flat, base = self.example.system, HERTZ if not path or self.chance.random() < 0.5 else None
        mechanism = flat.mechanism if self.example.start else None
        made = System(mechanism, name="_".join(path) or "s", base=base)
        for p in self.example.parts:
            if self.home[p.name] == path:
                made.add(p.block, name=p.name, rate=flat.members[p.name].rate)
        for below in self.paths:
            if len(below) == len(path) + 1 and below[:-1] == path:
                made.add(self.nested(below), name=below[-1])
        for target, (place, source) in self.wires.items():
            if place == path:
                value: Any = source.constant + source.slope * made.time
                for weight, ref in source.terms:
                    value = value + weight * self.seen(made, path, ref)
                made.connect(value, self.seen(made, path, target), solve=source.solved)
        for target, (place, source) in self.wires.items():
            if len(place) < len(path) and place == path[: len(place)]:
                for ref in (target, *(ref for _, ref in source.terms if ref[0])):
                    name = self.ports.setdefault(ref, f"p{len(self.ports)}")
                    known = {*made.exposed_inputs, *made.exposed_outputs}
                    if self.home[ref[0]][: len(path)] == path and name not in known:
                        made.expose(name, self.seen(made, path, ref))
        return made

    def seen(self, system: System, path: Path, ref: Ref) -> Any:
        """The symbol that stands for a reference in the System of a path."""
        member, name = ref
        if not member:
            return system.mechanism.expr(name)
        home = self.home[member]
        if home != path:
            return system[f"{home[len(path)]}.{self.ports[ref]}"]
        return symbol(system, member, name)

    def flat(self, order: System) -> System:
        """The same members side by side, with the names that they have in the whole."""
        made = System(self.example.system.mechanism if self.example.start else None, name="s")
        made.base = order.base
        names = {".".join((*home, name)): name for name, home in self.home.items()}
        parts = {p.name: p.block for p in self.example.parts}
        for full in order.members:
            if full in names:
                rate = self.example.system.members[names[full]].rate
                made.add(parts[names[full]], name=full, rate=rate)
        for (member, name), (_, source) in self.wires.items():
            value: Any = source.constant + source.slope * made.time
            for weight, ref in source.terms:
                value = value + weight * self.whole(made, ref)
            made.connect(value, self.whole(made, (member, name)), solve=source.solved)
        return made

    def whole(self, system: System, ref: Ref) -> Any:
        """The symbol of a reference in a System without Systems in it."""
        if not ref[0]:
            return system.mechanism.expr(ref[1])
        return symbol(system, ".".join((*self.home[ref[0]], ref[0])), ref[1])


def symbol(system: System, member: str, name: str) -> Any:
    """The symbol of an entry of a port, or of a state."""
    found = system.members[member]
    stem, bracket, rest = name.partition("[")
    if bracket and (stem in found.block.inputs or stem in found.block.outputs):
        return found[stem][int(rest[:-1])]
    return found[name]


@pytest.mark.parametrize("seed", seeds(12, daily=3))
def test_systems_in_systems_run_as_their_members_side_by_side(seed: int) -> None:
    """Bit by bit: rates, noise, events, delays, functions, solved loops."""
    results: list[Any] = []
    names: tuple[str, ...] | None = None
    for kind in ("flat", "nested"):
        nest = Nest(Maker(seed).make(), random.Random(seed))
        system = nest.nested()
        system = system if kind == "nested" else nest.flat(system)
        system.set_initial(nest.example.start)
        try:
            run = lw.simulate(
                system, 12 / HERTZ, method="rk4", step=0.25 / HERTZ, seed=seed, record=names
            )
        except (AlgebraicLoop, RunStopped) as error:
            results.append(type(error))
            continue
        results.append(run)
        names = run.recording.names
    flat, nested = results
    if isinstance(flat, type):
        assert nested is flat
        return
    for name in flat.recording.names:
        np.testing.assert_array_equal(nested[name], flat[name], name)
    assert [(e.name, e.time) for e in nested.events] == [(e.name, e.time) for e in flat.events]


def lag(name: str = "lag") -> Block:
    """A first-order lag."""
    b = Block(name)
    b.input("u", 0.5, unit="V", doc="command")
    b.parameter("T", 0.1, unit="s", sign="positive")
    b.output("y", b.state("x", "(u - x)/T", 0.25, unit="V"), unit="V")
    return b


def chain() -> System:
    """Two lags in a row, with a delayed and noisy measurement."""
    s = System(name="chain", base=100)
    first, second = s.add(lag("first")), s.add(lag("second"))
    noise = s.add(WhiteNoise(0.1), rate=Ticks(2))
    late = s.add(Delay(3), rate=Ticks(1))
    s.connect(first.y, second.u)
    s.connect(second.y + noise.y, late.u)
    s.expose("u", first.u)
    s.expose("y", late.y)
    s.expose("both", [first.y, second.y])
    return s


def test_ports_have_defaults_units_and_words_of_what_they_show() -> None:
    """The value that the inner System was given is the default of the port."""
    inner = chain()
    inner.set_parameters({"first.u": 2.0, "second.T": 0.3})
    inner.set_initial({"first.x": 0.75})
    s = System(name="s")
    left = s.add(inner, name="left")
    assert s.inputs() == {"left.u": 2.0}
    port = left.block.inputs["u"]
    assert (port.unit, port.doc) == ("V", "command")
    assert [x.name for x in left.both] == ["left.both[0]", "left.both[1]"]
    phases = s.phases()
    assert {x.name: x.value for x in phases.p}["left.second.T"] == 0.3
    assert {x.name: x.value for x in phases.x} == {"left.first.x": 0.75, "left.second.x": 0.25}
    assert s.clock().schedules["left.noise"].every == 2 * s.clock().schedules["left.delay"].every


def test_numbers_of_inner_members_are_set_by_dotted_names() -> None:
    """In the System and in the call of a run."""
    s = System(name="s")
    s.add(chain(), name="left")
    s.add(chain(), name="right")
    s.set_parameters({"left.first.T": 0.2, "right.u": 1.0})
    run = lw.simulate(s, 0.5, initial={"right.second.x": 0.0})
    assert run["right.second.x"][0] == 0.0
    assert run["left.second.x"][-1] != run["right.second.x"][-1]
    assert not np.array_equal(run["left.noise.y"], run["right.noise.y"])
    np.testing.assert_array_equal(run["left.both[1]"], run["left.second.y"])


def test_what_is_changed_later_in_the_inner_system_is_no_part_of_the_whole() -> None:
    """A System is taken as it is."""
    inner, s = chain(), System(name="s")
    s.add(inner, name="left")
    before = s.content()
    inner.set_parameters({"second.T": 3.0})
    inner.add(lag("third"))
    assert s.content() == before
    assert "left.third" not in s.members


def test_a_loop_through_ports_names_the_members() -> None:
    """Also where the ports alone make the loop."""
    gain = Block("gain")
    gain.output("y", 2 * gain.input("u"))
    inner = System(name="inner")
    member = inner.add(gain)
    inner.expose("u", member.u)
    inner.expose("y", member.y)
    s = System(name="s")
    a, b = s.add(inner, name="a"), s.add(inner, name="b")
    s.connect(a.y, b.u)
    s.connect(b.y, a.u)
    with pytest.raises(AlgebraicLoop, match=r"a\.gain -> b\.gain"):
        s.phases()


def test_what_cannot_be_meant_is_refused() -> None:
    """Names, mechanisms, rates, what is driven twice."""
    s, inner = System(name="s"), chain()
    with pytest.raises(BlockError, match="part of itself"):
        s.add(s)
    with pytest.raises(BlockError, match="rates and ports of their own"):
        s.add(inner, rate=10)
    with pytest.raises(BlockError, match="cannot name a System"):
        s.add(inner, name="two words")
    with pytest.raises(BlockError, match="cannot name a port"):
        inner.expose("first", "second.y")
    with pytest.raises(BlockError, match="is a member"):
        inner.expose("all", inner["first"])
    inner.connect(1.0, "first.u")
    with pytest.raises(BlockError, match="connected inside"):
        s.add(inner)
    one, other = lw.load("pendulum"), lw.load("pendulum")
    with pytest.raises(BlockError, match="acts on"):
        System(one).add(System(other, name="drive"))
