"""The dialogue: what it writes, what it refuses, the way back, and what it leaves untouched."""

from __future__ import annotations

import difflib
import math
import random
import re
import string
from collections.abc import Iterable
from pathlib import Path

import numpy as np
import pytest

import linkwright as lw
from linkwright.base.errors import InputError
from linkwright.cli import main
from linkwright.cli.window import Window
from linkwright.heritage.dialogue.answers import Question
from linkwright.heritage.dialogue.menus import Guide
from linkwright.heritage.dialogue.talk import Talk
from linkwright.models.library import model_text
from linkwright.motion import TaskSegment
from linkwright.robots import Robot
from tests.seeds import seldom
from tests.support.guide_answers import REF6, GivenLines, created, link

V2 = [20.0, 40.0, 50.0, -30.0, 25.0, 15.0]
SHORT = REF6[:2]


def hold(file: Path, answers: Iterable[str]) -> tuple[list[str], GivenLines]:
    """Run the dialogue with some answers; return what it printed, and its lines."""
    said: list[str] = []
    lines = GivenLines(answers)
    talk = Talk(lines, draft=file.with_suffix(".draft.txt"), say=said.append, command=main)
    try:
        talk.run(Guide(file, talk).play)
    except EOFError:
        said.append("end of input")
    return said, lines


@pytest.fixture
def ref6(tmp_path: Path) -> Path:
    """The shipped arm in a file, with its comments and two of its own."""
    file = tmp_path / "ref6.toml"
    text = model_text("ref6", "ref6").replace("mass = 7\n", "mass = 7  # with its motor\n")
    file.write_text(text + "\n# the end\n")
    return file


@pytest.fixture(scope="module")
def short(tmp_path_factory: pytest.TempPathFactory) -> bytes:
    """The bytes of an arm of two joints that is made from nothing."""
    file = tmp_path_factory.mktemp("short") / "arm.toml"
    hold(file, created(SHORT))
    return file.read_bytes()


# -- create ----------------------------------------------------------------------------------------
@seldom(daily="test_a_transcript_that_does_not_fit_writes_nothing")
def test_v2_ref6_is_made_from_nothing_and_again_by_its_transcript(tmp_path: Path) -> None:
    """Checks 1, 4 and 11: create asks for everything; the transcript is a script."""
    file, told = tmp_path / "ref6.toml", tmp_path / "answers.txt"
    (tmp_path / "script.txt").write_text("\n".join(created()) + "\n")
    words = ["tools", "guide", str(file), "--replay", str(tmp_path / "script.txt")]
    assert main([*words, "--transcript", str(told)]) == 0
    made = file.read_bytes()
    arm = Robot(lw.load(file))
    tool = arm.pose(np.radians(V2), "tool")[:3, 3] / 0.0254
    np.testing.assert_allclose(tool, [-23.2368409096, 52.5128722288, -51.4861643659], atol=1e-8)
    assert [r.effort for r in arm.mechanism.ranges] == [200.0] * 6
    again = tmp_path / "again"
    again.mkdir()
    assert main(["tools", "guide", str(again / "ref6.toml"), "--replay", str(told)]) == 0
    assert (again / "ref6.toml").read_bytes() == made
    assert sorted(p.name for p in again.iterdir()) == ["ref6.toml"]


def test_a_new_model_starts_from_nothing_after_another(ref6: Path, short: bytes) -> None:
    """Check 5; what the file held is kept."""
    before = ref6.read_bytes()
    look = ["define", "modify", "keep", "done"]
    hold(ref6, [*look, *created(SHORT)])
    assert ref6.read_bytes() == short
    assert ref6.with_name("ref6.toml.bak").read_bytes() == before


def test_menus_come_in_any_order_and_a_bad_entry_changes_nothing(ref6: Path) -> None:
    """Check 1."""
    before = ref6.read_bytes()
    answers = [
        "9",
        "postprocess",
        "return",
        "defin",
        "r",
        "",
        "analyze",
        "6",
        "return",
        "1",
        "modify",
        "",
        "l",  # link, or limits
        "done",
        "1",
        "re",
        "4",
    ]
    said, lines = hold(ref6, answers)
    assert not lines.lines
    told = [line for line in said if line.startswith("error: ")]
    assert [line.partition(" is not one of ")[0] for line in told] == [
        "error: '9'",
        "error: ''",
        "error: '6'",
        "error: 'l'",
    ]
    assert all(line.endswith("[R105]") for line in told)
    assert ref6.read_bytes() == before


