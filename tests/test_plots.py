"""Figures that tell the story: what is alike together, what is nothing left out."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import linkwright as lw
from linkwright.cli import main
from linkwright.formats.text.files import read_model
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
