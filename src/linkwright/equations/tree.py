"""Dynamics of a tree of bodies: composite mass matrix and recursive bias forces.

For each body B with parent A, all components are taken in the axes of B (in those of A for a rotor,
whose inertia does not depend on its angle, so that its sine and cosine never appear). Going
outward, angular velocity, angular acceleration and acceleration of the reference point are found
with all rates of speeds zero; gravity is an acceleration of the ground. Going inward, inertia
forces are summed and projected on the joints (Luh, Walker and Paul 1980), and composite moments
give the mass matrix column by column (Walker and Orin 1982). The result is M(q) and f with M u' =
f, for the speeds of the tree, constraints not yet applied.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from linkwright.algebra import ZERO, Expr, Frame, Vector, total
from linkwright.equations.inertia import (
    NO_MASS,
    Moments,
    axes_product,
    is_rotor,
    lumped,
    rotor_moments,
    symmetric,
    turned,
)
from linkwright.equations.loads import external_loads, internal_forces
from linkwright.equations.writer import (
    IDENTITY,
    NOTHING,
    Matrix,
    Triple,
    Writer,
    add,
    apply,
    cross,
    dot,
    is_nothing,
    subtract,
    times,
    transposed,
)
from linkwright.mechanism import Body, Kinematics


@dataclass(frozen=True, slots=True)
class TreeDynamics:
    """Mass matrix and right side for the speeds of the tree, in order."""

    mass: tuple[tuple[Expr, ...], ...]
    right: tuple[Expr, ...]


@dataclass(slots=True)
class _Link:
    """One body during the recursion; all components in the basis `frame`."""

    body: Body
    frame: Frame
    rotation: Matrix
    arm: Triple
    moments: Moments
    speeds: list[tuple[int, Triple, Triple]]
    omega: Triple = NOTHING
    alpha: Triple = NOTHING
    acceleration: Triple = NOTHING
    force: list[Triple] = field(default_factory=list)
    moment: list[Triple] = field(default_factory=list)
    _spread: Matrix | None = None


def composite(kinematics: Kinematics, writer: Writer, *, regroup: bool = True) -> TreeDynamics:
    """Return M and f of the tree.

    Args:
        kinematics: of the mechanism.
        writer: receives the intermediate results.
        regroup: lump inertial parameters toward the root.
    """
    links = _links(kinematics, writer, regroup=regroup)
    right = _bias(kinematics, writer, links)
    mass = _mass_matrix(kinematics, writer, links)
    return TreeDynamics(mass, right)


def with_armatures(kinematics: Kinematics, tree: TreeDynamics) -> TreeDynamics:
    """Return M with the inertia of geared rotors on its diagonal, and the same f."""
    armatures = kinematics.mechanism.armatures
    if not armatures:
        return tree
    extra = [
        armatures.get(s.body, ZERO) if len(s.body.coordinates) == 1 else ZERO
        for s in kinematics.speeds
    ]
    mass = tuple(
        tuple(x + extra[i] if i == j else x for j, x in enumerate(row))
        for i, row in enumerate(tree.mass)
    )
    return TreeDynamics(mass, tree.right)


def _links(kinematics: Kinematics, writer: Writer, *, regroup: bool) -> dict[Body, _Link]:
    mechanism = kinematics.mechanism
    moments = lumped(kinematics, regroup=regroup)
    index = {s.symbol: k for k, s in enumerate(kinematics.speeds)}
    parents = {b.parent for b in mechanism.bodies.values()}
    loaded = {f.point.body for f in mechanism.forces} | {f.reaction for f in mechanism.forces}
    links: dict[Body, _Link] = {}
    for body in mechanism.depth_first():
        parent = body.parent
        assert parent is not None
        above = parent.frame if parent.parent is None else links[parent].frame
        frame = body.frame
        own = moments[body]
        if body not in parents and body not in loaded and is_rotor(body, own):
            frame = above
            own = rotor_moments(body, own, above)
        rotation = IDENTITY if frame is above else axes_product(frame, above)
        motion = kinematics.motions[body]
        reference = (
            ZERO_REFERENCE if parent.parent is None else kinematics.motions[parent].reference
        )
        arm = body.from_parent + motion.reference - reference
        speeds = [
            (
                index[s.symbol],
                s.omega.components(frame),
                s.velocity.components(frame),
            )
            for s in motion.speeds
        ]
        links[body] = _Link(body, frame, rotation, arm.components(above), own.held(writer), speeds)
    return links


ZERO_REFERENCE = Vector({})


# -- bias ------------------------------------------------------------------------------------------
def _bias(kinematics: Kinematics, writer: Writer, links: dict[Body, _Link]) -> tuple[Expr, ...]:
    mechanism = kinematics.mechanism
    gravity = mechanism.gravity_vector
    speeds = [s.symbol for s in kinematics.speeds]
    for body, link in links.items():
        _outward(kinematics, writer, links, body, link, gravity, speeds)
    loads = external_loads(kinematics, {b: link.frame for b, link in links.items()})
    right: list[list[Expr]] = [[] for _ in speeds]
    for k, value in internal_forces(kinematics):
        right[k].append(value)
    for body in reversed(list(links)):
        link = links[body]
        own = link.moments
        force, moment = _inertia_force(writer, link, own)
        pushed = loads.get(body)
        reference = kinematics.motions[body].reference
        if pushed is not None:
            applied = pushed.force
            turned = pushed.moment
            if not reference.is_zero:
                turned = subtract(turned, cross(reference.components(link.frame), applied))
            force, moment = subtract(force, applied), subtract(moment, turned)
        force = writer.triple(add(force, *link.force))
        moment = writer.triple(add(moment, *link.moment))
        for k, omega, velocity in link.speeds:
            right[k].append(-(dot(omega, moment) + dot(velocity, force)))
        parent = body.parent
        assert parent is not None
        if parent.parent is not None:
            back = transposed(link.rotation)
            up_force = writer.triple(apply(back, force))
            up_moment = add(apply(back, moment), cross(link.arm, up_force))
            links[parent].force.append(up_force)
            links[parent].moment.append(up_moment)
    return tuple(writer.hold(total(parts)) for parts in right)


def _outward(
    kinematics: Kinematics,
    writer: Writer,
    links: dict[Body, _Link],
    body: Body,
    link: _Link,
    gravity: Vector,
    speeds: list[Expr],
) -> None:
    parent = body.parent
    assert parent is not None
    above = links.get(parent)
    own_omega = add(NOTHING, *[times(speeds[k], omega) for k, omega, _ in link.speeds])
    if above is None:
        link.omega = writer.triple(own_omega)
        link.alpha = NOTHING
        carried: Triple = times_minus(gravity, parent.frame)
    else:
        turned = writer.triple(apply(link.rotation, above.omega))
        link.omega = writer.triple(add(turned, own_omega))
        link.alpha = writer.triple(add(apply(link.rotation, above.alpha), cross(turned, own_omega)))
        rate = add(NOTHING, *[times(speeds[k], v) for k, _, v in link.speeds])
        rate_above = apply(transposed(link.rotation), rate)
        carried = add(
            above.acceleration,
            _spread_apply(writer, above, link.arm),
            times_two(cross(above.omega, rate_above)),
        )
    if kinematics.motions[body].absolute:
        velocity = add(NOTHING, *[times(speeds[k], v) for k, _, v in link.speeds])
        fall = times_minus(gravity, link.frame)
        link.acceleration = writer.triple(add(cross(link.omega, velocity), fall))
    else:
        link.acceleration = writer.triple(apply(link.rotation, writer.triple(carried)))


def times_minus(v: Vector, frame: Frame) -> Triple:
    """Return the components of -v."""
    x, y, z = v.components(frame)
    return -x, -y, -z


def times_two(v: Triple) -> Triple:
    """Return 2 v."""
    return 2 * v[0], 2 * v[1], 2 * v[2]


def spread(writer: Writer, omega: Triple, alpha: Triple) -> Matrix:
    """Return U with a(P) = a(O) + U r: the matrix of alpha x r + omega x (omega x r)."""
    x, y, z = omega
    hold = writer.hold
    xx, yy, zz = hold(x * x), hold(y * y), hold(z * z)
    xy, yz, zx = hold(x * y), hold(y * z), hold(z * x)
    return (
        (-hold(yy + zz), hold(xy - alpha[2]), hold(zx + alpha[1])),
        (hold(xy + alpha[2]), -hold(zz + xx), hold(yz - alpha[0])),
        (hold(zx - alpha[1]), hold(yz + alpha[0]), -hold(xx + yy)),
    )


def _spread_apply(writer: Writer, link: _Link, r: Triple) -> Triple:
    if is_nothing(r):
        return NOTHING
    return apply(_spread_of(writer, link), r)


def _spread_of(writer: Writer, link: _Link) -> Matrix:
    if link._spread is None:
        link._spread = spread(writer, link.omega, link.alpha)
    return link._spread


def _inertia_force(writer: Writer, link: _Link, own: Moments) -> tuple[Triple, Triple]:
    """Return the inertia force and its moment about the reference point."""
    u = _spread_of(writer, link)
    force = add(times(own.mass, link.acceleration), apply(u, own.first))
    s = own.second
    product = [[dot(u[i], (s[0][j], s[1][j], s[2][j])) for j in range(3)] for i in range(3)]
    moment: Triple = (
        product[2][1] - product[1][2],
        product[0][2] - product[2][0],
        product[1][0] - product[0][1],
    )
    return force, add(moment, cross(own.first, link.acceleration))


# -- mass matrix -----------------------------------------------------------------------------------
def _mass_matrix(
    kinematics: Kinematics, writer: Writer, links: dict[Body, _Link]
) -> tuple[tuple[Expr, ...], ...]:
    n = len(kinematics.speeds)
    mass: list[list[Expr]] = [[ZERO] * n for _ in range(n)]
    collected: dict[Body, Moments] = {}
    for body in reversed(list(links)):
        link = links[body]
        whole = (link.moments + collected.get(body, NO_MASS)).held(writer)
        tensor = None
        for position, (k, omega, velocity) in enumerate(link.speeds):
            if tensor is None:
                tensor = whole.tensor()
            force = writer.triple(add(times(whole.mass, velocity), cross(omega, whole.first)))
            moment = writer.triple(add(apply(tensor, omega), cross(whole.first, velocity)))
            for j, other_omega, other_velocity in link.speeds[: position + 1]:
                entry = writer.hold(dot(other_omega, moment) + dot(other_velocity, force))
                mass[k][j] = mass[j][k] = entry
            _along_chain(kinematics, writer, links, body, k, force, moment, mass)
        parent = body.parent
        assert parent is not None
        if parent.parent is not None and not whole.is_nothing:
            seen = _turned_back(writer, whole, link)
            moved = seen.moved(link.arm)
            collected[parent] = collected.get(parent, NO_MASS) + moved
    return tuple(tuple(row) for row in mass)


def _along_chain(
    kinematics: Kinematics,
    writer: Writer,
    links: dict[Body, _Link],
    body: Body,
    k: int,
    force: Triple,
    moment: Triple,
    mass: list[list[Expr]],
) -> None:
    """Carry the force of one speed's unit acceleration to the joints nearer the root."""
    while True:
        link = links[body]
        parent = body.parent
        if parent is None or parent.parent is None or kinematics.motions[body].absolute:
            return
        back = transposed(link.rotation)
        force_above = writer.triple(apply(back, force))
        moment = writer.triple(add(apply(back, moment), cross(link.arm, force_above)))
        force = force_above
        for j, omega, velocity in links[parent].speeds:
            entry = writer.hold(dot(omega, moment) + dot(velocity, force))
            mass[k][j] = mass[j][k] = entry
        body = parent