def test_an_error_of_a_function_returns_to_the_top_menu(tmp_path: Path) -> None:
    """Check 2: a number, and the choice to stop or to go on."""
    file = tmp_path / "none.toml"
    said, lines = hold(file, ["define", "modify", "continue", "quit"])
    assert any("there is no file" in line and "[R112]" in line for line in said)
    assert not lines.lines
    said, lines = hold(file, ["define", "modify", "stop", "never asked"])
    assert list(lines.lines) == ["never asked"]
    (tmp_path / "bad.toml").write_text("format = 2\n")
    said, _ = hold(tmp_path / "bad.toml", ["define", "modify", "stop"])
    assert any(re.search(r"format 2 is not known.*\[R111\]", line) for line in said)


# -- modify ----------------------------------------------------------------------------------------
CHANGES: dict[str, tuple[list[str], list[str]]] = {
    "mass": (
        ["link", "elbow", "mass", "8.5", "", "0.02, 0.3, 0.3"],
        ["-mass = 7  # with its motor", "+mass = 8.5  # with its motor",
         "-inertia = [0.015, 0.22, 0.22]", "+inertia = [0.02, 0.3, 0.3]"],
    ),
    "location": (
        ["link", "2", "location", "11 in, 0, 0"],
        ['-at = ["12 in", 0, 0]', '+at = ["11 in", 0, 0]'],
    ),
    "rotation": (
        ["link", "yaw", "rotation", "x 45 deg, z 1 rad"],
        ['-turn = [["x", "90 deg"]]', '+turn = [["x", "45 deg"], ["z", "1 rad"]]'],
    ),
    "variable": (
        ["link", "waist", "variable", "20 deg"],
        ["+", "+[initial]", '+waist = "20 deg"'],
    ),
    "limits": (
        ["limits", "roll", "-90 deg", "none", "none", "3"],
        ["+", "+[[limit]]", '+coordinate = "roll"', '+lower = "-90 deg"', "+effort = 3.0"],
    ),
    "base": (
        ["base", "rotation", "z 80 deg"],
        ['-turn = [["z", "90 deg"]]', '+turn = [["z", "80 deg"]]'],
    ),
    "tool": (["tool", "location", "7 in, 0, 0"], ['-at = ["6 in", 0, 0]', '+at = ["7 in", 0, 0]']),
    "motion": (["motion", "reach.toml", "no"], ['+task = "reach.toml"']),
    "options": (["options", "run", "9", "", ""], ["-until = 8", "+until = 9"]),
    "environment": (
        ["environment", "table", "base", "box", "1, 1, 20 in", "0, 0, -1", "none", "wood"],
        ["+", "+[[shape]]", '+name = "table"', '+body = "base"', '+kind = "box"',
         '+edges = [1, 1, "20 in"]', "+at = [0, 0, -1]", '+color = "wood"'],
    ),
}  # fmt: skip


@pytest.mark.parametrize("newline", ["\n", "\r\n"])
@pytest.mark.parametrize("category", CHANGES)
def test_modify_changes_only_the_bytes_of_its_category(
    ref6: Path, category: str, newline: str
) -> None:
    """Check 4; comments stay."""
    before = ref6.read_text().replace("\n", newline)
    ref6.write_bytes(before.encode())
    answers, wanted = CHANGES[category]
    if category == "motion":
        answers = ["motion", "../reach.toml", *answers[1:]]  # refused, and asked again
    said, lines = hold(ref6, ["define", "modify", "", *answers, "yes", "done", "yes", "quit"])
    assert not lines.lines, said
    after = ref6.read_bytes().decode()
    changed = [
        f"{line[0]}{line[2:]}".rstrip("\r\n")
        for line in difflib.ndiff(before.splitlines(True), after.splitlines(True))
        if line[0] in "+-"
    ]
    assert sorted(changed) == sorted(wanted)
    assert after.count(newline) == after.count("\n")
    lw.load(ref6)


