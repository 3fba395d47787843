"""What the menus *analyze* and *postprocess* do: they run the commands of the same name."""

from __future__ import annotations

from pathlib import Path

from linkwright.base.errors import InputError
from linkwright.heritage.dialogue.answers import (
    Numbers,
    Question,
    choice,
    seconds,
    truth,
    whole,
    words,
    wrong,
)
from linkwright.heritage.dialogue.talk import Talk

NONE = "none"

_ANALYZE = ("check", "requirements", "simulate", "drive", "return")
_POSTPROCESS = ("plot", "page", "return")
_HELP = {
    "check": "check: derive the equations of the model, and say what is in it.",
    "requirements": "requirements: what a task asks of each joint: speeds, torques, powers, loads.",
    "simulate": "simulate: run it from its start, and record that.",
    "drive": "drive: run the drive of a joint, with its prints and its filter.",
    "plot": "plot: channels of a recording, as a picture.",
    "page": "page: the motion of a recording, as a page for any browser.",
    "return": "return: back to the top menu.",
}


def analyze(talk: Talk, file: Path) -> None:
    """Ask for an analysis of the model in a file, and carry it out."""
    chosen = _chosen(talk, _ANALYZE)
    if chosen == "check":
        _run(talk, ["model", "check", str(file)])
    elif chosen == "requirements":
        _require(talk, file)
    elif chosen == "simulate":
        out = _file(talk, "file for the recording", f"{file.stem}.npz", file.parent)
        _run(talk, ["simulate", str(file), "-o", out, "--force"])
    elif chosen == "drive":
        from linkwright.heritage.dialogue.drive import run_words

        _run(talk, run_words(talk, file, _file, NONE))


def _require(talk: Talk, file: Path) -> None:
    """Ask for a task, and find what it requires of each joint."""
    task = _file(talk, "task", _task_of(file), file.parent)
    payload = talk.ask(
        Question("payload, kg, or none", Numbers().maybe("kg"), "none", "A point at the tool.")
    )
    help_ = "no: motion alone, which is faster."
    dynamics = talk.ask(Question("forces and torques (yes, no)", truth, "yes", help_))
    words_ = [] if payload is None else ["--payload", str(payload)]
    words_ += [] if dynamics else ["--no-dynamics"]
    kept = _file(talk, "file for the recording, or none", f"{file.stem}.parquet", file.parent)
    report = _file(talk, "report (.html), or none", "none", file.parent)
    help_ = "no: exact, without listings. yes: step, scheme, listings and history are asked."
    if talk.ask(Question("choose step, scheme and listings (yes, no)", truth, "no", help_)):
        words_ += _details(talk, file, bool(dynamics))
    words_ += [] if kept == NONE else ["--recording", kept]
    words_ += [] if report == NONE else ["-o", report]
    _run(talk, ["analyze", "require", str(file), task, *words_], exceeded=1)


def _details(talk: Talk, file: Path, dynamics: bool) -> list[str]:
    """Return the options of an analysis, in ROBSIM's order: its scheme, prints and history."""
    help_ = "task: the whole task. What comes before is carried out, and does not count."
    start = talk.ask(Question("start, s, or task", _or_task, "task", help_))
    stop = talk.ask(Question("stop, s, or task", _or_task, "task", help_))
    help_ = "The longest between two samples."
    step = talk.ask(Question("step, s", seconds, "0.001", help_))
    schemes = ("exact", "robsim")
    help_ = "robsim: Euler's steps, and dynamics of means over them. exact: what the task says."
    scheme = talk.ask(Question("scheme (exact, robsim)", choice(schemes), "exact", help_, schemes))
    found = ["--step", str(step), "--scheme", scheme, "--force"]
    found += [] if start is None else ["--from", str(start)]
    found += [] if stop is None else ["--until", str(stop)]
    help_ = "yes: a studio opens in the browser, in which the arm moves while it is computed."
    if talk.ask(Question("graphics (yes, no)", truth, "no", help_)):
        scene = talk.ask(Question("environment (a scene), or none", words, NONE, "A scene file."))
        found += ["--studio"] if scene == NONE else ["--studio", "--scene", scene]
    for option, what in (
        ("--list-motion", "listing of motion, or none"),
        ("--list-dynamics", "listing of dynamics, or none"),
        ("--history", "history of the joints for replay, or none"),
    ):
        if option == "--list-dynamics" and not dynamics:
            continue
        name = _file(talk, what, NONE, file.parent)
        found += [] if name == NONE else [option, name]
    help_ = "all: every step."
    for option, what, needed in (
        ("--list-every", "listings", "--list-"),
        ("--history-every", "the history", "--history"),
    ):
        if any(word.startswith(needed) for word in found):
            question = Question(f"interval of {what}, s, or all", _interval, "all", help_)
            every = talk.ask(question)
            found += [] if every is None else [option, str(every)]
    return found


