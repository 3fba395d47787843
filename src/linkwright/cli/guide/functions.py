"""What the menus *analyze* and *postprocess* do: they run the commands of the same name."""

from __future__ import annotations

from pathlib import Path

from linkwright.cli.guide.answers import Question, choice, words, wrong
from linkwright.cli.guide.talk import Talk
from linkwright.errors import InputError

_ANALYZE = ("check", "simulate", "return")
_POSTPROCESS = ("plot", "page", "return")
_HELP = {
    "check": "check: derive the equations of the model, and say what is in it.",
    "simulate": "simulate: run it from its start, and record that.",
    "plot": "plot: channels of a recording, as a picture.",
    "page": "page: the motion of a recording, as a page for any browser.",
    "return": "return: back to the top menu.",
}


def analyze(talk: Talk, file: Path) -> None:
    """Ask for an analysis of the model in a file, and carry it out."""
    chosen = _chosen(talk, _ANALYZE)
    if chosen == "check":
        _run(talk, ["check", str(file)])
    elif chosen == "simulate":
        out = _file(talk, "file for the recording", f"{file.stem}.npz", file.parent)
        _run(talk, ["simulate", str(file), "-o", out, "--force"])


def postprocess(talk: Talk, file: Path) -> None:
    """Ask for a plot or a page of a recording, and make it."""
    chosen = _chosen(talk, _POSTPROCESS)
    if chosen == "return":
        return
    recording = _file(talk, "recording", f"{file.stem}.npz", file.parent)
    if chosen == "plot":
        help_ = (
            "Names of channels with commas between them; `linkwright plot FILE --list` has them."
        )
        channels = talk.ask(Question("channels, or all", words, "all", help_))
        picked = [] if channels == "all" else [c.strip() for c in channels.split(",")]
        out = _file(talk, "picture", f"{file.stem}.svg", file.parent)
        _run(talk, ["plot", recording, *picked, "-o", out])
    else:
        out = _file(talk, "page", f"{file.stem}.html", file.parent)
        _run(talk, ["page", recording, "-o", out])


def _chosen(talk: Talk, names: tuple[str, ...]) -> str:
    menu = ", ".join(f"{k} {name}" for k, name in enumerate(names, 1))
    help_ = " ".join(_HELP[name] for name in names)
    found: str = talk.ask(Question(menu, choice(names), "return", help_, names))
    return found


def _file(talk: Talk, what: str, default: str, folder: Path) -> str:
    """Return a path; a name without a folder is one in the folder of the model."""

    def read(text: str) -> str:
        if not words(text):
            raise wrong("the name of a file is needed here", f"such as {default}")
        return str(folder / text)

    found: str = talk.ask(Question(what, read, default, "In the folder of the model."))
    return found


def _run(talk: Talk, command: list[str]) -> None:
    """Run a command of Linkwright; what it could not do is an error with a number."""
    from linkwright.cli import main

    if talk.pending:
        return
    if main(command) != 0:
        raise InputError(
            f"`linkwright {' '.join(command)}` could not do it",
            remedy="its message above says why",
            code="R116",
        )