PLAIN = """format = 1
name = "plain"
[run]
until = 10.0
step = 1e-3
[gravity]
along = "-z"
g = 9.80
[[body]]
name = "base"
joint = "weld"
matrix = [[0, -1, 0], [1, 0, 0], [0, 0, 1]]
[[body]]
name = "arm"
parent = "base"
joint = "revolute"
axis = [0, 0, 1]
turn = []
mass = 2.50
com = [0.10, 0, 0]
inertia = [[0.1, 0, 0], [0, 0.2, 0], [0, 0, 0.2]]
[[body]]
name = "rail"
parent = "arm"
joint = "sliding"
turn = [["x", 0.5], ["y", 0]]
mass = "1 lbm"
[[shape]]
name = "arm_link"
body = "arm"
kind = "cylinder"
radius = 0.050
length = 2
at = [2, 0, 0]
turn = [["y", "90 deg"]]
[[limit]]
coordinate = "arm"
lower = -1
upper = 1.50
speed = 3
[initial]
arm = 0.50
rail = 0.1
[[point]]
name = "tool"
body = "rail"
at = [0.1, 0, 0.0]
"""


def test_what_is_only_looked_at_keeps_its_bytes(tmp_path: Path) -> None:
    """Check 4: each category of each component, with the answers that are offered."""
    file = tmp_path / "plain.toml"
    file.write_text(PLAIN)
    before = file.read_bytes()
    looked = [
        "base",
        "location",
        "",
        "base",
        "rotation",
        "",
        "tool",
        "location",
        "",
        "tool",
        "rotation",
        "",
    ]
    for name in ("arm", "rail"):
        for category, count in (("location", 1), ("rotation", 1), ("variable", 1), ("mass", 3)):
            looked += ["link", name, category, *[""] * count]
        looked += ["limits", name, *[""] * 4]
    looked += ["link", "arm", "type", "", "link", "arm", "size", "", "", "link", "rail", "size", ""]
    looked += ["options", "run", "", "", "", "options", "gravity", "", ""]
    said, lines = hold(file, ["define", "modify", "", *looked, "done", "quit"])
    assert not lines.lines, said
    assert "nothing was changed" in said
    assert [line for line in said if line.startswith(("error", "  +", "  -"))] == []
    assert file.read_bytes() == before


def test_a_motion_is_defined_with_the_model(ref6: Path) -> None:
    """Check 6: motion as ROBSIM has it, in the task file that the model names."""
    joint = ["next", "2", "joint", "rate", "10 deg/s, 2 deg/s^2", *["none"] * 4, "5"]
    joint[-1:] = ["5", "1 rad/s"]  # the first lacks its unit
    tool = ["2", "500 ms", "tool", "rate", "base", "0.1, 2 in/s^2", *["none"] * 5]
    answers = ["motion", "reach.toml", "", *joint, "yes", *tool, "no", "yes"]
    said, lines = hold(ref6, ["define", "modify", "", *answers, "done", "yes", "quit"])
    assert not lines.lines, said
    assert [line[-6:] for line in said if line.startswith("error")] == ["[R108]"]
    m = lw.load(ref6)
    task = lw.read_task(m.file_beside("task"))
    first, second = task.parts
    assert isinstance(first, TaskSegment)
    assert isinstance(second, TaskSegment)
    assert (first.duration, second.start, second.duration) == (2, 2, 0.5)
    assert first.rate("waist") == pytest.approx((math.radians(10), math.radians(2)))
    assert first.rate("roll") == pytest.approx((1.0,))
    assert second.rate("x") == pytest.approx((0.1, 0.0508))
    before = ref6.with_name("reach.toml").read_bytes()
    said, _ = hold(ref6, ["define", "modify", "", "motion", "", "no", "done", "quit"])
    table = [line.split()[:4] for line in said if line.startswith("    ")]
    assert table[1:] == [["0", "2", "joint", "rate"], ["2", "500", "ms", "tool"]]
    assert ref6.with_name("reach.toml").read_bytes() == before


def test_keep_or_delete_on_load(ref6: Path) -> None:
    """Check 7: a deleted file leaves a backup, and saving brings it back."""
    before = ref6.read_bytes()
    hold(ref6, ["define", "modify", "keep", "done", "quit"])
    assert ref6.read_bytes() == before
    hold(ref6, ["define", "modify", "delete", "done", "no", "quit"])
    assert not ref6.exists()
    backup = ref6.with_name("ref6.toml.bak")
    assert backup.read_bytes() == before
    backup.rename(ref6)
    hold(ref6, ["define", "modify", "delete", "done", "yes", "quit"])
    assert ref6.read_bytes() == before
    assert backup.read_bytes() == before


