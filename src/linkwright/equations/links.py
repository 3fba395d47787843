"""Bodies as the recursions of dynamics see them: components, arms and moments.

For each body there are the axes along which its vectors are written (its own, or those of its
parent's link), the reference point, and its moments about it, all as `Choices` say. A rotor, whose
inertia does not depend on its angle, is always written along its parent's axes, so that its sine
and cosine never appear. Where a link is written along the axes above it, its child turns by the sum
of the two angles if the axes are parallel.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TypeAlias

from linkwright.algebra import ZERO, Expr, Frame, Vector
from linkwright.algebra.triples import (
    IDENTITY,
    NOTHING,
    Matrix,
    Triple,
    apply,
    is_nothing,
    transposed,
)
from linkwright.equations.choices import ABOVE, DEFAULT, Choice, Choices, places
from linkwright.equations.inertia import (
    Moments,
    axes_product,
    is_rotor,
    lumped,
    rotor_moments,
    symmetric,
    turned,
)
from linkwright.equations.writer import Writer
from linkwright.mechanism import Body, Kinematics

Triple3: TypeAlias = tuple[int, int, int]


@dataclass(slots=True)
class RecursionLink:
    """One body during the recursion; all components in the basis `frame`."""

    body: Body  # the body
    frame: Frame  # along whose axes components are
    choice: Choice  # what was chosen for it
    rotation: Matrix  # rows are the axes of `frame` in those of the parent's link
    arm: Triple  # from the parent's reference point to this one's, along the parent's axes
    reference: Vector  # the reference point, relative to the body's origin
    moments: Moments  # about the reference point
    # index, angular and translational partial velocity of each speed of the joint
    speeds: list[tuple[int, Triple, Triple]]
    omega: Triple = NOTHING
    alpha: Triple = NOTHING
    acceleration: Triple = NOTHING
    force: list[Triple] = field(default_factory=list)
    moment: list[Triple] = field(default_factory=list)
    spread: Matrix | None = None
    # moment about the reference point and force that the joint puts on the body, once the recursion
    # has gone inward
    carried: tuple[Triple, Triple] = (NOTHING, NOTHING)


def make_links(
    kinematics: Kinematics,
    writer: Writer,
    choices: Choices | None = None,
    own: Mapping[Body, Moments] | None = None,
) -> dict[Body, RecursionLink]:
    """Return the links of a tree, parents first."""
    chosen = choices or Choices()
    mechanism = kinematics.mechanism
    kept = {b: chosen.of(b).left for b in mechanism.bodies.values() if chosen.of(b).left}
    moments = lumped(kinematics, regroup=chosen.regroup, left=kept, own=own)
    slid = any(c.place for c in chosen.bodies.values())
    at = places(kinematics) if slid else {}
    maker = LinkMaker(kinematics, writer, regroup=chosen.regroup)
    links: dict[Body, RecursionLink] = {}
    for body in mechanism.depth_first():
        assert body.parent is not None
        choice = chosen.of(body)
        slide = at[body][choice.place] if choice.place else None
        links[body] = maker(body, links.get(body.parent), moments[body], choice, slide)
    return links


class LinkMaker:
    """Makes the links of a tree, parents first."""

    def __init__(self, kinematics: Kinematics, writer: Writer, *, regroup: bool = True) -> None:
        mechanism = kinematics.mechanism
        self.kinematics, self.writer, self.regroup = kinematics, writer, regroup
        self.index = {s.symbol: k for k, s in enumerate(kinematics.speeds)}
        self._parents = {b.parent for b in mechanism.bodies.values()}
        self._loaded = {f.point.body for f in mechanism.forces}
        self._loaded |= {f.reaction for f in mechanism.forces}

    def __call__(
        self,
        body: Body,
        upper: RecursionLink | None,
        held: Moments,
        choice: Choice = DEFAULT,
        slide: Vector | None = None,
    ) -> RecursionLink:
        """Return the link of a body."""
        kinematics, writer, parent = self.kinematics, self.writer, body.parent
        assert parent is not None
        above = parent.frame if upper is None else upper.frame
        reference = kinematics.motions[body].reference
        if slide is not None:
            reference = reference + slide
            x, y, z = slide.components(body.frame)
            held = held.moved((-x, -y, -z))
        frame = body.frame
        if upper is None and self.regroup:
            held = _at_the_root(kinematics, body, held)
        held = held.held(writer)
        alone = body not in self._parents and body not in self._loaded
        if alone and is_rotor(body, held):
            frame, held = above, rotor_moments(body, held, above).held(writer)
        elif choice.axes == ABOVE:
            frame = above
            held = turned_back(writer, held, rotation_between(body.frame, above)).held(writer)
        rotation = IDENTITY if frame is above else rotation_between(frame, above)
        base = Vector({}) if upper is None else upper.reference
        arm = (body.from_parent + reference - base).components(above)
        speeds = [
            (self.index[s.symbol], s.omega.components(frame), s.velocity.components(frame))
            for s in kinematics.motions[body].speeds
        ]
        return RecursionLink(
            body, frame, choice, rotation, writer.triple(arm), reference, held, speeds
        )


def _at_the_root(kinematics: Kinematics, body: Body, own: Moments) -> Moments:
    """Return what matters of a body that turns about one axis in the ground: J about it, and h."""
    if kinematics.motions[body].absolute or len(body.rotations) != 1 or body.translations:
        return own
    axis = body.frame.spins[0][1]
    a = axis.components(body.frame)
    k = next((k for k in range(3) if a[k].op == "num" and abs(a[k].data) == 1), None)
    if k is None or body.lead is not ZERO:
        return own
    i, j = (k + 1) % 3, (k + 2) % 3
    about = own.second[i][i] + own.second[j][j]
    second = symmetric(lambda r, s: about if r == s == i else ZERO)
    heavy = not (kinematics.mechanism.gravity_vector ^ axis).is_zero
    return Moments(own.mass, own.first if heavy else NOTHING, second)


def rotation_between(frame: Frame, above: Frame) -> Matrix:
    """Return the axes of a frame in those of one above it; angles about one line are added."""
    merged = _one_turn(frame, above)
    return axes_product(frame, above) if merged is None else merged


def _one_turn(frame: Frame, above: Frame) -> Matrix | None:
    turn, upper = frame.turn, frame.parent
    if turn is None or upper is above or upper is None:
        return None
    line = frame.directions[turn.index]
    while upper is not above:
        if upper.turn is None or upper.parent is None:
            return None
        if upper.directions[upper.turn.index] is not line:
            return None
        sense = frame.signs[turn.index] * upper.signs[upper.turn.index]
        turn = turn.after(upper.turn, sense)
        upper = upper.parent
    return turn.cosines()


def turned_back(writer: Writer, moments: Moments, rotation: Matrix) -> Moments:
    """Return moments along the axes of which `rotation` gives the present ones."""
    if rotation == IDENTITY:
        return moments
    first = writer.triple(apply(transposed(rotation), moments.first))
    return Moments(moments.mass, first, turned_symmetric(writer, moments.second, rotation))


def turned_symmetric(writer: Writer, old: Matrix, rotation: Matrix) -> Matrix:
    """Return a symmetric matrix along the axes of which `rotation` gives the present ones.

    One rotation about an axis k has a cheap form: with t = s (S_ii - S_jj) + 2 c S_ij the entries
    before it are S_ii - s t, S_jj + s t and c t - S_ij. Axes that change their names, as the
    quarter turns between the links of an arm make them, cost nothing.
    """
    plane = _plane(rotation)
    if plane is None:
        return turned(Moments(ZERO, NOTHING, old), transposed(rotation)).second
    (i, j, k), names, signs = plane
    c, s = rotation[i][names[i]], signs[j] * rotation[i][names[j]]
    hold = writer.hold
    lever = hold(s * hold(old[i][i] - old[j][j]) + 2 * c * old[i][j])
    step = hold(s * lever)
    entries: dict[tuple[int, int], Expr] = {
        (i, i): old[i][i] - step,
        (j, j): old[j][j] + step,
        (k, k): old[k][k],
        (i, j): c * lever - old[i][j],
        (i, k): c * old[i][k] - s * old[j][k],
        (j, k): s * old[i][k] + c * old[j][k],
    }
    renamed = {}
    for (a, b), value in entries.items():
        pair = min(names[a], names[b]), max(names[a], names[b])
        renamed[pair] = signs[a] * signs[b] * hold(value)
    return symmetric(lambda a, b: renamed[a, b])


def _plane(rotation: Matrix) -> tuple[Triple3, Triple3, Triple3] | None:
    """Return i, j and the axis k of a turn, and the name and sign of each axis before it.

    None where the rotation is not one turn about an axis of both frames. With small angles there
    are ones on the whole diagonal, and the sines need not be opposite.
    """
    for k in range(3):
        ones = [m for m in range(3) if _is_unit(rotation[k][m])]
        others = [rotation[k][m] for m in range(3) if m not in ones]
        if len(ones) != 1 or not is_nothing(others):
            continue
        i, j = (k + 1) % 3, (k + 2) % 3
        last = ones[0]
        one, other = (last + 1) % 3, (last + 2) % 3
        c, s = rotation[i][one], rotation[i][other]
        for sign in (1, -1):
            if rotation[j][other] is sign * c and rotation[j][one] is -sign * s:
                names, signs = [0, 0, 0], [1, 1, 1]
                names[i], names[j], names[k] = one, other, last
                signs[j], signs[k] = sign, int(rotation[k][last].data)
                return (i, j, k), (names[0], names[1], names[2]), (signs[0], signs[1], signs[2])
    return None


def _is_unit(x: Expr) -> bool:
    return x.op == "num" and abs(x.data) == 1
