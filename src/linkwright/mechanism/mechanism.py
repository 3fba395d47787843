"""The Mechanism: what the analyst describes, and what Linkwright derives from.

The class is built up in four files: its symbols and parts (`workspace`), bodies and points
(`assembly`), loads (`loading`), and here the relations that must hold and the results to be shown.
"""

from __future__ import annotations

from collections.abc import Callable

from linkwright.algebra import Expr, symbol
from linkwright.mechanism.joints import MechanismError
from linkwright.mechanism.loading import Loaded
from linkwright.mechanism.parts import Body, Constraint, Output, Point, State
from linkwright.mechanism.workspace import Value


class Mechanism(Loaded):
    """A mechanism of rigid bodies.

    Args:
        name: a word that names it; it owns the mechanism's symbols.
        doc: one line that says what it is.

    >>> m = Mechanism("pendulum")
    >>> rod = m.body("rod", rotate="z", mass="m", com=("L", 0, 0), inertia=0)
    >>> m.gravity(along=-m.y)
    >>> rod.omega
    rod_dot*n.z
    """

    def constrain(self, zero: Value, *, name: str = "", eliminate: Value = None) -> Constraint:
        """Add a relation between speeds that must hold (for rolling, prescribed speeds).

        Args:
            zero: an expression, linear in the speeds, that must vanish.
            name: its name.
            eliminate: the speed to eliminate; chosen automatically by default.

        >>> m = Mechanism("m")
        >>> b = m.body("b", translate="x")
        >>> m.constrain("b_dot - V").speed
        b_dot - V
        """
        speed = self.expr(zero)
        chosen = None if eliminate is None else self.expr(eliminate)
        made = Constraint(name or f"constraint {len(self.constraints) + 1}", speed, None, chosen)
        self.constraints.append(made)
        return made

    def constrain_position(
        self, zero: Value, *, name: str = "", eliminate: Value = None
    ) -> Constraint:
        """Add a relation between coordinates that must hold, with its rate as relation of speeds.

        Args:
            zero: an expression of the coordinates (and time) that must vanish.
            name: its name.
            eliminate: the coordinate to compute from it; chosen automatically by default.

        >>> m = Mechanism("m")
        >>> a, b = m.body("a", rotate="z"), m.body("b", rotate="z")
        >>> m.constrain_position("a + 2*b").speed
        a_dot + 2*b_dot
        """
        position = self.expr(zero)
        chosen = None if eliminate is None else self.expr(eliminate)
        speed = self.kinematics().derivative(position)
        assert isinstance(speed, Expr)
        made = Constraint(
            name or f"constraint {len(self.constraints) + 1}", speed, position, None, chosen
        )
        self.constraints.append(made)
        return made

    def no_movement(
        self, first: Point, second: Point, along: Value, *, name: str = ""
    ) -> Constraint:
        """Let two points not move apart along a direction: a relation of position and one of speed.

        Args:
            first: a point of one body.
            second: a point of another.
            along: the direction.
            name: its name.

        >>> m = Mechanism("m")
        >>> b = m.body("b", translate="xy")
        >>> m.no_movement(b.origin, m.origin, "x").position
        b.x
        """
        direction = self.vector(along)
        position = direction @ (first.position - second.position)
        speed = direction @ (first.velocity - second.velocity)
        made = Constraint(
            name or f"{first.name} to {second.name} along {direction}", speed, position
        )
        self.constraints.append(made)
        return made

    def roll(
        self,
        wheel: Body,
        radius: Value,
        *,
        forward: Value = None,
        lateral: bool = True,
        name: str = "",
    ) -> tuple[Constraint, ...]:
        """Let a wheel roll without slip on the ground below it, its axle level.

        Args:
            wheel: a body with one rotation, about its axle.
            radius: m.
            forward: the direction of rolling; by default across the axle and the ground's z.
            lateral: whether the wheel does not slip sideways either.
            name: a name for the relations.

        >>> m = Mechanism("m")
        >>> b = m.body("b", translate="x")
        >>> w = m.body("w", parent=b, rotate="y")
        >>> [str(c.speed) for c in m.roll(w, "R", lateral=False)]
        ['R*w_dot - b_dot']
        """
        if len(wheel.rotations) != 1 or wheel.parent is None:
            raise MechanismError(f"{wheel.name!r} has not one rotation, so it cannot roll")
        axle = wheel.frame.spins[0][1]
        ahead = (axle ^ self.z) if forward is None else self.vector(forward)
        spin = axle @ (wheel.omega - wheel.parent.omega)
        label = name or wheel.name
        made = [
            self.constrain(
                self.expr(radius) * spin - wheel.origin.velocity @ ahead, name=f"{label} rolls"
            )
        ]
        if lateral:
            made.append(self.constrain(wheel.origin.velocity @ axle, name=f"{label} does not slip"))
        return tuple(made)

    def state(self, name: str, derivative: Value, initial: float = 0.0, *, unit: str = "?") -> Expr:
        """Add a first-order state of your own.

        Args:
            name: its name.
            derivative: its rate; the text may use the state itself.
            initial: its value at the start.
            unit: its unit.

        >>> m = Mechanism("m")
        >>> m.state("z", "-k*z")
        z
        """
        self._refuse_taken(name)
        z = symbol(name, "coordinate", owner=self.name)
        self.coordinates[name] = z
        self.units[name] = unit
        self.states.append(State(z, self.expr(derivative), initial))
        return z

    def output(
        self, name: str, value: Value, *, unit: str = "?", doc: str = "", body: Body | None = None
    ) -> Output:
        """Add a channel of results.

        Args:
            name: its name.
            value: an expression; accelerations may occur in it.
            unit: its unit.
            doc: a longer name.
            body: the body that it belongs to.

        >>> m = Mechanism("m")
        >>> b = m.body("b", rotate="z")
        >>> m.output("rate", b.omega @ m.z, unit="rad/s").value
        b_dot
        """
        made = Output(name, self.expr(value), unit, doc or name, "" if body is None else body.name)
        self.outputs.append(made)
        return made

    def function(self, name: str, callable_: Callable[..., object]) -> None:
        """Make a function known to texts: a table, a foreign function, a Python callable.

        Args:
            name: how texts call it.
            callable_: expressions to an expression.

        >>> m = Mechanism("m")
        >>> m.function("twice", lambda x: 2 * x)
        >>> m.expr("twice(a)")
        2*a
        """
        self.functions[name] = callable_
