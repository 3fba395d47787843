"""One option name has one type and one meaning in all commands, and JSON has keys with units."""

from __future__ import annotations

import json
import re
import types
from collections import defaultdict
from collections.abc import Iterator
from contextlib import redirect_stdout
from functools import cache
from io import StringIO
from pathlib import Path
from typing import Any, Union, get_args, get_origin

import pytest
from typer.core import TyperOption
from typer.main import get_command

from linkwright.cli import main
from linkwright.cli.app import build
from linkwright.cli.commands import COMMANDS, OLD_OPTIONS
from linkwright.cli.options import OPTIONS

ROOT = Path(__file__).parents[2]
MOUNTS = ROOT / "examples" / "mounts"


@cache
def options(path: str) -> tuple[Any, ...]:
    """The options of a command."""
    found: Any = get_command(build())
    for word in path.split():
        found = found.commands[word]
    return tuple(p for p in found.params if isinstance(p, TyperOption))


def long(parameter: Any) -> str:
    """The name of an option."""
    return str(max(parameter.opts, key=len))


def kind(parameter: Any) -> str:
    """The type of an option, whether or not it may be left out."""
    annotation = parameter.type_descriptor.annotation
    if get_origin(annotation) in (types.UnionType, Union):
        annotation = next(a for a in get_args(annotation) if a is not type(None))
    return str(annotation)


def test_one_option_has_one_type_and_one_meaning() -> None:
    forms: dict[str, set[object]] = defaultdict(set)
    users: dict[str, list[str]] = defaultdict(list)
    wrong = []
    for path in COMMANDS:
        for p in options(path):
            name = long(p)
            meaning = OPTIONS.get(name)
            users[name].append(path)
            forms[name].add((kind(p), p.metavar, p.is_flag, p.multiple, tuple(sorted(p.opts))))
            if meaning is None:
                continue
            if p.metavar != meaning.takes or not (p.help or "").startswith(meaning.words):
                wrong.append(f"{path} {name}: {p.metavar} {p.help}")
    wrong += [f"{name}: {types}" for name, types in forms.items() if len(types) > 1]
    wrong += [f"{n} of {of}" for n, of in users.items() if len(of) > 1 and n not in OPTIONS]
    wrong += [f"{name} is not in use" for name in OPTIONS if name not in users]
    assert wrong == []


def test_what_is_shared_is_called_alike() -> None:
    for path in COMMANDS:
        short = {long(p): set(p.opts) for p in options(path)}
        assert short.get("--out", {"-o", "--out"}) == {"-o", "--out"}, path
        assert ("--json" in short) or ("--quiet" not in short), path


