"""Damaged and hostile files: refused in one line, before they take memory or time."""

from __future__ import annotations

import io
import json
import math
import subprocess
import sys
import zipfile
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from linkwright.base.errors import Error, InputError
from linkwright.cli import main
from linkwright.formats.meshes.collada import read_collada
from linkwright.recording import Channel, Recording, RecordingError, read_recording
from linkwright.recording.journal import MAGIC
from linkwright.sweeps.plans import read_plan

MADE = Recording([0, 0.5, 1.0], [Channel("x", "m")], [[0], [1], [4]])
ERD = "ERDFILEV2.00\n{},{},{},{},1,{}\nEND\n"
DEEP = "[" * 100_000 + "]" * 100_000


def erd(channels: int, samples: int, step: str = "0.1") -> str:
    """Return the header of an ERD file."""
    return ERD.format(channels, samples, samples, 4 * channels, step)


def parquet(path: Path, names: list[str], metadata: dict[bytes, bytes] | None = None) -> None:
    """Write a Parquet file of zeros that a table holds in three rows."""
    import pyarrow as pa
    from pyarrow import parquet as module

    columns = [pa.array([0.0, None, 1.0]) for _ in names]
    table = pa.Table.from_arrays(columns, names=names)
    module.write_table(table.replace_schema_metadata(metadata), path)


def encrypted(path: Path) -> None:
    """Write an archive that says it is encrypted."""
    MADE.save(path)
    content = bytearray(path.read_bytes())
    at = content.find(b"PK\x01\x02")
    while at >= 0:
        content[at + 8] |= 1
        at = content.find(b"PK\x01\x02", at + 1)
    path.write_bytes(content)


def many_rows(path: Path) -> None:
    """Write a small Parquet file of very many equal rows."""
    import pyarrow as pa
    from pyarrow import parquet as module

    block = pa.table({"t": np.zeros(1 << 20), "x": np.zeros(1 << 20)})
    with module.ParquetWriter(path, block.schema) as writer:
        for _ in range(20):
            writer.write_table(block)


_LONG_CHUNK = """
import sys
from mcap.writer import CompressionType, Writer

with open(sys.argv[1], "wb") as file:
    writer = Writer(file, chunk_size=1 << 30, compression=CompressionType.ZSTD)
    writer.start()
    schema = writer.register_schema("s", "jsonschema", b"{}")
    channel = writer.register_channel("/a", "json", schema)
    for k in range(20):
        data = b'{"x": 1, "y": "' + b"0" * (16 << 20) + b'"}'
        writer.add_message(channel, k, data, k)
    writer.finish()
"""


def long_chunk(path: Path) -> None:
    """Write an MCAP file with a chunk of zeros that unpacks to much; the memory is a child's."""
    subprocess.run([sys.executable, "-c", _LONG_CHUNK, str(path)], check=True)


def long_about(path: Path) -> None:
    """Write an archive whose text about itself unpacks to much."""
    MADE.save(path)
    with zipfile.ZipFile(path) as parts:
        content = {name: parts.read(name) for name in parts.namelist()}
    text = io.BytesIO()
    np.save(text, np.array(" " * (1 << 20)))
    content["metadata.npy"] = text.getvalue()
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as parts:
        for name, data in content.items():
            parts.writestr(name, data)


def with_data(path: Path, text: str, data: bytes = b"") -> None:
    """Write an ERD file with its data."""
    path.write_text(text)
    path.with_name(path.name + ".bin").write_bytes(data)


