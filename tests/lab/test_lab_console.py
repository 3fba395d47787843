"""The console of a laboratory: one table for prompt, scripts, sockets and page."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from linkwright.base.errors import Error, InputError
from linkwright.lab.console.commands import standard_commands
from linkwright.lab.console.completion import completions
from linkwright.lab.console.dialogue import AbortedError, answered_by
from linkwright.lab.console.documentation import PYTHON, command_tables
from linkwright.lab.console.script import Script
from linkwright.lab.lab import Lab
from linkwright.lab.recorder import LabRecorder
from tests.support.lab_stand_in import StandIn

TABLE = """man reset setTask st redo changeTaskParm ctp go0 go goVisTarget where where_des cwhere
lwhere linfo bwhere rbwhere rbwhere2D where_base where_misc where_off where_raw setG scd stopcd scds
mscds saveData outMenu status freeze stop step ck toggle_filter freezeBase dscd"""
"""SL's commands (digest 2.3), and `dscd`."""


@pytest.fixture
def lab() -> Any:
    return StandIn()


def test_every_command_of_sl_is_in_the_table_and_in_man(lab: Any) -> None:
    """SL check 75."""
    table, manual = lab.commands, lab.do("man").text
    names = TABLE.split()
    assert len(names) == 37
    for name in names:
        command = table[name]
        assert command.help
        assert name in manual.replace("/", " ").split(), name
    for name in ("reload", "tasks", "jitter", "run", "pace", "quit"):
        assert name in table


def test_a_command_of_ones_own_is_in_man_with_the_arguments_of_its_function(lab: Any) -> None:
    """SL check 75: addToMan."""

    def wag(lab: Any, times: int, speed: float = 2.0, loud: bool = False) -> str:
        return f"{times} {speed} {loud}"

    assert lab.command("wag", "wag the tail")(wag) is wag
    assert "wag times [speed] [loud]  wag the tail" in lab.do("man wag").text
    assert lab.do("wag 3 loud=on").text == "3 2.0 True"
    with pytest.raises(InputError, match="whole number"):
        lab.do("wag three")
    with pytest.raises(InputError, match="there is a command 'go' already"):
        lab.command("go", "again")(wag)


@pytest.mark.parametrize(
    ("line", "words"),
    [
        ("sat wave", "there is no command 'sat'"),
        ("freez", "did you mean 'freeze'"),
        ("st wve", "did you mean 'wave'"),
        ("st wave frequenzy=2", "did you mean 'frequency'"),
        ("st wave frequency=2 frequency=3", "frequency twice"),
        ("go R_EBB=1", "did you mean 'R_EB'"),
        ("go R_EB=much", "R_EB"),
        ("run 1 2", "it is typed: run"),
        ("run second=1", "did you mean 'seconds'"),
        ("run -1", "0 or more"),
        ("run nan", "not a number"),
        ("st", "setTask needs task"),
        ("go", "go needs joints"),
        ("go 'R_EB=1", "quotation mark"),
        ("", "no command was given"),
        ("st wave servo=eye", "did you mean 'eyes'"),
        ("ck pdd", "did you mean 'pd"),
    ],
)
def test_what_cannot_be_read_is_told_with_a_remedy(lab: Any, line: str, words: str) -> None:
    with pytest.raises(InputError, match=words) as caught:
        lab.do(line)
    assert caught.value.remedy
    assert not lab.told


def test_arguments_come_in_one_line_with_units(lab: Any) -> None:
    lab.do("st wave frequency=2")
    assert lab.told[-1] == ("start", ("wave", {"frequency": 2.0}))
    lab.do("st wave servo=eyes")
    assert lab.servo == "eyes"
    lab.do("setG 0 0 z=-1.62")
    assert lab.told[-1] == ("set_gravity", ((0.0, 0.0, -1.62), {}))
    lab.do("go R_EB=90deg inverse_dynamics=on")
    name, (target, options) = lab.told[-1]
    assert (name, options) == ("go_to", {"inverse_dynamics": True})
    assert target == pytest.approx([0.0, 1.5707963267948966])


