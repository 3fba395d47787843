"""``linkwright lab open``: a laboratory with its console, or a script of its commands."""

from __future__ import annotations

import json
import math
import sys
from collections.abc import Iterable, Iterator
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from linkwright.base.errors import Error, InputError
from linkwright.base.files import LARGEST, read_text
from linkwright.cli.options import Seed, option, own
from linkwright.cli.terminal import echo

if TYPE_CHECKING:
    from linkwright.lab.console.script import Done
    from linkwright.lab.lab import Lab

SOURCE = "A shipped laboratory (sl-arm), an SL folder, a lab.toml, a robot file or a model."
GROUND = "Leave out the ground of a floating robot that nothing else can touch."
PACE = "0 is as fast as it goes. Default: 1 at a prompt, 0 in a script."


def command(
    source: Annotated[str | None, typer.Argument(metavar="SOURCE", help=SOURCE)] = None,
    script: Annotated[
        str | None,
        typer.Argument(metavar="SCRIPT", help="A file of commands, or - for the standard input."),
    ] = None,
    commands: Annotated[str | None, option("--commands")] = None,
    tasks: Annotated[list[Path] | None, own("FILE", "A file of tasks (repeatable).")] = None,
    driver: Annotated[
        str | None,
        own("URL", "A real robot, such as udp://127.0.0.1:9300."),
    ] = None,
    studio: Annotated[bool, option("--studio")] = False,
    begin: Annotated[
        str | None,
        own("SESSION@T", "Go on from second T of a recorded session.", "--from"),
    ] = None,
    no_ground: Annotated[bool, own(None, GROUND, "--no-ground")] = False,
    seed: Seed = 0,
    folder: Annotated[Path, option("--folder", "Session and recordings.")] = Path(),
    pace: Annotated[float | None, option("--pace", PACE)] = None,
    as_json: Annotated[bool, option("--json", "What came of a script.")] = False,
) -> None:
    """Open a laboratory: a console on a robot with its servos and tasks.

    \b
    Examples:
      linkwright lab open sl-arm --studio
      linkwright lab open sl-arm -c "st sine file=default.sine; run 5; saveData" --json
      linkwright lab open sl-arm --tasks wave.py --driver udp://127.0.0.1:9300
      linkwright lab open --from session00001.journal@12.5
      echo "go R_EB=90deg; where" | linkwright lab open sl-arm
    """
    lines, name = _lines(script, commands)
    if pace is not None and not 0 <= pace < math.inf:
        raise InputError(f"--pace {pace:g} is not a pace", remedy="give 0 or more")
    for path in tasks or ():
        read_text(path, LARGEST)  # whether it is there is known before a session begins
    with ExitStack() as stack:
        lab = stack.enter_context(
            _opened(source, begin, seed, folder, driver, ground=not no_ground)
        )
        for note in (*lab.config.notes, *_ground(lab)):
            echo(f"note: {note}", err=True)
        for path in tasks or ():
            lab.add(path)
        if lines is None:
            _talk(lab, 1.0 if pace is None else pace, studio=studio)
        else:
            _script(lab, lines, name, pace, as_json=as_json)
    if lab.session is not None and lab.session.failed:
        raise Error(f"the session was not kept to its end: {lab.session.failed}")


def _ground(lab: Lab) -> Iterator[str]:
    """Yield that the robot stands on a ground, where it does."""
    from linkwright.formats.robot.ground import ground_of
    from linkwright.lab.contacts import stands

    found = lab.simulated and stands(lab.config)
    if found and ground_of(lab.config.description, lab.mechanism.assembled).touches:
        yield "it stands on a level ground; --no-ground leaves that out"