RECORDINGS: dict[str, tuple[str, Callable[[Path], object]]] = {
    "cut-off data": ("a.erd", lambda p: with_data(p, erd(1, 3), b"123456789")),
    "many channels": ("a.erd", lambda p: with_data(p, erd(10**9, 0))),
    "many samples of nothing": ("a.erd", lambda p: with_data(p, erd(0, 10**9))),
    "step that is not a number": ("a.erd", lambda p: with_data(p, erd(1, 2, "nan"), b"1" * 8)),
    "infinite step": ("a.erd", lambda p: with_data(p, erd(1, 2, "inf"), b"1" * 8)),
    "long cell": ("a.csv", lambda p: p.write_text("t,x\n0," + "1" * 200_000 + "x\n")),
    "deep JSON above": ("a.csv", lambda p: p.write_text(f"# linkwright {DEEP}\nt,x\n0,1\n")),
    "deep JSON within": ("a.csv", lambda p: p.write_text(f't,x,# linkwright\n0,1,"{DEEP}"\n')),
    "nested too deeply": (
        "a.csv",
        lambda p: p.write_text(
            '# linkwright {"channels": [["x"]], "metadata": {"a": ' + "[" * 700 + "]" * 700 + "}}\n"
            "t,x\n0,1\n"
        ),
    ),
    "time that is not a number": ("a.csv", lambda p: p.write_text("t,x\n0,1\nnan,2\n")),
    "time that is empty": ("a.csv", lambda p: p.write_text("t,x\n0,1\n,2\n")),
    "infinite time": ("a.csv", lambda p: p.write_text("t,x\n0,1\ninf,2\n")),
    "number with underscores": ("a.csv", lambda p: p.write_text("t,x\n0,1_000\n")),
    "names without numbers": ("a.csv", lambda p: p.write_text("t,x\n")),
    "deep JSON of a journal": ("a.journal", lambda p: p.write_bytes(MAGIC + DEEP.encode() + b"\n")),
    "times that are missing": ("a.parquet", lambda p: parquet(p, ["t", "x"])),
    "metadata of others": (
        "a.parquet",
        lambda p: parquet(
            p,
            ["a", "b"],
            {b"linkwright": json.dumps({"metadata": {}, "channels": [["x"]]}).encode()},
        ),
    ),
    "encrypted archive": ("a.npz", encrypted),
    "low rate": ("d00001", lambda p: p.write_bytes(b"2 1 2 1e-320 x m  \n" + b"1" * 8)),
    "many equal rows": ("a.parquet", many_rows),
    "a long chunk": ("a.mcap", long_chunk),
}


@pytest.mark.parametrize("case", RECORDINGS)
def test_a_damaged_recording_is_refused(case: str, tmp_path: Path) -> None:
    name, write = RECORDINGS[case]
    write(tmp_path / name)
    with pytest.raises(InputError) as caught:
        read_recording(tmp_path / name)
    assert name in str(caught.value)


