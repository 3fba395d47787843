"""The debugger of the systolic array: its commands, and the command line around it."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from linkwright.base.errors import Error, InputError
from linkwright.cli import main
from linkwright.heritage.systolic import (
    ArrayMachine,
    Debugger,
    assemble,
    disassemble,
    faddeev_data,
    program_source,
    read_data,
)
from linkwright.heritage.systolic.debugger import DEBUGGER_COMMANDS, scripted
from linkwright.heritage.systolic.workbench import work
from tests.support.pseudo_terminal import terminal

SAMPLE = """
queue x descending 2
queue out ascending 2 output
mask corner = rows 2 columns 16
mask stairs = diagonals 0, 3
fifo read = x
fifo write = out
fifo program = loop, last
start: READQ WRITEQ READ
loop: MOVE_SW
AB0 = N:E, B0 = E:N
@corner ADDD(AB0, B0)
JUMP NOP
last: HALT NOP
"""
ROWS = "0.02 " * 16 + "\n" + "0.04 " * 16


def talk_of(source: str = SAMPLE, data: str = ROWS) -> Debugger:
    code = assemble(source, file="sample.asm")
    return Debugger(ArrayMachine(code, read_data(data, code.queues)[0]))


def test_every_command_explains_itself_and_runs() -> None:
    """Server check 34: ? lists all of the report's commands, and each does something."""
    talk = talk_of()
    listed = talk.give("?")
    for row in DEBUGGER_COMMANDS:
        for name in row.names:
            assert any(name in line.split("  ")[0] for line in listed.splitlines())
            assert row.meaning in talk.give(f"help {name}")
    wanted = (
        "? help run cont step pc readaddr writeaddr pfifo wfifo rfifo processor proglen data instr"
        " mask sysfld dump break unbreak exit quit back"
    )
    assert set(wanted.split()) <= {name for row in DEBUGGER_COMMANDS for name in row.names}


def test_stepping_shows_where_it_is_and_goes_back() -> None:
    """Server check 34: step, one step back, and many; the machine is what it was."""
    talk = talk_of()
    assert talk.give("readaddr") == "0"
    assert talk.give("step") == "pc 1, cycle 1"
    assert talk.give("readaddr") == "0"  # the head of the descending queue was 1
    assert talk.give("writeaddr") == "2"
    assert talk.give("rfifo") == "read FIFO (empty)"
    assert talk.give("pfifo") == "program FIFO (ok): 1 6"
    assert talk.give("step 3") == "pc 4, cycle 4"
    one = talk.give("processor 1 5 -f")
    assert talk.give("step 4") == "pc 3, cycle 8"
    assert talk.give("back") == "pc 2, cycle 7"
    assert talk.give("back 3") == "pc 4, cycle 4"
    assert talk.give("processor 1 5 -f") == one
    assert talk.give("back 4") == "pc 0, cycle 0"
    assert talk.give("wfifo") == "write FIFO (ok): 2"
    with pytest.raises(InputError, match="only 0 instructions were executed"):
        talk.give("back")
    assert talk.give("pc") == "0x0  0o0  0"
    assert talk.give("proglen") == "0x7  0o7  7"
    assert talk.give("run") == "the end: pc 7, cycle 12, 0 steps"
    assert talk.give("run") == "the program has ended: pc 7, cycle 12"


def test_steps_are_taken_back_over_long_runs() -> None:
    """Copies are made every 256 cycles: before, at and after them it is the same machine."""
    source = "fifo program = loop*400, out\nloop: ADDD(AB0, B0)\nAB0 = SUM1A\nJUMP\nout: HALT\n"
    talk = talk_of(source, "")
    talk.machine.registers[16] = 1
    talk._copies = [talk.machine.copy()]
    talk.give("run")
    end = talk.machine.cycle
    for cycle in (700, 513, 512, 511, 257, 256, 255, 1):
        talk.give(f"back {talk.machine.cycle - cycle}")
        again = talk_of(source, "")
        again.machine.registers[16] = 1
        again.machine.run((), cycle)
        assert (talk.machine.registers == again.machine.registers).all()
        assert (talk.machine.pc, talk.machine.cycle) == (again.machine.pc, cycle)
    assert talk.give("run") == f"the end: pc 4, cycle {end}, 0 steps"