def test_links_are_added_deleted_and_redefined_behind_the_tool(ref6: Path) -> None:
    """Check 12: the chain closes again, and what still has a parent stays."""
    shapes = ["shapes", "motor", "elbow", "cylinder", "2 in", "4 in", "0, 0, 0", "none", "none"]
    extra = ["shapes", "cap", "roll", "sphere", "1 in", "0, 0, 0", "none", "none"]
    limits = ["limits", "elbow", "-1 rad", "1 rad", "none", "none", "yes"]
    limits += ["limits", "roll", "-2 rad", "2 rad", "none", "none", "yes"]
    start = ["define", "modify", "", *shapes, "yes", *extra, "yes", *limits]
    delete = ["delete", "roll", "yes", "delete", "elbow", "yes"]
    hold(ref6, [*start, *delete, "done", "yes", "quit"])
    m = lw.load(ref6)
    assert list(m.bodies) == ["base", "waist", "shoulder", "pitch", "yaw"]
    assert m.bodies["pitch"].parent is m.bodies["shoulder"]
    assert m.points["tool"].body is m.bodies["yaw"]
    assert (m.shapes, m.ranges) == ({}, [])
    wrist = link("wrist", "sliding", "5 in", "none", "6 in")
    wrist[4] = "1 in"  # a displacement
    wrist[-4:] = ["none", "5 in", "none", "none"]
    add = ["add", "shoulder", *wrist, "yes", "add", "", *link("hand", *REF6[5][1:]), "yes"]
    redefine = ["link", "hand", "type", "hinge", "yes"]
    hold(ref6, ["define", "modify", "", *add, *redefine, "done", "yes", "quit"])
    m = lw.load(ref6)
    assert list(m.bodies) == ["base", "waist", "shoulder", "wrist", "pitch", "yaw", "hand"]
    parents = [b.parent.name for b in m.bodies.values() if b.parent is not None]
    assert parents == ["n", "base", "waist", "shoulder", "wrist", "pitch", "yaw"]
    assert m.points["tool"].body is m.bodies["hand"]
    assert m.initial["wrist"] == pytest.approx(0.0254)
    assert [r.coordinate.name for r in m.ranges] == ["wrist", "hand"]


def test_a_link_that_is_used_elsewhere_is_not_deleted(ref6: Path) -> None:
    use = '\n[[output]]\nname = "turn"\nvalue = "elbow + roll"\n'
    ref6.write_text(ref6.read_text() + use)
    before = ref6.read_bytes()
    said, _ = hold(ref6, ["define", "modify", "", "delete", "roll", "done", "quit"])
    assert any("no model can be built" in line and "[R111]" in line for line in said)
    assert ref6.read_bytes() == before


def test_a_rejected_component_is_replaced_and_an_accepted_one_stays(tmp_path: Path) -> None:
    """Check 17: in the store, and in the draft that a studio shows."""
    file = tmp_path / "arm.toml"
    preview = tmp_path / "arm.draft.toml"
    start = ["define", "create", "arm", "", "0, 0, 0", "z 90 deg", "yes"]
    hold(file, [*start, *link(*SHORT[0])])
    assert lw.load(preview).bodies["waist"].joint.rotate == ("x",)
    hold(file, [*start, *link(*SHORT[0]), "no"])
    assert "waist" not in preview.read_text()
    assert 'name = "base"' in preview.read_text()
    other = link("trunk", "hinge", "3 in", "none", "1 m")
    hold(file, [*start, *link(*SHORT[0]), "no", *other])
    assert list(lw.load(preview).bodies) == ["base", "trunk"]
    assert not file.exists()


def test_each_component_is_shown_as_it_is_entered(tmp_path: Path) -> None:
    """Check 17: also one that is rejected, until it is replaced."""
    shown: list[list[str]] = []
    answers = ["define", "create", "arm", "", "0, 0, 0", "z 90 deg", "yes"]
    answers += [*link(*SHORT[0]), "no", *link("trunk", *SHORT[0][1:]), "yes"]
    talk = Talk(GivenLines(answers), say=lambda _: None)
    guide = Guide(
        tmp_path / "arm.toml", talk, lambda file: shown.append(list(lw.load(file).bodies))
    )
    with pytest.raises(EOFError):
        talk.run(guide.play)
    assert shown == [["base"], ["base", "waist"], ["base"], ["base", "trunk"]]


