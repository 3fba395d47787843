"""Random Systems against a plain executor that knows only what a System is said to be."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
import pytest

import linkwright as lw
from linkwright.simulation.runs import RunStopped
from linkwright.system import AlgebraicLoop
from tests.oracles.plain_system import LoopFound, PlainSystem
from tests.random.systems import HERTZ, Example, Maker
from tests.seeds import seeds

TICKS = 18
STEPS = 4


def executed(example: Example, noise: Mapping[str, Sequence[float]]) -> PlainSystem:
    """Run the example in plain Python."""
    plain = PlainSystem(
        example.parts,
        example.wires,
        1 / HERTZ,
        STEPS,
        mechanism=example.system.mechanism if example.start else None,
        start=example.start,
        noise=noise,
    )
    plain.run(TICKS)
    return plain


def unstable(example: Example, noise: Mapping[str, Sequence[float]]) -> bool:
    """Whether values of the example grow without bounds."""
    try:
        last = executed(example, noise).rows[-1].values()
    except (OverflowError, np.linalg.LinAlgError):
        return True
    return not max(abs(v) for v in last) < 1e6


@pytest.mark.parametrize("seed", seeds(12, daily=3))
def test_a_random_system_does_what_a_plain_executor_does(seed: int) -> None:
    """Every state, memory and output of every member, at every tick."""
    example = Maker(seed).make()
    names = [
        *example.start,
        *(
            f"{p.name}.{s.name}"
            for p in example.parts
            for s in (
                *p.block.states,
                *p.block.discrete_states,
                *(x for o in p.block.outputs.values() for x in o.symbols),
            )
        ),
    ]
    nothing = dict.fromkeys(names, [0.0] * (TICKS + 1))
    try:
        run = lw.simulate(
            example.system,
            TICKS / HERTZ,
            method="rk4",
            step=1 / HERTZ / STEPS,
            record=names,
            every=1,
            seed=seed,
        )
    except AlgebraicLoop:
        with pytest.raises(LoopFound):
            executed(example, nothing)
        return
    except RunStopped:
        with np.errstate(all="ignore"):
            assert unstable(example, nothing), example.told
        return
    plain = executed(example, {n: run[n].tolist() for n in names})
    close = 1e-6
    for name in names:
        wanted = np.array([row[name] for row in plain.rows])
        scale = close * max(1.0, np.abs(wanted).max())
        np.testing.assert_allclose(
            run[name], wanted, rtol=0, atol=scale, err_msg=f"{name} of\n{example.told}"
        )
    assert [e.name for e in run.events] == [name for name, _ in plain.happened], example.told
