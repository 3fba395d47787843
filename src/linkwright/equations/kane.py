"""Kane's method: partial velocities and remainders, body by body, for the independent speeds alone.

Each body has a worksheet (Sayers' thesis, sections 8.4.1 to 8.4.3; Kane and Levinson 1985): its
angular velocity, the partial angular velocities and partial velocities of the independent speeds,
and the remainders of the accelerations, which are what is left of them when the rates of the
independent speeds are zero. The partials are the nonholonomic ones, w~_r = w_r + sum A_sr w_s: a
joint whose speed is eliminated moves with the independent speeds by its row of A, so that the
recursion outward carries as many columns as there are degrees of freedom, and M and f come out
for them directly:

    M_ij = sum over bodies of  w~_j . I . w~_i  +  m v~_j . v~_i
    f_i  = sum over bodies of  w~_i . (T - I . a_rem - w x I . w)  +  v~_i . (F - m a_rem)

Gravity is an acceleration of the ground, so it enters at the root alone. Components are taken along
the body's axes, along its parent's for a rotor, whose angle then never appears. What a joint leaves
in place is counted with the parent (`linkwright.equations.inertia`), which covers composite bodies
and fixed masses, and also does what the thesis does by reusing the parent's dot products.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from linkwright.algebra import ONE, ZERO, ZERO_VECTOR, Expr, Frame, total
from linkwright.algebra.triples import (
    IDENTITY,
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
from linkwright.equations.constraints import Reduction
from linkwright.equations.inertia import Moments, is_rotor, lumped, rotor_moments
from linkwright.equations.loads import Load, external_loads, internal_forces
from linkwright.equations.projection import ReducedDynamics
from linkwright.equations.writer import Writer
from linkwright.mechanism import Body, Kinematics

_TWO = ONE + ONE


@dataclass(slots=True)
class Worksheet:
    """What one body contributes with; all components along the axes of `frame`."""

    body: Body  # the body; `frame` is its own, or its parent's for a rotor
    frame: Frame
    rotation: Matrix  # rows are the axes of `frame` in those of the parent's worksheet
    arm: Triple  # from the parent's reference point to this one's, along the parent's axes
    moments: Moments  # mass, first and second moment about the reference point
    omega: Triple = NOTHING  # angular velocity
    # partial angular velocity by independent speed
    partial_omega: dict[int, Triple] = field(default_factory=dict)
    # partial velocity of the reference point by independent speed
    partial_velocity: dict[int, Triple] = field(default_factory=dict)
    alpha: Triple = NOTHING  # remainder of the angular acceleration
    acceleration: Triple = NOTHING  # remainder of the reference point's acceleration, less gravity
    spread: Matrix | None = None  # the matrix that gives the remainders of other points of the body


@dataclass(frozen=True, slots=True)
class Shares:
    """How tree speeds follow the independent ones: rows of A, and the drift of each."""

    rows: dict[Expr, dict[int, Expr]]
    drift: dict[Expr, Expr]


def kane(kinematics: Kinematics, reduction: Reduction, writer: Writer) -> ReducedDynamics:
    """Return M and f for the independent speeds."""
    shares = shares_of(reduction)
    sheets = worksheets(kinematics, shares, writer)
    loads = external_loads(kinematics, {b: s.frame for b, s in sheets.items()})
    n = len(reduction.independent)
    right: list[list[Expr]] = [[] for _ in range(n)]
    mass: dict[tuple[int, int], list[Expr]] = {(i, j): [] for i in range(n) for j in range(i + 1)}
    speeds = [s.symbol for s in kinematics.speeds]
    for k, value in internal_forces(kinematics):
        for r, a in shares.rows[speeds[k]].items():
            right[r].append(a * value)
    _add_armatures(kinematics, shares, right, mass)
    for body, sheet in sheets.items():
        _add_forces(kinematics, writer, sheet, loads.get(body), right)
        _add_mass(writer, sheet, mass)
    return ReducedDynamics(
        tuple(
            tuple(writer.hold(total(mass[max(i, j), min(i, j)])) for j in range(n))
            for i in range(n)
        ),
        tuple(writer.hold(total(parts)) for parts in right),
    )


def shares_of(reduction: Reduction) -> Shares:
    rows: dict[Expr, dict[int, Expr]] = {u: {r: ONE} for r, u in enumerate(reduction.independent)}
    drift: dict[Expr, Expr] = {}
    for i, u in enumerate(reduction.dependent):
        rows[u] = {r: a for r, a in enumerate(reduction.matrix[i]) if a is not ZERO}
        drift[u] = reduction.drift[i]
    return Shares(rows, drift)


# -- worksheets ------------------------------------------------------------------------------------
def worksheets(kinematics: Kinematics, shares: Shares, writer: Writer) -> dict[Body, Worksheet]:
    """Return the worksheet of every body, parents first."""
    mechanism = kinematics.mechanism
    moments = lumped(kinematics)
    parents = {b.parent for b in mechanism.bodies.values()}
    loaded = {f.point.body for f in mechanism.forces} | {f.reaction for f in mechanism.forces}
    sheets: dict[Body, Worksheet] = {}
    for body in mechanism.depth_first():
        assert body.parent is not None
        above = sheets.get(body.parent)
        base = body.parent.frame if above is None else above.frame
        own = moments[body]
        frame = body.frame
        if body not in parents and body not in loaded and is_rotor(body, own):
            frame, own = base, rotor_moments(body, own, base)
        rotation = IDENTITY if frame is base else _cosines(frame, base)
        reference = ZERO_VECTOR if above is None else kinematics.motions[above.body].reference
        reach = body.from_parent + kinematics.motions[body].reference - reference
        sheet = Worksheet(body, frame, rotation, reach.components(base), own.held(writer))
        _fill(kinematics, shares, writer, sheet, above)
        sheets[body] = sheet
    return sheets


def _cosines(frame: Frame, base: Frame) -> Matrix:
    x, y, z = frame.axes
    return x.components(base), y.components(base), z.components(base)


def _fill(
    kinematics: Kinematics,
    shares: Shares,
    writer: Writer,
    sheet: Worksheet,
    above: Worksheet | None,
) -> None:
    """Work out velocities, partials and remainders from those of the parent."""
    motion = kinematics.motions[sheet.body]
    frame, turn = sheet.frame, sheet.rotation
    own = [
        (s.symbol, s.omega.components(frame), s.velocity.components(frame)) for s in motion.speeds
    ]
    spin = add(NOTHING, *[times(u, w) for u, w, _ in own])
    slide = add(NOTHING, *[times(u, v) for u, _, v in own])
    pushed = add(NOTHING, *[times(shares.drift.get(u, ZERO), v) for u, _, v in own])
    twisted = add(NOTHING, *[times(shares.drift.get(u, ZERO), w) for u, w, _ in own])
    gravity = kinematics.mechanism.gravity_vector
    if above is None:
        sheet.omega, sheet.alpha = writer.triple(spin), writer.triple(twisted)
    else:
        carried = writer.triple(apply(turn, above.omega))
        sheet.omega = writer.triple(add(carried, spin))
        sheet.alpha = writer.triple(add(apply(turn, above.alpha), cross(carried, spin), twisted))
    if motion.absolute or above is None:
        fall = (-gravity).components(frame)
        turning = cross(sheet.omega, slide) if motion.absolute else NOTHING
        sheet.acceleration = writer.triple(add(turning, pushed, fall))
    else:
        shifted = add(
            above.acceleration,
            remainder(writer, above, sheet.arm),
            times(_TWO, cross(above.omega, apply(transposed(turn), slide))),
        )
        sheet.acceleration = writer.triple(add(apply(turn, writer.triple(shifted)), pushed))
    _partials(shares, writer, sheet, above, own)


def _partials(
    shares: Shares,
    writer: Writer,
    sheet: Worksheet,
    above: Worksheet | None,
    own: list[tuple[Expr, Triple, Triple]],
) -> None:
    turn = sheet.rotation
    columns = {r for u, _, _ in own for r in shares.rows[u]}
    if above is not None:
        columns |= above.partial_omega.keys() | above.partial_velocity.keys()
    for r in sorted(columns):
        omega = [times(shares.rows[u][r], w) for u, w, _ in own if r in shares.rows[u]]
        velocity = [times(shares.rows[u][r], v) for u, _, v in own if r in shares.rows[u]]
        if above is not None:
            outer = above.partial_omega.get(r, NOTHING)
            moved = add(above.partial_velocity.get(r, NOTHING), cross(outer, sheet.arm))
            omega.append(apply(turn, outer))
            velocity.append(apply(turn, writer.triple(moved)))
        found = writer.triple(add(NOTHING, *omega))
        if not is_nothing(found):
            sheet.partial_omega[r] = found
        found = writer.triple(add(NOTHING, *velocity))
        if not is_nothing(found):
            sheet.partial_velocity[r] = found


def _spread(writer: Writer, sheet: Worksheet) -> Matrix:
    """Return the matrix of alpha x r + omega x (omega x r), found once for each body."""
    if sheet.spread is None:
        (x, y, z), (a, b, c), hold = sheet.omega, sheet.alpha, writer.hold
        xx, yy, zz = hold(x * x), hold(y * y), hold(z * z)
        xy, yz, zx = hold(x * y), hold(y * z), hold(z * x)
        sheet.spread = (
            (-hold(yy + zz), hold(xy - c), hold(zx + b)),
            (hold(xy + c), -hold(zz + xx), hold(yz - a)),
            (hold(zx - b), hold(yz + a), -hold(xx + yy)),
        )
    return sheet.spread


def remainder(writer: Writer, sheet: Worksheet, r: Triple) -> Triple:
    """Return alpha x r + omega x (omega x r) of what is left of the accelerations."""
    return NOTHING if is_nothing(r) else apply(_spread(writer, sheet), r)


# -- projection ------------------------------------------------------------------------------------
def _add_forces(
    kinematics: Kinematics,
    writer: Writer,
    sheet: Worksheet,
    load: Load | None,
    right: list[list[Expr]],
) -> None:
    m, h, tensor = sheet.moments.mass, sheet.moments.first, sheet.moments.tensor()
    a, w = sheet.acceleration, sheet.omega
    force = add(times(m, a), remainder(writer, sheet, h))
    spin = writer.triple(apply(tensor, w))
    moment = add(apply(tensor, sheet.alpha), cross(w, spin), cross(h, a))
    force, moment = times(-ONE, force), times(-ONE, moment)
    if load is not None:
        reference = kinematics.motions[sheet.body].reference.components(sheet.frame)
        force = add(force, load.force)
        moment = add(moment, subtract(load.moment, cross(reference, load.force)))
    if sheet.partial_velocity:
        force = writer.triple(force)
    if sheet.partial_omega:
        moment = writer.triple(moment)
    for r, velocity in sheet.partial_velocity.items():
        right[r].append(dot(velocity, force))
    for r, omega in sheet.partial_omega.items():
        right[r].append(dot(omega, moment))


def _add_mass(writer: Writer, sheet: Worksheet, mass: dict[tuple[int, int], list[Expr]]) -> None:
    if sheet.moments.is_nothing:
        return
    m, h, tensor = sheet.moments.mass, sheet.moments.first, sheet.moments.tensor()
    columns = sorted(sheet.partial_omega.keys() | sheet.partial_velocity.keys())
    for i in columns:
        omega = sheet.partial_omega.get(i, NOTHING)
        velocity = sheet.partial_velocity.get(i, NOTHING)
        push = writer.triple(add(times(m, velocity), cross(omega, h)))
        turn = writer.triple(add(apply(tensor, omega), cross(h, velocity)))
        for j in columns:
            if j <= i:
                mass[i, j].append(dot(sheet.partial_omega.get(j, NOTHING), turn))
                mass[i, j].append(dot(sheet.partial_velocity.get(j, NOTHING), push))


def _add_armatures(
    kinematics: Kinematics,
    shares: Shares,
    right: list[list[Expr]],
    mass: dict[tuple[int, int], list[Expr]],
) -> None:
    """Add the inertia of geared rotors, which turn with the speed of their joint alone."""
    for speed in kinematics.speeds:
        inertia = kinematics.mechanism.armatures.get(speed.body, ZERO)
        if inertia is ZERO or len(speed.body.coordinates) != 1:
            continue
        row, drift = shares.rows[speed.symbol], shares.drift.get(speed.symbol, ZERO)
        for i, a in row.items():
            right[i].append(-inertia * a * drift)
            for j, b in row.items():
                if j <= i:
                    mass[i, j].append(inertia * a * b)
