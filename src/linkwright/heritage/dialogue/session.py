"""One session of the dialogue: its draft, its transcript, and how it ends."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from linkwright.base.errors import InputError
from linkwright.base.files import read_text
from linkwright.heritage.dialogue.answers import Question, truth
from linkwright.heritage.dialogue.menus import Guide
from linkwright.heritage.dialogue.talk import AnswerLines, Command, ScriptLines, Talk


def hold(
    file: Path,
    *,
    replay: Path | None = None,
    transcript: Path | None = None,
    lines: AnswerLines,
    say: Callable[[str], None],
    command: Command,
    show: Callable[[Path], None] | None = None,
) -> None:
    """Hold a dialogue about a file, with a person, a pipe or a transcript.

    What it analyzes it does by commands, and `show` shows a file whenever a component is entered.
    """
    if file.suffix != ".toml":
        raise InputError(
            f"{file.name!r} is not a text model", remedy="give a file .toml", code="R112"
        )
    if replay is not None:
        lines = ScriptLines(read_text(replay, 16_000_000).splitlines())
    talk = Talk(lines, transcript=_new(transcript), say=say, command=command)
    if replay is not None:
        _replay(file, replay, talk, show)
    else:
        _hold(file, talk, show, say)


def _replay(file: Path, replay: Path, talk: Talk, show: Callable[[Path], None] | None) -> None:
    try:
        talk.run(Guide(file, talk, show).play)
    except EOFError:
        raise InputError(
            f"{replay.name!r} ends before the dialogue does",
            remedy="its last answer should be quit",
            code="R113",
        ) from None


def _hold(
    file: Path, talk: Talk, show: Callable[[Path], None] | None, say: Callable[[str], None]
) -> None:
    draft = talk.draft = file.with_suffix(".draft.txt")
    try:
        if draft.is_file():
            _resume(talk, draft)
        talk.run(Guide(file, talk, show).play)
    except (EOFError, KeyboardInterrupt) as error:
        if draft.is_file():
            say(f"not saved; the answers are in {draft}: the same command resumes there")
        if isinstance(error, KeyboardInterrupt):
            raise
        if draft.is_file():
            raise InputError(
                "the input ended before the dialogue did",
                remedy="run the same command to go on",
                code="R117",
            ) from None


def _resume(talk: Talk, draft: Path) -> None:
    """Ask whether to go on with the answers of a draft; they are dropped where not."""
    given = read_text(draft, 16_000_000).splitlines()
    help_ = "yes: go on where the last dialogue broke off. no: begin anew, and drop its answers."
    files = talk.draft, talk.transcript
    talk.draft = talk.transcript = None
    wanted = talk.ask(Question(f"resume the draft in {draft} (yes, no)", truth, "yes", help_))
    talk.draft, talk.transcript = files
    talk.answers.clear()
    if wanted:
        talk.resume(given)
    else:
        draft.unlink()


def _new(transcript: Path | None) -> Path | None:
    """Return the file of a transcript, which must not be there."""
    if transcript is not None and transcript.exists():
        raise InputError(
            f"{str(transcript)!r} is there already", remedy="give another name", code="R112"
        )
    return transcript
