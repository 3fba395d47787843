"""Answers that define REF6, ROBSIM's six-joint arm, in the dialogue; and lines for it to read."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Sequence

REF6: tuple[tuple[str, str, str, str, str], ...] = (
    # name, type, location, rotation, link: length
    ("waist", "swivel", "10 in", "none", "12 in"),
    ("shoulder", "hinge", "12 in", "none", "30 in"),
    ("elbow", "hinge", "30 in", "none", "24 in"),
    ("pitch", "hinge", "24 in", "none", "6 in"),
    ("yaw", "hinge", "6 in", "x 90 deg", "4 in"),
    ("roll", "swivel", "4 in", "x -90 deg", "6 in"),
)


def link(name: str, kind: str, at: str, turn: str, length: str) -> list[str]:
    """Return the answers about a link: a rod of 2 kg, drawn as a cylinder, with limits."""
    about = f"(2 kg)*({length})^2/3 + 0.01 {{kg*m^2}}"
    inertia = f"0.01, {about}, {about}"
    geometry = [name, kind, f"{at}, 0, 0", turn, "0"]
    mass = ["2", f"({length})/2, 0, 0", inertia]
    return [*geometry, *mass, "1 in", f"0, {length}", "-170 deg", "170 deg", "2 rad/s", "200 N*m"]


def created(sections: Sequence[tuple[str, str, str, str, str]] = REF6) -> list[str]:
    """Return the answers that make an arm from nothing, save it, and quit."""
    answers = ["define", "create", "ref6", "six-joint arm", "0, 0, 0", "z 90 deg", "yes"]
    for k, section in enumerate(sections, 1):
        answers += [*link(*section), "yes", "yes" if k < len(sections) else "no"]
    tool = ["6 in, 0, 0", "none", "yes"]
    options = ["-y", "9.81", "8", "0.002", "1", "yes"]
    return [*answers, *tool, "none", *options, "yes", "quit"]


class GivenLines:
    """AnswerLines of a test: those given, then the end of the input."""

    strict = False

    def __init__(self, lines: Iterable[str]) -> None:
        self.lines = deque(lines)
        self.prompts: list[str] = []

    def line(self, prompt: str, choices: Sequence[str]) -> str:
        """Return the next line."""
        del choices
        self.prompts.append(prompt)
        if not self.lines:
            raise EOFError
        return self.lines.popleft()
