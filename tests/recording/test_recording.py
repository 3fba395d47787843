"""Recordings: every format gives back what it was given, and damage is named, never a traceback."""

from __future__ import annotations

import contextlib
import io
import json
import math
import signal
import subprocess
import sys
import textwrap
import zipfile
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st
from typer.testing import CliRunner

from linkwright.base.errors import Error, InputError
from linkwright.cli import main
from linkwright.cli.app import build
from linkwright.recording import (
    Channel,
    ErdChannel,
    ErdFile,
    Journal,
    Recording,
    RecordingError,
    read_recording,
    recovered,
    write_erd,
)
from linkwright.recording.derived import filtered, rate_of_change, spectrum
from linkwright.recording.numbering import save_next
from linkwright.recording.plots import figure, save_figure
from linkwright.recording.report import report_page
from linkwright.recording.terminal import text_plot
from tests.seeds import cases

EXACT = ("parquet", "csv", "npz", "mcap", "mat")


def a_recording(samples: int = 101, rate: float = 100.0) -> Recording:
    times = np.arange(samples) / rate
    data = np.column_stack([np.sin(times), np.cos(times), 1e-3 * times**2])
    channels = (
        Channel("rod", "rad", "angle of the rod", "angle", "rod"),
        Channel("rod_dot", "rad/s", "its rate", "angular speed", "rod"),
        Channel("x", "m", "", "", "cart"),
    )
    return Recording(times, channels, data, {"model": "pendulum", "parameters": {"L": 0.1}})


@pytest.mark.parametrize("ending", EXACT)
def test_a_format_gives_back_every_bit(tmp_path: Path, ending: str) -> None:
    made = a_recording()
    odd = made.with_channel(Channel("t", "N"), np.linspace(0, 1, len(made)) / 3)
    odd.data[3, 0] = math.inf
    odd.data[4, 1] = math.nan
    odd.save(tmp_path / f"run.{ending}")
    found = read_recording(tmp_path / f"run.{ending}")
    assert found.channels == odd.channels
    assert found.metadata == odd.metadata
    assert found.times.tobytes() == odd.times.tobytes()
    assert np.array_equal(found.data, odd.data, equal_nan=True)
    assert [p.name for p in tmp_path.iterdir()] == [f"run.{ending}"]


@pytest.mark.parametrize("name", ["run.erd", "d00042"])
def test_a_format_of_single_precision_keeps_labels_and_values(tmp_path: Path, name: str) -> None:
    made = a_recording()
    made.save(tmp_path / name)
    found = read_recording(tmp_path / name)
    assert found.names == made.names
    assert [c.unit for c in found.channels] == ["rad", "rad/s", "m"]
    assert np.array_equal(found.data, made.data.astype(np.float32))
    assert found.rate == pytest.approx(100)


@pytest.mark.parametrize(
    ("unit", "seconds"), [("sec", 1.0), ("", 1.0), ("msec", 1e-3), ("MIN", 60)]
)
def test_an_erd_file_says_what_its_samples_go_over(
    tmp_path: Path, unit: str, seconds: float
) -> None:
    data = np.ones((3, 1), np.float32)
    write_erd(tmp_path / "x.erd", ErdFile((ErdChannel("x"),), data, 0.5, x_unit=unit))
    times = read_recording(tmp_path / "x.erd").times
    assert times == pytest.approx([0.0, 0.5 * seconds, seconds])


def test_an_erd_file_of_a_road_has_no_times(tmp_path: Path) -> None:
    road = ErdFile((ErdChannel("z"),), np.ones((3, 1), np.float32), 0.5, x_unit="ft")
    write_erd(tmp_path / "road.erd", road)
    with pytest.raises(InputError, match="'ft', which is not a unit of time"):
        read_recording(tmp_path / "road.erd")