def _or_task(text: str) -> float | None:
    return None if text == "task" else seconds(text)


def _interval(text: str) -> float | None:
    return None if text == "all" else seconds(text)


def postprocess(talk: Talk, file: Path) -> None:
    """Ask for a plot or a page of a recording, and make it."""
    chosen = _chosen(talk, _POSTPROCESS)
    if chosen == "return":
        return
    recording = _file(talk, "recording", f"{file.stem}.npz", file.parent)
    if chosen == "plot":
        _plot(talk, file, recording)
    else:
        out = _file(talk, "page", f"{file.stem}.html", file.parent)
        _run(talk, ["page", recording, "--model", str(file), "-o", out])


def _plot(talk: Talk, file: Path, recording: str) -> None:
    """Ask what is plotted and, where that is wanted, how."""
    help_ = "Names with commas between them; * and ? match. `linkwright plot FILE --list` has them."
    channels = talk.ask(Question("channels, or all", words, "all", help_))
    given = [] if channels == "all" else [name.strip() for name in channels.split(",")]
    against = talk.ask(Question("against time, or a channel", words, "time", "The x axis."))
    given += [] if against == "time" else ["--vs", against]
    out = _file(talk, "picture (.png, .svg, .pdf)", f"{file.stem}.svg", file.parent)
    help_ = "no: the usual format. yes: legend, marks, scales, labels, page and logo are asked."
    if talk.ask(Question("choose its format (yes, no)", truth, "no", help_)):
        given += _format(talk)
    _run(talk, ["plot", recording, *given, "-o", out])


def _format(talk: Talk) -> list[str]:
    """Return the options of a plot, asked in ROBSIM's order."""
    found = [] if talk.ask(Question("legend (yes, no)", truth, "yes")) else ["--no-legend"]
    every = talk.ask(Question("mark every how many samples, or 0", whole(0), "0"))
    found += ["--symbols", str(every)] if every else []
    found += ["--smooth"] if talk.ask(Question("smooth curves (yes, no)", truth, "no")) else []
    for option, asked in (
        ("--label", "legend text"),
        ("--x-limits", "x scale, as low,high"),
        ("--y-limits", "y scale, as low,high"),
        ("--x-step", "distance of x ticks"),
        ("--y-step", "distance of y ticks"),
        ("--title", "title"),
        ("--x-label", "x label"),
        ("--y-label", "y label"),
        ("--page", "page in inches, as 11x8.5"),
        ("--origin", "lower left corner of the axes in inches, as x,y"),
        ("--axes", "lengths of the axes in inches, as 9x6.5"),
        ("--logo", "picture of a logo"),
        ("--logo-at", "lower left corner of the logo, as x,y"),
        ("--logo-size", "width of the logo, inches"),
    ):
        if option.startswith("--logo-") and "--logo" not in found:
            continue
        value = talk.ask(Question(f"{asked}, or none", words, NONE, "none: as usual."))
        found += (
            []
            if value == NONE
            else [f"{option}={value}"]
            if option != "--logo"
            else [option, value]
        )
    return found


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
        return NONE if text == NONE and NONE in what else str(folder / text)

    found: str = talk.ask(Question(what, read, default, "In the folder of the model."))
    return found


def _task_of(file: Path) -> str:
    """Return the name of the task that a model names, or one like its own."""
    from linkwright.formats.text.files import open_model

    return open_model(file).model.task or f"{file.stem}-task.toml"


def _run(talk: Talk, command: list[str], *, exceeded: int = 0) -> None:
    """Run a command of Linkwright; what it could not do is an error with a number."""
    if talk.pending or talk.command is None:
        return
    code = talk.command(command)
    if code and code == exceeded:
        talk.say("a limit is exceeded")
    elif code:
        raise InputError(
            f"`linkwright {' '.join(command)}` could not do it",
            remedy="its message above says why",
            code="R116",
        )
