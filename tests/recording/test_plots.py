"""Figures that tell the story: what is alike together, what is nothing left out."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import linkwright as lw
from linkwright.cli import main
from linkwright.formats.text.files import read_model
from linkwright.recording.plot_format import PlotFormat
from linkwright.recording.plots import figure

T = np.linspace(0, 1, 11)


def recording(**channels: tuple[str, str, np.ndarray]) -> lw.Recording:
    labels = [
        lw.Channel(n.replace("__", "."), unit, long) for n, (unit, long, _) in channels.items()
    ]
    return lw.Recording(T, labels, np.array([v for _, _, v in channels.values()]).T)


def test_channels_of_very_different_size_have_graphs_of_their_own() -> None:
    made = recording(a=("N", "", 5000 * T), b=("N", "", 3000 * T), c=("N", "", 0.2 * T))
    axes = figure([made]).axes
    assert [[line.get_label() for line in ax.lines] for ax in axes] == [["a", "b"], ["c"]]


def test_what_stays_zero_is_left_out_unless_it_is_asked_for() -> None:
    made = recording(a=("m", "", T), rest=("N", "", 0 * T))
    assert len(figure([made]).axes) == 1
    assert len(figure([made], ["a", "rest"]).axes) == 2
    assert len(figure([recording(rest=("N", "", 0 * T))]).axes) == 1


def test_targets_are_dashed_and_names_are_of_one_kind() -> None:
    made = recording(
        elbow=("rad", "rotation of fore", T), way__q=("rad", "", T), x=("?", "place", T)
    )
    first, second = figure([made]).axes
    assert [line.get_linestyle() for line in first.lines] == ["-", "--"]
    assert [line.get_label() for line in first.lines] == ["elbow", "way.q"]
    assert second.get_ylabel() == "without unit"


def test_a_model_is_not_a_recording(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["plot", "pendulum"]) == 2
    assert "linkwright simulate pendulum --plot" in capsys.readouterr().err


def test_the_order_of_a_text_model_does_not_matter(tmp_path: Path) -> None:
    parts = [
        '[[output]]\nname = "twice"\nvalue = "2*b"\n',
        '[[force]]\nname = "f"\nmagnitude = "k*b_dot"\nat = "tip"\nalong = "x"\n',
        '[[point]]\nname = "tip"\nbody = "b"\nat = [1, 0, 0]\n',
        '[[body]]\nname = "b"\nparent = "a"\nrotate = "z"\nmass = 1\ninertia = 1\n',
        '[[body]]\nname = "a"\nrotate = "z"\nmass = 1\ninertia = 1\n',
        "[parameters]\nk = 2\n",
    ]
    head = 'format = 1\nname = "o"\n'
    forward, backward = (read_model(head + "".join(p)) for p in (parts, parts[::-1]))
    first, second = (lw.simulate(m, 0.5, initial={"b_dot": 1.0}) for m in (forward, backward))
    np.testing.assert_array_equal(first["twice"], second["twice"])


def test_a_plot_has_marks_smooth_curves_scales_and_labels() -> None:
    """Check 49: symbol frequency, smoothing, manual scales, ticks, labels, legend."""
    made = recording(a=("m", "", np.sin(9 * T)), b=("m", "", np.cos(9 * T)))
    layout = PlotFormat(
        symbols=5, smooth=True, x_limits=(0.0, 2.0), y_limits=(-2.0, 2.0), x_step=0.5, y_step=1.0,
        x_label="seconds", y_label="height", legend=False,
    )  # fmt: skip
    (ax,) = figure([made], layout=layout).axes
    curves, marks = ax.lines[::2], ax.lines[1::2]
    assert [len(np.asarray(line.get_xdata())) for line in curves] == [121, 121]
    assert [line.get_markevery() for line in marks] == [5, 5]
    assert marks[0].get_marker() != marks[1].get_marker()
    for curve, name in zip(curves, "ab", strict=True):  # through every sample
        at = np.isin(np.asarray(curve.get_xdata()), T)
        assert np.allclose(np.asarray(curve.get_ydata())[at], made[name], atol=1e-12)
    assert (ax.get_xlim(), ax.get_ylim()) == ((0.0, 2.0), (-2.0, 2.0))
    assert np.allclose(np.diff(ax.get_xticks()), 0.5)
    assert np.allclose(np.diff(ax.get_yticks()), 1.0)
    assert (ax.get_xlabel(), ax.get_ylabel(), ax.get_legend()) == ("seconds", "height", None)


def test_more_than_five_thousand_points_are_one_line_without_gaps() -> None:
    """ROBSIM's check 48: a line through every sample, or the extremes of what is left out."""
    t = np.arange(6001) / 1000
    wave = np.sin(40 * t)
    wave[3456] = 7.0  # a spike of one sample
    made = lw.Recording(t, [lw.Channel("a", "m")], wave[:, None])
    (ax,) = figure([made]).axes
    (line,) = ax.lines
    x, y = (np.asarray(v, float) for v in (line.get_xdata(), line.get_ydata()))
    assert np.isfinite(y).all()
    assert (x[0], x[-1], y.max()) == (0.0, 6.0, 7.0)
    assert np.diff(x).max() < 0.02
    assert np.allclose(np.interp(t, x, y), wave, atol=1e-12) == (len(x) == len(t))
    assert set(zip(x, y, strict=True)) <= set(zip(t, wave, strict=True))