def test_sl_files_have_the_layout_that_sl_reads(tmp_path: Path) -> None:
    """Header in text, big-endian rows, two blanks and an end of line after the last unit."""
    one = Recording([0.01, 0.02], [Channel("R_SFE_th", "rad"), Channel("n", "-")], [[1, 2], [3, 4]])
    path = save_next(tmp_path, one)
    content = path.read_bytes()
    head = b"4 2 2 100 R_SFE_th rad n -  \n"
    assert content == head + np.array([1, 2, 3, 4], ">f4").tobytes()
    assert (tmp_path / "last_data").read_text().strip() == "1"
    assert np.allclose(read_recording(path).times, [0.01, 0.02])
    other_separator = head[:-3] + b"\n" + content[len(head) :]
    path.write_bytes(other_separator)
    assert read_recording(path)["n"].tolist() == [2, 4]


def test_sl_files_refuse_blanks_in_names(tmp_path: Path) -> None:
    for channel in (Channel("yaw rate", "rad"), Channel("torque", "lbf in")):
        bad = Recording([0, 1], [channel], [[1], [2]])
        with pytest.raises(RecordingError, match="blanks"):
            save_next(tmp_path, bad)


def test_parquet_carries_labels_for_other_readers(tmp_path: Path) -> None:
    import pyarrow.parquet as parquet

    a_recording().save(tmp_path / "run.parquet")
    schema = parquet.read_schema(tmp_path / "run.parquet")
    assert schema.names == ["t", "rod", "rod_dot", "x"]
    assert schema.field("rod").metadata[b"unit"] == b"rad"
    assert json.loads(schema.metadata[b"linkwright"])["metadata"]["model"] == "pendulum"


@pytest.mark.parametrize("unit", ["ms", "us", "ns"])
def test_moments_and_durations_of_other_tables_are_seconds(tmp_path: Path, unit: str) -> None:
    """As pandas writes them; a moment is counted from the first one."""
    import pyarrow as pa
    import pyarrow.parquet as parquet

    steps = np.array([0, 250, 1500], "m8[ms]").astype(f"m8[{unit}]")
    moments = np.datetime64("2024-05-01T12:00") + steps
    gone = moments.copy()
    gone[1] = np.datetime64("NaT")
    columns = {"time": moments, "elapsed": steps, "seen": gone, "x": np.arange(3.0)}
    table = pa.table({name: pa.array(values) for name, values in columns.items()})
    parquet.write_table(table, tmp_path / "log.parquet")
    found = read_recording(tmp_path / "log.parquet")
    np.testing.assert_array_equal(found.times, [0.0, 0.25, 1.5])
    np.testing.assert_array_equal(found["elapsed"], [0.0, 0.25, 1.5])
    np.testing.assert_array_equal(found["seen"], [0.0, np.nan, 1.5])
    assert [c.unit for c in found.channels] == ["s", "s", "?"]


def test_mcap_has_a_topic_for_each_body_that_others_read(tmp_path: Path) -> None:
    from mcap.reader import make_reader

    a_recording().save(tmp_path / "run.mcap")
    with (tmp_path / "run.mcap").open("rb") as file:
        messages = list(make_reader(file).iter_messages(topics=["/rod"]))
    schema, channel, last = messages[-1]
    assert len(messages) == 101
    assert schema is not None
    assert schema.encoding == "jsonschema"
    assert channel.message_encoding == "json"
    assert json.loads(last.data)["rod"] == math.sin(1.0)
    assert last.log_time == 1_000_000_000