def test_a_studio_is_replaced_at_its_address(tmp_path: Path) -> None:
    said: list[str] = []
    window = Window(said.append, browser=False)
    file = tmp_path / "arm.toml"
    nodes = []
    for body in ("base", "trunk"):
        file.write_text(f'format = 1\nname = "m"\n[[body]]\nname = "{body}"\njoint = "weld"\n')
        window.show(file)
        assert window.studio is not None
        assert window.studio.stage is not None
        nodes.append((window.studio.address, [n.name for n in window.studio.stage.scene.nodes]))
    file.write_text("format = 2\n")
    window.show(file)
    assert window.studio is None
    (first, before), (second, after) = nodes
    assert first == second
    assert (before[1], after[1]) == ("base", "trunk")
    assert [line.partition(":")[0] for line in said] == ["studio", "not shown"]


# -- answers ---------------------------------------------------------------------------------------
def test_going_back_gives_what_was_meant(tmp_path: Path, short: bytes) -> None:
    file = tmp_path / "arm.toml"
    answers = created(SHORT)
    back: list[str] = []
    for k, answer in enumerate(answers):
        if k in (2, 5, 9, 16, 24, 30):
            back += [answers[k], "<"]  # taken back, and given again
        if k == 40:
            back += ["<", "<", "<", *answers[k - 3 : k]]
        back += ["?", answer] if k % 7 == 0 else [answer]
    said, lines = hold(file, back)
    assert not lines.lines, said
    assert file.read_bytes() == short
    said, _ = hold(file, ["<", "quit"])
    assert any("[R114]" in line for line in said)


def wrong_answers(seed: int, count: int) -> list[str]:
    """Return nonsense: random characters, wrong units, too many parts, names that are taken."""
    rng = random.Random(seed)
    kinds = (
        lambda: "".join(rng.choices(string.printable[:-6], k=rng.randint(1, 12))),
        lambda: rng.choice(["1 kg, 2 kg, 3 kg", "1 m", "7 s", "nan", "inf", "1e999", "--3", "1/0"]),
        lambda: ", ".join(str(rng.randint(-9, 9)) for _ in range(rng.choice([2, 4, 5, 7]))),
        lambda: rng.choice(["w 30 deg", "x", "x 30", "x 30 kg", "x deg", "y 1 deg z 2 deg"]),
        lambda: rng.choice(["-1", "-5 kg", "maybe", "base", "q 1", "π", "", "a" * 600, "\x1b[2J"]),
        lambda: rng.choice(["unknown + 1", "sin(", "3 parsec", "{", "[1, 2", "1 in 2 in 3 in"]),
    )
    return [rng.choice(kinds)() for _ in range(count)]


def test_a_thousand_wrong_answers_change_no_byte(tmp_path: Path) -> None:
    """Checks 1 and 3: each is refused with a number, and asked again."""
    file, script = tmp_path / "arm.toml", created(SHORT)
    nonsense = iter(wrong_answers(14, 40_000))
    refused: list[str] = []

    class Clumsy(Talk):
        """Before each right answer, twenty wrong ones: lines that the question does not take."""

        tried = 0

        def _next(self, question: Question) -> str:
            if self.tried == 20:
                self.tried = 0
                return super()._next(question)
            self.tried += 1
            line = next(x for x in nonsense if x.strip() not in "?<" and _is_wrong(question, x))
            refused.append(line)
            return line

    said: list[str] = []
    talk = Clumsy(GivenLines(script), draft=tmp_path / "arm.draft.txt", say=said.append)
    talk.run(Guide(file, talk).play)
    assert len(refused) >= 1000
    errors = [line for line in said if line.startswith("error: ")]
    assert len(errors) == len(refused)
    unnumbered = [line for line in errors if not re.search(r"\[R1\d\d\]$", line)]
    assert not unnumbered
    clean = tmp_path / "clean"
    clean.mkdir()
    hold(clean / "arm.toml", script)
    assert file.read_bytes() == (clean / "arm.toml").read_bytes()


def _is_wrong(question: Question, line: str) -> bool:
    try:
        question.read(line.strip())
    except InputError:
        return True
    return False


@pytest.mark.parametrize(
    ("answer", "code"),
    [("30", "R108"), ("30 kg", "R107"), ("x", "R106"), ("L/2", "R106"), ("1/0", "R106")],
)
def test_wrong_angles_have_their_numbers(ref6: Path, answer: str, code: str) -> None:
    before = ref6.read_bytes()
    said, _ = hold(ref6, ["define", "modify", "", "link", "waist", "variable", answer])
    assert any(line.endswith(f"[{code}]") for line in said)
    assert ref6.read_bytes() == before