def test_a_file_is_replaced_with_force_only(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Every command with --out has --force, and without it leaves a file as it was."""
    monkeypatch.chdir(tmp_path)
    Path("plan.toml").write_text(PLAN)
    Path("go.toml").write_text(GO)
    writers = [p for p in COMMANDS if {"--out"} <= {long(o) for o in options(p)}]
    assert len(writers) > 20
    assert [p for p in writers if "--force" not in {long(o) for o in options(p)}] == []
    wrong = []
    for path in writers:
        words = [*OTHERS.get(path, EXAMPLES.get(path, ()))]
        if "-o" in words:
            del words[words.index("-o") : words.index("-o") + 2]
        ending = ENDINGS.get(path, ".png")
        there = Path(f"there{ending}")
        there.write_text("mine")
        status = main([*path.split(), *words, "-o", str(there)])
        said = capsys.readouterr().err
        named = any(x in said for x in ("exists already", "there already", "is a file"))
        if status != 2 or not (named or path in READ_FIRST) or there.read_text() != "mine":
            wrong.append(f"{path}: {status} {said}")
        there.unlink()
    assert wrong == [], "\n".join(wrong)


@pytest.mark.parametrize("path", OLD_OPTIONS)
def test_old_options_are_those_of_today_with_a_warning(
    path: str, capsys: pytest.CaptureFixture[str]
) -> None:
    known = {o for p in options(path) for o in p.opts}
    for old, new in OLD_OPTIONS[path].items():
        assert old not in known
        assert new in known or not new.startswith("-")
        main([*path.split(), old, "--help"])
        assert f"`{old}` of `linkwright {path}` is now `{new}`" in capsys.readouterr().err


OTHERS = {
    "mount track": ("mount-alt-az", str(MOUNTS / "stations.json"), "--satellite", "25544",
                    "--site", str(MOUNTS / "site.toml")),
    "cell tune": ("nowhere.sock", "axis"),
    "analyze linearize": ("pendulum", "--second-order"),
    "tools recover": ("results.txt",),
    "tools systolic": ("assemble", "program.sys"),
}  # fmt: skip
"""What stands behind commands that have no example of JSON."""
READ_FIRST = ("codegen", "tools recover", "tools systolic")
"""What looks at its input, or at the kind of its target, before it looks whether that is there."""
ENDINGS = {
    "model new": ".toml",
    "simulate": ".csv",
    "sweep": ".csv",
    "page": ".html",
    "analyze linearize": ".npz",
    "analyze drives": ".csv",
    "mount passes": ".csv",
    "mount track": ".csv",
    "mount compare": ".html",
    "mount deck": ".html",
    "analyze require": ".html",
    "analyze size": ".html",
    "mount strength": ".svg",
    "tools reproduce": "",
}
"""What the file that --out names ends in."""


# -- JSON ------------------------------------------------------------------------------------------
PLAN = (
    'model = "pendulum"\nuntil = 0.1\n[parameters]\nL = [0.5, 1.0]\n[channels]\nphi = ["final"]\n'
)
GO = """format = 1
name = "go"
[[part]]
kind = "move"
to = {q1 = 0.5, q2 = 0.2}
duration = 0.5
"""
STATIONS = (str(MOUNTS / "stations.json"), "--site", str(MOUNTS / "site.toml"), "--days", "1")
EXAMPLES: dict[str, tuple[str, ...]] = {
    "model new": ("swing",),
    "model check": ("four-bar",),
    "model describe": ("four-bar",),
    "model convert": ("puma560", "p.urdf"),
    "model list": (),
    "simulate": ("pendulum", "--until", "0.1", "-o", "run.csv"),
    "rerun": ("run.csv",),
    "sweep": ("plan.toml",),
    "plot": ("run.csv", "--list"),
    "page": ("run.csv", "-o", "run.html"),
    "tools video": ("run.csv", "-o", "run.gif", "--plain", "--rate", "5", "--pixels", "64x48"),
    "codegen": ("pendulum", "-o", "c"),
    "analyze linearize": ("pendulum",),
    "analyze ops": ("pendulum", "--passes"),
    "analyze drives": ("joint-drive", "--until", "0.05"),
    "analyze wrist": (str(ROOT / "examples" / "wrist.toml"),),
    "parallel chart": ("five-bar", "--over", "x=0:0.2:3", "--over", "y=0.5:1:3"),
    "parallel assemblies": ("five-bar",),
    "parallel singularities": ("five-bar", "--purpose", "position"),
    "mount passes": (*STATIONS, "--satellite", "25544", "--frequency", "437"),
    "mount keyholes": (*STATIONS, "--satellite", "25544", "--mounts", "alt-az"),
    "parallel candidates": ("--joints", "Rt,S"),
    "parallel compliance": ("mechanism-2:a=0.3,h=0.2", "--shift", "0.05,0,0", "--mass", "2"),
    "analyze grasp": ("box:0.2,0.06,0.06", "--mass", "0.3"),
    "mount compare": ("mount-alt-az", "--elevation", "40", "--azimuths", "4"),
    "mount deck": ("mount-alt-az", "--until", "1", "--step", "1"),
    "mount bench": ("mount-alt-az", "--lock", "azimuth=0", "--move", "tilt=0:90:45"),
    "mount strength": ("mount-3-rotary", "--tube", "arm=0.1,0.005", "--azimuths", "2"),
    "mount move": ("mount-2-rotary", str(MOUNTS / "orbit.toml")),
    "tools info": ("puma560",),
    "tools doctor": (),
    "tools explain": ("R101",),
    "tools reproduce": ("server-a4-cost",),
    "analyze require": ("puma560", "go.toml", "--step", "0.05"),
    "analyze size": ("puma560", "go.toml", "--step", "0.05"),
    "analyze sampling": (str(ROOT / "examples" / "loop.toml"),),
}
NAMED = {
    *("final", "mounts", "axes", "coordinates", "actuators", "quantities", "packages", "reach"),
    *(
        "distances",
        "largest",
        "states",
        "inputs",
        "stages",
        "eigenvalues",
        "parameters",
        "percentiles",
    ),
    *("a", "b", "c", "d", "conditions", "counts", "options", "values", "shape"),
}
"""Keys over things that have names of their own: channels, mounts, coordinates, conditions."""
FORMULAS = {*"ABCDTm", "Ke", "Ce", "Kw", "Cw", "Kp", "KF"}
"""Keys that are called as in the formula."""
BARE = {"time", "seconds", "duration", "angle", "azimuth", "elevation", "culmination", "degrees"}
"""Words that say nothing without their unit."""


def keys(data: Any) -> Iterator[str]:
    """The keys of plain data, but those that are names."""
    if isinstance(data, dict):
        for key, value in data.items():
            yield key
            yield from keys(
                list(value.values()) if key in NAMED and isinstance(value, dict) else value
            )
    elif isinstance(data, list):
        for each in data:
            yield from keys(each)


def refuse(word: str) -> None:
    """Let no `NaN` and no `Infinity` pass, which are not JSON."""
    raise AssertionError(word)


def test_json_has_keys_in_snake_case_with_units(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("plan.toml").write_text(PLAN)
    Path("go.toml").write_text(GO)
    wrong = []
    for path, words in EXAMPLES.items():
        with redirect_stdout(StringIO()) as out:
            assert main([*path.split(), *words, "--json"]) in (0, 1), path
        data = json.loads(out.getvalue(), parse_constant=refuse)
        found = set(keys(data))
        form = r"[a-z][a-z0-9_]*"
        found -= FORMULAS
        wrong += [(path, k) for k in found if not re.fullmatch(form, k) or k in BARE]
    assert not wrong, "\n".join(map(str, wrong))
    unseen = {path for path in COMMANDS if any(long(p) == "--json" for p in options(path))}
    assert unseen - set(EXAMPLES) <= {
        *(
            "parallel design",
            "mount track",
            "cell watch",
            "cell tune",
            "lab open",
            "lab attach",
            "tools recover",
            "tools systolic",
        ),
    }, "give it an example"