def _opened(
    source: str | None,
    begin: str | None,
    seed: int,
    folder: Path,
    driver: str | None,
    *,
    ground: bool = True,
) -> Lab:
    """Return the laboratory, at its start or where a session was at a moment."""
    from linkwright.lab.lab import Lab
    from linkwright.lab.sources import lab_config

    if begin is None:
        if source is None:
            raise InputError("no laboratory is named", remedy="linkwright lab open sl-arm")
        if ground:
            return Lab(source, driver=driver, seed=seed, folder=folder)
        config = replace(lab_config(source), ground=False)
        return Lab(config, driver=driver, seed=seed, folder=folder)
    if driver is not None:
        raise InputError("a session goes on in a simulation", remedy="leave out --driver")
    if source is not None:
        raise InputError(
            f"the laboratory is that of the session, not {source!r}", remedy="leave one out"
        )
    path, mark, moment = begin.rpartition("@")
    try:
        at = float(moment) if mark else None
    except ValueError:
        raise InputError(
            f"--from {begin!r} is not a moment", remedy="give SESSION@SECONDS"
        ) from None
    return Lab.from_session(path if mark else begin, at, folder=folder)


def _lines(script: str | None, commands: str | None) -> tuple[Iterable[str] | None, str]:
    """Return the lines of a script and its name; None where a person types."""
    if commands is not None and script is not None:
        raise InputError("both -c and a script are given", remedy="give one of them")
    if commands is not None:
        return commands.splitlines(), ""
    if script is None:
        return (None, "") if sys.stdin.isatty() else (sys.stdin, "")
    if script == "-":
        return sys.stdin, ""
    try:
        return Path(script).read_text(encoding="utf-8").splitlines(), script
    except (OSError, UnicodeDecodeError) as error:
        why = error.strerror if isinstance(error, OSError) else "it is not text"
        raise InputError(f"the script cannot be read: {why}", file=script) from None


def _talk(lab: Lab, pace: float, *, studio: bool) -> None:
    """Let a person give commands, here and by `linkwright lab attach`."""
    from linkwright.cli.console import prompt_of
    from linkwright.lab.console.consoles import Consoles, LocalLink
    from linkwright.lab.console.remote import ConsoleServer

    consoles = Consoles(lab)
    with ExitStack() as stack:
        server = stack.enter_context(ConsoleServer(consoles, lab.config.name))
        stack.callback(consoles.leave)
        if studio:
            from linkwright.studio.display import open_browser
            from linkwright.studio.lab_studio import open_lab_studio

            page = stack.enter_context(open_lab_studio(consoles))
            echo(f"studio: {page.address}")
            open_browser(page.address)
        with prompt_of(LocalLink(consoles, server.name)) as prompt:
            if lab.paced is None:  # a real robot has its own pace
                lab.pace(pace or None)
            echo(f"{server.name}: {len(lab.config.joints)} joints; man lists the commands")
            prompt.talk()


def _script(
    lab: Lab, lines: Iterable[str], name: str, pace: float | None, *, as_json: bool
) -> None:
    from linkwright.lab.console.script import Script

    lab.listen(lambda text: echo(f"note: {text}", err=True))
    if pace and lab.paced is None:
        lab.pace(pace)

    found: list[Done] = []

    def tell(done: Done) -> None:
        found.append(done)
        if not as_json and done.answer.text:
            echo(done.answer.text)

    error: dict[str, str] = {}
    try:
        Script(lines, name).run(lab, tell)
    except Error as problem:
        error["error"] = str(problem)
        raise
    finally:
        lab.recorder.finish()
        if as_json:
            echo(json.dumps(_report(lab, found) | error))


def _report(lab: Lab, done: list[Done]) -> dict[str, Any]:
    """Return what came of a script, for programs."""
    from linkwright.lab.console.reports import servo_counts

    return {
        "lab": lab.config.name,
        "tick": lab.tick,
        "time": lab.time,
        "task": lab.task,
        "session": None if lab.session is None else str(lab.session.path),
        "servos": servo_counts(lab),
        "recordings": [
            {"tick": r.tick, "samples": r.samples, "seconds": r.seconds}
            | {"file": None if r.path is None else str(r.path)}
            for r in lab.recorder.recordings
        ],
        "commands": [
            {"command": each.statement.text, "text": each.answer.text, "data": each.answer.data}
            for each in done
        ],
    }