def test_a_body_that_cannot_be_is_asked_again(tmp_path: Path) -> None:
    bad = link(*SHORT[0])
    bad[7] = "0.01, 0.01, 0.01"  # about the joint: less than that of its mass center alone
    start = ["define", "create", "", "", "", "", "yes"]
    said, _ = hold(tmp_path / "arm.toml", [*start, *bad, *link(*SHORT[0]), "yes"])
    assert sum("[R111]" in line for line in said) == 1
    assert any("waist" in line for line in said)


# -- transcripts and drafts ------------------------------------------------------------------------
def test_a_transcript_that_does_not_fit_writes_nothing(
    ref6: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    before = ref6.read_bytes()
    script = ref6.with_name("script.txt")
    for lines, words in (
        (["define", "# note", "modify", "keep", "link", "arm"], "line 6.*'arm' is not one of"),
        (["define", "modify", "keep", "base", "location", "1, 2, 3", "yes"], "ends before"),
        (["define", "<", "<"], "line 3.*no answer to go back to"),
    ):
        script.write_text("\n".join(lines) + "\n")
        assert main(["tools", "guide", str(ref6), "--replay", str(script)]) == 2
        assert re.search(rf"{words}.*\[R113\]", capsys.readouterr().err)
    assert ref6.read_bytes() == before
    assert main(["tools", "guide", "ref6.urdf"]) == 2
    assert "[R112]" in capsys.readouterr().err


def test_a_file_that_others_changed_meanwhile_is_not_overwritten(ref6: Path) -> None:
    class Slow(GivenLines):
        def line(self, prompt: str, choices: object = ()) -> str:
            if prompt.startswith("save "):
                ref6.write_text("format = 1\nname = 'other'\n")
            return super().line(prompt, ())

    said: list[str] = []
    answers = ["define", "modify", "", "motion", "a.toml", "no", "yes", "done", "yes", "stop"]
    talk = Talk(Slow(answers), say=said.append)
    talk.run(Guide(ref6, talk).play)
    assert any("changed by another program" in line and "[R112]" in line for line in said)
    assert ref6.read_text() == "format = 1\nname = 'other'\n"


# -- analyze and postprocess -----------------------------------------------------------------------
def test_a_model_is_defined_analyzed_and_plotted_in_one_dialogue(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Checks 1, 2 and 49: the functions run the commands, and defaults need no answers."""
    file = tmp_path / "arm.toml"
    made = created(SHORT[:1])
    motion = ["reach.toml", "yes", "next", "0.5", "joint", "rate", "90 deg/s", "no", "yes"]
    at = made.index("none", made.index("6 in, 0, 0") + 2)  # the motion, behind the tool
    made[at : at + 1] = motion
    require = ["analyze", "requirements", "", "1 kg", "yes", "need.npz", "none", "yes", "task"]
    require += ["0.5 s", "1 ms", "exact", "no", "motion.txt", "none", "joints.csv", "0.1", "0.2"]
    plot = ["postprocess", "plot", "need.npz", "*.torque", "waist", "a.svg", ""]
    form = ["postprocess", "plot", "need.npz", "*.torque", "", "b.svg", "yes", "no", "10", "yes"]
    form += ["none", "0,1", "", "0.25", "", "torque of the waist", "", "N m", "11x8.5", "", "", ""]
    wrong = ["postprocess", "plot", "nothing.npz", "", "", "", "", "continue"]
    answers = [*made[:-1], *require, *plot, *form, *wrong, "quit"]
    said, lines = hold(file, answers)
    assert not lines.lines, said
    out, err = capsys.readouterr()
    assert "nothing.npz" in err.splitlines()[-1], (out, err)
    assert len(err.splitlines()) == 1, (out, err)
    assert re.search(r"^waist +1.571 rad/s", out, re.MULTILINE)
    assert (
        main(["analyze", "require", str(file), "--payload", "1"]) == 0
    )  # the task that the model names
    assert capsys.readouterr().out in out
    assert main(["analyze", "require", "ref6"]) == 2
    assert "names no task" in capsys.readouterr().err
    assert "torque of the waist" in (tmp_path / "b.svg").read_text()
    assert (tmp_path / "a.svg").stat().st_size > 1000
    assert sum("[R116]" in line for line in said) == 1
    assert (tmp_path / "motion.txt").read_text().count("\nTIME ") == 6
    assert len((tmp_path / "joints.csv").read_text().splitlines()) == 4
