"""What ``make demo`` runs: the Stanford arm of Sayers' thesis, from description to motion.

Derives its equations, counts them beside AUTOSIM's, compiles them to native code, measures one
evaluation, simulates ten seconds under control, and closes with the eigenvalues of the Whipple
bicycle.
"""

from __future__ import annotations

import time

import numpy as np

import linkwright as lw
from linkwright.cli.tables import print_table

AUTOSIM = {"add": 268, "mul": 378, "call": 8}  # the thesis, section 9.6, with control
TIMES = (0.0, 1.0, 2.0, 5.0, 10.0)


def main() -> None:
    """Run the demonstration."""
    arm = lw.load_model("stanford-arm-controlled")
    start = time.perf_counter()
    equations = lw.derive(arm)
    program = lw.optimise(equations.program(outputs=False))
    took = time.perf_counter() - start
    ours = lw.count(program).as_dict()
    print_table(
        ("operations of one evaluation", "adds", "multiplies", "calls"),
        [
            ("AUTOSIM, 1990", *(str(AUTOSIM[k]) for k in ("add", "mul", "call"))),
            ("Linkwright", *(str(ours[k]) for k in ("add", "mul", "call"))),
        ],
        title=f"Stanford arm under control: {len(arm.bodies)} bodies, derived in {took:.1f} s",
        numbers=("adds", "multiplies", "calls"),
    )
    _speed(arm, program)
    _motion(arm)
    _bicycle()


def _speed(arm: lw.Mechanism, program: lw.Program) -> None:
    """Compile the program and time it, alone and over a batch."""
    kernel = lw.compile(program)
    arrays = [np.array([_value(arm, x.name) for x in p.entries]) for p in program.inputs]
    kernel.scalar(*arrays)
    rounds = 20_000
    start = time.perf_counter()
    for _ in range(rounds):
        kernel.scalar(*arrays)
    one = (time.perf_counter() - start) / rounds
    many = 65_536
    rng = np.random.default_rng(1)
    batch = [
        rng.normal(size=(many, len(a))) if p.name in "qu" else a
        for p, a in zip(program.inputs, arrays, strict=True)
    ]
    kernel.batch(*batch)
    start = time.perf_counter()
    kernel.batch(*batch)
    each = (time.perf_counter() - start) / many
    print(
        f"\nnative: {one * 1e9:.0f} ns a call from Python, "
        f"{each * 1e9:.0f} ns an evaluation in a batch of {many:,} on one core"
    )


def _value(arm: lw.Mechanism, name: str) -> float:
    return arm.values.get(name, float(arm.initial.get(name, 0.0)))


def _motion(arm: lw.Mechanism) -> None:
    """Simulate ten seconds and show the joints on their way to their targets."""
    start = time.perf_counter()
    run = lw.simulate(arm, 10.0, step=0.01)
    took = time.perf_counter() - start
    names = [q.name for q in lw.derive(arm).coordinates]
    rows = []
    for t in TIMES:
        k = int(np.abs(run.times - t).argmin())
        rows.append((f"{t:g}", *(f"{run[name][k]:.6f}" for name in names)))
    print()
    print_table(
        ("t s", *names),
        rows,
        title=f"motion to the targets pi/3 rad and 0.1 m: 10 s simulated in {took:.2f} s "
        f"({10 / took:.0f} times real time), {run.evaluations} evaluations",
        numbers=("t s", *names),
    )


def _bicycle() -> None:
    """Linearise the nonlinear bicycle at 5 m/s."""
    model = lw.linearise(lw.load_model("whipple"), values={"v": 5.0})
    shown = ", ".join(
        f"{m.eigenvalue.real:.5f}" + (f" ± {m.eigenvalue.imag:.5f}i" if m.eigenvalue.imag else "")
        for m in model.modes()
    )
    print(f"\nWhipple bicycle at 5 m/s, eigenvalues in 1/s: {shown}")
    print("\nnext: linkwright models, linkwright show cart, linkwright ops cart --passes")


if __name__ == "__main__":
    main()