def test_breakpoints_stop_and_there_are_twenty_at_most() -> None:
    """Server check 34: break, list, unbreak, the limit, and what is not there."""
    talk = talk_of()
    assert talk.give("break") == "there are no breakpoints"
    assert talk.give("break loop") == "breakpoint loop at 1"
    assert talk.give("run") == "breakpoint loop: pc 1, cycle 1"
    assert talk.give("cont") == "breakpoint loop: pc 1, cycle 6"
    assert talk.give("break") == "loop at 1"
    assert talk.give("unbreak loop") == "no breakpoint loop any more"
    assert talk.give("run").startswith("the end")
    with pytest.raises(InputError, match="there is no breakpoint at 'loop'"):
        talk.give("unbreak loop")
    with pytest.raises(InputError, match="there is no label 'lop'; did you mean 'loop'"):
        talk.give("break lop")
    many = talk_of("".join(f"l{i}: NOP\n" for i in range(21)), "")
    for i in range(20):
        many.give(f"break l{i}")
    with pytest.raises(InputError, match="20 breakpoints are set already; take one off"):
        many.give("break l20")
    with pytest.raises(InputError, match="already; one is enough"):
        many.give("break l0")


def test_a_mask_is_drawn() -> None:
    """Server check 34: the mask picture, an x for each enabled element."""
    rows = talk_of().give("mask stairs").splitlines()
    assert rows[0].split() == [str(i) for i in range(1, 17)]
    for r, row in enumerate(rows[1:]):
        marks = row.split()[1:]
        assert [c for c in range(16) if marks[c] == "x"] == [
            c for c in range(16) if r - c in (0, 3)
        ]
    with pytest.raises(InputError, match="there are all, corner, stairs"):
        talk_of().give("mask none")


def test_the_processor_is_shown_in_the_reports_boxes() -> None:
    """Server checks 32 and 33: the printed numbers, clocks and flags."""
    source = """
    ADDD(A0, B0)
    A1 = SUM1A, B1 = SUM2B
    SHIFT(A1, B0)
    A2 = SFTA&B, B2 = SFTA&B
    MULTF2(AB3, B1)
    NOP
    NOP
    NOP
    MULTS2
    B4 = SUM2B
    """
    talk = talk_of(source, "")
    for register, word in ((8, 21474836), (16, 21474836), (3, 85899344)):
        talk.machine.registers[register] = word
    talk._copies = [talk.machine.copy()]
    talk.give("step 5")
    assert "ready = n (mul_clock =  4)" in talk.give("processor 2 16")
    talk.give("step 5")
    shown = talk.give("processor 2 16")
    for words in (
        "A0:   0.0199999995529652",
        "A1:   0.0399999991059303",
        "A2:   1.2799999713897705",
        "B2:   0.6399999856948853",
        "AB3:  0.079999998211860",
        "B4:   0.0031999992206693",
        "SUM1A  =  0.0399999991059303",
        "CSUM1B = -0.0400000000372529",
        "CSUM2A = -0.0032000001519918",
        "SUM2B  =  0.0031999992206693",
        "SHIFTA =  1.2799999713897705",
        "Adder1:       (dyn. clock = -1)",
        "Adder2:       (dyn. clock =  4)",
        "Multiplier2:  (dyn. clock =  4)",
        "PAR_PROD & CARY : inaccessible",
        "ready = y (mul_clock = -1)",
        "row ........................... 0002",
        "column ........................ 0016",
    ):
        assert words in shown, words
    assert len({len(row) for row in shown.splitlines()}) == 1
    assert "fd5c28f6" not in shown
    assert "28f5c28" in talk.give("proc 2 16 -f")
    with pytest.raises(InputError, match="the row is '17'; give a number from 1 to 16"):
        talk.give("processor 17 1")


