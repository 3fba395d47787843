"""AUTOSIM 9.1 and 9.2: speeds before and after constraints, and the replies to these."""

from __future__ import annotations

from collections.abc import Sequence
from math import cos, sin

from linkwright.algebra import Expr, evaluate_all, free_symbols
from linkwright.equations.replies import ConstraintReply, replies
from linkwright.mechanism import Mechanism
from linkwright.models import load_model
from linkwright.reproduce.entries.printouts import listing
from linkwright.reproduce.reproduction import Check, Listing, Reproduction

_U = {"b.u": 2.0, "b.v": 0.7, "yaw_dot": 0.4, "steer_dot": -0.3}
_STEER = 0.25
_NOTE = (
    "Replacements are compared by their values at a state. The document printed them before the "
    "rear wheels were lumped into B: where it has CMB1, the later tables have BM CMB1/(BM + 2 MW)."
)


def _value(m: Mechanism, x: Expr) -> float:
    state = {**m.values, **_U, "steer": _STEER}
    return float(evaluate_all([x], {y: float(state[y.name]) for y in free_symbols(x)})[0])


def _speeds(m: Mechanism, count: int, title: str) -> Listing:
    """Return the speeds that are left after some constraints, and what replaces the others."""
    said = {r.replaces: r for r in replies(m, count)}
    speeds = m.kinematics().speeds
    left = [s for s in speeds if s.symbol not in said]
    lines = [f"U({k}): {s.symbol.name}, {s.doc}" for k, s in enumerate(left, 1)]
    lines += [f"{s.symbol.name}: {said[s.symbol].now}" for s in speeds if s.symbol in said]
    return listing(lines, title)


def _rolling(m: Mechanism, u3: float, u4: float) -> dict[str, float]:
    """Return the spins of the wheels by the printed formulas, for yaw and steer rates."""
    v, u1, u2 = m.values, _U["b.u"], _U["b.v"]
    track, radius, c4, s4 = v["TRK2"], v["R"], cos(_STEER), sin(_STEER)
    front = u1 * c4 + ((v["L1"] - _center(m)) * u3 + u2) * s4
    return {
        "rrw_dot": -(track * u3 - u1) / radius,
        "lrw_dot": (track * u3 + u1) / radius,
        "rfw_dot": (-track * (u3 + u4) + front) / radius,
        "lfw_dot": (track * (u3 + u4) + front) / radius,
    }


def _center(m: Mechanism) -> float:
    v = m.values
    return float(v["BM"] * v["CMB1"] / (v["BM"] + 2 * v["MW"]))


def _final(m: Mechanism) -> dict[str, float]:
    v, u1, u2 = m.values, _U["b.u"], _U["b.v"]
    u3 = u2 / _center(m)
    across = u2 + (v["L1"] - _center(m)) * u3
    u4 = -(u3 - (across * cos(_STEER) - u1 * sin(_STEER)) / v["EPS"])
    return {"yaw_dot": u3, "steer_dot": u4}


def _alike(
    m: Mechanism,
    found: Sequence[tuple[ConstraintReply, Expr | None]],
    wanted: dict[str, float],
    why: str = "",
) -> list[Check]:
    return [
        Check(
            f"{r.replaces}",
            f"{wanted[str(r.replaces)]:.9f}",
            _value(m, x),
            recomputed=True,
            why=why,
        )
        for r, x in found
        if x is not None
    ]


def eight_replies() -> Reproduction:
    """Return figure 9.2.8: what is said to each of the eight constraints of the cart."""
    m = load_model("cart")
    found = replies(m)
    lines = []
    for r in found:
        lines += [f"constrain {r.constraint.speed}", f"  {r}", ""]
    wanted = _rolling(m, _U["yaw_dot"], _U["steer_dot"]) | _final(m)
    order = ["rrw_dot", "lrw_dot", "rfw_dot", "lfw_dot", "yaw_dot", "", "steer_dot", ""]
    made = [
        Check(f"constraint {k} eliminates {name or 'nothing'}", "1",
              (str(r.replaces) if r.replaces is not None else "") == name)
        for k, (r, name) in enumerate(zip(found, order, strict=True), 1)
    ]  # fmt: skip
    made += _alike(m, [(r, r.by) for r in found], wanted)
    return Reproduction([listing(lines[:-1])], made, note=_NOTE)


def three_stages() -> Reproduction:
    """Return tables 9.2.3 to 9.2.5: the speeds of the cart at three stages."""
    m = load_model("cart")
    before, middle, after = (
        _speeds(m, 0, "before any constraints are added"),
        _speeds(m, 4, "after four constraints are added"),
        _speeds(m, 8, "after all constraints are added"),
    )
    made = [
        Check(f"independent speeds, {part.title}", printed, part.text.count("U("))
        for part, printed in zip((before, middle, after), "842", strict=True)
    ]
    made += _alike(m, [(r, r.now) for r in replies(m, 4)],
                   _rolling(m, _U["yaw_dot"], _U["steer_dot"]))  # fmt: skip
    last = _final(m)
    wanted = _rolling(m, last["yaw_dot"], last["steer_dot"]) | last
    why = "the sign of RRW is wrong in table 9.2.5: (U(1) - TRK2 U(3))/R"
    for r in replies(m):
        made += _alike(m, [(r, r.now)], wanted, why if str(r.replaces) == "rrw_dot" else "")
    return Reproduction([before, middle, after], made, note=_NOTE)


def car_states() -> Reproduction:
    """Return tables 9.1.4 and 9.1.5: the state variables of the car before and after."""
    m = load_model("car")
    bodies = [(q, b.name) for b in m.depth_first() for q in b.coordinates]
    lines = [f"Q({k}): {q.name}, of {body}" for k, (q, body) in enumerate(bodies, 1)]
    coordinates = listing(lines, "Generalized coordinates")
    before = _speeds(m, 0, "Generalized speeds (before the constraint)")
    after = _speeds(m, 1, "Generalized speeds (after the constraint)")
    (reply,) = replies(m)
    names = [line.split()[1].rstrip(",") for line in after.text.splitlines()[:3]]
    made = [
        Check("coordinates", "4", len(bodies)),
        Check("speeds before", "4", before.text.count("U(")),
        Check("speeds after", "3", after.text.count("U(")),
        Check("U(1) is replaced", "1", str(reply.replaces) == "nrb.u"),
        Check("by SPEED", "1", str(reply.by) == "SPEED"),
        Check("the others move up", "1", names == ["nrb.v", "yaw_dot", "roll_dot"]),
    ]
    return Reproduction([coordinates, before, after], made)
