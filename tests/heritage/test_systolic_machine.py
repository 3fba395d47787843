"""The machine of the systolic array and its assembler."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from linkwright.base.errors import InputError
from linkwright.heritage.systolic import (
    ArrayFault,
    ArrayMachine,
    assemble,
    data_scales,
    disassemble,
    faddeev,
    faddeev_data,
    program_source,
    read_code,
    read_data,
    run_faddeev,
    run_pseudo_inverse,
    to_numbers,
    to_words,
)
from linkwright.heritage.systolic.instructions import (
    DESTINATIONS,
    REGISTERS,
    SIGNALS,
    SOURCES,
    TRANSFERS,
    ArrayInstruction,
    ArrayMask,
    Triple,
)
from tests.heritage.test_systolic_cells import parts
from tests.seeds import seeds

LAST = 255  # row 16, column 16


def machine_of(source: str, data: str = "", *, watch: bool = False) -> ArrayMachine:
    code = assemble(source, file="try.asm")
    return ArrayMachine(code, read_data(data, code.queues)[0], watch=watch)


def put(machine: ArrayMachine, **values: float) -> ArrayMachine:
    """Put numbers in registers of all elements."""
    for name, value in values.items():
        machine.registers[REGISTERS.index(name)] = to_words(value)
    return machine


def held(machine: ArrayMachine, name: str, element: int = LAST) -> float:
    return float(to_numbers(machine.registers[REGISTERS.index(name), element]))


@pytest.fixture(scope="module")
def inverse() -> Any:
    """Return a 6×6 inverse: the parts, and what the machine made of them."""
    A, *_ = parts(3, 6, 6, 6, 6)
    given = (A, np.eye(6) / 2, np.eye(6) / 2, np.zeros((6, 6)))
    return given, run_faddeev(*given)


def test_the_faddeev_program_gives_the_bits_of_the_cells(inverse: Any) -> None:
    """Server check 28: the program that is shipped, on the machine."""
    given, found = inverse
    assert (found.words == to_words(faddeev(*given, arithmetic="fixed"))).all()
    assert abs(4 * found.results @ given[0] - np.eye(6)).max() < 1e-5
    assert found.warnings == ()


def test_a_step_takes_at_most_148_cycles(inverse: Any) -> None:
    """Server check 30: 2n + p + m + l steps on the machine too, below the model's cycles."""
    _, found = inverse
    assert found.cost.steps == 30
    assert found.cost.cycles == 2983  # with the loading of constants
    assert found.cost.cycles <= 148 * 30


@pytest.mark.parametrize("sizes", [(1, 1, 1, 1), (4, 3, 2, 5), (3, 2, 14, 4)])
def test_other_sizes_are_settings_of_the_same_source(sizes: tuple[int, int, int, int]) -> None:
    given = parts(5, *sizes)
    found = run_faddeev(*given)
    assert (found.words == to_words(faddeev(*given, arithmetic="fixed"))).all()
    m, n, p, l = sizes
    assert found.cost.steps == 2 * n + p + m + l
    assert found.cost.cycles <= 148 * found.cost.steps


def test_sizes_that_the_array_does_not_have_are_refused() -> None:
    with pytest.raises(InputError, match=r"faddeev\.asm:\d+: n \+ p is 17, and 16 is the most"):
        run_faddeev(*parts(1, 9, 9, 8, 1))
    with pytest.raises(InputError, match=r"l is 5, and 2\*n \+ p, which is 3, is the most"):
        run_faddeev(*parts(1, 1, 1, 1, 5))
    with pytest.raises(
        ArrayFault, match=r"faddeev\.asm:\d+, pc \d+, cycle \d+, row 1 column 1: DIVS"
    ):
        run_faddeev(0.2 * np.eye(2), np.eye(2), np.eye(2), np.zeros((2, 2)))


def test_products_and_quotients_take_four_and_nine_cycles() -> None:
    """Server check 33: one cycle less is refused, by name."""
    for first, last, wait in (
        ("MULTF1(AB0, AB1)", "MULTS1", 4),
        ("DIV(AB0, AB1)", "A2 = QUOTA", 9),
    ):
        good = put(machine_of("\n".join([first, *["NOP"] * (wait - 1), last])), AB0=1.25, AB1=0.5)
        assert good.run() == "end"
        assert held(good, "A2") == (0 if wait == 4 else pytest.approx(0.4, abs=1e-9))
        early = put(machine_of("\n".join([first, *["NOP"] * (wait - 2), last])), AB0=1.25, AB1=0.5)
        with pytest.raises(ArrayFault, match=r"try\.asm:\d+.*is not ready for 1 more cycle"):
            early.run()
    with pytest.raises(ArrayFault, match="Multiplier1 is busy"):
        machine_of("MULTF1(AB0, AB1)\nMULTF1(AB0, AB1)").run()


