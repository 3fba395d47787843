"""Motion server, appendices 3 and 4: the systolic array."""

from __future__ import annotations

import numpy as np

from linkwright.heritage.systolic import (
    STEP_CYCLES,
    ArrayMachine,
    Debugger,
    array_cost,
    assemble,
    pseudo_inverse_cost,
    read_data,
    run_faddeev,
    to_numbers,
    to_words,
)
from linkwright.heritage.systolic.instructions import REGISTERS
from linkwright.reproduce.reproduction import (
    Check,
    DataTable,
    Listing,
    Panel,
    Reproduction,
    Series,
)

SOURCE = """
ADDD(A0, B0)
A1 = SUM1A, B1 = CSUM1B
SHIFT(A1, B0)
A2 = SFTA&B, B2 = SFTA&B
MULTF2(A3, B3)
NOP
NOP
NOP
MULTS2
A4 = CSUM2A, B4 = SUM2B
"""
DISPLAY = {
    "A0": "0.0199999995529652", "A1": "0.0399999991059303", "B1": "-0.0400000000372529",
    "A2": "1.2799999713897700", "B2": "0.6399999856948850",
    "B4": "0.0031999992206693", "A4": "-0.0032000001519918",
}  # fmt: skip


def display() -> Reproduction:
    """Return the display of a processor: loads, sums, complements, a product and a shift."""
    code = assemble(SOURCE, file="display.asm")
    machine = ArrayMachine(code, read_data("", code.queues)[0])
    for name, value in {"A0": 0.02, "B0": 0.02, "A3": 0.08, "B3": 0.04}.items():
        machine.registers[REGISTERS.index(name)] = to_words(value)
    machine.run()
    held = {n: float(to_numbers(machine.registers[REGISTERS.index(n), 255])) for n in DISPLAY}
    rows = [(name, f"{value:.16f}") for name, value in held.items()]
    return Reproduction(
        [DataTable(("register", "row 16, column 16"), rows, "Processor display, floating point")],
        [
            Check(name, text, held[name], within=1e-14, why="to 15 digits")
            for name, text in DISPLAY.items()
        ],
        note="Numbers are 32-bit words times 2^-30: 15 of the printed digits are theirs.",
    )


def cost() -> Reproduction:
    """Return the cycles of a step, and the times of an inverse and of a pseudo-inverse."""
    passes = pseudo_inverse_cost(6, 7)
    sizes = range(1, 9)
    times = [array_cost(n, n, n, n).seconds * 1e3 for n in sizes]
    made = [
        Check("cycles of a step", "148", STEP_CYCLES),
        Check("6x6 inverse at 8 MHz", "0.555", array_cost(6, 6, 6, 6).seconds * 1e3, "ms"),
        Check("6x7 pseudo-inverse", "1.74", 1e3 * sum(p.seconds for p in passes), "ms"),
    ]
    for k, (printed, one) in enumerate(zip(("33", "30", "31"), passes, strict=True), 1):
        made.append(Check(f"steps of its pass {k}", printed, one.steps))
    return Reproduction(
        [
            Panel(
                [Series(sizes, times, style="o-")],
                "n",
                "time - ms",
                "Inverse of n by n at 8 MHz",
            )
        ],
        made,
    )


def inverse() -> Reproduction:
    """Return a 6x6 inverse on the array: its steps, cycles and error."""
    given = np.random.default_rng(3).uniform(-0.1, 0.1, (6, 6)) + 0.5 * np.eye(6)
    half, none = np.eye(6) / 2, np.zeros((6, 6))
    found = run_faddeev(given, half, half, none)
    error = float(abs(4 * found.results @ given - np.eye(6)).max())
    rows = [[f"{x:.6f}" for x in row] for row in 4 * found.results]
    return Reproduction(
        [DataTable([str(k) for k in range(1, 7)], rows, "Inverse, by the array")],
        [
            Check("steps", "30", found.cost.steps),
            Check("cycles", "4440", found.cost.cycles, at_most=True,
                  why="30 steps of 148 cycles; the shipped program overlaps transfers"),
            Check("largest error", "1e-5", error, at_most=True, recomputed=True),
        ],
    )  # fmt: skip


SESSION = """
start: ADDD(A0, B0)
A1 = SUM1A, B1 = SUM2B
SHIFT(A1, B0)
A2 = SFTA&B, B2 = SFTA&B
MULTF2(AB3, B1)
wait: NOP
NOP
NOP
MULTS2
B4 = SUM2B
"""
GIVEN = ("proglen", "break wait", "run", "processor 2 16", "unbreak wait", "run", "back", "step",
         "processor 2 16")  # fmt: skip


def session() -> Reproduction:
    """Return a session with the simulator: breakpoint, steps, and the display of a processor."""
    code = assemble(SESSION, file="display.asm")
    machine = ArrayMachine(code, read_data("", code.queues)[0])
    for name, value in {"A0": 0.02, "B0": 0.02, "AB3": 0.08}.items():
        machine.registers[REGISTERS.index(name)] = to_words(value)
    talk = Debugger(machine)
    said = [talk.give(line) for line in GIVEN]
    lines = [line for pair in zip((f"sim> {g}" for g in GIVEN), said, strict=True) for line in pair]
    shown = said[-1]

    def number(after: str, text: str = shown) -> float:
        return float(text.partition(after)[2].split()[0].rstrip(")"))

    starting, ready = (
        text.partition("Multiplier2")[2] for text in (said[GIVEN.index("processor 2 16")], shown)
    )
    made = [
        Check(name, text, number(word), within=1e-14, why="to 15 digits")
        for name, word, text in (
            ("A1", " A1:", "0.0399999991059303"),
            ("A2", " A2:", "1.2799999713897700"),
            ("B2", " B2:", "0.6399999856948850"),
            ("B4", " B4:", "0.0031999992206693"),
            ("SUM1A", "SUM1A  =", "0.0399999991059303"),
            ("CSUM1B", "CSUM1B =", "-0.0400000000372529"),
            ("CSUM2A", "CSUM2A =", "-0.0032000001519918"),
            ("SUM2B", "SUM2B  =", "0.0031999992206693"),
        )
    ]
    made += [
        Check("clock of the multiplier, as it starts", "4", number("mul_clock =", starting)),
        Check("clock of the multiplier, when it is ready", "-1", number("mul_clock =", ready)),
        Check("dynamic clock of adder 2", "4", number("Adder2:       (dyn. clock =")),
        Check("row", "2", number("row ...........................")),
        Check("column", "16", number("column ........................")),
    ]
    return Reproduction(
        [Listing("\n".join(lines), "sim")],
        made,
        note="The report's own session (its appendix B) is lost; this one comes to its display, "
        "whose 16-digit numbers are 32-bit words: 15 of their digits count.",
    )