def test_a_long_text_about_itself_is_not_unpacked(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    long_about(tmp_path / "a.npz")
    monkeypatch.setattr("linkwright.recording.tables._LONGEST_CELL", 1 << 19)
    with pytest.raises(InputError, match="too long"):
        read_recording(tmp_path / "a.npz")


def test_recordings_of_memory_are_checked_too() -> None:
    for times in ([0, math.nan], [0, math.inf], [[0, 1]]):
        with pytest.raises(RecordingError):
            Recording(times, [Channel("x")], [[0], [1]])
    with pytest.raises(RecordingError):
        Recording([0, 1], [Channel("x")], [[0], [1], [2]])


# -- our own tables --------------------------------------------------------------------------------
AWKWARD = [
    "a\nb",
    "a\u2028b",
    "a;b;c;d;e",
    'a"b',
    "=cmd|' /C calc'!A0",
    "@x",
    "a,b",
    "# linkwright",
    "t",
]


@pytest.mark.parametrize("name", AWKWARD)
def test_any_name_comes_back_from_a_table(name: str, tmp_path: Path) -> None:
    made = Recording([0, 1], [Channel(name, "m"), Channel("y")], [[1, 2], [3, 4]], {"model": "m"})
    made.save(tmp_path / "a.csv")
    found = read_recording(tmp_path / "a.csv")
    assert found.channels == made.channels
    assert found.data.tolist() == made.data.tolist()
    assert found.metadata["model"] == "m"
    head = (tmp_path / "a.csv").read_text(encoding="utf-8").split(",")
    assert not [cell for cell in head if cell.strip('"').startswith(("=", "@", "+"))]


def test_a_table_is_read_as_it_is_by_others(tmp_path: Path) -> None:
    from pyarrow import csv as table_csv

    made = Recording(
        [0, 0.5], [Channel("x", "m"), Channel("v", "m/s")], np.array([[1, 2], [3, np.nan]])
    )
    made.save(tmp_path / "a.csv")
    table = table_csv.read_csv(tmp_path / "a.csv")
    assert table.column_names[:3] == ["t [s]", "x [m]", "v [m/s]"]
    assert table.column("x [m]").to_pylist() == [1.0, 3.0]
    numbers = np.genfromtxt(tmp_path / "a.csv", delimiter=",", skip_header=1, usecols=(0, 1))
    assert numbers.tolist() == [[0, 1], [0.5, 3]]


def test_tables_of_older_versions_are_still_read(tmp_path: Path) -> None:
    told = json.dumps(
        {"metadata": {"model": "m"}, "channels": [["x", "m", "place", "length", "b"]]}
    )
    (tmp_path / "a.csv").write_text(f"# linkwright {told}\nt [s],x [m]\n0.0,1.0\n1.0,2.0\n")
    found = read_recording(tmp_path / "a.csv")
    assert found.channels == (Channel("x", "m", "place", "length", "b"),)
    assert found.metadata["model"] == "m"
    empty = Recording([], [Channel("x", "m")], [], {"model": "m"})
    empty.save(tmp_path / "b.csv")
    assert read_recording(tmp_path / "b.csv").channels == empty.channels


# -- studies ---------------------------------------------------------------------------------------
BASE = 'model = "pendulum"\nuntil = 1.0\n'
STUDIES = {
    "until of many digits": f'model = "pendulum"\nuntil = 1{"0" * 400}',
    "until is true": 'model = "pendulum"\nuntil = true',
    "until of a text": 'model = "pendulum"\nuntil = "1"',
    "until is infinite": 'model = "pendulum"\nuntil = inf',
    "step is a text": BASE + 'step = "0.1"',
    "too many steps": 'model = "pendulum"\nuntil = 1e300\nstep = 1e-300',
    "runs is infinite": BASE + "runs = inf",
    "runs is a fraction": BASE + "runs = 1.9",
    "seed is infinite": BASE + "seed = inf",
    "every is true": BASE + "every = true",
    "part is not a number": BASE + "part = nan",
    "part of many digits": BASE + f"part = 1{'0' * 400}",
    "thousands of digits": BASE + f"seed = 1{'0' * 5000}",
    "deeply nested": BASE + "x = " + "[" * 5000 + "]" * 5000,
    "a long name": 'model = "' + "m" * 5000 + '"\nuntil = 1.0\nruns = 0',
    "values that are not numbers": BASE + "[parameters]\nL = [nan, inf]",
    "values of many digits": BASE + f"[parameters]\nL = [1{'0' * 400}]",
    "a very long range": BASE + "[parameters]\nL = { from = 1, to = 2, count = 1000000000000 }",
    "a range that is counted by truth": BASE
    + "[parameters]\nL = { from = 1, to = 2, count = true }",
    "a range beyond all numbers": BASE
    + "[parameters]\nL = { from = -1.7e308, to = 1.7e308, count = 2 }",
    "long ranges together": BASE
    + "[parameters]\n"
    + "".join(f"p{k} = {{ from = 1, to = 2, count = 50000000 }}\n" for k in range(3)),
    "an empty triangle": BASE + "[parameters]\nL = { triangular = [1, 1, 1] }",
    "a range that is too wide": BASE + "[parameters]\nL = { uniform = [-1.7e308, 1.7e308] }",
    "draws beyond all numbers": BASE + "[parameters]\nL = { lognormal = [800, 1] }",
    "negative tolerance": BASE + "tolerance = -1",
}


@pytest.mark.parametrize("case", STUDIES)
def test_a_damaged_study_is_refused(case: str, tmp_path: Path) -> None:
    path = tmp_path / "s.toml"
    path.write_text(STUDIES[case])
    with pytest.raises(InputError) as caught:
        read_plan(path)
    assert "s.toml" in str(caught.value)
    assert len(str(caught.value)) < 1000


@pytest.mark.parametrize("table", ["[parameters]\nLL = [1, 2]", '[channels]\nfi = ["max"]'])
@pytest.mark.parametrize("words", [[], ["--force"]])
def test_a_typo_in_a_study_leaves_nothing_and_takes_nothing(
    table: str, words: list[str], tmp_path: Path
) -> None:
    study = tmp_path / "s.toml"
    study.write_text(f"{BASE}{table}")
    assert main(["sweep", str(study), "-q", *words]) == 2
    assert [p.name for p in tmp_path.iterdir()] == ["s.toml"]
    study.write_text(f"{BASE}[parameters]\nL = [1, 2]")
    assert main(["sweep", str(study), "-q"]) == 0
    kept = sorted(p.name for p in (tmp_path / "s.sweep").iterdir())
    study.write_text(f"{BASE}{table}")
    assert main(["sweep", str(study), "-q", "--force"]) == 2
    assert sorted(p.name for p in (tmp_path / "s.sweep").iterdir()) == kept


# -- models and meshes -----------------------------------------------------------------------------
BODY = 'format = 1\nname = "m"\n[[body]]\nname = "b"\nrotate = "z"\ninertia = 1\n'
MODELS = {
    "a number of many digits": BODY + f"mass = 1{'0' * 400}",
    "a matrix beside a rotation": BODY + "mass = 1\nmatrix = [[1, 0, 0], [0, 1, 0], [0, 0, 1]]",
    "a place that is not finite": BODY + 'mass = 1\nat = ["-inf", 0, 0]',
}


@pytest.mark.parametrize("case", MODELS)
@pytest.mark.parametrize("words", [["model", "check"], ["model", "convert"]])
def test_a_damaged_model_is_refused(
    case: str, words: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    model = tmp_path / "m.toml"
    model.write_text(MODELS[case])
    more = [str(tmp_path / "m.dyn")] if "convert" in words else []
    assert main([*words, str(model), *more]) == 2
    assert capsys.readouterr().err.startswith("error: ")
    assert [p.name for p in tmp_path.iterdir()] == ["m.toml"]


MESH = """<COLLADA><asset><unit meter="1"/></asset><library_geometries><geometry id="g"><mesh>
<source id="s"><float_array>0 0 0 1 0 0 0 1 0</float_array></source>
<vertices id="v"><input semantic="POSITION" source="#s"/></vertices>
<triangles><input semantic="VERTEX" source="#v" offset="0"/><p>0 1 2</p></triangles>
</mesh></geometry></library_geometries><library_visual_scenes><visual_scene>
<node><instance_geometry url="#g"/></node></visual_scene></library_visual_scenes></COLLADA>"""
DOUBLED = "".join(
    f'<node id="n{k}"><instance_node url="#n{k + 1}"/><instance_node url="#n{k + 1}"/></node>'
    for k in range(40)
)


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("<p>0 1 2</p>", "<p>0 one 2</p>"),
        ("<p>0 1 2</p>", "<p>0 1 99999999999999999999</p>"),
        ("<p>0 1 2</p>", "<p>0 1</p>"),
        ("<p>0 1 2</p>", "<p>0 1 3</p>"),
        ('offset="0"', 'offset="x"'),
        ('offset="0"', 'offset="999999999999"'),
        ('meter="1"', 'meter="long"'),
        ('meter="1"', 'meter="0"'),
        ("0 0 0 1 0 0 0 1 0", "0 0 0 1 0 0 0 1"),
        ("0 0 0 1 0 0 0 1 0", "0 0 0 1 0 nan 0 1 0"),
        ("<node>", "<node><matrix>1 0 0 0 0 1 0 0 0 0 1 0 0 0 0</matrix>"),
        ("<node>", "<node><rotate>0 0 1</rotate>"),
        ("<node>", "<node><scale>1</scale>"),
        ("<node>", f'{DOUBLED}<node><instance_node url="#n0"/>'),
    ],
)
def test_a_damaged_mesh_is_refused(old: str, new: str, tmp_path: Path) -> None:
    path = tmp_path / "m.dae"
    path.write_text(MESH)
    assert len(read_collada(path)) == 1
    path.write_text(MESH.replace(old, new, 1))
    with pytest.raises(Error):
        read_collada(path)