def test_arguments_are_asked_for_as_sl_does(lab: Any) -> None:
    asked: list[str] = []
    answers = iter(["wave", "quick", "2 Hz", "", "R_EB", "1.5", ""])

    def asker(question: str) -> str:
        asked.append(question)
        return next(answers)

    with answered_by(asker):
        lab.do("st")
        lab.do("go")
    assert lab.told[0] == ("start", ("wave", {"frequency": 2.0}))
    assert lab.told[1][1][0] == pytest.approx([0.0, 1.5])
    assert "frequency [1 Hz]" in asked[1]
    assert "quick" in asked[2]  # asked again, with what was wrong
    assert asked[3] == "file [default.sine]: "
    assert asked[5] == "target of R_EB [0.5 rad]: "


def test_whoever_is_asked_may_abort(lab: Any) -> None:
    def asker(question: str) -> str:
        raise AbortedError("aborted")

    with answered_by(asker), pytest.raises(AbortedError):
        lab.do("st")
    assert not lab.told


def test_scripts_answer_questions_and_take_defaults(lab: Any) -> None:
    lab.commands.add("greet", "greet", lambda lab: lab.ask("who", "you") + str(lab.ask("times", 2)))
    lines = [
        "greet; > me; > 3; greet; greet; > 'you; me'  # all",
        "# nothing",
        "run 2; quit; run 3",
    ]
    done = Script(lines).run(lab)
    assert [d.answer.text for d in done[:3]] == ["me3", "you2", "'you; me'2"]
    assert [d.statement.text for d in done[3:]] == ["run 2", "quit"]


@pytest.mark.parametrize(
    ("lines", "words"),
    [
        (["run 1; st wve"], "command 2, 'st wve': there is no task 'wve'; did you mean 'wave'"),
        (["> 3"], "command 1, '> 3': nothing asked"),
        (["run 1; > 3"], "command 2, '> 3': nothing asked"),
    ],
)
def test_a_script_ends_at_the_first_mistake_and_says_which(
    lab: Any, lines: list[str], words: str
) -> None:
    with pytest.raises(Error, match=words):
        Script(lines).run(lab)
    with pytest.raises(Error, match=r"my\.lab:1"):
        Script(lines, "my.lab").run(lab)


@pytest.mark.parametrize(
    ("line", "found"),
    [
        ("whe", "where_des"),
        ("fre", "freezeBase"),
        ("st ", "wave"),
        ("st wave fr", "frequency="),
        ("go R", "R_EB="),
        ("step R_", "R_SFE"),
        ("ck ", "pidff"),
        ("toggle_filter o", "off"),
        ("man re", "redo"),
    ],
)
def test_lines_are_completed(lab: Any, line: str, found: str) -> None:
    assert found in [each.word for each in completions(lab, line)[1]]


def test_files_are_completed(lab: Any, tmp_path: Any) -> None:
    (tmp_path / "wave.py").touch()
    last, found = completions(lab, f"reload file={tmp_path}/wa")
    assert [each.word for each in found] == [f"file={tmp_path}/wave.py"]
    assert last == f"file={tmp_path}/wa"


def test_the_page_has_the_commands_of_the_table() -> None:
    """`python -m linkwright.lab.console.documentation` writes them."""
    page = (Path(__file__).parents[2] / "docs" / "laboratory.md").read_text(encoding="utf-8")
    assert command_tables() in page
    for name, words in PYTHON.items():
        assert name in standard_commands()
        _, attribute, *more = words.split("(")[0].split(".")
        assert attribute in ("tasks", "recorder") or hasattr(Lab, attribute), words
        if attribute == "recorder":
            assert hasattr(LabRecorder, more[0]), words
