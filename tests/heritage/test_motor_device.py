"""The motor device: the report's requests, errors and fail-safe lines, and its own program."""

from __future__ import annotations

import errno
from collections.abc import Iterator
from dataclasses import asdict, replace
from itertools import pairwise
from pathlib import Path
from runpy import run_path
from typing import Any

import pytest

from linkwright.control.axis.codes import DAC_SCALE, FSCALE
from linkwright.heritage.motor_card import (
    HEARTBEAT,
    M_ANDIAG,
    M_ENDIAG,
    M_ERRORPRINT,
    MD_OFF,
    MD_POS,
    MD_TEST1,
    MD_TORQ,
    MD_VEL,
    MERRILIM,
    MERRPANIC,
    MERRPHI,
    MERRPLO,
    MERRPOSERR,
    MERRRANGE,
    McError,
    McFlag,
    McParam,
    McRequest as R,
    McStats,
    MotorDevice,
    MotorPlant,
)

EXAMPLE = run_path(str(Path(__file__).parents[2] / "examples" / "motor_axes.py"))
LIMIT: int = EXAMPLE["LIMIT"]
drive: Any = EXAMPLE["drive"]


@pytest.fixture
def mc() -> Iterator[MotorDevice]:
    with MotorDevice(cards=2) as device:
        yield device


def put(mc: MotorDevice, axis: int, **values: int) -> None:
    """Set some parameters of an axis."""
    before = mc.ioctl(R.MGETPARAM, McParam(axis))
    assert isinstance(before, McParam)
    mc.ioctl(R.MSETPARAM, replace(before, **values))


def told(mc: MotorDevice) -> list[int]:
    """Return a list to which each error is added."""
    errors: list[int] = []

    def handler() -> None:
        code = mc.ioctl(R.MGETLASTERR)
        assert isinstance(code, int)
        errors.append(code)

    mc.signal(handler)
    return errors


def currents(mc: MotorDevice) -> list[float]:
    return [mc.outputs[f"current[{k}]"] for k in range(mc.axes)]


def refused(mc: MotorDevice, request: R, argument: int | McParam = 0) -> int:
    """Return the number of the error with which a request is refused."""
    with pytest.raises(McError) as caught:
        mc.ioctl(request, argument)
    return caught.value.errno


