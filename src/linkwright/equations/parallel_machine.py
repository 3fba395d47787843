"""A parallel machine: a mechanism with actuators and platform, as expressions of coordinates.

Everything that is asked of closed loops (closing in batches, assemblies, singularities, charts,
stiffness, errors) is a function of the same few expressions: the relations that vanish where the
loops are closed, the coordinates of the actuators, and the pose of the platform.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace

from linkwright.algebra import ONE, Expr, substitute_all, symbol, total
from linkwright.algebra.triples import Matrix, Triple
from linkwright.base.errors import InputError
from linkwright.base.reprs import one_line
from linkwright.mechanism import Mechanism, ModelLike, mechanism_of
from linkwright.mechanism.parts import Platform


@one_line
@dataclass(frozen=True, slots=True, eq=False)
class ParallelMachine:
    """A mechanism with its actuators and its platform."""

    mechanism: Mechanism  # with the values of its parameters
    coordinates: tuple[Expr, ...]  # all coordinates of the tree, in order
    # expressions that vanish where the loops are closed; the last ones keep quaternions at unit
    # length
    relations: tuple[Expr, ...] = field(repr=False)
    names: tuple[str, ...] = field(repr=False)  # of the relations
    actuators: tuple[Expr, ...]  # the coordinates that are driven, in order
    position: Triple = field(repr=False)  # of the platform's point, along the ground's axes, m
    # rows of the matrix that takes the platform's components to the ground's
    rotation: Matrix = field(repr=False)
    # unit vector along which the platform points, along the ground's axes
    direction: Triple = field(repr=False)

    @property
    def passive(self) -> tuple[Expr, ...]:
        """The coordinates that no actuator drives."""
        driven = set(self.actuators)
        return tuple(q for q in self.coordinates if q not in driven)

    @property
    def platform(self) -> Platform:
        """The point and the axis of the platform."""
        found = self.mechanism.platform
        assert found is not None, "a parallel machine has a platform"
        return found

    @property
    def parameters(self) -> tuple[Expr, ...]:
        """The parameters of the mechanism, by name."""
        return tuple(p for _, p in sorted(self.mechanism.parameters.items()))


def with_free_dimensions(machine: ParallelMachine, names: Sequence[str]) -> ParallelMachine:
    """Return the machine with dimensions as coordinates after its own, for errors and design.

    >>> m = Mechanism("m")
    >>> a = m.body("a", rotate="z")
    >>> p = m.set_platform(m.point("tip", a, ("L", 0, 0)))
    >>> m.actuate("a")
    >>> with_free_dimensions(parallel_machine(m), ["L"]).coordinates
    (a, L)
    """
    m = machine.mechanism
    free = {m.parameters[n]: symbol(n, "coordinate", owner=f"{m.name} dimensions") for n in names}
    turned = [x for row in machine.rotation for x in row]
    parts = [*machine.relations, *machine.position, *turned, *machine.direction]
    made = substitute_all(parts, dict(free))
    n = len(machine.relations)
    x, r, d = made[n : n + 3], made[n + 3 : n + 12], made[n + 12 :]
    return replace(
        machine,
        coordinates=(*machine.coordinates, *free.values()),
        relations=tuple(made[:n]),
        position=(x[0], x[1], x[2]),
        rotation=((r[0], r[1], r[2]), (r[3], r[4], r[5]), (r[6], r[7], r[8])),
        direction=(d[0], d[1], d[2]),
    )


def parallel_machine(
    source: ModelLike,
    *,
    actuators: Sequence[str] | None = None,
    platform: str | None = None,
) -> ParallelMachine:
    """Return a mechanism as a parallel machine.

    >>> m = Mechanism("m")
    >>> a = m.body("a", rotate="z")
    >>> b = m.body("b", parent=a, at=(1, 0, 0), rotate="z")
    >>> m.constrain_distance(m.point("p", b, (1, 0, 0)), m.point("o2", at=(1, 1, 0)), 1).name
    'p to o2 at a distance'
    >>> m.actuate("a")
    >>> parallel_machine(m, platform="b").passive
    (b,)
    """
    given = mechanism_of(source).with_drives(actuators, platform)
    if not given.actuators:
        raise InputError(
            f"{given.name!r} names no actuators",
            remedy='name them: m.actuate("leg1", "leg2"), or actuators = [...] in its file',
        )
    if given.platform is None:
        raise InputError(
            f"{given.name!r} names no platform",
            remedy='name it: m.set_platform("dish"), or platform = "dish" in its file',
        )
    states = {s.symbol for s in given.states}
    coordinates = tuple(q for q in given.coordinates.values() if q not in states)
    closed = [c for c in given.constraints if c.position is not None]
    units = [b.rotations for b in given.bodies.values() if b.joint.quaternion]
    relations = [c.position for c in closed if c.position is not None]
    relations += [total(e**2 for e in unit) - ONE for unit in units]
    names = [c.name for c in closed] + ["a quaternion has unit length"] * len(units)
    point, axis = given.platform.point, given.platform.axis
    ground = given.ground.frame
    x, y, z = (a.components(ground) for a in point.axes)
    return ParallelMachine(
        given,
        coordinates,
        tuple(relations),
        tuple(names),
        tuple(given.actuators),
        point.position.components(ground),
        ((x[0], y[0], z[0]), (x[1], y[1], z[1]), (x[2], y[2], z[2])),
        axis.components(ground),
    )
