"""Two multipliers: four cycles to a product, which the second stage moves to an adder.

The hardware makes a partial product and a carry, which nothing can reach; here the first stage
makes the product, and the second one moves it.
"""

from __future__ import annotations

from linkwright.heritage.systolic.fixed import Words, multiply
from linkwright.heritage.systolic.units.unit import ArrayUnit, Operation


def _product(a: Words, b: Words) -> tuple[Words, ...]:
    return (multiply(a, b),)


def _moved(product: Words, _: Words) -> tuple[Words, ...]:
    return (product,)


def _multiplier(number: int) -> ArrayUnit:
    name = f"Multiplier{number}"
    return ArrayUnit(
        name,
        (f"PROD{number}",),
        latency=4,
        operations=(
            Operation(f"MULTF{number}", (name,), _product),
            Operation(f"MULTS{number}", (f"Adder{number}",), _moved, source=name),
        ),
    )


MULTIPLIER1, MULTIPLIER2 = _multiplier(1), _multiplier(2)
