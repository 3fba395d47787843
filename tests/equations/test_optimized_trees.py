"""Random trees of every kind of joint through every pass: what is optimized is what Pinocchio says.

Axes are parallel, crossing and coincident, up to the rounding of the turns between them; bases are
tilted, some links are welded or have no mass. The optimizer's work is compared, not only what is
derived: numbers that cancel to rounding errors are where a pass can go wrong.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

from linkwright.algebra import constant
from linkwright.equations import FORMULATIONS, derive
from linkwright.formats.robot.description import Description, Link, LinkJoint, Place, Rotation
from linkwright.mechanism.joint_kinds import JOINTS
from linkwright.program import Program, interpret, lower
from linkwright.program.passes import FACTORED, PASSES, careful, optimize
from linkwright.program.search.numerals import with_numbers
from linkwright.program.search.removal import swept
from linkwright.robots import Robot
from tests.oracles.pinocchio_models import pinocchio_model
from tests.random.robots import random_axis, random_mass, triple
from tests.seeds import seeds
from tests.support.late import Late

if TYPE_CHECKING:
    import pinocchio as pin
else:
    pin = Late("pinocchio")

REWRITES: dict[str, Callable[[Program], Program]] = {
    "derived": lambda program: program,
    "optimize": optimize,
    "careful": careful,
    "swept": swept,
    **PASSES,
    "all passes": partial(optimize, passes=FACTORED),
}


def turn(rng: np.random.Generator, axis: int, angle: float) -> Rotation:
    """A turn about an axis of the frame, as a file's three angles give it."""
    c, s = np.cos(angle), np.sin(angle)
    made = np.eye(3)
    i, j = (axis + 1) % 3, (axis + 2) % 3
    made[[i, j, i, j], [i, j, j, i]] = c, c, -s, s
    return triple(made[0]), triple(made[1]), triple(made[2])


def machine(seed: int, kinds: list[str], *, square: bool = False) -> Description:
    """A tree whose joints are parallel, crossing or coincident, on a tilted base.

    Where it is to be square, it is a chain with all axes parallel or at right angles.
    """
    rng = np.random.default_rng(seed)
    links, joints = [Link("base", None)], []
    for k, kind in enumerate(kinds):
        angles = [0.0, 0.0, np.pi / 2, -np.pi / 2, *([] if square else [rng.uniform(-2, 2)])]
        tilt = rng.uniform(-1, 1) if k == 0 else rng.choice(angles)
        parent = links[-1 if square or rng.random() < 0.8 else int(rng.integers(len(links)))].name
        at = Place(
            (0.0, 0.0, 0.0) if rng.random() < 0.3 else triple(rng.uniform(-0.5, 0.5, 3)),
            turn(rng, int(rng.integers(3)), float(tilt)),
        )
        axis = (0.0, 0.0, 1.0)
        if kind != "planar" and not square and rng.random() < 0.3:
            axis = random_axis(rng, right_angles=bool(rng.random() < 0.7))
        second = random_axis(rng, right_angles=True)
        while abs(np.dot(axis, second)) > 0.9:
            second = random_axis(rng, right_angles=True)
        joints.append(
            LinkJoint(f"j{k}", kind, parent, f"l{k}", at, axis, second_axis=second, pitch=0.3)
        )
        massless = rng.random() < (0.5 if kind == "weld" else 0.1) and k < len(kinds) - 1
        links.append(Link(f"l{k}", None if massless else random_mass(rng)))
    return Description(f"machine{seed}", tuple(links), tuple(joints))


def slides(seed: int) -> Description:
    """Three slides, some of them parallel, others at right angles."""
    return machine(seed, ["prismatic"] * 3, square=True)


def mixed(seed: int) -> Description:
    """Each kind of the registry comes by turns, between others."""
    rng = np.random.default_rng(seed)
    others = ["revolute", "prismatic", "prismatic", "weld"]
    kinds = [str(k) for k in rng.choice(others, 3)]
    kind = list(JOINTS)[seed % len(JOINTS)]
    kinds[0 if kind == "free" else seed % 3] = kind  # a free body hangs on the ground
    return machine(seed, kinds if set(kinds) != {"weld"} else ["prismatic", *kinds])


