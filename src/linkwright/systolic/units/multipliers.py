"""Two multipliers: four cycles to a product, which the second stage moves to an adder.

The hardware makes a partial product and a carry, which nothing can reach; here the first stage
makes the product, and the second one moves it.
"""

from __future__ import annotations

from linkwright.systolic.fixed import Words, multiply
from linkwright.systolic.units.unit import ArrayUnit, Operation

MULTIPLIER1 = ArrayUnit("Multiplier1", ("PROD1",), latency=4)
MULTIPLIER2 = ArrayUnit("Multiplier2", ("PROD2",), latency=4)


def _product(a: Words, b: Words) -> tuple[Words, ...]:
    return (multiply(a, b),)


def _moved(product: Words, _: Words) -> tuple[Words, ...]:
    return (product,)


OPERATIONS = (
    Operation("MULTF1", ("Multiplier1",), _product),
    Operation("MULTS1", ("Adder1",), _moved, source="Multiplier1"),
    Operation("MULTF2", ("Multiplier2",), _product),
    Operation("MULTS2", ("Adder2",), _moved, source="Multiplier2"),
)
