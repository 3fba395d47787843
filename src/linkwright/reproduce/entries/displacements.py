"""Motion server 2.2: operations of displacements in six forms."""

from __future__ import annotations

from linkwright.parallel.displacements import OPERATIONS, displacement_costs, displacement_table
from linkwright.reproduce.reproduction import Check, DataTable, Reproduction, checks

COUNTED = {
    "homogeneous": "9 9 33 24 9 6",
    "quaternion/vector": "15 18 31 30 15 15",
    "dual 3x3": "27 21 81 63",
    "dual quaternion": "45 45 48 40",
}
"""Multiplications and additions of transform, compose and invert, counted by hand."""


def counts() -> Reproduction:
    """Return the costs of transforming, composing, inverting and normalizing."""
    costs = displacement_costs()
    made = []
    for form, printed in COUNTED.items():
        asked = OPERATIONS[: len(printed.split()) // 2]
        names = [f"{form}, {what}: {sign}" for what in asked for sign in ("mul", "add")]
        found = [n for what in asked for n in (costs[form][what][0].mul, costs[form][what][0].add)]
        made += checks(names, printed, found, recomputed=True)

    def total(form: str, *what: str) -> int:
        return sum(costs[form][each][0].total for each in what)

    def depth(form: str, *what: str) -> int:
        return sum(costs[form][each][0].depth for each in what)

    both = ("compose", "normalize")
    pairs = [
        ("compose: quaternions/matrices, one processor", "1.1", total, ("compose",)),
        ("with normalizing, one processor", "0.8", total, both),
        ("with normalizing, many processors", "0.6", depth, both),
    ]
    for what, bound, count, operations in pairs:
        ratio = count("quaternion/vector", *operations) / count("homogeneous", *operations)
        why = "the text: about equal" if bound == "1.1" else "the text: clearly cheaper"
        made.append(Check(what, bound, ratio, at_most=True, why=why))
    ratio = depth("homogeneous", "compose") / depth("quaternion/vector", "compose")
    made.append(Check("compose, many processors: matrices/quaternions", "1.0", ratio,
                      at_most=True, why="the text: slightly better"))  # fmt: skip
    lines = [form for form in costs if form.startswith("dual")]
    cheapest = min(total(form, "transform", "compose") for form in lines)
    dual = total("dual quaternion", "transform", "compose")
    made.append(Check("dual quaternions less the cheapest form of lines", "0", dual - cheapest,
                      why="the text: the most compact and fastest of the four"))  # fmt: skip
    head, *rows = displacement_table()
    return Reproduction(
        [DataTable(head, rows, "mul/add (depth), as written and optimized")],
        made,
        note="The text gives conclusions; counts are of the formulas that it names.",
    )
