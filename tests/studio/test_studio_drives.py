"""The tab Drives: load, temperature and margin of each driven joint."""

from __future__ import annotations

import numpy as np
import pytest

import linkwright as lw
from linkwright.elements.drives.parts import DriveError
from linkwright.formats.text.files import read_any
from linkwright.recording import Channel, Recording
from linkwright.studio.display import motion_of
from linkwright.studio.panel_drives import DrivesPanel, drives_of, states_of, table_of
from linkwright.studio.server import Studio
from linkwright.studio.state import panels_of

RATING = lw.drives.Rating(continuous=0.05, peak=0.2, speed=150.0, hottest=120.0)


def driven(rating: lw.drives.Rating | None = RATING) -> lw.System:
    """A pendulum that a motor with a thermal model holds up."""
    m = lw.load("pendulum")
    assert isinstance(m, lw.Mechanism)
    s = lw.System(m)
    heat = lw.drives.Thermal(1.2, 20, 3.0, 400, ambient=30.0)
    motor = lw.drives.DC(R=1, L=2e-3, kt=0.05, J=1e-4, thermal=heat)
    drive = lw.drives.Drive(
        m, "phi", lw.drives.Ideal(), motor, lw.drives.Rigid(50), rating=rating, name="shoulder"
    )
    _, servo = lw.drives.attach(s, drive, lw.drives.Servo(lw.drives.PD(20, 0.02), rate=1000))
    s.connect(0.0, servo.reference)
    return s


def test_load_temperature_and_margin_are_those_of_the_recording() -> None:
    system = driven()
    run = lw.simulate(system, until=0.5)
    (state,) = states_of(drives_of(system), run.recording)
    torque = run["shoulder.motor.torque"]
    assert state.joint == "phi"
    assert state.torque == run["shoulder.tau"][-1]
    assert state.load is not None
    dt = np.diff(run.recording.times)
    squares = 0.5 * (torque[1:] ** 2 + torque[:-1] ** 2)
    assert state.load == pytest.approx(np.sqrt(squares @ dt / dt.sum()) / 0.05)
    assert state.winding is not None
    assert state.winding == run["shoulder.thermal.winding"][-1]
    assert state.winding > 30.0
    left = (
        1 - abs(torque[-1]) / 0.2,
        1 - abs(50 * run["shoulder.load.speed"][-1]) / 150.0,
        (120.0 - state.winding) / 80.0,
        1 - state.load,
    )
    assert state.margin == pytest.approx(min(left))
    early = states_of(drives_of(system), run.recording, 0)[0]
    assert early.winding == 30.0


def test_the_load_is_a_mean_over_time_and_not_over_samples() -> None:
    """Torque for half of a second, and none for the other half, which has most of the samples."""
    system = driven()
    names = [f"shoulder.{c}" for c in ("motor.torque", "load.speed")]
    times = np.concatenate([[0.0, 0.5], np.linspace(0.5001, 1.0, 500)])
    torque = np.where(times <= 0.5, 0.04, 0.0)
    rows = np.stack([torque, np.zeros(len(times))], axis=1)
    recording = Recording(times, [Channel(name) for name in names], rows)
    (state,) = states_of(drives_of(system), recording)
    assert state.load == pytest.approx(0.04 * np.sqrt(0.5) / 0.05, rel=1e-3)


def test_a_drive_without_a_rating_has_no_margin_and_a_tight_one_is_bold() -> None:
    system = driven(None)
    run = lw.simulate(system, until=0.1)
    (state,) = states_of(drives_of(system), run.recording)
    assert (state.load, state.margin) == (None, None)
    assert "| – |" in table_of([state])
    tight = states_of(drives_of(driven(lw.drives.Rating(1e-3, 1e-3, 1.0))), run.recording, 1)
    assert "**" in table_of(tight)


def test_a_rating_survives_a_text_and_changes_no_motion() -> None:
    again = read_any(lw.write_model(driven()))
    assert isinstance(again, lw.System)
    assert drives_of(again)["shoulder"].rating == RATING
    one, other = (lw.simulate(driven(r), until=0.2) for r in (RATING, None))
    assert np.array_equal(one["phi"], other["phi"])
    with pytest.raises(DriveError, match=r"below the continuous.*\[R401\]"):
        lw.drives.Rating(2.0, 1.0, 10.0)


def test_the_tab_is_there_where_joints_have_drives() -> None:
    run = lw.simulate(driven(), until=0.3)
    studio = Studio([motion_of(run)], "127.0.0.1", 0)
    try:
        panels = panels_of(studio)
        owners = [getattr(refresh, "__self__", None) for _, refresh, _ in panels.rounds.refreshers]
        (panel,) = [owner for owner in owners if isinstance(owner, DrivesPanel)]
        panels.time = 0.1
        panel.refresh()
        assert panel.table.content.splitlines()[-1].startswith("| phi |")
    finally:
        studio.close()
    plain = Studio([motion_of("pendulum")], "127.0.0.1", 0)
    try:
        kinds = {
            type(getattr(r, "__self__", None)) for _, r, _ in panels_of(plain).rounds.refreshers
        }
        assert DrivesPanel not in kinds
    finally:
        plain.close()
