"""``linkwright tools systolic``: programs of the systolic array."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from linkwright.cli.options import Force, Set, option, own
from linkwright.cli.terminal import echo


def command(
    action: Annotated[
        str, typer.Argument(metavar="ACTION", help="new, assemble, list, run, debug or page.")
    ],
    files: Annotated[
        list[Path] | None,
        typer.Argument(metavar="FILES", help="SOURCE of assemble, CODE, or CODE and DATA."),
    ] = None,
    settings: Set = None,
    out: Annotated[
        Path | None,
        option("--out", "With assemble and page. Default: beside the first file."),
    ] = None,
    script: Annotated[
        str | None,
        own("FILE", "With debug: a file of its commands, or - for a pipe."),
    ] = None,
    warn: Annotated[bool, own(None, "Note questionable transfers too.", "-w")] = False,
    as_json: Annotated[bool, option("--json", "With run.")] = False,
    force: Force = False,
) -> None:
    """Assemble, run and debug programs of a systolic array of 256 elements.

    new writes inverse.asm and data.txt, the inverse of a 6×6 matrix, in the current folder.

    \b
    Examples:
      linkwright tools systolic new
      linkwright tools systolic assemble inverse.asm
      linkwright tools systolic assemble inverse.asm --set n=4 -o four.code
      linkwright tools systolic list inverse.code
      linkwright tools systolic run inverse.code data.txt
      linkwright tools systolic debug inverse.code data.txt -w --script commands.txt
      linkwright tools systolic page inverse.code data.txt --set register=B2
    """
    from linkwright.heritage.systolic.workbench import work

    work(
        action,
        files or (),
        settings=settings or (),
        out=out,
        script=script,
        watch=warn,
        as_json=as_json,
        force=force,
        say=echo,
        note=lambda text: echo(text, err=True),
    )
