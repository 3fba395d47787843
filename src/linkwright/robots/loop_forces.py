"""What closes loops carries: multipliers of constraints, and what they put on the bodies.

The recursion over the tree gives what each speed would need, M u' - f, as if nothing closed the
loops. In the joints that no actuator drives it comes from the constraints: J_D^T lambda = needed_D,
with J_D the columns of the eliminated speeds (Featherstone, Rigid Body Dynamics Algorithms, section
8.3). Each constraint then acts on its bodies where its works say, and a second recursion carries
that inward, so that every joint shows all that it carries. A relation that the others imply carries
nothing: how an overconstrained machine shares its load depends on its clearances.
"""

from __future__ import annotations

from collections.abc import Mapping

from linkwright.algebra import ZERO, Expr, Frame, Vector, linear_coefficients
from linkwright.algebra.triples import (
    IDENTITY,
    NOTHING,
    Matrix,
    Triple,
    add,
    apply,
    cross,
    subtract,
    times,
    transposed,
)
from linkwright.equations.closure import closed_samples
from linkwright.equations.constraints import nonzero_rows, sampled_rows
from linkwright.equations.links import RecursionLink, rotation_between
from linkwright.equations.pivots import solve_in_safe_order
from linkwright.equations.tree import Tree
from linkwright.equations.writer import Writer
from linkwright.mechanism import Body, Constraint, Mechanism, Point
from linkwright.program import Assign, Namer
from linkwright.robots.kinematics import product


def loop_names(mechanism: Mechanism) -> tuple[str, ...]:
    """Return what closes loops: joints by their names, then rods and driven struts.

    >>> m = Mechanism("m")
    >>> b = m.body("b", translate="x", mass=1)
    >>> cylinder = m.drive_strut("cylinder", m.origin, b)
    >>> loop_names(m)
    ('cylinder',)
    """
    return tuple(_closing(mechanism))


def _closing(mechanism: Mechanism) -> dict[str, tuple[frozenset[str], Point]]:
    """Return the relations of what closes loops, and the point of its second body."""
    found = {x.name: (x.relations, x.second) for x in mechanism.loops}
    stated = {name for relations, _ in found.values() for name in relations}
    for c in mechanism.constraints:
        if c.name not in stated and c.works:
            name = c.name if c.length is None else c.length.name
            found[name] = frozenset({c.name}), c.works[0].point
    return found


