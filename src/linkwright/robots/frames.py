"""Kernels of the frames of a robot: where they are and how they move (forward kinematics).

`FRAME_KERNELS` says for each name what it takes and how it is written for one frame, seen in one
way; see `linkwright.robots.kinematics` for the views and for what the six components are.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from linkwright.algebra import ZERO, symbol
from linkwright.algebra.triples import add, apply
from linkwright.base.errors import InputError
from linkwright.equations.tree import Results, Tree
from linkwright.equations.writer import Writer
from linkwright.program import Namer, Program, ProgramPort
from linkwright.program.derivatives.forward import ForwardCalls, forward
from linkwright.program.inline import inlined
from linkwright.program.passes.liveness import liveness
from linkwright.program.program import check
from linkwright.robots import kinematics
from linkwright.robots.derivatives import named
from linkwright.robots.fixed_frames import FixedFrame
from linkwright.robots.quantity import USUAL_REFERENCE

Write = Callable[[Writer, Tree, FixedFrame, str], Results]
_SEEN = {"reference": USUAL_REFERENCE}


@dataclass(frozen=True, slots=True)
class FrameKernel:
    """How a quantity of frames is written; `write` gets the value of its one option, if any."""

    takes: str  # its inputs, of `q`, `u` and `a`, as letters
    write: Write  # what writes it
    options: Mapping[str, str] = field(default_factory=dict)  # the option with its usual value
    of_point: bool = False  # whether it is that of a point, given in the frame when it is called
    rate: str = ""  # the name of the result, where it is the time derivative of what is written


def frame_program(name: str, tree: Tree, spot: FixedFrame, options: Mapping[str, str]) -> Program:
    """Return the Program of a quantity of one frame."""
    kernel = FRAME_KERNELS[name]
    unknown = sorted(set(options) - set(kernel.options))
    if unknown:
        raise InputError(
            f"{name} has no option {', '.join(unknown)}",
            remedy=f"it has {', '.join(kernel.options)}" if kernel.options else None,
        )
    (seen,) = {**kernel.options, **options}.values() or (USUAL_REFERENCE,)
    if "orientation" in kernel.options:
        kinematics.checked_orientation(seen)
    else:
        kinematics.checked_reference(seen)
    more = {}
    if kernel.of_point:
        owner = tree.kinematics.mechanism.name
        x, y, z = (symbol(f"point.{k}", "input", owner=owner) for k in "xyz")
        more["point"] = (x, y, z)
        place = add(spot.position, apply(spot.rotation, (x, y, z)))
        spot = FixedFrame(spot.body, spot.rotation, place)
    made = tree.program(name, list(kernel.takes), lambda w: kernel.write(w, tree, spot, seen), more)
    return rate_program(tree, made, name, kernel.rate) if kernel.rate else made


def rate_program(tree: Tree, program: Program, name: str, output: str) -> Program:
    """Return the Program of the time derivative of a quantity that is a function of `q`."""
    rates = tree.program(
        "rates",
        ["q", "u"],
        lambda w: {"q_dot": [tree.kinematics.rates[q] for q in tree.coordinates]},
    )
    (port,) = program.outputs
    inputs = (*program.inputs, rates.port("u"))
    source = Program(name, inputs, program.outputs, program.statements)
    namer = Namer(source, "along")
    given = {p.name: source.port(p.name).entries for p in rates.inputs}
    statements, found = inlined(rates, given, namer)
    moving = named(found["q_dot"], namer, statements)
    q, u = source.port("q"), source.port("u")
    seeds = {x: {0: rate} for x, rate in zip(q.entries, moving, strict=True)}
    tangents = forward(source, seeds, ForwardCalls())
    entries = tuple(lanes.get(0, ZERO) for lanes in tangents.lanes)
    rest = tuple(p for p in source.inputs if p.name not in ("q", "u"))
    everything = (*statements, *tangents.statements)
    made = Program(name, (q, u, *rest), (ProgramPort(output, port.shape, entries),), everything)
    check(made)
    return liveness(made)


# -- how they are written --------------------------------------------------------------------------
def _pose(w: Writer, tree: Tree, spot: FixedFrame, seen: str) -> Results:
    return {"T": kinematics.homogeneous(kinematics.spot_stance(w, spot))}


def _position(w: Writer, tree: Tree, spot: FixedFrame, seen: str) -> Results:
    return {"x": list(kinematics.spot_stance(w, spot).position)}


def _orientation(w: Writer, tree: Tree, spot: FixedFrame, seen: str) -> Results:
    return {"e": kinematics.quaternion(w, kinematics.spot_stance(w, spot).rotation)}


def _rpy(w: Writer, tree: Tree, spot: FixedFrame, seen: str) -> Results:
    return {"rpy": kinematics.rpy(w, kinematics.spot_stance(w, spot).rotation)}


def _jacobian(w: Writer, tree: Tree, spot: FixedFrame, seen: str) -> Results:
    return {"J": kinematics.jacobian(w, tree, spot, seen)}


def _pose_and_jacobian(w: Writer, tree: Tree, spot: FixedFrame, seen: str) -> Results:
    at, rows = kinematics.pose_and_jacobian(w, tree, spot, seen)
    return {"T": kinematics.homogeneous(at), "J": rows}


def _analytic_jacobian(w: Writer, tree: Tree, spot: FixedFrame, seen: str) -> Results:
    return {"J": kinematics.analytic_jacobian(w, tree, spot, seen)}


def _velocity(w: Writer, tree: Tree, spot: FixedFrame, seen: str) -> Results:
    return {"v": kinematics.velocity(w, tree, spot, seen)}


def _acceleration(w: Writer, tree: Tree, spot: FixedFrame, seen: str) -> Results:
    rates = tree.all_rates(w, tree.accelerations)
    return {"v_dot": kinematics.acceleration(w, tree, spot, seen, rates)}


def _drift(w: Writer, tree: Tree, spot: FixedFrame, seen: str) -> Results:
    return {"drift": kinematics.acceleration(w, tree, spot, seen, tree.all_rates(w))}


def _linear(write: Write) -> Write:
    """Return what writes the first three of six rows."""

    def rows(w: Writer, tree: Tree, spot: FixedFrame, seen: str) -> Results:
        return {name: found[:3] for name, found in write(w, tree, spot, seen).items()}

    return rows


FRAME_KERNELS: dict[str, FrameKernel] = {
    "pose": FrameKernel("q", _pose),
    "position": FrameKernel("q", _position),
    "orientation": FrameKernel("q", _orientation),
    "rpy": FrameKernel("q", _rpy),
    "jacobian": FrameKernel("q", _jacobian, _SEEN),
    "pose_and_jacobian": FrameKernel("q", _pose_and_jacobian, _SEEN),
    "analytic_jacobian": FrameKernel("q", _analytic_jacobian, {"orientation": "rpy"}),
    "jacobian_rate": FrameKernel("q", _jacobian, _SEEN, rate="J_dot"),
    "velocity": FrameKernel("qu", _velocity, _SEEN),
    "acceleration": FrameKernel("qua", _acceleration, _SEEN),
    "drift": FrameKernel("qu", _drift, _SEEN),
    "point_position": FrameKernel("q", _position, of_point=True),
    "point_velocity": FrameKernel("qu", _linear(_velocity), of_point=True),
    "point_jacobian": FrameKernel("q", _linear(_jacobian), of_point=True),
    "point_drift": FrameKernel("qu", _linear(_drift), of_point=True),
}