def test_a_result_older_than_five_cycles_is_stale() -> None:
    """Server check 33: read in the fifth cycle it is good, in the sixth it is noted."""
    for idle, warned in ((4, False), (5, True)):
        machine = machine_of("\n".join(["ADDD(AB0, AB1)", *["NOP"] * idle, "AB2 = SUM1A"]))
        machine.run()
        assert (
            any("SUM1A is stale in row 1 column 1" in text for text in machine.warnings) == warned
        )


def test_an_overflow_is_fatal() -> None:
    """Server check 33: of every unit that can overflow, with the element."""
    for source in ("ADDD(AB0, AB1)", "ADD2(AB0, AB1)", "MULTF1(AB0, AB1)", "MULTF2(AB0, AB1)"):
        machine = put(machine_of(source), AB0=1.5, AB1=1.5)
        with pytest.raises(ArrayFault, match=r"try\.asm:1, pc 0, cycle 0, row 1 column 1 and 255"):
            machine.run()
        assert machine.pc == 0
    with pytest.raises(ArrayFault, match=r"DIV: overflow: the quotient is x/0"):
        put(machine_of("DIV(, AB1)"), AB1=1.0).run()
    with pytest.raises(ArrayFault, match="both below 1; use SHIFT"):
        put(machine_of("DIV(AB0, AB1)"), AB0=0.5, AB1=0.25).run()
    masked = put(machine_of("mask none = rows 2..1\n@none ADDD(AB0, AB1)"), AB0=1.5, AB1=1.5)
    assert masked.run() == "end"


def test_the_display_sample_comes_out_of_a_program() -> None:
    """Server check 32: loads, sums, complements, products and shifts, in an element."""
    source = """
    ADDD(A0, B0)              # 0.04
    A1 = SUM1A, B1 = CSUM1B
    SHIFT(A1, B0)
    A2 = SFTA&B, B2 = SFTA&B
    MULTF2(A3, B3)            # 0.08 times 0.04
    NOP
    NOP
    NOP
    MULTS2
    A4 = CSUM2A, B4 = SUM2B
    """
    machine = put(machine_of(source), A0=0.02, B0=0.02, A3=0.08, B3=0.04)
    machine.run()
    wanted = {
        "A0": 0.0199999995529652,
        "A1": 0.0399999991059303,
        "B1": -0.0400000000372529,
        "A2": 1.27999997138977,
        "B2": 0.639999985694885,
        "B4": 0.0031999992206693,
        "A4": -0.0032000001519918,
    }
    for name, value in wanted.items():
        assert held(machine, name) == pytest.approx(value, abs=1e-14), name


def test_the_reports_two_lines_give_the_magnitude() -> None:
    """ADDD(, x) and SORT(x, CSUM1B): one unit of the last place less where x is negative."""
    machine = machine_of("ADDD(, AB1)\nSORT(AB1, CSUM1B)\nA0 = HIGHA")
    machine.registers[1] = np.arange(-128, 128)
    machine.run()
    wanted = [x if x >= 0 else -x - 1 for x in range(-128, 128)]
    assert list(machine.registers[REGISTERS.index("A0")]) == wanted


def test_CSUM2A_is_on_bus_A() -> None:
    """Its name says so; the report's list says B."""
    machine = put(machine_of("ADD2(A0, B0)\nADD2(CSUM2A, B7)\nB6 = SUM2B"), A0=0.5, B0=0.25, B7=1.0)
    machine.run()
    assert held(machine, "B6") == pytest.approx(0.25, abs=2e-9)
    with pytest.raises(InputError, match="CSUM2A cannot be on bus B"):
        assemble("ADD2(A0, CSUM2A)")


def test_column_1_obeys_the_external_half_and_masks_choose() -> None:
    source = """
    mask some = rows 2..3 columns 1..2
    mask slant = diagonals -1, 2
    @some A0 = AB1 | A0 = AB2
    @slant A1 = AB1
    """
    machine = put(machine_of(source), AB1=0.5, AB2=0.25)
    machine.run()
    first = to_numbers(machine.registers[REGISTERS.index("A0")]).reshape(16, 16)
    wanted = np.zeros((16, 16))
    wanted[1:3, 0], wanted[1:3, 1] = 0.5, 0.25
    assert (first == wanted).all()
    second = to_numbers(machine.registers[REGISTERS.index("A1")]).reshape(16, 16)
    assert (second == 0.5 * (np.eye(16, k=1) + np.eye(16, k=-2))).all()