class LoopForces:
    """The forces of constraints of a tree, as expressions."""

    def __init__(
        self,
        tree: Tree,
        writer: Writer,
        links: Mapping[Body, RecursionLink],
        needed: Mapping[Expr, Expr],
    ) -> None:
        self._writer, self._links = writer, links
        self._mechanism = tree.kinematics.mechanism
        self._bodies = {body.frame: body for body in links}
        self._down: dict[Body, Matrix] = {}
        self.multipliers = _multipliers(tree, writer, needed)

    def _world(self, vector: Vector) -> Triple:
        """Return a vector along the ground's axes."""
        by_frame: dict[Frame, Vector] = {}
        for direction, coefficient in vector.terms:
            part = Vector({direction: coefficient})
            frame = direction.frame
            by_frame[frame] = by_frame.get(frame, Vector({})) + part
        parts = []
        for frame, part in by_frame.items():
            body = self._bodies.get(frame)
            if body is None:
                parts.append(part.components(self._mechanism.ground.frame))
                continue
            local = self._in_link(body, part.components(frame))
            parts.append(apply(transposed(self.down(body)), self._writer.triple(local)))
        return self._writer.triple(add(NOTHING, *parts))

    def down(self, body: Body) -> Matrix:
        """Return the matrix from the ground's axes to those of a body's link."""
        known = self._down.get(body)
        if known is None:
            above, rotation = body.parent, self._links[body].rotation
            if above is None or above not in self._links:
                known = IDENTITY if rotation == IDENTITY else rotation
            else:
                known = product(self._writer, rotation, self.down(above))
            self._down[body] = known
        return known

    def _in_link(self, body: Body, components: Triple) -> Triple:
        """Return the components along the axes of a body's link of a vector along its own."""
        frame = self._links[body].frame
        if frame is body.frame:
            return components
        return apply(transposed(rotation_between(body.frame, frame)), components)

    def push(self, links: Mapping[Body, RecursionLink]) -> None:
        """Let all constraints act on the links of another recursion."""
        for constraint, value in self.multipliers.items():
            for work in constraint.works:
                force = self._writer.triple(times(value, self._world(work.direction)))
                self._push(links, work.point, force, work.turns, -1)
                self._push(links, work.reaction, force, work.turns, 1)

    def _push(
        self,
        links: Mapping[Body, RecursionLink],
        point: Point,
        force: Triple,
        turns: bool,
        sign: int,
    ) -> None:
        """Let a body put a force or a couple, along the ground's axes, on what is around it."""
        body = point.body
        if body not in links:
            return
        link, writer = links[body], self._writer
        local = writer.triple(apply(self.down(body), force))
        if sign < 0:
            local = subtract(NOTHING, local)
        if turns:
            link.moment.append(local)
            return
        arm = self._in_link(body, point.local.components(body.frame))
        arm = subtract(arm, link.reference.components(link.frame))
        link.force.append(local)
        link.moment.append(writer.triple(cross(arm, local)))

    def on_second(self) -> list[list[Expr]]:
        """Return force and moment on the second body of what closes each loop, as `loop_names`.

        They are along the ground's axes, the moment about the point of the second body.
        """
        by_name = {c.name: (c, value) for c, value in self.multipliers.items()}
        rows = []
        for relations, end in _closing(self._mechanism).values():
            force, moment = NOTHING, NOTHING
            for name in sorted(relations & by_name.keys()):
                constraint, value = by_name[name]
                for work in constraint.works:
                    for point, sign in ((work.point, 1), (work.reaction, -1)):
                        if point.body is not end.body:
                            continue
                        part = times(sign * value, self._world(work.direction))
                        if work.turns:
                            moment = add(moment, part)
                            continue
                        force = add(force, part)
                        if point is not end:
                            arm = self._world(point.position - end.position)
                            moment = add(moment, cross(arm, self._writer.triple(part)))
            rows.append([*self._writer.triple(force), *self._writer.triple(moment)])
        return rows


def _multipliers(tree: Tree, writer: Writer, needed: Mapping[Expr, Expr]) -> dict[Constraint, Expr]:
    """Return the multiplier of each constraint that eliminates a speed."""
    mechanism = tree.kinematics.mechanism
    assert tree.reduction is not None
    assert isinstance(mechanism, Mechanism)
    active = [(e.constraint, e.speed) for e in tree.reduction.eliminations if e.speed is not None]
    speeds = [s.symbol for s in tree.kinematics.speeds]
    rows = [linear_coefficients(c.speed, speeds)[0] for c, _ in active]
    dependent = [speeds.index(u) for _, u in active]
    right = [writer.hold(needed[speeds[k]]) for k in dependent]
    if all(x is ZERO for x in right):
        return {c: ZERO for c, _ in active}
    samples = closed_samples(mechanism, mechanism.values)
    table = nonzero_rows(rows, speeds)
    matrix = [[writer.hold(row[k]) for row in table] for k in dependent]
    sampled = sampled_rows(rows, speeds, mechanism.values, samples)
    transposed_part = sampled[:, :, dependent].transpose(0, 2, 1)
    statements, solved = solve_in_safe_order(
        matrix, [right], Namer(None, "lambda"), transposed_part
    )
    for s in statements:
        assert isinstance(s, Assign)
        writer.assign(s.target, s.value)
    return {c: value for (c, _), value in zip(active, solved[0], strict=True)}
