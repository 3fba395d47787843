"""From a sketch to the states and outputs of a block that is integrated."""

from __future__ import annotations

from linkwright.algebra import Expr, substitute, total, where
from linkwright.blocks import Block, Element
from linkwright.elements.drives.controllers import Controller, Measured, commands
from linkwright.elements.drives.parts import Sketch

_CLOSE = 1e-9
"""How near to zero a value may be for its flag to stay as an event has set it."""


def commanded(
    block: Block, sketch: Sketch, reference: Expr, measured: Measured, controller: Controller | None
) -> dict[Expr, Expr]:
    """Return what the commands of a sketch are: those of the controller, or ports of the block.

    What is pending comes with them: what parts wrote of before it was known.
    """
    if controller is None:
        names = [u.name.replace("controller.", "") for u in sketch.commands]
        made = [block.input(n, doc="command") for n in names]
    else:
        law = controller.law(sketch.of(controller), reference, measured)
        made = [block.intermediate(u) for u in commands(law, len(sketch.commands))]
        for u, value in zip(sketch.commands, made, strict=True):
            block.output(u.name, value, doc="command")
    put = dict(zip(sketch.commands, made, strict=True))
    for x, (value, guess) in sketch.pending.items():
        put[x] = substitute(value, put)
        if guess is not None and isinstance(block, Element):
            put[x] = block.choice(x.name, put[x], substitute(guess, put))
    return put


def emit(
    block: Block, sketch: Sketch, put: dict[Expr, Expr], *, ledger: bool, work: Expr | None = None
) -> None:
    """Give a block the rates of its states, its signals and its powers (`work` in W)."""
    for state in sketch.states:
        assert state.rate is not None
        block.derivative(state.symbol, substitute(state.rate, put))
    for flag, given in sketch.flags.items():
        value = block.intermediate(substitute(given, put))
        block.update(flag, where(value > _CLOSE, 1, where(value < -_CLOSE, 0, flag)))
        away = where(flag > 0.5, -value, value)
        block.event(f"{flag.name} switches", away, direction=1, resets={flag: 1 - flag})
    own = {s.name for s in sketch.states}
    for name, (value, unit, doc) in sketch.signals.items():
        if name not in own:
            block.output(name, substitute(value, put), unit=unit, doc=doc)
    powers = {name: substitute(value, put) for name, value in sketch.powers.items()}
    if work is not None:
        powers["work"] = substitute(work, put)
    for name, value in powers.items():
        block.output(f"power.{name}", value, unit="W", doc=f"power: {name}")
    if not ledger:
        return
    flows = {
        name: block.state(f"energy.{name}", value, unit="J", doc=f"energy: {name}")
        for name, value in powers.items()
    }
    stored = block.output("energy.stored", total(sketch.energies.values()), unit="J", doc="stored")
    gone = total(flow for name, flow in flows.items() if name != "supply")
    block.output("energy.missing", flows["supply"] - gone - stored, unit="J", doc="unaccounted for")