def _turned_back(writer: Writer, moments: Moments, link: _Link) -> Moments:
    """Return moments in the parent's axes; one rotation about a shared axis has a cheap form."""
    rotation = link.rotation
    if rotation == IDENTITY:
        return moments
    k = _shared_axis(rotation)
    back = transposed(rotation)
    first = writer.triple(apply(back, moments.first))
    if k is None:
        full = turned(moments, back)
        return Moments(moments.mass, first, full.second)
    i, j = (k + 1) % 3, (k + 2) % 3
    sign = rotation[k][k]
    c, s = back[i][i], back[j][i]
    old = moments.second
    hold = writer.hold
    if sign.data == 1:
        lever = hold(s * (old[i][i] - old[j][j]) + 2 * c * old[i][j])
        step = hold(s * lever)
        new_ii, new_jj = old[i][i] - step, old[j][j] + step
        new_ij = c * lever - old[i][j]
        new_ik = c * old[i][k] - s * old[j][k]
        new_jk = s * old[i][k] + c * old[j][k]
        entries = {
            (i, i): new_ii,
            (j, j): new_jj,
            (k, k): old[k][k],
            (i, j): new_ij,
            (i, k): new_ik,
            (j, k): new_jk,
        }
        second = symmetric(lambda a, b: hold(entries.get((a, b), entries.get((b, a), ZERO))))
        return Moments(moments.mass, first, second)
    full = turned(moments, back)
    return Moments(moments.mass, first, full.second)


def _shared_axis(rotation: Matrix) -> int | None:
    """Return the axis that both frames have; small angles leave ones on the whole diagonal."""
    for k in range(3):
        others = [rotation[k][j] for j in range(3) if j != k]
        if rotation[k][k].op == "num" and abs(rotation[k][k].data) == 1 and is_nothing(others):
            return k
    return None