def test_parameters_are_those_of_the_report_after_opening(mc: MotorDevice) -> None:
    """Check 7."""
    assert mc.ioctl(R.MGETNUMCARDS) == 2
    for axis in range(4):
        found = mc.ioctl(R.MGETPARAM, McParam(axis, a0=9))
        assert isinstance(found, McParam)
        ones = {key for key, value in asdict(found).items() if value == 1 and key != "which"}
        assert ones == {"a0", "b0", "adc_a", "clkdivisor"}
        assert (found.which, found.ilim, found.mode) == (axis, DAC_SCALE // 2, MD_OFF)
        rest = {k: v for k, v in asdict(found).items() if k not in {*ones, "which", "ilim"}}
        assert set(rest.values()) == {0}


def test_wrong_arguments_are_refused_and_nothing_changes(mc: MotorDevice) -> None:
    """Check 7."""
    before = mc.ioctl(R.MGETPARAM, McParam(1))
    assert refused(mc, R.MSETPARAM, McParam(1, b0=0)) == errno.EINVAL
    assert refused(mc, R.MSETPARAM, McParam(4)) == errno.EINVAL
    assert refused(mc, R.MGETPARAM, McParam(4)) == errno.EINVAL
    assert refused(mc, R.MSETPARAM, McParam(1, clkdivisor=0)) == errno.EINVAL
    assert refused(mc, R.MSETPARAM, McParam(1, a0=2**31)) == errno.EINVAL
    assert refused(mc, R.MSETPARAM, McParam(1, mode=0x1000)) == errno.EINVAL
    assert refused(mc, R.MSETNUMJOINTS, 5) == errno.EINVAL
    assert refused(mc, R.MSETINTERVAL, 99) == errno.EINVAL
    assert refused(mc, R.MSETINTERVAL, 65_536) == errno.EINVAL
    assert refused(mc, R.MSETDIAG, 4) == errno.EINVAL
    assert refused(mc, R.MSETENC, 4) == errno.EINVAL
    assert mc.ioctl(R.MGETPARAM, McParam(1)) == before
    mc.ioctl(R.MSETNUMJOINTS, 1)
    assert refused(mc, R.MSETPARAM, McParam(1)) == errno.EINVAL
    with pytest.raises(McError, match="EINVAL"):
        mc.write([1, 2])


def test_limits_of_position_fire_once_for_each_crossing(mc: MotorDevice) -> None:
    """Check 14. In velocity mode it is the position that is looked at, not the derivative."""
    errors = told(mc)
    flags = McFlag.POSCHK | McFlag.SOFTERR
    put(mc, 1, a0=5, mode=MD_VEL | flags, plo=-300, phi=300)
    mc.ioctl(R.MENABLE)
    mc.write([0, 40, 0, 0])
    mc.run(40)
    assert errors == [MERRPHI | 1]
    assert mc.read()[1].fbnow > 300
    assert mc.read()[1].vel > 0
    mc.write([0, -40, 0, 0])
    mc.run(120)
    assert errors == [MERRPHI | 1, MERRPLO | 1]
    mc.write([0, 40, 0, 0])
    mc.run(120)
    assert errors == [MERRPHI | 1, MERRPLO | 1, MERRPHI | 1]
    for code in errors:
        assert code & MERRPOSERR
        assert code & 0xFF == 1
    assert mc.ioctl(R.MGETLASTERR) == MERRPHI | 1


def test_without_softerr_an_error_stops_all_axes_and_closes_brakes(mc: MotorDevice) -> None:
    """Check 15."""
    put(mc, 0, mode=MD_TORQ)
    put(mc, 3, mode=MD_TORQ | McFlag.POSCHK | McFlag.SOFTERR, plo=-100, phi=100)
    mc.write([200, 0, 0, 100])
    mc.ioctl(R.MENABLE)
    errors = told(mc)
    mc.run(100)
    assert errors == [MERRPHI | 3]
    assert currents(mc) == [200, 0, 0, 100]  # only told
    put(mc, 3, mode=MD_TORQ | McFlag.POSCHK)
    mc.write([200, 0, 0, -200])
    mc.run(400)
    assert errors == [MERRPHI | 3, MERRPLO | 3]
    assert currents(mc) == [0, 0, 0, 0]
    assert [mc.outputs[f"brake[{k}]"] for k in range(4)] == [1, 1, 1, 1]
    mc.run(5)
    assert currents(mc) == [0, 0, 0, 0]  # latched
    put(mc, 3, mode=MD_TORQ)
    mc.ioctl(R.MENABLE)
    assert currents(mc) == [200, 0, 0, -200]
    assert mc.outputs["brake[0]"] == 0


def test_a_result_beyond_32_bits_is_a_fault_of_its_axis(mc: MotorDevice) -> None:
    put(mc, 2, a0=2**30, mode=MD_POS | McFlag.SOFTERR)
    put(mc, 0, mode=MD_TORQ)
    mc.ioctl(R.MENABLE)
    errors = told(mc)
    mc.write([7, 0, 3, 0])
    mc.run(3)
    assert errors == [MERRRANGE | 2]
    assert currents(mc) == [7, 0, 0, 0]
    put(mc, 2, a0=2, mode=MD_POS | McFlag.SOFTERR)
    mc.run(3)
    assert currents(mc)[2] == 0  # until it is cleared
    mc.ioctl(R.MENABLE)
    assert currents(mc)[2] == 6


@pytest.mark.parametrize("cause", ["fault", "button", "unplug", "heartbeat", "interval"])
def test_panic_stops_all_axes_whatever_asserts_it(mc: MotorDevice, cause: str) -> None:
    """Check 16. It latches: nothing moves before what caused it is over and all is enabled."""
    for axis in range(4):
        put(mc, axis, mode=MD_TORQ | McFlag.SOFTERR)
    mc.write([100, 200, 300, 400])
    mc.ioctl(R.MENABLE)
    mc.run(3)
    assert currents(mc) == [100, 200, 300, 400]
    errors = told(mc)
    due = HEARTBEAT // 2000  # ticks
    match cause:
        case "fault":
            mc.fail(1)
        case "button":
            mc.press()
        case "unplug":
            mc.plug(False)
        case "heartbeat":
            mc.stall(due - 1)
            assert currents(mc) == [100, 200, 300, 400]  # the D/A converters hold
            mc.stall(1)
        case "interval":
            mc.ioctl(R.MSETINTERVAL, HEARTBEAT + 1)
    mc.run(cause != "heartbeat")
    assert currents(mc) == [0, 0, 0, 0]
    assert [mc.outputs[f"brake[{k}]"] for k in range(4)] == [1, 1, 1, 1]
    if cause != "interval":  # which happened at its own first tick
        assert [code & ~0xFF for code in errors] == [MERRPANIC]
    if cause in ("fault", "button", "unplug", "interval"):
        with pytest.raises(McError, match="EIO"):
            mc.ioctl(R.MENABLE)
    mc.fail(1, False)
    mc.press(False)
    mc.plug(True)
    mc.ioctl(R.MSETINTERVAL, 2000)
    mc.run(3)
    assert currents(mc) == [0, 0, 0, 0]
    mc.ioctl(R.MENABLE)
    assert currents(mc) == [100, 200, 300, 400]


def test_closing_takes_the_currents_and_asserts_panic() -> None:
    """Check 16."""
    mc = MotorDevice()
    put(mc, 0, mode=MD_TORQ)
    mc.write([100, 0])
    mc.ioctl(R.MENABLE)
    assert currents(mc) == [100, 0]
    mc.close()
    assert currents(mc) == [0, 0]
    assert mc.outputs["panic"] == 1
    with pytest.raises(McError, match="EBADF"):
        mc.read()


def test_all_axes_are_sampled_at_one_tick_each_at_its_submultiple(mc: MotorDevice) -> None:
    """Check 17."""
    for axis in range(4):
        put(mc, axis, mode=MD_TORQ | McFlag.ADDMD, clkdivisor=axis + 1)
    mc.ioctl(R.MENABLE)
    seen = []
    for tick in range(24):
        for axis in range(4):
            mc.feed(axis, tick + 1)
        mc.run(1)
        seen.append(currents(mc))
    for axis in range(4):
        column = [int(row[axis]) for row in seen]
        changes = [i for i in range(1, 24) if column[i] != column[i - 1]]
        assert {b - a for a, b in pairwise(changes)} == {axis + 1}
        assert all(column[i] == i + 1 for i in changes)
    together = [i for i, row in enumerate(seen) if len({int(x) for x in row}) == 1 and row[0] > 0]
    assert {b - a for a, b in pairwise(together)} == {12}


def test_the_current_filter_has_unit_gain_and_is_scaled(mc: MotorDevice) -> None:
    """Check 20. FSCALE scales `inow` only where there is a filter."""
    put(mc, 0, mode=MD_TORQ, ipole=900)
    put(mc, 1, mode=MD_TORQ, ipole=0)
    mc.write([500, 500, 0, 0])
    mc.ioctl(R.MENABLE)
    first = mc.read()[0].inow
    assert first == (FSCALE - 900) * 500
    mc.run(300)
    assert abs(mc.read()[0].inow - 500 * FSCALE) <= FSCALE / (FSCALE - 900)
    assert mc.read()[1].inow == 500


def test_statistics_count_ticks_missed_and_late_ones(mc: MotorDevice) -> None:
    """Check 21."""
    mc.ioctl(R.MZEROSTATS)
    mc.run(20)
    mc.stall(3)
    mc.hurry(4)
    assert mc.ioctl(R.MGETSTATS) == McStats(27, 3, 4)
    mc.ioctl(R.MZEROSTATS)
    assert mc.ioctl(R.MGETSTATS) == McStats(0, 0, 0)


def test_the_counter_is_unwrapped_before_the_derivative(mc: MotorDevice) -> None:
    """MSETENC carries 16 bits, and setting the encoder is not a motion."""
    put(mc, 0, mode=MD_TORQ)
    mc.write([100, 0, 0, 0])
    mc.ioctl(R.MENABLE)
    mc.run(200)
    speed = mc.read()[0].vel
    assert speed > 0
    mc.ioctl(R.MSETENC, 0 | 32_700 << 8)
    mc.run(1)
    at = mc.read()[0]
    assert 0 <= at.encnow - 32_700 <= speed + 1
    assert abs(at.vel - speed) <= 1
    mc.run(100)
    assert mc.read()[0].encnow > 32_768
    assert abs(mc.read()[0].vel - speed) <= 1
    mc.ioctl(R.MSETENC, 0 | (-500 & 0xFFFF) << 8)
    mc.run(1)
    assert 0 <= mc.read()[0].encnow + 500 <= speed + 1


def test_cards_have_lamps_loops_and_a_converter_of_their_own(mc: MotorDevice) -> None:
    mc.ioctl(R.MSETLED, 2 | 0x15 << 8)
    mc.ioctl(R.MENABLE)
    mc.ioctl(R.MSETDAC, 1 | (-40 & 0xFFF) << 8)
    mc.ioctl(R.MSETDIAG, M_ANDIAG | M_ENDIAG)
    before = mc.read()[3].encnow
    mc.run(5)
    assert mc.outputs["led[2]"] == 0x15
    assert currents(mc)[1] == -40
    assert mc.read()[1].adcval == -40
    assert mc.read()[3].encnow == before + 5
    mc.ioctl(R.MDACMODE, 1)
    mc.ioctl(R.MSETDAC, 1 | 60 << 8)
    mc.run(1)
    assert currents(mc)[1] == -40
    mc.run(1)
    assert currents(mc)[1] == 60
    mc.ioctl(R.MSTOP)
    assert currents(mc)[1] == 0


class Worn(MotorDevice):
    """A device of which the converter of axis 1 sticks, and the encoder of axis 2 is cut off."""

    def read(self) -> tuple[Any, ...]:
        found = list(super().read())
        found[1] = replace(found[1], adcval=8)
        found[2] = replace(found[2], encnow=77)
        return tuple(found)


def test_loops_find_the_part_that_is_broken(mc: MotorDevice) -> None:
    sound = {"analog": True, "encoder": True, "lights": True}
    put(mc, 0, adc_a=-3, adc_b=40, ilim=6)
    put(mc, 3, mode=MD_VEL)
    mc.ioctl(R.MSETLED, 2 | 0x15 << 8)
    at = [state.encnow for state in mc.read()]
    assert mc.diagnose() == (sound,) * 4
    mc.run(1)
    assert mc.outputs["led[2]"] == 0x15
    assert not mc.outputs["enabled"]
    assert all(abs(now.encnow - was) < 20 for now, was in zip(mc.read(), at, strict=True))
    param = mc.ioctl(R.MGETPARAM, McParam(3))
    assert isinstance(param, McParam)
    assert param.mode == MD_OFF
    mc.fail(1)
    with pytest.raises(McError, match="not ready"):
        mc.diagnose()
    with Worn(cards=2) as worn:
        cut = {**sound, "encoder": False}
        assert worn.diagnose() == (sound, {**sound, "analog": False}, cut, sound)


def test_the_test_mode_is_a_triangle(mc: MotorDevice) -> None:
    put(mc, 0, mode=MD_TEST1, ilim=640)
    mc.ioctl(R.MENABLE)
    wave = []
    for _ in range(256):
        mc.run(1)
        wave.append(currents(mc)[0])
    assert max(wave) == 640
    assert min(wave) == -640
    assert {abs(b - a) for a, b in pairwise(wave)} == {10}


def test_sustained_overcurrent_is_told_with_its_axis() -> None:
    """Check 13."""
    lines: list[str] = []
    with MotorDevice(printer=lines.append) as mc:
        mc.ioctl(R.MSETVERBOSITY, M_ERRORPRINT)
        assert mc.ioctl(R.MGETVERBOSITY) == M_ERRORPRINT
        put(mc, 1, mode=MD_TORQ, ilim=100, ilimmax=5)
        mc.ioctl(R.MENABLE)
        errors = told(mc)
        mc.write([0, 101])
        mc.run(5)
        assert errors == []
        assert currents(mc)[1] == 101
        mc.run(1)
        assert errors == [MERRILIM | 1]
        assert currents(mc)[1] == 0
        assert lines == ["mc0: error 0x801, axis 1"]


def test_the_program_of_the_report_turns_at_its_limits() -> None:
    """Check 19."""
    turns = drive(5000)
    assert {turn.axis for turn in turns} == {0, 1}
    for axis in range(2):
        own = [turn for turn in turns if turn.axis == axis]
        assert len(own) >= 6
        assert [turn.low for turn in own] == [bool(i % 2) for i in range(len(own))]
        for turn in own:
            assert LIMIT < abs(turn.place) < LIMIT + 100
            assert (turn.speed > 0) == turn.low
            assert 10 <= abs(turn.speed) <= 29


def test_with_a_normal_encoder_the_program_runs_away() -> None:
    """Check 19: b0 = -1 with a0 = 50 is a negative gain."""
    turns = drive(1500, reversed_encoder=False)
    assert len(turns) <= 2  # each axis leaves its limits and never comes back
    assert all(turn.axis in (0, 1) for turn in turns)
    with MotorDevice(plants=MotorPlant(reversed=False)) as mc:
        put(mc, 0, a0=50, b0=-1, mode=MD_VEL | McFlag.SOFTERR)
        mc.ioctl(R.MENABLE)
        mc.write([10, 0])
        mc.run(400)
        assert mc.read()[0].vel < -50
        assert abs(currents(mc)[0]) == DAC_SCALE // 2


def test_a_stop_turns_all_axes_off(mc: MotorDevice) -> None:
    put(mc, 0, mode=MD_TORQ)
    mc.write([100, 0, 0, 0])
    mc.ioctl(R.MENABLE)
    mc.ioctl(R.MSTOP)
    found = mc.ioctl(R.MGETPARAM, McParam(0))
    assert isinstance(found, McParam)
    assert found.mode == MD_OFF
    assert currents(mc) == [0, 0, 0, 0]
    assert mc.outputs["enabled"] == 0