def test_memory_and_instructions_are_shown() -> None:
    talk = talk_of()
    shown = talk.give("data 0 4").splitlines()
    assert shown[0] == "0000:  " + "  ".join(["0.0399999991"] * 4)
    assert shown[-1] == "   *: the same to 0004"
    assert talk.give("data 1 -f").splitlines()[0].split() == ["0001:", *["147ae14"] * 8]
    rows = talk.give("instr 0 4").splitlines()
    assert rows[0].split() == ["external", "(ph1/ph2)", "internal", "(ph1/ph2)"]
    assert " ".join(rows[1].split()) == "pc sel mask sysfld i/o src dst i/o src dst"
    assert rows[3].split()[:4] == ["0000", "R/C", "FFFFFFFF", "000D"]
    assert " ".join(rows[11].split()) == "0004 R/C 40000001 0000 NOP AB0 NOP NOP AB0 NOP"
    assert rows[12].split() == ["NOP", "B0", "ADDD", "NOP", "B0", "ADDD"]
    signals = talk.give("sysfld 0D").splitlines()
    assert [row.split()[1] for row in signals if row.startswith("X")] == ["READ", "READQ", "WRITEQ"]
    assert len(signals) == 8
    for wrong in ("sysfld xyz", "sysfld 100", "data 4096", "instr 7", "data", "step 0", "pc now"):
        with pytest.raises(InputError):
            talk.give(wrong)


def test_a_dump_holds_everything(tmp_path: Path) -> None:
    """Server check 34: memories, FIFOs and all elements, in a file."""
    talk = talk_of()
    path = tmp_path / "core.dump"
    assert talk.give(f"dump {path}") == f"wrote {path}"
    text = path.read_text()
    assert text.count("enabled?") == 256
    for part in ("Data Memory", "Program Memory", "program FIFO (ok): 1 6", "0006 R/C"):
        assert part in text


def test_a_fatal_error_leaves_the_machine_before_the_instruction() -> None:
    """Server check 33: it is named, and nothing is half done."""
    source = "fifo read = q\nqueue q constant\nNOP\nREADQ DIV(, AB0)\n"
    talk = talk_of(source, "0 " * 16)
    talk.machine.registers[0] = 1 << 30
    talk._copies = [talk.machine.copy()]
    for _ in range(2):
        said = talk.give("run")
        assert said.startswith(
            "fatal: sample.asm:4, pc 1, cycle 1, row 1 column 1 and 255 more: DIV"
        )
        assert talk.give("rfifo") == "read FIFO (ok): 0"
    assert talk.fault is not None
    assert talk.give("back") == "pc 0, cycle 0"
    assert talk.fault is None


def test_disassembled_code_assembles_to_the_same_words() -> None:
    for source in (program_source(), SAMPLE):
        code = assemble(source)
        again = assemble(disassemble(code))
        assert again.instructions == code.instructions
        assert again.fifos == code.fifos
        assert again.queues == code.queues
        assert {k: v for k, v in again.labels.items() if v < len(code.instructions)} == code.labels


def test_scripts_name_the_line_that_cannot_be_done() -> None:
    said: list[str] = []
    scripted(talk_of(), "# look\nstep 2\n\nquit\nnonsense", said.append, file="a.sim")
    assert said == ["sim> step 2", "pc 2, cycle 2", "sim> quit"]
    with pytest.raises(InputError, match=r"a\.sim:2: there is no command 'stepp'; did you mean"):
        scripted(talk_of(), "pc\nstepp", said.append, file="a.sim")


def print_error(text: str) -> None:
    """Print a line on stderr."""
    print(text, file=sys.stderr)