def test_matlab_files_are_as_mrdplot_has_them_and_are_read_from_others(tmp_path: Path) -> None:
    """D, names, units and freq, by SciPy; one of a lab with other variables, and what is wrong."""
    from scipy.io import loadmat, savemat

    made = Recording(
        np.arange(1, 101) / 480, [Channel("R_EB_th", "rad"), Channel("z", "m/s^2")],
        np.random.default_rng(1).normal(size=(100, 2)),
    )  # fmt: skip
    made.save(tmp_path / "run.mat")
    found = loadmat(tmp_path / "run.mat")
    assert found["D"].tobytes() == made.data.tobytes()
    assert [str(x[0][0]) for x in found["names"]] == ["R_EB_th", "z"]
    assert [str(x[0][0]) for x in found["units"]] == ["rad", "m/s^2"]
    assert found["freq"][0, 0] == pytest.approx(480)
    first = (tmp_path / "run.mat").read_bytes()
    made.save(tmp_path / "again.mat")
    assert (tmp_path / "again.mat").read_bytes() == first  # no date in it
    words = ["model", "convert", str(tmp_path / "run.mat"), str(tmp_path / "d00001")]
    assert main(words) == 0
    assert main(words) == 2
    assert main([*words[:2], words[3], str(tmp_path / "back.mat")]) == 0
    back = read_recording(tmp_path / "back.mat")
    assert np.array_equal(back.data, made.data.astype("f4"))
    assert [(c.name, c.unit) for c in back.channels] == [("R_EB_th", "rad"), ("z", "m/s^2")]
    other = tmp_path / "other.mat"
    cells = np.array(["q1", "q2"], dtype=object)
    own = {"D": [[1, 2], [3, 4], [5, 6]], "names": cells, "units": ["rad", "rad  "], "freq": 50.0}
    for format_, extra in (("5", {}), ("4", {}), ("5", {"do_compression": True})):
        given = {**own, "names": ["q1", "q2"]} if format_ == "4" else {**own, "note": "x"}
        savemat(other, given, format=format_, **extra)
        if format_ == "4":
            with pytest.raises(InputError, match="MAT file of version 5"):
                read_recording(other)
            continue
        again = read_recording(other)
        assert (again.names, [c.unit for c in again.channels]) == (("q1", "q2"), ["rad", "rad"])
        assert again.times.tolist() == [0.02, 0.04, 0.06]
        assert again["q2"].tolist() == [2, 4, 6]
    for wrong, said in (
        ({"freq": 0.0}, "freq is not a rate"),
        ({"D": [[1j, 2]]}, "real numbers"),
        ({"names": cells[:1]}, "D has 2 columns, with 1 names"),
        ({"names": np.array([1.0, 2.0], dtype=object)}, "not cells of texts"),
        ({"units": None}, "no variable units"),
    ):
        savemat(other, {k: v for k, v in {**own, **wrong}.items() if v is not None})
        with pytest.raises(InputError, match=said):
            read_recording(other)


def test_keys_of_mcap_are_paths_without_dots_and_hold_every_channel(tmp_path: Path) -> None:
    labels = [Channel("arm.q", "rad", body="arm"), Channel("q", "rad", body="arm")]
    labels += [Channel("arm.tip.x", "m", body="arm"), Channel("arm.v", "m/s", body="other")]
    made = Recording([0, 1], labels, np.array([[1, 2, 3, math.nan], [5, 6, 7, 8]]))
    made.save(tmp_path / "run.mcap")
    from mcap import reader

    seen: dict[str, list[float | None]] = {}
    with (tmp_path / "run.mcap").open("rb") as file:
        for schema, channel, message in reader.make_reader(file).iter_messages():
            known = json.loads(schema.data)["properties"]
            for key, value in json.loads(message.data).items():
                assert "null" in known[key]["type"]
                assert "." not in key
                seen.setdefault(f"{channel.topic}.{key}", []).append(value)
    assert seen == {
        "/arm.arm_q": [1, 5],
        "/arm.q": [2, 6],
        "/arm.tip_x": [3, 7],
        "/other.arm_v": [None, 8],
    }
    again = read_recording(tmp_path / "run.mcap")
    assert again.channels == made.channels
    assert np.array_equal(again.data, made.data, equal_nan=True)


def test_any_table_with_names_is_read(tmp_path: Path) -> None:
    path = tmp_path / "other.csv"
    path.write_text("time,speed [m/s],force\n0,1,2\n0.5,3,4\n")
    found = read_recording(path)
    assert found.channels == (Channel("speed", "m/s", generic="speed"), Channel("force"))
    assert found.times.tolist() == [0, 0.5]