def test_a_loop_is_smooth_too() -> None:
    turn = np.linspace(0, 2 * np.pi, 11)
    made = recording(x=("m", "", np.cos(turn)), y=("m", "", np.sin(turn)))
    (ax,) = figure([made], ["y"], vs="x", layout=PlotFormat(smooth=True)).axes
    (line,) = ax.lines
    radius = np.hypot(np.asarray(line.get_xdata()), np.asarray(line.get_ydata()))
    assert np.abs(radius - 1).max() < 0.03


def test_page_axes_and_logo_are_where_they_should_be(tmp_path: Path) -> None:
    """Check 49: page size, origin, lengths of axes, logo, files of three kinds."""
    import matplotlib.image

    logo = tmp_path / "logo.png"
    matplotlib.image.imsave(logo, np.zeros((10, 20, 3)))
    made = recording(a=("m", "", T), b=("N", "", T))
    made.save(tmp_path / "run.csv")
    layout = PlotFormat(
        page=(10.0, 8.0), origin=(1.5, 1.0), axes=(8.0, 6.0), logo=logo, logo_at=(0.2, 7.2)
    )
    drawing = figure([made], layout=layout)
    upper, lower, mark = drawing.axes
    assert tuple(drawing.get_size_inches()) == (10.0, 8.0)
    assert np.allclose(lower.get_position().p0 * [10, 8], (1.5, 1.0))
    assert np.allclose(upper.get_position().p1 * [10, 8], (9.5, 7.0))
    assert np.allclose(mark.get_position().bounds, (0.02, 0.9, 0.1, 0.0625))
    options = "--page a4 --origin 1,1 --axes 9x6 --logo-at 0.5,0.5 --symbols 2 --x-limits 0,1"
    for ending in ("png", "svg", "pdf", "html"):
        out = tmp_path / f"out.{ending}"
        told = [*options.split(), "--logo", str(logo), "--label", "first", "-o", str(out)]
        assert main(["plot", str(tmp_path / "run.csv"), *told]) == 0
        assert out.stat().st_size > 1000


@pytest.mark.parametrize(
    ("options", "code"),
    [
        ("--x-limits 2,1", "R801"),
        ("--y-limits nan,1", "R801"),
        ("--x-step -1", "R802"),
        ("--x-step 1e-9", "R802"),
        ("--symbols -1", "R803"),
        ("--page 0x3", "R804"),
        ("--page 5x5 --axes 9x9", "R804"),
        ("--logo {0} --logo-at 20,1", "R805"),
        ("--x-limits 1", "R806"),
        ("--page big", "R806"),
    ],
)
def test_a_layout_that_cannot_be_drawn_is_refused_with_its_number(
    options: str, code: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    run = tmp_path / "run.csv"
    recording(a=("m", "", T)).save(run)
    out = tmp_path / "out.png"
    assert main(["plot", str(run), "-o", str(out), *options.format(run).split()]) == 2
    assert f"[{code}]" in capsys.readouterr().err
    assert not out.exists()