@pytest.mark.parametrize(("way", "ports"), [("SW", "S:W"), ("NE", "N:E")])
def test_words_go_to_neighbors_in_two_halves(way: str, ports: str) -> None:
    source = f"{ports} = AB0, {ports} = AB1\nMOVE_{way}"
    machine = machine_of(source)
    rng = np.random.default_rng(0)
    words = rng.integers(-(2**31), 2**31, (2, 256))
    machine.registers[:2] = words
    machine.run()
    vertical, horizontal = words.reshape(2, 16, 16)
    sign = 1 if way == "SW" else -1
    came = machine.inputs.reshape(4, 16, 16)
    down, left = np.roll(vertical, sign, 0), np.roll(horizontal, -sign, 1)
    down[0 if sign > 0 else -1] = 0
    left[:, -1 if sign > 0 else 0] = 0
    assert (came[0 if sign > 0 else 2] == down).all()
    assert (came[1 if sign > 0 else 3] == left).all()
    assert (machine.left == vertical[-1 if sign > 0 else 0]).all()


def test_a_second_word_follows_the_first_without_a_pause() -> None:
    """The codes that receive one half and send another in the same phase, in both directions."""
    for there, back, port in (("NE", "SW", "S:W"), ("SW", "NE", "N:E")):
        out = {"NE": ("N:E", "E:N"), "SW": ("S:W", "W:S")}[there]
        source = f"""
        {out[0]} = AB0, {there}L_OUT, {back}L_IN
        NOP, {out[1]} = AB1, {there}H_OUT, {back}H&{there}L
        AB4 = {port}, {back}L_IN, {there}H_OUT
        {back}H_IN
        AB5 = {port}
        """
        machine = machine_of(source)
        words = np.random.default_rng(1).integers(-(2**31), 2**31, (2, 256))
        machine.registers[:2] = words
        machine.run()
        for register, sent in ((4, words[0]), (5, words[1])):
            came = np.roll(sent.reshape(16, 16), -1 if there == "NE" else 1, 0)
            came[-1 if there == "NE" else 0] = 0
            assert (machine.registers[register].reshape(16, 16) == came).all()
        again = assemble(disassemble(machine.code))
        assert again.instructions == machine.code.instructions


def test_receiving_what_nobody_sends_is_noted_when_asked() -> None:
    for watch in (False, True):
        machine = machine_of("NEL_IN", watch=watch)
        machine.run()
        assert bool(machine.warnings) == watch


QUEUES = """
queue up ascending 2
queue down descending 3
queue still constant
queue out descending 7 output
fifo read = up, down, still
fifo write = out
WRITEQ READQ
repeat 2
  MOVE_SW READ
  S:W = N:E
  repeat 15
    MOVE_SW
    S:W = N:E
  end
  MOVE_SW WRITE
end
"""


def test_queues_are_read_and_written_from_head_to_tail() -> None:
    """Server check 34: descending queues load properly, and so do constant ones."""
    rows = {"up": [0.1, 0.2], "down": [0.3, 0.4, 0.5], "still": [0.6]}
    text = "\n".join(" ".join([str(v)] * 16) for values in rows.values() for v in values)
    code = assemble(QUEUES)
    memory, warnings = read_data(text, code.queues)
    assert warnings == ()
    shown = [round(float(v), 6) for v in to_numbers(memory[:6, 0])]
    assert shown == [0.1, 0.2, 0.5, 0.4, 0.3, 0.6]
    source = QUEUES.replace("repeat 2", "repeat 7", 1).splitlines()
    at = next(i for i, row in enumerate(source) if "MOVE_SW READ" in row)
    pump = source[at : len(source) - 1]
    body = ["READQ WRITEQ"]
    for i in range(7):
        body += (["READQ"] if i in (2, 5) else []) + pump
    head = [row for row in source if row.startswith(("queue", "fifo"))]
    machine = ArrayMachine(assemble("\n".join([*head, *body])), memory)
    machine.run()
    out = next(q for q in machine.code.queues if q.name == "out")
    found = [round(float(to_numbers(machine.memory[a, 9])), 6) for a in out.addresses]
    assert found == [0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.6]
    assert machine.warnings == {}
    assert out.addresses[0] == 12
    assert machine.counters["read"] == 5


