"""Random Systems, each made twice: for linkwright and for `tests.oracles.plain_system`."""

from __future__ import annotations

import math
import random
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import linkwright as lw
from linkwright.blocks import Block, Delay, Foreign, Hold, Integrator, Ticks, WhiteNoise
from linkwright.system import System
from tests.oracles.plain_system import CART, Part, Ref, Source

HERTZ = 20
"""The base clock."""


@dataclass
class Example:
    """A System, and the same for the plain executor."""

    system: System
    parts: list[Part]
    wires: dict[Ref, Source]
    start: dict[str, float]
    crossings: bool
    told: str


def cart_with_rod() -> lw.Mechanism:
    """The mechanism of `tests.oracles.plain_system`."""
    m = lw.Mechanism("cart_with_rod")
    cart = m.body("cart", translate="x", mass=CART["cart"])
    inertia = (0, 0, CART["inertia"])
    com = (CART["length"], 0, 0)
    m.body("rod", parent=cart, rotate="z", mass=CART["rod"], com=com, inertia=inertia)
    m.gravity(along="-y", g=CART["gravity"])
    return m


class Maker:
    """Makes the random System of a seed."""

    def __init__(self, seed: int) -> None:
        self.random = random.Random(seed)
        self.mechanism = cart_with_rod() if self.random.random() < 0.6 else None
        self.system = System(self.mechanism, name="s", base=HERTZ)
        self.parts: list[Part] = []
        self.wires: dict[Ref, Source] = {}

    def number(self, low: float = -1.0, high: float = 1.0) -> float:
        """A number with few digits."""
        return round(self.random.uniform(low, high), 3)

    def make(self) -> Example:
        """Return the whole."""
        r = self.random
        plain: list[Callable[[str], None]] = [
            self.static, self.lag, self.counter, self.filter, self.memory, self.plain_block,
            self.function, self.function, self.noise, self.delay, self.late, self.bounce,
            self.sampled_state, self.pid, self.peak, self.pair,
        ]  # fmt: skip
        if self.mechanism is not None:
            plain += [self.element, self.controller, self.element, self.controller, self.drive]
        for i in range(r.randint(3, 7)):
            r.choice(plain)(f"m{i}")
        self.wire()
        start: dict[str, float] = {}
        if self.mechanism is not None:
            start = {n: self.number() for n in ("cart", "rod", "cart_dot", "rod_dot")}
            self.system.set_initial(start)
        crossings = any(p.block.crossings for p in self.parts)
        told = "\n".join(
            [self.system.summary(), *(f"{p.name}: {p.every}, {p.offset}" for p in self.parts)]
        )
        return Example(self.system, self.parts, self.wires, start, crossings, told)

    # -- when --------------------------------------------------------------------------------------
    def rate(self) -> tuple[int, int]:
        """Ticks from one instant to the next, and the first."""
        return self.random.choice((1, 1, 2, 3, 4)), self.random.choice((0, 0, 0, 1, 2, 5))

    def add(self, name: str, block: Block, *, sampled: bool | None = None, **more: Any) -> Part:
        """Add a block; at a rate, continuous, or as chance has it."""
        at = self.random.random() < 0.5 if sampled is None else sampled
        every, offset = self.rate() if at else (0, 0)
        if not every:
            self.system.add(block, name=name)
        elif self.random.random() < 0.5:
            self.system.add(block, name=name, rate=Ticks(every, offset))
        else:
            period, first = Fraction(every, HERTZ), Fraction(offset, HERTZ)
            self.system.add(block, name=name, rate=lw.sampled(period=period, offset=first))
        member = self.system.members[name].block  # as it runs at its rate
        part = Part(name, member, every, offset, **more)
        self.parts.append(part)
        return part

    # -- blocks ------------------------------------------------------------------------------------
    def static(self, name: str) -> None:
        """Outputs that follow inputs at once."""
        b = Block("static")
        b.input("u", self.number())
        k = b.parameter("k", self.number())
        part = b.intermediate(f"{self.number()}*u + 0.2*sin(t)")
        b.output("y", k * part)
        self.add(name, b)

    def lag(self, name: str) -> None:
        """A continuous state, with or without a way through."""
        b = Block("lag")
        u = b.input("u", self.number())
        x = b.state("x", f"{self.number(0.2, 2)}*(sin(u) - x)", self.number())
        b.output("y", x if self.random.random() < 0.6 else x + 0.4 * u)
        self.add(name, b)

    def sampled_state(self, name: str) -> None:
        """A continuous state at a rate: Euler's rule."""
        b = Block("euler")
        u = b.input("u", self.number())
        x = b.state("x", "0.8*(u - x)", 0.5)
        b.output("y", x + self.random.choice([0, 0.2]) * u, initial=self.number())
        self.add(name, b, sampled=True)

    def counter(self, name: str) -> None:
        """Memory alone."""
        b = Block("counter")
        n = b.discrete_state("n", "n + 1", self.number())
        b.output("y", lw.sin(n))
        self.add(name, b, sampled=True)

    def memory(self, name: str) -> None:
        """Two discrete_states that follow inputs and each other."""
        b = Block("memory")
        u, v = b.input("u", self.number()), b.input("v")
        p = b.discrete_state("p")
        w = b.discrete_state("w", p, self.number())
        b.update(p, 0.5 * w + lw.sin(u))
        through = self.random.choice([0.0, 0.0, 0.5])
        b.output("y", p - 0.3 * w + through * v, initial=self.number())
        self.add(name, b, sampled=True)

    def peak(self, name: str) -> None:
        """Memory of a continuous block: the time of the last accepted step."""
        b = Block("peak")
        b.output("y", b.discrete_state("top", "max(top, t)"))
        self.add(name, b, sampled=False)

    def bounce(self, name: str) -> None:
        """An event that sets a state and memory back."""
        b = Block("bounce")
        x = b.state("x", f"{self.number(0.5, 2)} + 0.2*sin(2*t)", self.number(-1, 0.5))
        n = b.discrete_state("n", "n")
        b.event("over", x - 1, direction=1, resets={x: x - 1.3, n: n + 1})
        b.output("y", 0.5 * x + n)
        self.add(name, b, sampled=False)

    def delay(self, name: str) -> None:
        """What was so many instants ago."""
        ticks, first = self.random.randint(1, 3), self.number()
        self.add(name, Delay(ticks, initial=first), sampled=True)

    def late(self, name: str) -> None:
        """A delay within a block, of a formula."""
        b = Block("late")
        u = b.input("u", self.number())
        b.output("y", b.delay(lw.sin(u), self.random.randint(1, 3), 0.1) + 0.1)
        self.add(name, b, sampled=True)

    def noise(self, name: str) -> None:
        """Random numbers, which the plain executor takes from the run."""
        self.add(name, WhiteNoise(0.3, mean=self.number()), sampled=True, given=True)

    def plain_block(self, name: str) -> None:
        """A hold, or an integrator."""
        if self.random.random() < 0.5:
            self.add(name, Hold(), sampled=True)
        else:
            self.add(name, Integrator(self.number()))

    def filter(self, name: str) -> None:
        """A linear filter, continuous or at a rate."""
        r = self.random
        every, offset = self.rate() if r.random() < 0.5 else (0, 0)
        rate = None
        if every:
            rate = lw.sampled(period=Fraction(every, HERTZ), offset=Fraction(offset, HERTZ))
        choices: list[Callable[[], Block]] = [
            lambda: lw.control.LeadLag(self.number(0.5, 2), self.number(1, 4), rate=rate),
            lambda: lw.control.TransferFunction([1.0], [1.0, 1.4, 2.0], rate=rate),
            lambda: lw.control.TransferFunction([0.5, 1.0], [1.0, 2.0], rate=rate),
        ]
        made = r.choice(choices)()
        self.system.add(made, name=name)
        self.parts.append(Part(name, made, every, offset))

    def pid(self, name: str) -> None:
        """A PID controller by itself."""
        self.add(
            name,
            lw.control.PID(
                self.number(0.1, 1),
                ki=self.number(0, 1),
                kd=self.number(0, 0.1),
                low=-0.7,
                high=0.8,
                filter=5.0,
            ),
        )

    def pair(self, name: str) -> None:
        """Two members in a loop that is to be solved; one in a System."""
        if any(s.solved for s in self.wires.values()):
            return self.static(name)
        slope, bend = self.number(0.1, 0.6), self.random.choice([0.0, 0.3])
        first, second = Block("first"), Block("second")
        u, v = first.input("u"), first.input("v", 0.4)
        first.output("y", slope * u + bend * lw.sin(u) + v)
        second.output("y", -0.5 * second.input("u") + 0.2)
        self.add(f"{name}a", first, sampled=False)
        self.add(f"{name}b", second, sampled=False)
        self.connect((f"{name}b", "u"), Source([(1.0, (f"{name}a", "y"))]))
        self.connect((f"{name}a", "u"), Source([(1.0, (f"{name}b", "y"))], 0.3, solved=True))
        return None

    # -- functions ---------------------------------------------------------------------------------
    def function(self, name: str) -> None:
        """A Python function, with or without memory of its own, that may keep its output."""
        k, through, keeps = (
            self.number(),
            self.random.choice([0.0, 0.5]),
            self.random.random() < 0.3,
        )
        reads_mechanism = self.mechanism is not None and self.random.random() < 0.5
        every, offset = self.rate()

        def made() -> Callable[[float, Mapping[str, float]], Any]:
            calls = [0]

            def law(t: float, given: Mapping[str, float]) -> Any:
                calls[0] += 1
                if keeps and calls[0] % 3 == 2:
                    return lw.KEEP
                more = given["rod"] - 0.1 * given["u[1]"] if reads_mechanism else 0.0
                first = k * math.sin(calls[0]) + through * given["a"] + 0.2 * more
                return first, math.cos(t) * given["b"]

            return law

        mine = made()
        if reads_mechanism:

            def called(t: float, a: float, b: float, rod: float, u: Any) -> Any:
                found = mine(t, {"a": a, "b": b, "rod": rod, "u[1]": u[1]})
                return found if found is lw.KEEP else {"pair": found}
        else:

            def called(t: float, a: float, b: float = 0.7) -> Any:  # type: ignore[misc]
                found = mine(t, {"a": a, "b": b})
                return found if found is lw.KEEP else [found]

        inputs = {"a": None, "b": None}
        added = self.system.add(
            called, rate=Ticks(every, offset), name=name, outputs={"pair": 2}, inputs=inputs
        )
        assert isinstance(added.block, Foreign)
        self.parts.append(Part(name, added.block, every, offset, function=made()))
        if reads_mechanism:
            self.wires[name, "rod"] = Source([(1.0, ("", "rod"))])
            self.wires[name, "u[0]"] = Source([(1.0, ("", "cart_dot"))])
            self.wires[name, "u[1]"] = Source([(1.0, ("", "rod_dot"))])

    # -- elements and controllers ------------------------------------------------------------------
    def element(self, name: str) -> None:
        """A spring, friction, a stop or an encoder."""
        m, q = self.mechanism, self.random.choice(("cart", "rod"))
        e = lw.elements
        choices: list[Callable[[], Block]] = [
            lambda: e.JointSpring(m, q, self.number(1, 8), rest=0.2, damping=0.3),
            lambda: e.Friction(m, q, coulomb=0.4, viscous=0.3, smoothing=0.3),
            lambda: e.LuGre(m, q, stiffness=4, damping=0.5, coulomb=0.3, static=0.4, stribeck=0.5),
            lambda: e.Stop(m, q, -0.9, 0.9, stiffness=40.0, damping=0.0),
            lambda: e.Encoder(m, q, resolution=0.01),
        ]
        made = self.random.choice(choices)()
        sampled = None if not made.crossings else False
        self.add(name, made, sampled=True if made.needs_rate else sampled)

    def controller(self, name: str) -> None:
        """A joint controller."""
        m, c = self.mechanism, lw.control
        choices: list[Callable[[], Block]] = [
            lambda: c.PD(m, kp=self.number(1, 6), kd=0.5, target=0.3),
            lambda: c.PD(m, kp=5.0, kd=0.5, joints=["rod"], target=0.3, limit=2.0),
            lambda: c.JointPID(m, 4.0, 1.0, 0.3, limit=3.0, target=0.1),
            lambda: c.GravityCompensation(m),
            lambda: c.ComputedTorque(m, kp=4.0, kd=2.0, target=0.2),
        ]
        made = self.random.choice(choices)()
        self.add(name, made, sampled=True if made.needs_rate else None)

    def drive(self, name: str) -> None:
        """An effort that comes in by a port."""
        b = lw.Element("drive", self.mechanism)
        b.effort("tau", self.random.choice(("cart", "rod")), b.input("u", self.number()))
        self.add(name, b)

    # -- wiring ------------------------------------------------------------------------------------
    def refs(self, before: int | None = None) -> list[Ref]:
        """What can be read: outputs of the first members (of all), states, the mechanism."""
        found: list[Ref] = []
        for p in self.parts[:before]:
            found += [(p.name, s.name) for o in p.block.outputs.values() for s in o.symbols]
        for p in self.parts:
            if self.random.random() < 0.15:
                found += [(p.name, s.name) for s in (*p.block.states, *p.block.discrete_states)]
        if self.mechanism is not None:
            found += [("", n) for n in ("cart", "rod", "cart_dot", "rod_dot")]
        return found

    def wire(self) -> None:
        """Drive most of the input ports."""
        r = self.random
        for i, p in enumerate(self.parts):
            if isinstance(p.block, lw.Element) and "u" not in p.block.inputs:
                continue  # it measures the mechanism
            for port in p.block.inputs.values():
                for s in port.symbols:
                    target = p.name, s.name
                    if target in self.wires or r.random() < 0.25:
                        continue
                    known = self.refs(None if r.random() < 0.12 else i)
                    chosen = [r.choice(known) for _ in range(r.randint(1, 2))] if known else []
                    terms = [(self.number(-0.6, 0.6), ref) for ref in chosen]
                    self.connect(target, Source(terms, self.number(), r.choice([0.0, 0.2])))

    def connect(self, target: Ref, source: Source) -> None:
        """Make a connection for both."""
        self.wires[target] = source
        s = self.system
        value: Any = source.constant + source.slope * s.time
        for weight, (member, name) in source.terms:
            value = value + weight * self.symbol(member, name)
        s.connect(value, self.symbol(*target), solve=source.solved)

    def symbol(self, member: str, name: str) -> Any:
        """The System's symbol of a reference."""
        if not member:
            assert self.mechanism is not None
            return self.mechanism.expr(name)
        stem, bracket, rest = name.partition("[")
        block = self.system.members[member].block
        if bracket and (stem in block.inputs or stem in block.outputs):
            return self.system.members[member][stem][int(rest[:-1])]
        return self.system.members[member][name]
