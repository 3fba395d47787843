"""``linkwright tools guide``: a dialogue that defines, analyzes and postprocesses a robot."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from linkwright.cli.options import option, own
from linkwright.cli.terminal import echo


def command(
    file: Annotated[Path, typer.Argument(metavar="FILE", help="Text model, new or not (.toml).")],
    replay: Annotated[
        Path | None,
        own("TRANSCRIPT", "Take the answers from a file.", "--replay"),
    ] = None,
    transcript: Annotated[
        Path | None,
        own("FILE", "Write every answer to a file.", "--transcript"),
    ] = None,
    studio: Annotated[bool, option("--studio")] = False,
) -> None:
    """Define a robot by answering questions, analyze it, and draw what came out.

    Answers may have units: 10 in, 30 deg. Type ? for help, < to go back to the question before.
    The file is only written when you save. A dialogue that breaks off can be resumed.

    \b
    Examples:
      linkwright tools guide arm.toml
      linkwright tools guide arm.toml --transcript answers.txt
      linkwright tools guide arm.toml --replay answers.txt
      linkwright tools guide arm.toml --studio
    """
    from linkwright.cli import main
    from linkwright.cli.lines import PlainLines, usual_lines
    from linkwright.cli.window import Window
    from linkwright.heritage.dialogue.session import hold

    window = Window(echo)
    try:
        hold(
            file,
            replay=replay,
            transcript=transcript,
            lines=usual_lines() if replay is None else PlainLines(),
            say=echo,
            command=main,
            show=window.show if studio else None,
        )
    finally:
        window.close()