def test_numbers_out_of_range_load_as_zero_with_a_warning() -> None:
    """Server check 34: each is named, with its place."""
    code = assemble("queue x descending 2")
    data = "# rows\n" + "0.5 " * 16 + "\n" + "0.25 " * 15 + "-2\n"
    memory, warnings = read_data(data, code.queues, file="data.txt")
    assert warnings == ("data.txt:3: -2 is out of the range (−2, 2): 0 is loaded in row 2 of 'x'",)
    assert memory[0, 15] == 0
    assert to_numbers(memory[1, 15]) == 0.5


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("0.5 " * 31, "there are 31 numbers, and the queues take 32; give 16 numbers"),
        ("0.5 " * 33, "d.txt:1: there are more numbers than the 32"),
        ("0.5\nhalf", "d.txt:2: entry 1 is 'half', not a number"),
    ],
)
def test_data_of_the_wrong_size_are_refused(text: str, said: str) -> None:
    with pytest.raises(InputError) as caught:
        read_data(text, assemble("queue x ascending 2").queues, file="d.txt")
    assert said in str(caught.value)


def test_beyond_the_tail_of_a_queue_is_noted() -> None:
    machine = machine_of("queue x ascending 1\nfifo read = x\nREADQ READ\nREAD", "0.5 " * 16)
    machine.run()
    assert list(machine.warnings) == ["try.asm:4: a read beyond the tail of the queue 'x'"]


def test_jumps_take_their_targets_from_the_fifo() -> None:
    source = "fifo program = loop*2, out\nloop:E:N = AB0\nMARK\nJUMP\nHALT\nout: MARK"
    machine = machine_of(source)
    assert machine.run() == "end"
    assert (machine.marks, machine.cycle) == (4, 10)
    with pytest.raises(
        ArrayFault, match=r"try\.asm:1.*the program FIFO is empty; list one address"
    ):
        machine_of("JUMP").run()


def test_every_mnemonic_survives_word_and_file() -> None:
    """All fields of 112 bits, through the code file and back."""
    rng = np.random.default_rng(2)
    made = []
    most = max(len(SOURCES), len(DESTINATIONS))
    for i in range(most):
        triples = [
            Triple(
                list(TRANSFERS)[(i + k) % len(TRANSFERS)],
                SOURCES[(i + 3 * k) % len(SOURCES)],
                DESTINATIONS[(i + 7 * k) % len(DESTINATIONS)],
            )
            for k in range(4)
        ]
        mask = ArrayMask(bool(i % 2), int(rng.integers(0, 2**32)))
        signals = frozenset(name for name in SIGNALS if rng.integers(2))
        made.append(
            ArrayInstruction(mask, signals, (triples[0], triples[1]), (triples[2], triples[3]))
        )
    for one in made:
        assert ArrayInstruction.decoded(one.word) == one
    code = assemble(program_source(), file="faddeev.asm")
    again = read_code(code.text())
    assert again.text() == code.text()
    assert again.instructions == code.instructions


@pytest.mark.parametrize(
    ("source", "said"),
    [
        ("ADDD(AB0, A1)", "a.asm:1: A1 cannot be on bus B; change the order"),
        ("SORTT(AB0, AB1)", "there is no operation 'SORTT'; did you mean 'SORT'?"),
        ("\nAB0 = SUM1", "a.asm:2: there is no source 'SUM1'"),
        ("E:N = 0", "E:N cannot be cleared; send a register that is 0"),
        ("A0 = B1", "no bus goes from B1 to A0; go by a register AB0..7"),
        ("A0 = AB1, A2 = AB3, A4 = AB5", "needs more than two phases; make it two instructions"),
        ("@cels NOP", "there is no mask 'cels'"),
        ("mask x = rows 0..3", "0 is out of 1..16"),
        ("mask x = lines 3", "is not a mask; write `mask NAME"),
        ("queue q rising 3", "no queue is 'rising'"),
        ("queue q ascending", "has no number of rows"),
        ("queue q constant 2", "a constant queue has one"),
        ("queue q ascending 2 output 17", "17 words are not a row; 0 to 16"),
        ("queue q ascending 5000", "does not fit in data memory"),
        ("queue a ascending 3\nqueue b ascending 2 at 2", "the queues 'a' and 'b' overlap"),
        ("fifo read = x", "there is no queue 'x'"),
        ("fifo program = lop\nloop: NOP", "there is no label 'lop'; did you mean 'loop'?"),
        ("set n = k + 1", "'k' is not known here; write `set k = ...` before"),
        ("set n = 1\nset n = 2", "'n' is set twice"),
        ("repeat 3\nNOP", "this repeat has no end"),
        ("end", "there is nothing to end"),
        ("x: NOP\nx: NOP", "the label 'x' stands twice"),
        ("MULTS1(AB0)", "MULTS1 takes nothing from the buses"),
        ("JUMB", "'JUMB' is not understood; did you mean 'JUMP'?"),
        ("repeat 4097\nNOP\nend", "would repeat 4097 times"),
        ("set n = 2 // 0", "divides by 0"),
        ("set n = " + "(" * 5000, "this expression is too long"),
        ("repeat 4000\n" * 3 + "end\n" * 3, "the lines are repeated too often"),
        ("repeat 1\n" * 900 + "NOP\n" + "end\n" * 900, "the lines are repeated too often"),
    ],
)
def test_errors_of_a_source_name_line_and_remedy(source: str, said: str) -> None:
    with pytest.raises(InputError) as caught:
        assemble(source, file="a.asm")
    assert str(caught.value).startswith("a.asm:")
    assert said in str(caught.value)


