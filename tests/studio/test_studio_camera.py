"""The tab Camera: the picture, where targets should be, and the error, of the arm that sees."""

from __future__ import annotations

from functools import cache

import numpy as np
import pytest

import linkwright as lw
from linkwright.elements import PictureMaker
from linkwright.formats.text.files import read_any
from linkwright.recording import Recording
from linkwright.simulation.native.stored import to_data
from linkwright.simulation.run import Run
from linkwright.studio.display import motion_of
from linkwright.studio.panel_camera import (
    CameraPanel,
    cameras_of,
    colored,
    error_history,
    error_plot,
    panel_scale,
    sighting_of,
    table_of,
    wanted_in,
)
from linkwright.studio.server import Studio
from linkwright.studio.state import panels_of
from tests.seeds import seldom
from tests.studio.test_studio_following import alone


@cache
def followed() -> tuple[lw.System, Run]:
    """Return the arm with its camera, and a run of it."""
    system = lw.load("puma-sees")
    assert isinstance(system, lw.System)
    return system, lw.simulate(system, until=1.0, method="rk4", step=1e-3)


@seldom(daily="test_the_picture_shows_the_discs_the_goals_and_what_is_lost")
def test_the_arm_brings_four_discs_to_their_places_in_the_picture() -> None:
    system, run = followed()
    wanted = wanted_in(system, 4)
    assert len(wanted) == 4
    error = error_history("camera", run.recording, wanted)
    seen = np.isfinite(error)
    assert error[seen][0] > 100
    assert np.nanmin(error) < 10
    assert error[-1] < 30  # a plate that moves is followed with a lag
    assert run["image.lost"].max() == 0
    hand = [run.final[f"q{i}"] for i in range(1, 7)]
    assert np.abs(np.array(hand) - [run[f"q{i}"][0] for i in range(1, 7)]).max() > 0.05


def test_the_arm_that_sees_is_the_same_from_its_text() -> None:
    system, _ = followed()
    again = read_any(lw.write_model(system))
    assert isinstance(again, lw.System)
    assert to_data(again.phases()) == to_data(system.phases())


def test_the_picture_shows_the_discs_the_goals_and_what_is_lost() -> None:
    system, run = followed()
    maker = PictureMaker(cameras_of(system)["camera"])
    wanted = wanted_in(system, 4)
    seen = sighting_of(maker, "camera", run.recording, -1)
    assert seen is not None
    for u, v in seen.places:
        assert seen.picture[int(v), int(u)]
    picture = colored(seen, wanted)
    assert picture.dtype == np.uint8
    assert picture.shape == (360, 360, 3)  # as wide as the panel
    share = panel_scale(seen.picture.shape[1])
    left = int(share * wanted[0][0]) - 10, int(share * wanted[0][1])
    assert (picture[left[1], left[0]] == (214, 158, 46)).all()
    assert table_of(seen, wanted).count("| yes |") == 4
    hidden = type(seen)(seen.picture, seen.places, np.array([True, True, True, False]), 5)
    assert (colored(hidden, wanted)[0, 0] == (205, 70, 60)).all()
    assert "| 4 | – | – | **no** |" in table_of(hidden, wanted)
    start = sighting_of(maker, "camera", run.recording, 0)  # no field has arrived
    assert start is not None
    assert not start.picture.any()
    assert table_of(start, wanted) == "*No field has arrived yet.*"
    assert "nothing" in error_plot(run.times[:1], np.array([np.nan]), 0.0)
    bare = Recording(run.times, [], np.zeros((len(run.times), 0)))
    assert sighting_of(maker, "camera", bare, 0) is None


def test_the_tab_is_there_where_the_model_has_a_camera() -> None:
    _, run = followed()
    studio = Studio([motion_of(run)], "127.0.0.1", 0)
    try:
        panels = panels_of(studio)
        owners = [getattr(refresh, "__self__", None) for _, refresh, _ in panels.rounds.refreshers]
        (panel,) = [owner for owner in owners if isinstance(owner, CameraPanel)]
        alone(panels)  # they would set the time in between, and show another
        panels.time = 0.9
        panel.refresh()
        assert panel.table.content.count("| yes |") == 4
        assert "<svg" in panel.plot.content
    finally:
        studio.close()
    with pytest.raises(lw.Error, match="puma-sees"):
        lw.load("puma-see")
