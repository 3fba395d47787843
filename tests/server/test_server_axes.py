"""Arms of a cell whose joints an axis controller servoes: motion, trips, gains and modes."""

from __future__ import annotations

import math
from pathlib import Path

import numpy as np
import pytest

from linkwright.control.axis import AxisError, AxisMode
from linkwright.models.rerun import rerun
from linkwright.server.cell import CAUSES
from linkwright.server.cell_file import read_cell, shipped
from linkwright.server.desk import Desk
from linkwright.server.face import LIVES, Command, RefusedError
from linkwright.server.verbs import VERBS, Order, Verb
from linkwright.server.virtual import VirtualCell
from linkwright.simulation.recorder import Target

TEXT = read_cell("axes2").text


def _cell(text: str = "axes2", record: Target | None = None) -> VirtualCell:
    cell = VirtualCell(read_cell(text), record=record)
    cell.advance(5)
    cell.beat("plane", 7, 60.0)
    return cell


def _enable(cell: VirtualCell, sequence: int = 1) -> None:
    cell.command("plane", Command("enable", sequence))
    cell.advance(30)
    assert _state(cell)[0] == "active"


def _state(cell: VirtualCell) -> tuple[str, str, int]:
    values = cell.latest().values
    life, cause, error = (int(values[f"plane.{x}"]) for x in ("life", "cause", "error"))
    return LIVES[life], CAUSES[cause], error


def _sag(cell: VirtualCell) -> float:
    """Return by how much a push at the forearm moves it."""
    before = float(cell.latest().values["plane.q"][1])
    cell.put({"plane_plant.push[1]": 2.0})
    cell.advance(600)
    after = float(cell.latest().values["plane.q"][1])
    cell.put({"plane_plant.push[1]": 0.0})
    cell.advance(600)
    return after - before


def test_a_gain_that_is_set_live_changes_the_stiffness_of_an_axis(tmp_path: Path) -> None:
    """Motion, control and axes in one native loop; the tape gives the same bits."""
    path = tmp_path / "axes.parquet"
    cell = _cell(record=Target(path))
    _enable(cell)
    cell.command("plane", Command("joints", 2, (0.0, 0.5)))
    cell.advance(1000)
    np.testing.assert_allclose(cell.latest().values["plane.q"], (0.0, 0.5), atol=1e-4)
    assert _sag(cell) == pytest.approx(2.0 / (2 * 42), rel=0.1)  # torque over constant, kp
    cell.command("plane", Command("set", 3, (84.0,), name="kp.2"))
    assert _sag(cell) == pytest.approx(2.0 / (2 * 84), rel=0.1)
    cell.command("plane", Command("set", 4, (300.0,), name="ki.2"))
    assert abs(_sag(cell)) < 1e-4  # an integral leaves nothing
    cell.finish()
    assert rerun(path).difference is None


def test_heat_trips_in_the_controller_and_is_told_with_its_code() -> None:
    """Check 13: the code has the axis in its low bits; PANIC latches until clear and enable."""
    law = next(line for line in TEXT.splitlines() if line.startswith("control"))
    hot = law.replace("kp =", "rated = [20, 4.5], heat = 8, notch = 60, kp =")
    cell = _cell(TEXT.replace(law, hot))
    _enable(cell)
    cell.put({"plane_plant.push[1]": -7.0})
    for _ in range(500):
        cell.advance(1)
        if _state(cell)[0] == "fault":
            break
    assert _state(cell) == ("fault", "current", AxisError.HEAT + 1)
    cell.advance(3)
    assert not cell.latest().values["plane.current"].any()
    cell.put({"plane_plant.push[1]": 0.0})
    cell.command("plane", Command("enable", 2))
    cell.advance(500)
    assert _state(cell)[0] == "fault"
    cell.command("plane", Command("clear", 3))
    cell.advance(5)
    _enable(cell, 4)
    cell.command("plane", Command("joints", 5, (0.0, 0.5)))
    cell.advance(1000)
    assert _state(cell)[:2] == ("active", "none")
    np.testing.assert_allclose(cell.latest().values["plane.q"], (0.0, 0.5), atol=1e-3)


