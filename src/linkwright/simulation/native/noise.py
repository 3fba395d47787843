"""Counter-based noise: Philox 4x32 with ten rounds (Salmon, Moraes, Dror and Shaw, SC 2011).

The number that a block draws at a tick is a function of (seed, stream, run, tick) and of nothing
that happened before, so a lane of a batch draws the same numbers whatever its place, and a run
that was interrupted draws what it would have drawn. The key is the seed; the counter is the tick
(64 bits), the stream and the run (32 bits each). One block of the cipher gives two numbers,
uniform in (0, 1), each with 52 random bits.
"""

from __future__ import annotations

from linkwright.simulation.native.text import IrWriter

_ROUNDS = 10
_MULTIPLIERS = (0xD2511F53, 0xCD9E8D57)
_WEYL = (0x9E3779B9, 0xBB67AE85)
_LOW = 0xFFFFFFFF


def write_uniform(w: IrWriter, seed: str, stream: str, run: str, tick: str) -> tuple[str, str]:
    """Write the same for W lanes, and return the two values."""

    def op(operation: str, first: str, second: str) -> str:
        return w.op(f"{operation} {w.integer} {first}, {second}")

    def low(x: str) -> str:
        return op("and", x, w.whole(_LOW))

    def high(x: str) -> str:
        return op("lshr", x, w.whole(32))

    a, b, c, d = low(tick), high(tick), low(stream), low(run)
    first, second = low(seed), high(seed)
    for _ in range(_ROUNDS):
        p, q = op("mul", a, w.whole(_MULTIPLIERS[0])), op("mul", c, w.whole(_MULTIPLIERS[1]))
        a, b, c, d = (
            op("xor", op("xor", high(q), b), first),
            low(q),
            op("xor", op("xor", high(p), d), second),
            low(p),
        )
        first = low(op("add", first, w.whole(_WEYL[0])))
        second = low(op("add", second, w.whole(_WEYL[1])))

    def fraction(upper: str, lower: str) -> str:
        bits = op("or", op("shl", upper, w.whole(20)), op("lshr", lower, w.whole(12)))
        value = w.op(f"uitofp {w.integer} {bits} to {w.value}")
        return w.f("fmul", w.f("fadd", value, w.number(0.5)), w.number(2.0**-52))

    return fraction(a, b), fraction(c, d)