def array(action: str, *files: str, **options: Any) -> None:
    """Carry out the command in this process, without building the command line each time."""
    work(action, [Path(file) for file in files], say=print, note=print_error, **options)


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return a folder, which is the current one, with sample.code and data.txt."""
    monkeypatch.chdir(tmp_path)
    Path("sample.asm").write_text(SAMPLE)
    Path("data.txt").write_text(ROWS)
    array("assemble", "sample.asm")
    return tmp_path


def test_the_inverse_is_assembled_and_run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """The commands that the page shows, for a smaller matrix."""
    monkeypatch.chdir(tmp_path)
    array("new")
    with pytest.raises(InputError, match=r"inverse\.asm: the file exists already; use --force"):
        array("new")
    assert main(["tools", "systolic", "assemble", "inverse.asm", "--set", "n=2"]) == 0
    half = [[0.5, 0.0], [0.0, 0.5]]
    Path("two.txt").write_text(
        faddeev_data([[0.8, 0.2], [-0.1, 0.9]], half, half, [[0, 0], [0, 0]])
    )
    capsys.readouterr()
    array("run", "inverse.code", "two.txt", as_json=True)
    found = json.loads(capsys.readouterr().out)
    results = found["queues"]["results"]
    assert results[0][:2] == pytest.approx([0.25 * 0.9 / 0.74, -0.25 * 0.2 / 0.74], abs=1e-5)
    assert (found["steps"], found["warnings"]) == (10, [])
    assert list(found["queues"]) == ["results"]
    assert [len(row) for row in results] == [2, 2]
    assert found["scales"] == {"results": 1.0}
    array("run", "inverse.code", "two.txt")
    plain = capsys.readouterr().out
    assert "10 steps" in plain
    assert plain.startswith("results:")
    scaled = Path("data.txt").read_text().partition("# constants")[0]
    assert "\nscale results 4\n" in scaled
    Path("two.txt").write_text(scaled + Path("two.txt").read_text())
    array("run", "inverse.code", "two.txt", as_json=True)
    found = json.loads(capsys.readouterr().out)
    assert found["scales"] == {"results": 4.0}
    first, second = found["queues"]["results"]
    assert first == pytest.approx([0.9 / 0.74, -0.2 / 0.74], abs=4e-5)
    assert second == pytest.approx([0.1 / 0.74, 0.8 / 0.74], abs=4e-5)
    array("run", "inverse.code", "two.txt")
    told = capsys.readouterr().out
    assert told.startswith("results, 4 times the words of the array:\n 1.2162")
    Path("two.txt").write_text("scale result 4\n")
    assert main(["tools", "systolic", "run", "inverse.code", "two.txt"]) == 2
    capsys.readouterr()
    assert main(["tools", "systolic", "assemble", "inverse.asm", "--set", "n=9"]) == 2
    told = capsys.readouterr().err
    assert "n + p is 18, and 16 is the most" in " ".join(told.split())
    assert main(["tools", "systolic", "run", "inverse.code", "data.txt"]) == 2
    assert "error: data.txt:" in capsys.readouterr().err


def test_bad_files_are_named_with_a_remedy(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (folder / "bad.asm").write_text("NOP\nADDD(AB0, A1)\n")
    (folder / "over.asm").write_text("queue x constant\nqueue y constant\nDIV(, AB0)\nJUMP\n")
    (folder / "large.txt").write_text(ROWS.replace("0.04", "4", 1))
    (folder / "bad.sim").write_text("pc\nfly\n")
    array("assemble", "over.asm")
    wrong: tuple[tuple[list[str], dict[str, Any], str], ...] = (
        (["assemble", "bad.asm"], {}, "bad.asm:2: A1 cannot be on bus B; change the order"),
        (["assemble", "none.asm"], {}, "none.asm"),
        (["assemble", "sample.asm"], {"settings": ["n"]}, "write --set NAME=NUMBER"),
        (["assembel", "sample.asm"], {}, "did you mean 'assemble'?"),
        (["run", "sample.code"], {}, "array run takes CODE DATA"),
        (["run", "data.txt", "data.txt"], {}, "data.txt:1: this is not code of the array"),
        (["run", "sample.code", "bad.asm"], {}, "bad.asm:1: entry 1 is 'NOP', not a number"),
        (["run", "over.code", "data.txt"], {}, "over.asm:4, pc 1, cycle 1: the program FIFO"),
        (["debug", "sample.code", "data.txt"], {"script": "bad.sim"}, "bad.sim:2: there is no"),
    )
    for words, options, said in wrong:
        with pytest.raises(Error) as caught:
            array(*words, **options)
        assert said in str(caught.value), words
    assert not (folder / "bad.code").exists()
    capsys.readouterr()
    array("run", "sample.code", "large.txt")
    assert "large.txt:2: 4 is out of the range (−2, 2): 0 is loaded" in capsys.readouterr().err
    array("list", "sample.code")
    assert "SWL_OUT" in capsys.readouterr().out


def test_a_script_and_a_pipe_talk_to_the_debugger(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Server check 34: the same lines, the same answers."""
    lines = "break loop\nrun\nstep 2\nback\nmask corner\ndump\nquit\n"
    (folder / "talk.sim").write_text(lines)
    words = ["tools", "systolic", "debug", "sample.code", "data.txt"]
    capsys.readouterr()
    array(*words[2:], script="talk.sim")
    script = capsys.readouterr().out
    assert "sample.asm is loaded: 7 instructions." in script
    assert "sim> run\nbreakpoint loop: pc 1, cycle 1\nsim> step 2\npc 3, cycle 3" in script
    assert (folder / "core.dump").read_text().startswith("cycle 2, pc 2")
    done = subprocess.run(
        [sys.executable, "-m", "linkwright", *words],
        input=lines,
        capture_output=True,
        text=True,
        timeout=60,
        cwd=folder,
    )
    assert (done.returncode, done.stdout, done.stderr) == (0, script, "")