# -- the command line ------------------------------------------------------------------------------
def test_an_error_that_check_finds_is_one_for_the_shell(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    model = tmp_path / "m.toml"
    model.write_text(BODY + "mass = -1")
    for words in ([], ["--json"]):
        assert main(["model", "check", str(model), *words]) == 1
    assert "with 1 error(s)" in capsys.readouterr().out


def test_check_derives_as_a_run_would(monkeypatch: pytest.MonkeyPatch) -> None:
    from linkwright import equations
    from linkwright.formats.text.check import check_mechanism
    from linkwright.models import load_model

    seen: list[str] = []
    derive = equations.derive

    def watched(mechanism: object, formulation: str, **more: object) -> object:
        seen.append(formulation)
        return derive(mechanism, formulation, **more)  # type: ignore[arg-type]

    monkeypatch.setattr(equations, "derive", watched)
    check_mechanism(load_model("pendulum"))
    assert seen == ["quick"]


@pytest.mark.parametrize("name", ["slider-crank", "four-bar", "car"])
def test_a_text_model_converted_to_one_keeps_everything(name: str, tmp_path: Path) -> None:
    from linkwright.formats.text.files import read_model, write_model
    from linkwright.models import load_model

    first, second = tmp_path / "one.toml", tmp_path / "two.toml"
    assert main(["model", "convert", name, str(first)]) == 0
    assert main(["model", "convert", str(first), str(second)]) == 0
    whole = write_model(load_model(name))
    for path in (first, second):
        assert write_model(read_model(path)) == whole
