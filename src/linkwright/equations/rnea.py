"""RNEA, the recursive Newton-Euler algorithm: inverse dynamics of a tree of bodies.

Bodies are written as `linkwright.equations.links` makes them. Going outward, angular velocity,
angular acceleration and acceleration of the reference point are found; gravity is an acceleration
of the ground. Going inward, inertia forces are summed and projected on the joints (Luh, Walker and
Paul 1980). With all rates of speeds zero, the result is minus the nonlinear effects.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from linkwright.algebra import ZERO, Expr, Frame, Vector, total
from linkwright.algebra.triples import (
    NOTHING,
    Matrix,
    Triple,
    add,
    apply,
    cross,
    dot,
    is_nothing,
    subtract,
    times,
    transposed,
)
from linkwright.equations.choices import MIXED, NO_SHIFT, SHIFT_ALL, SHIFT_TURNING, TENSOR, Choices
from linkwright.equations.inertia import Moments
from linkwright.equations.links import RecursionLink, make_links
from linkwright.equations.loads import external_loads, internal_forces
from linkwright.equations.writer import Writer
from linkwright.mechanism import Body, Kinematics


def inverse(
    kinematics: Kinematics,
    writer: Writer,
    rates: Sequence[Expr],
    choices: Choices | None = None,
    *,
    own: Mapping[Body, Moments] | None = None,
    rotors: Sequence[Expr] | None = None,
) -> tuple[Expr, ...]:
    """Return M u' - f for given rates of the tree's speeds, in one recursion without M."""
    links = make_links(kinematics, writer, choices, own)
    right, _ = recursion(kinematics, writer, links, NO_SHIFT, rates)
    extra = armature_inertias(kinematics) if rotors is None else rotors
    return tuple(writer.hold(j * a - f) for j, a, f in zip(extra, rates, right, strict=True))


def armature_inertias(kinematics: Kinematics) -> list[Expr]:
    """Return the inertia of the geared rotor that turns with each speed."""
    armatures = kinematics.mechanism.armatures
    return [armatures.get(s.body, ZERO) for s in kinematics.speeds]


def recursion(
    kinematics: Kinematics,
    writer: Writer,
    links: dict[Body, RecursionLink],
    shift: str,
    rates: Sequence[Expr] = (),
    base: Triple = NOTHING,
) -> tuple[tuple[Expr, ...], dict[int, Expr]]:
    """Return f - M u' for the rates of the speeds, zero by default, and what f leaves out.

    Force and moment that each joint puts on its body are left in the links.
    """
    speeds = [s.symbol for s in kinematics.speeds]
    given = rates or [ZERO] * len(speeds)
    shifts: dict[int, Expr] = {}
    for body, link in links.items():
        outward(kinematics, writer, links, link, speeds, given, base)
        if kinematics.motions[body].absolute:
            found = free_acceleration(kinematics, writer, link, speeds, given, shift)
            shifts.update(found)
    own, driven = own_forces(kinematics, writer, links)
    right = [[x] for x in driven]
    for body in reversed(list(links)):
        link = links[body]
        moment, force = own[body]
        force = writer.triple(add(force, *link.force))
        moment = writer.triple(add(moment, *link.moment))
        link.carried = moment, force
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
    return tuple(writer.hold(total(parts)) for parts in right), shifts


def bias_forces(
    kinematics: Kinematics, writer: Writer, links: dict[Body, RecursionLink]
) -> tuple[dict[Body, tuple[Triple, Triple]], list[Expr]]:
    """Return moment and force of each link with all rates zero, and what acts in the joints."""
    speeds = [s.symbol for s in kinematics.speeds]
    none = [ZERO] * len(speeds)
    for body, link in links.items():
        outward(kinematics, writer, links, link, speeds, none)
        if kinematics.motions[body].absolute:
            free_acceleration(kinematics, writer, link, speeds, none, NO_SHIFT)
    own, driven = own_forces(kinematics, writer, links)
    return {b: (writer.triple(n), writer.triple(f)) for b, (n, f) in own.items()}, driven


def own_forces(
    kinematics: Kinematics, writer: Writer, links: dict[Body, RecursionLink]
) -> tuple[dict[Body, tuple[Triple, Triple]], list[Expr]]:
    """Return inertia forces less loads of each link, as moment and force, and loads in joints."""
    loads = external_loads(kinematics, {b: link.frame for b, link in links.items()})
    own: dict[Body, tuple[Triple, Triple]] = {}
    for body, link in links.items():
        force, moment = inertia_force(writer, link, link.moments)
        pushed = loads.get(body)
        if pushed is not None:
            couple = pushed.moment
            if not link.reference.is_zero:
                arm = link.reference.components(link.frame)
                couple = subtract(couple, cross(arm, pushed.force))
            force, moment = subtract(force, pushed.force), subtract(moment, couple)
        own[body] = moment, force
    return own, joint_forces(kinematics)


def joint_forces(kinematics: Kinematics) -> list[Expr]:
    """Return what loads between two moving bodies add to the right side of each speed."""
    driven: list[list[Expr]] = [[] for _ in kinematics.speeds]
    for k, value in internal_forces(kinematics):
        driven[k].append(value)
    return [total(parts) for parts in driven]


def outward(
    kinematics: Kinematics,
    writer: Writer,
    links: dict[Body, RecursionLink],
    link: RecursionLink,
    speeds: Sequence[Expr],
    rates: Sequence[Expr],
    base: Triple = NOTHING,
) -> None:
    """Set velocities and accelerations of a link from those of its parent."""
    parent = link.body.parent
    assert parent is not None
    above = links.get(parent)
    twist = add(NOTHING, *[times(rates[k], omega) for k, omega, _ in link.speeds])
    push = add(NOTHING, *[times(rates[k], v) for k, _, v in link.speeds])
    own_omega = add(NOTHING, *[times(speeds[k], omega) for k, omega, _ in link.speeds])
    if above is None:
        link.omega = writer.triple(own_omega)
        link.alpha = writer.triple(twist)
        carried: Triple = add(times_minus(kinematics.mechanism.gravity_vector, parent.frame), base)
    else:
        turned = writer.triple(apply(link.rotation, above.omega))
        link.omega = writer.triple(add(turned, own_omega))
        link.alpha = writer.triple(
            add(apply(link.rotation, above.alpha), cross(turned, own_omega), twist)
        )
        rate = add(NOTHING, *[times(speeds[k], v) for k, _, v in link.speeds])
        rate_above = apply(transposed(link.rotation), rate)
        carried = add(
            above.acceleration,
            _spread_apply(writer, above, link.arm),
            times_two(cross(above.omega, rate_above)),
        )
    if not kinematics.motions[link.body].absolute:
        carried = apply(link.rotation, writer.triple(carried))
        link.acceleration = writer.triple(add(carried, push))


def free_acceleration(
    kinematics: Kinematics,
    writer: Writer,
    link: RecursionLink,
    speeds: Sequence[Expr],
    rates: Sequence[Expr],
    shift: str,
) -> dict[int, Expr]:
    """Set the acceleration of a free body; return what is left out of it, by index of speed."""
    velocity = add(NOTHING, *[times(speeds[k], v) for k, _, v in link.speeds])
    fall = times_minus(kinematics.mechanism.gravity_vector, link.frame)
    turning = cross(link.omega, velocity)
    kept, out = {
        NO_SHIFT: (add(turning, fall), NOTHING),
        SHIFT_TURNING: (fall, turning),
        SHIFT_ALL: (NOTHING, add(turning, fall)),
    }[shift]
    across = [i for i in range(3) if all(v[i] is ZERO for _, _, v in link.speeds)]
    kept = add(kept, *[times(rates[k], v) for k, _, v in link.speeds])
    held = [kept[i] if i not in across else turning[i] + fall[i] for i in range(3)]
    link.acceleration = writer.triple(held)
    found = {k: writer.hold(dot(v, out)) for k, _, v in link.speeds}
    return {k: x for k, x in found.items() if x is not ZERO}


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


def _spread_apply(writer: Writer, link: RecursionLink, r: Triple) -> Triple:
    if is_nothing(r):
        return NOTHING
    return apply(spread_of(writer, link), r)


def spread_of(writer: Writer, link: RecursionLink) -> Matrix:
    """Return the `spread` of a link, found once."""
    if link.spread is None:
        link.spread = spread(writer, link.omega, link.alpha)
    return link.spread


def inertia_force(writer: Writer, link: RecursionLink, own: Moments) -> tuple[Triple, Triple]:
    """Return the inertia force and its moment about the reference point."""
    force = times(own.mass, link.acceleration)
    if not is_nothing(own.first):
        force = add(force, apply(spread_of(writer, link), own.first))
    return force, add(_moment(writer, link, own.second), cross(own.first, link.acceleration))


def _moment(writer: Writer, link: RecursionLink, s: Matrix) -> Triple:
    """Return the rate of the moment of momentum, the vector of U S - S Uᵀ.

    Its component i is S_ij U_ki - S_ik U_ji + S_jk (w_k² - w_j²) and a share of the diagonal,
    which is S_jj U_kj - S_kk U_jk, or J_ii alpha_i + (S_jj - S_kk) w_j w_k.
    """
    if all(is_nothing(row) for row in s):
        return NOTHING
    u, w, hold = spread_of(writer, link), link.omega, writer.hold
    square = [hold(x * x) for x in w]
    result = []
    for i in range(3):
        j, k = (i + 1) % 3, (i + 2) % 3
        lone = s[j][j] is ZERO or s[k][k] is ZERO
        if link.choice.form == TENSOR or (link.choice.form == MIXED and not lone):
            product = hold(w[j] * w[k])
            diagonal = hold(s[j][j] + s[k][k]) * link.alpha[i] + hold(s[j][j] - s[k][k]) * product
        else:
            diagonal = s[j][j] * u[k][j] - s[k][k] * u[j][k]
        crossed = s[j][k] * hold(square[k] - square[j]) if s[j][k] is not ZERO else ZERO
        result.append(total([diagonal, s[i][j] * u[k][i], -s[i][k] * u[j][i], crossed]))
    a, b, c = result
    return a, b, c