def test_a_terminal_talks_to_the_debugger(folder: Path) -> None:
    """Server check 34: a prompt, mistakes that do not end it, and the end of the input."""
    with terminal(
        ["tools", "systolic", "debug", "sample.code", "data.txt", "-w"], folder
    ) as screen:
        screen.wait_for("sim> ")
        screen.type("stepp")
        screen.wait_for("error: there is no command 'stepp'; did you mean 'step'?")
        screen.type("step 2", "back")
        screen.wait_for("pc 1, cycle 1")
        screen.type("?")
        screen.wait_for("draw a mask")
        screen.type("quit")
        assert screen.ended() == 0


def test_a_page_shows_every_cycle(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """What is packed into it is what the machine holds, cycle by cycle."""
    import base64

    import numpy as np

    assert (
        main(["tools", "systolic", "page", "sample.code", "data.txt", "--set", "register=B0"]) == 0
    )
    text = Path("sample.html").read_text()
    data = json.loads(text.partition("const data = ")[2].partition(";\n")[0])
    values = np.frombuffer(base64.b64decode(data["values"]), "<f4").reshape(-1, 256)
    enabled = np.frombuffer(base64.b64decode(data["enabled"]), np.uint8).reshape(-1, 256)
    talk = talk_of()
    machine = talk.machine
    for k, pc in enumerate(data["pc"]):
        assert machine.pc == pc
        assert values[k] == pytest.approx(machine.registers[16] * 2.0**-30)
        if not machine.ended:
            mask = machine.code.instructions[pc].mask.elements.ravel()
            assert (enabled[k] == mask).all()
            machine.step()
    assert machine.ended
    assert values.any()
    assert len(data["code"]) == 7
    assert "ADDD" in data["code"][4]
    for words, said in (
        (["--set", "register=C9"], "no register 'C9'"),
        (["--set", "n=2"], "no setting 'n'"),
    ):
        assert main(["tools", "systolic", "page", "sample.code", "data.txt", *words]) == 2
        assert said in capsys.readouterr().err