def test_an_axis_in_torque_mode_carries_its_weight_and_gives_way() -> None:
    cell = _cell()
    cell.command("plane", Command("mode", 1, (float(AxisMode.TORQ),), name="plane.2"))
    cell.advance(5)
    _enable(cell, 2)
    with pytest.raises(RefusedError, match=r"plane\.2 of 'plane' is in mode TORQ") as refused:
        cell.command("plane", Command("joints", 3, (0.0, 0.5)))
    assert refused.value.name == "mode"
    with pytest.raises(RefusedError, match="modes change at rest") as refused:
        cell.command("plane", Command("mode", 3, (1.0,), name="plane.2"))
    assert refused.value.name == "life"
    before = cell.latest().values["plane.q"][1]
    cell.put({"plane_plant.push[1]": 0.5})
    cell.advance(100)
    assert cell.latest().values["plane.q"][1] - before > 0.02  # far more than kp would allow
    assert _state(cell)[0] == "active"


def test_a_verb_cannot_lead_an_arm_beyond_its_joints(monkeypatch: pytest.MonkeyPatch) -> None:
    """What a verb of somebody's makes of a command is looked at as what a client gives."""
    desk, given = Desk(read_cell("axes2")), [0.0, 0.0]

    def leads(order: Order) -> None:
        order.values = tuple(given)

    verb = Verb("astray", "go astray", moves="leg", goal="joints", becomes=leads)
    monkeypatch.setitem(VERBS, "astray", verb)
    state = dict.fromkeys(("cause", "tail", "braking", "moves", "goals", "over"), 0.0)
    state |= {"life": 2.0, "target0": 0.0, "target1": 0.0}
    for sequence, (wrong, name) in enumerate(
        (
            ([9.0, 0.0], "range"),
            ([math.nan, 0.0], "values"),
            ([0.0], "values"),
            ([0.0] * 3, "values"),
        )
    ):
        given[:] = wrong
        with pytest.raises(RefusedError) as refused:
            desk.command("plane", Command("astray", 1 + sequence), state, 0)
        assert refused.value.name == name
    given[:] = [0.1, 0.2]
    inputs = desk.command("plane", Command("astray", 9), state, 0)
    assert inputs["plane_supervisor.slot_goal[0,1]"] == 0.2


@pytest.mark.parametrize("name", shipped())
@pytest.mark.parametrize("kind", VERBS)
def test_every_kind_of_command_changes_inputs_or_is_refused_by_name(name: str, kind: str) -> None:
    cell = read_cell(name)
    arm, desk = cell.arms[0], Desk(cell)
    n, active = len(arm.axes), float(LIVES.index("active" if kind != "mode" else "inactive"))
    state = {
        "life": active,
        **dict.fromkeys(("cause", "tail", "braking", "moves", "goals", "over"), 0.0),
        **{f"target{i}": x for i, x in enumerate(arm.start)},
    }
    values = {
        **dict.fromkeys(("joints", "track"), arm.start),
        "jog": (0.1,) * n,
        "pose": (0.4, 0.0, 0.3, 1.0, 0.0, 0.0, 0.0),
        "set": (1.0,),
        "mode": (2.0,),
        "excite": (1.0, 0.01, 0.0, 1.0, 0.0),
        "knot": (0.0, *arm.start),
        "trajectory": (2.0,),
        "press": (0.0, 0.0, -5.0),
        "comply": (1.0, 0.0, 0.0),
        "guard": (20.0,),
    }.get(kind, ())
    names = {"set": "kp.1", "mode": arm.axes[0].name, "excite": arm.axes[0].name}
    command = Command(kind, 1, values, name=names.get(kind, ""))
    lacks = (kind == "mode" and arm.law.kind != "axes") or (kind == "pose" and not arm.tool)
    lacks |= kind in ("press", "comply", "guard") and arm.law.kind != "hybrid"
    if lacks:
        with pytest.raises(RefusedError) as refused:
            desk.command(arm.name, command, state, 0)
        assert refused.value.name == "kind"
        assert refused.value.remedy
        return
    for k in range(2 if kind == "trajectory" else 0):
        desk.command(arm.name, Command("knot", 1 + k, (float(k), *arm.start)), state, 0)
    changed = desk.command(arm.name, command, state, 0)
    if kind == "knot":  # it waits at the desk for its trajectory
        assert changed == {}
        return
    effects = {"stop": "supervisor.stops", "set": "control.kp[0]", "mode": "control.mode[0]"}
    effects |= {"trajectory": "timed.length", "guard": "force.guard"}
    effects |= {"press": "force.press[2]", "comply": "force.comply[0]"}
    assert f"{arm.name}_{effects.get(kind, 'supervisor.head')}" in changed
