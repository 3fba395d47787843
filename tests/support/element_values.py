"""What an element computes at given states, by evaluating its expressions one after the other."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from linkwright.algebra import Expr, evaluate, free_symbols
from linkwright.blocks import Element
from linkwright.program import Assign


class Evaluated:
    """An element at states of its mechanism; arrays as states give arrays.

    Args:
        element: whose parameters have their own values, and whose inputs their defaults.
        at: coordinates and speeds of the mechanism by name; others are zero.
        own: states, memory and inputs of the element by name; others start as it says.
    """

    def __init__(
        self, element: Element, at: Mapping[str, Any], own: Mapping[str, Any] | None = None
    ) -> None:
        m = element.mechanism
        self.element = element
        speeds = {s.symbol.name for s in m.kinematics().speeds}
        assert set(at) <= {*m.coordinates, *speeds}, (set(at), speeds)
        self.known: dict[Expr, Any] = {q: at.get(n, 0.0) for n, q in m.coordinates.items()}
        self.known |= {s.symbol: at.get(s.symbol.name, 0.0) for s in m.kinematics().speeds}
        self.known |= {x: m.values[n] for n, x in m.parameters.items() if n in m.values}
        self.known |= {p.symbol: p.value for p in element.parameters.values()}
        given = own or {}
        for table in (element.states, element.discrete_states):
            for x, state in table.items():
                self.known[x] = given.get(x.name, evaluate(state.initial, self.known))
        for port in element.inputs.values():
            for x, value in zip(port.symbols, port.values, strict=True):
                self.known[x] = given.get(x.name, evaluate(value, self.known))
        for statement in element.statements:
            assert isinstance(statement, Assign)
            self.known[statement.target] = evaluate(statement.value, self.known)
        for port in element.outputs.values():
            for x, value in zip(port.symbols, port.values, strict=True):
                self.known[x] = evaluate(value, self.known)

    def __getitem__(self, name: str) -> Any:
        """Return an output."""
        return self.known[self.element.outputs[name].symbols[0]]

    def value(self, expr: Expr) -> Any:
        """Return an expression of the mechanism or the element."""
        missing = [x for x in free_symbols(expr) if x not in self.known]
        assert not missing, missing
        return evaluate(expr, self.known)

    @property
    def power(self) -> Any:
        """The power of all its forces and moments on the mechanism, W."""
        total: Any = 0.0
        for force in self.element.forces:
            body, other = force.point.body, force.reaction
            speed = force.point.velocity
            if other.parent is not None:
                arm = force.point.position - other.origin.position
                speed = speed - other.origin.velocity - other.omega.cross(arm)
            assert body.mechanism is self.element.mechanism
            total = total + self.value(force.magnitude) * self.value(speed @ force.direction)
        for moment in self.element.moments:
            turn = moment.body.omega - moment.reaction.omega
            total = total + self.value(moment.magnitude) * self.value(turn @ moment.direction)
        return total