@pytest.mark.parametrize(
    "name", ["run.parquet", "run.csv", "run.npz", "run.mcap", "run.mat", "d00042"]
)
def test_a_truncated_file_is_named(tmp_path: Path, name: str) -> None:
    path = tmp_path / name
    a_recording().save(path)
    content = path.read_bytes()
    for part in (0, 10, len(content) // 2, len(content) - 3):
        path.write_bytes(content[:part])
        if name == "run.csv" and part > 10:  # rows that are whole, or one that says where it ends
            continue
        with pytest.raises(InputError) as caught:
            read_recording(path)
        assert str(path) in str(caught.value)


@settings(max_examples=60, deadline=None)
@given(
    content=st.binary(max_size=400),
    ending=st.sampled_from(["parquet", "csv", "npz", "mcap", "mat"]),
)
def test_garbage_never_escapes_as_another_error(content: bytes, ending: str) -> None:
    import tempfile

    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / f"bad.{ending}"
        path.write_bytes(content)
        with contextlib.suppress(Error):
            read_recording(path)


def test_pickles_are_not_loaded(tmp_path: Path) -> None:
    path = tmp_path / "bad.npz"
    with path.open("wb") as file:
        np.savez(file, about=np.array([{"a": 1}], dtype=object), times=[0.0], data=[[1.0]])
    with pytest.raises(InputError):
        read_recording(path)


# -- journals --------------------------------------------------------------------------------------
def test_a_journal_is_good_up_to_the_last_whole_block(tmp_path: Path) -> None:
    made = a_recording()
    path = tmp_path / "run.parquet.journal"
    with Journal(path, made.channels, made.metadata) as journal:
        ends = []
        for k in range(0, 100, 10):
            journal.append(made.times[k : k + 10], made.data[k : k + 10])
            ends.append(path.stat().st_size)
    content = path.read_bytes()
    for cut in (ends[4], ends[4] + 5, ends[5] - 1):
        path.write_bytes(content[:cut])
        found = recovered(path)
        assert len(found) == 50
        assert np.array_equal(found.data, made.data[:50])
        assert bool(found.metadata.get("cut_off")) == (cut != ends[4])
    damaged = bytearray(content)
    damaged[ends[2] + 20] ^= 1
    path.write_bytes(damaged)
    assert len(recovered(path)) == 30


def test_a_killed_writer_leaves_all_that_it_appended(tmp_path: Path) -> None:
    path = tmp_path / "run.journal"
    script = textwrap.dedent(
        f"""
        import time
        from linkwright.recording import Channel, Journal
        journal = Journal({str(path)!r}, [Channel("x", "m")], {{"model": "m"}})
        for k in range(1000000):
            journal.append([k], [[k * k]])
            if k == 20:
                print("ready", flush=True)
            time.sleep(0.0005)
        """
    )
    with subprocess.Popen([sys.executable, "-c", script], stdout=subprocess.PIPE) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == b"ready\n"
        process.send_signal(signal.SIGKILL)
        process.wait(timeout=240)
    found = recovered(path)
    assert len(found) >= 21
    assert np.array_equal(found["x"], found.times**2)


def test_a_recording_is_asked_by_names_and_not_iterated() -> None:
    made: Any = Recording([0, 0.1], [Channel("x", "m")], [[1], [2]])
    with pytest.raises(TypeError, match="'Recording' object is not iterable"):
        list(made)
    with pytest.raises(RecordingError, match="by its name, not by 0"):
        made[0]
    assert "x" in made
    assert 0 not in made
    assert len(made) == 2


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="this system has no /dev/full")
def test_a_full_disk_is_named() -> None:
    with pytest.raises(InputError, match=r"/dev/full.*No space"):
        Journal("/dev/full", [Channel("x")], {})


def test_a_folder_that_cannot_be_written_is_named(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="missing"):
        a_recording().save(tmp_path / "missing" / "run.csv")


# -- derived channels ------------------------------------------------------------------------------
def test_rates_and_filters_agree_with_known_functions() -> None:
    made = a_recording(1001, 200)
    channel, rate = rate_of_change(made, "rod")
    assert channel.unit == "rad/s"
    assert np.allclose(rate, np.cos(made.times), atol=1e-4)
    assert rate_of_change(made, "rod_dot")[0].unit == "rad/s^2"
    noisy = made.with_channel(Channel("n"), made["rod"] + 0.1 * np.sin(2 * np.pi * 90 * made.times))
    smooth = filtered(noisy, "n", 10)
    assert np.abs(smooth - made["rod"])[50:-50].max() < 2e-3
    frequencies, amplitudes = spectrum(noisy, "n")
    near = np.abs(frequencies - 90) < 0.5
    assert amplitudes[near].max() == pytest.approx(0.1, rel=0.02)