def test_a_setting_that_the_source_does_not_have_is_refused() -> None:
    with pytest.raises(InputError, match="the source sets no 'k'"):
        assemble("set n = 1", settings={"k": 2})


@pytest.mark.parametrize(
    "spoil",
    ["word 12", "mask m D -1234567", "label x -1", "fifo read 5000", "queue q up 1 1 input"],
)
def test_a_damaged_code_file_is_refused(spoil: str) -> None:
    text = assemble("x: NOP").text()
    with pytest.raises(InputError, match=r"c\.code"):
        read_code(text + spoil + "\n", file="c.code")
    with pytest.raises(InputError, match="this is not code of the array; make it with"):
        read_code(spoil)


def test_data_of_the_program_are_refused_where_they_do_not_fit() -> None:
    I = np.eye(2)
    with pytest.raises(ArrayFault, match=r"2 is out of the range"):
        faddeev_data(2 * I, I, I, 0 * I)


def test_a_scale_of_the_data_names_a_queue_that_comes_out() -> None:
    queues = assemble("queue x ascending 2\nqueue y ascending 2 output 3").queues
    assert data_scales("1 2 # scale y 3\nscale y, -0.5\n", queues) == {"y": -0.5}
    for line in ("scale x 2", "scale y", "scale y four", "scale y 0", "scale y nan", "scale y 2 2"):
        with pytest.raises(InputError, match=rf"d.txt:2: '{line}' scales nothing; .* queue of y"):
            data_scales(f"1\n{line}\n", queues, file="d.txt")
    with pytest.raises(InputError, match="'scale y 2' scales nothing"):
        data_scales("scale y 2\nscale y 2", queues)


def test_sizes_beyond_a_limit_are_refused_by_its_words() -> None:
    source = program_source()
    for sizes, message in (
        ({"n": 9}, r"n \+ p is 18, and 16 is the most; set other sizes than n = 9, m = 9"),
        ({"n": 3, "m": 2}, "n is 3, and m, which is 2, is the most"),
        ({"n": 2, "l": 9}, r"l is 9, and 2\*n \+ p, which is 6, is the most"),
    ):
        with pytest.raises(InputError, match=message):
            assemble(source, settings=sizes)
    with pytest.raises(InputError, match="this limits nothing"):
        assemble("limit 3")


@pytest.mark.parametrize("seed", seeds(6, daily=1))
def test_a_pseudo_inverse_takes_three_passes_of_the_report(seed: int) -> None:
    """6x7 in 33 + 30 + 31 steps, against NumPy's, as exact as the words and the condition allow."""
    rng = np.random.default_rng(seed)
    turn = np.linalg.qr(rng.normal(size=(6, 6)))[0]
    across = np.linalg.qr(rng.normal(size=(7, 7)))[0][:6]
    J = turn @ np.diag(rng.uniform(0.6, 4.0, 6)) @ across
    found, passes = run_pseudo_inverse(J)
    assert [one.cost.steps for one in passes] == [33, 30, 31]
    wanted = np.linalg.pinv(J)
    bound = 3e-6 * np.linalg.cond(J) ** 2 * np.abs(wanted).max()
    assert np.abs(found - wanted).max() < bound
    with pytest.raises(InputError, match="is not wide"):
        run_pseudo_inverse(J.T)
    with pytest.raises(InputError, match="zeros"):
        run_pseudo_inverse(np.zeros((2, 3)))
