"""What a shell completes: commands, models, parameters, channels."""

from __future__ import annotations

from pathlib import Path

import pytest

from linkwright.cli import main


def completed(
    line: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> list[str]:
    """Return what bash is offered at the end of a line."""
    words = line.split(" ")
    monkeypatch.setenv("COMP_WORDS", line)
    monkeypatch.setenv("COMP_CWORD", str(len(words) - 1))
    monkeypatch.setenv("_LINKWRIGHT_COMPLETE", "complete_bash")
    main([])
    return capsys.readouterr().out.split()


@pytest.mark.parametrize(
    ("line", "offered"),
    [
        ("linkwright sim", {"simulate"}),
        ("linkwright parallel ", {"chart", "assemblies", "singularities", "design"}),
        ("linkwright simulate pendu", {"pendulum"}),
        ("linkwright simulate pendulum --set ", {"L=", "g="}),
        ("linkwright analyze linearize double-pendulum --at ", {"phi1=", "phi2="}),
        ("linkwright plot run.csv ph", {"phi", "phi_dot"}),
    ],
)
def test_a_line_is_completed(
    line: str,
    offered: set[str],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(tmp_path)
    if "run.csv" in line:
        assert main(["simulate", "pendulum", "--until", "0.1", "-o", "run.csv", "-q"]) == 0
    assert offered <= set(completed(line, monkeypatch, capsys))