# -- pictures --------------------------------------------------------------------------------------
def test_a_figure_groups_by_unit_and_labels_axes() -> None:
    drawing = figure([a_recording(), a_recording()], labels=["a", "b"])
    assert [ax.get_ylabel() for ax in drawing.axes] == ["angle (rad)", "angular speed (rad/s)", "m"]
    assert drawing.axes[-1].get_xlabel() == "time (s)"
    assert len(drawing.axes[0].lines) == 2
    over = figure([a_recording()], ["x"], vs="rod")
    assert over.axes[0].get_xlabel() == "angle of the rod (rad)"
    assert np.array_equal(over.axes[0].lines[0].get_xdata(), a_recording()["rod"])


def test_many_channels_of_a_unit_are_drawn_with_a_color_for_each() -> None:
    """Sixty long names: no graph has a color twice, and legends leave room for the curves."""
    long = "a.very.long.name.that.all.of.the.channels.begin.with"
    labels = [Channel(f"{long}.{k}", "rad", f"the angle of {long} number {k}") for k in range(60)]
    t = np.linspace(0, 1, 11)
    drawing = figure([Recording(t, labels, np.outer(t, np.arange(60.0)))])
    drawing.canvas.draw()
    shown: list[str] = []
    for ax in drawing.axes:
        colors = [line.get_color() for line in ax.get_lines()]
        assert len(set(colors)) == len(colors)
        legend = ax.get_legend()
        assert legend is not None
        shown += [text.get_text() for text in legend.get_texts()]
        assert ax.get_position().width > 0.5
    assert len(shown) == 60
    assert len(set(shown)) == 60
    assert max(map(len, shown)) <= 34


@pytest.mark.parametrize(("fft", "rate"), [(False, False), (True, False), (False, True)])
def test_values_that_are_not_finite_are_left_out_without_warnings(fft: bool, rate: bool) -> None:
    t = np.linspace(0, 1, 101)
    columns = [np.sin(t), np.where(t > 0.5, np.nan, t), np.full_like(t, np.nan), np.full_like(t, 7)]
    labels = [Channel("a", "m"), Channel("b", "m"), Channel("c", "N"), Channel("d", "V")]
    drawing = figure([Recording(t, labels, np.array(columns).T)], fft=fft, rate=rate)
    drawing.canvas.draw()
    words = [[text.get_text() for text in ax.texts] for ax in drawing.axes]
    assert words == [[], ["no finite value"], []]


@pytest.mark.parametrize("ending", cases(["png", "svg", "pdf"], daily=["png"]))
def test_pictures_are_the_same_bytes_every_time(tmp_path: Path, ending: str) -> None:
    for name in ("a", "b"):
        save_figure(tmp_path / f"{name}.{ending}", figure([a_recording()]))
    assert (tmp_path / f"a.{ending}").read_bytes() == (tmp_path / f"b.{ending}").read_bytes()


def test_a_page_holds_all_and_fetches_nothing() -> None:
    sly = a_recording().renamed({"x": "<script>alert(1)</script>"})
    page = report_page([sly])
    assert page.count("<svg") == 1
    assert "<script>" not in page
    assert "pendulum" in page
    assert "angle of the rod" in page
    body = page.replace("http://www.w3.org", "").replace("http://purl.org", "")
    body = body.replace("http://creativecommons.org", "").replace("https://matplotlib.org", "")
    assert "http" not in body


def test_a_plot_in_the_terminal_has_the_shape_of_the_curve() -> None:
    x = np.linspace(0, 1, 50)
    lines = text_plot(x, [x], width=10, height=4)
    filled = [[k for k, c in enumerate(line[13:]) if c != "\u2800"] for line in lines[:4]]
    centers = [float(np.mean(columns)) for columns in filled]
    assert centers == sorted(centers, reverse=True)
    assert lines[0].lstrip().startswith("1")
    assert lines[3].lstrip().startswith("0")