def values(program: Program, *inputs: Any) -> Any:
    (found,) = interpret(lower(program), inputs)
    return found


def off(found: Any, expected: Any) -> float:
    return float(np.abs(found - expected).max() / max(1.0, np.abs(expected).max()))


@pytest.mark.parametrize("seed", seeds(9, daily=2))
@pytest.mark.parametrize("make", [slides, mixed])
def test_kernels_agree_with_pinocchio_after_every_pass(
    make: Callable[[int], Description], seed: int
) -> None:
    """And ID(q, 0, 0) is gravity(q), and FD of ID is the identity, of the optimized Programs."""
    description = make(seed)
    robot, model = Robot(description), pinocchio_model(description)
    data = model.createData()
    q, (u, a) = robot.random(seed=seed), np.random.default_rng(seed).normal(size=(2, model.nv))
    q_, u_, a_ = robot.to_pinocchio(q, u, a, model=model)[:3]
    mass = pin.crba(model, data, q_)
    order = robot.to_pinocchio(q, np.arange(model.nv), model=model)[1].astype(int)
    tau = pin.rnea(model, data, q_, u_, a_)[np.argsort(order)]
    weight = pin.computeGeneralizedGravity(model, data, q_)[np.argsort(order)]
    regular = np.linalg.cond(np.triu(mass) + np.triu(mass, 1).T) < 1e6
    inverse, gravity = robot.inverse_dynamics.derived(), robot.gravity.derived()
    forward = robot.forward_dynamics.derived() if regular else None
    rest = np.zeros(model.nv)
    for name, rewritten in REWRITES.items():
        made = rewritten(inverse)
        assert off(values(made, q, u, a), tau) < 1e-10, name
        assert off(values(made, q, rest, rest), weight) < 1e-10, name
        assert off(values(rewritten(gravity), q), weight) < 1e-10, name
        if forward is not None:
            assert off(values(rewritten(forward), q, u, tau), a) < 1e-8, name


@pytest.mark.parametrize("seed", seeds(2, daily=1))
@pytest.mark.parametrize("make", [slides, mixed])
def test_every_formulation_with_numbers_for_parameters(
    make: Callable[[int], Description], seed: int
) -> None:
    description = make(seed)
    robot, model = Robot(description), pinocchio_model(description)
    q, u = robot.random(seed=seed), np.random.default_rng(seed).normal(size=model.nv)
    q_, u_ = robot.to_pinocchio(q, u, model=model)[:2]
    inverse = pin.computeMinverse(model, model.createData(), q_)
    if not np.isfinite(inverse).all() or np.linalg.cond(inverse) > 1e6:
        return  # links without mass that nothing holds
    expected = pin.aba(model, model.createData(), q_, u_, 0 * u_)
    order = robot.to_pinocchio(q, np.arange(model.nv), model=model)[1].astype(int)
    expected = expected[np.argsort(order)]
    m = robot.mechanism
    given = {
        **dict(zip(robot.coordinates, q, strict=True)),
        **dict(zip(robot.speeds, u, strict=True)),
    }
    for formulation in FORMULATIONS:
        program = derive(m, formulation).program(outputs=False)
        numbers = {m.parameters[n]: constant(v) for n, v in m.values.items() if n in m.parameters}
        moving = [p for p in program.inputs if p.name != "p"]
        program = with_numbers(program, replace(program, inputs=tuple(moving)), numbers)
        inputs = [[given.get(x.name, 0.0) for x in p.entries] for p in moving]
        for made in (program, optimize(program), careful(program)):
            found = dict(
                zip((p.name for p in made.outputs), interpret(lower(made), inputs), strict=True)
            )
            assert off(found["u_dot"], expected) < 1e-8, formulation