# -- the command line ------------------------------------------------------------------------------
def test_plot_draws_beside_the_recording_and_lists_channels(tmp_path: Path) -> None:
    path = tmp_path / "run.npz"
    a_recording().save(path)
    run = CliRunner()
    assert run.invoke(build(), ["plot", str(path)]).exit_code == 0
    assert (tmp_path / "run.png").read_bytes().startswith(b"\x89PNG")
    listed = run.invoke(build(), ["plot", str(path), "--list"]).output
    assert [line.split()[0] for line in listed.splitlines()] == ["rod", "rod_dot", "x"]
    drawn = run.invoke(build(), ["plot", str(path), "rod*", "--terminal"]).output
    assert "angle of the rod (rad)" in drawn
    assert "┤" in drawn
    page = tmp_path / "both.html"
    assert run.invoke(build(), ["plot", str(path), str(path), "x", "-o", str(page)]).exit_code == 0
    assert "<svg" in page.read_text()


def test_an_unknown_channel_is_answered_with_the_nearest(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "run.npz"
    a_recording().save(path)
    assert main(["plot", str(path), "rod_dto"]) == 2
    told = capsys.readouterr().err
    assert "did you mean 'rod_dot'?" in told
    assert "Traceback" not in told
    assert [p.name for p in tmp_path.iterdir()] == ["run.npz"]


def test_recover_makes_a_recording_of_a_journal(tmp_path: Path) -> None:
    made = a_recording()
    journal = tmp_path / "run.csv.journal"
    with Journal(journal, made.channels, made.metadata) as writer:
        writer.append(made.times, made.data)
    done = CliRunner().invoke(build(), ["tools", "recover", str(journal)])
    assert done.exit_code == 0
    assert "101 samples" in done.output
    assert np.array_equal(read_recording(tmp_path / "run.csv").data, made.data)


def test_a_recording_refuses_what_cannot_be_one() -> None:
    with pytest.raises(RecordingError, match="two of 'x'"):
        Recording([0], [Channel("x"), Channel("x")], [[1, 2]])
    with pytest.raises(RecordingError, match="backward"):
        Recording([1, 0], [Channel("x")], [[1], [2]])


@pytest.mark.parametrize("suffix", [".npz", ".parquet", ".mcap"])
def test_files_that_unpack_to_more_than_fits_are_not_read(
    suffix: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A few hundred bytes may say that they are millions of zeros."""
    made = Recording(np.arange(100_000.0), [Channel("x", "m")], np.zeros((100_000, 1)))
    made.save(tmp_path / f"zeros{suffix}")
    monkeypatch.setattr("linkwright.recording.bounds.MOST_BYTES", 1_700_000)
    assert len(read_recording(tmp_path / f"zeros{suffix}")) == 100_000
    monkeypatch.setattr("linkwright.recording.bounds.MOST_BYTES", 1_500_000)
    with pytest.raises(InputError, match=r"it unpacks to 1[67]\d{5} bytes"):
        read_recording(tmp_path / f"zeros{suffix}")


def test_arrays_that_say_they_are_larger_than_all_memory_are_damaged(tmp_path: Path) -> None:
    head = io.BytesIO()
    header = {"descr": "<f8", "fortran_order": False, "shape": (1 << 55,)}
    np.lib.format.write_array_header_1_0(head, header)
    path = tmp_path / "large.npz"
    Recording([0.0], [Channel("x", "m")], [[1.0]]).save(path)
    with zipfile.ZipFile(path) as parts:
        content = {name: parts.read(name) for name in parts.namelist()}
    with zipfile.ZipFile(path, "w") as parts:
        for name, data in content.items():
            parts.writestr(name, head.getvalue() if name == "times.npy" else data)
    with pytest.raises(InputError, match="not a recording, or it is damaged"):
        read_recording(path)


def test_a_recording_of_more_than_two_gigabytes_is_read(tmp_path: Path) -> None:
    """An hour of a cell that moves: its pages, a hole in the file, then what Parquet ends with."""
    path = tmp_path / "long.parquet"
    made = Recording([0.0, 0.5], [Channel("x", "m")], [[1.0], [2.0]])
    made.save(path)
    content = path.read_bytes()
    end = 8 + int.from_bytes(content[-8:-4], "little")
    with path.open("r+b") as file:
        file.truncate(len(content) - end)
        file.seek((1 << 31) + 4096)
        file.write(content[-end:])
    assert read_recording(path)["x"].tolist() == [1.0, 2.0]
