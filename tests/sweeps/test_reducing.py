"""Reductions of sweeps against NumPy over all runs; the same whatever the parts and breaks are."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import linkwright as lw
from linkwright.base.errors import Error
from linkwright.cli import main
from linkwright.sweeps import sweep as home
from linkwright.sweeps.plans import Plan, checked
from linkwright.sweeps.reducing import Reduced, ReducedParts, parsed, reduce_part

ALL = ("min", "max", "mean", "variance", "quantiles", "histogram -1 1 20", "worst 5", "least 3")
DRAWN: dict[str, Any] = {
    "channels": {"phi": ["final", "max"]},
    "parameters": {"L": {"uniform": [0.5, 1.5]}, "m": {"normal": [1.0, 0.1]}},
    "initial": {"phi": 0.3},
}


def test_reductions_are_those_of_all_runs_at_once() -> None:
    rows = lw.sweep("pendulum", 0.5, seeds=700, **DRAWN)
    found = lw.sweep("pendulum", 0.5, seeds=700, reduce=ALL, **DRAWN)
    assert len(found) == 700
    for name in ("phi.final", "phi.max"):
        values, known = rows[name], found[name]
        assert (known.count, known.missing) == (700, 0)
        assert (known.minimum, known.maximum) == (values.min(), values.max())
        assert known.mean == pytest.approx(values.mean(), rel=1e-13)
        assert known.variance == pytest.approx(values.var(ddof=1), rel=1e-11)
        for part in (0.0, 0.01, 0.5, 0.9, 1.0):
            exact = np.quantile(values, part, method="lower")
            assert known.quantile(part) == pytest.approx(exact, rel=1.01e-3)
        counts, _ = np.histogram(values, np.linspace(-1, 1, 21))
        assert known.histogram.counts.tolist() == counts.tolist()
        order = np.argsort(-values, kind="stable")[:5]
        assert [row["run"] for row in known.worst] == order.tolist()
        assert [row["L"] for row in known.worst] == rows["L"][order].tolist()
        assert [r["value"] for r in known.least] == np.sort(values)[:3].tolist()
        shown = known.as_result()
        exact = np.quantile(values, [0.05, 0.5, 0.95], method="lower")
        assert list(shown["quantiles"]) == ["0.05", "0.5", "0.95"]
        assert list(shown["quantiles"].values()) == pytest.approx(exact, rel=1.01e-3)
        assert shown["variance"] == known.variance
        assert shown["histogram"]["counts"] == counts.tolist()
    reduced: Any = found.as_dict()["reduced"]
    assert reduced["phi.max"] == found["phi.max"].as_result()
    heads, first = found.table()[:2]
    assert heads[-3:] == ("5 %", "50 %", "95 %")
    assert first[0] == "phi.final"
    assert len(first) == len(heads)
    assert len(lw.sweep("pendulum", 0.1, L=[1.0, 2.0], reduce=["mean"]).table()[0]) == 5


def test_the_command_shows_quantiles_and_the_worst_runs(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    plan = tmp_path / "plan.toml"
    plan.write_text(
        'model = "pendulum"\nuntil = 0.1\nreduce = ["quantiles", "worst 2"]\n'
        '[parameters]\nL = [1.0, 2.0, 0.5]\n[channels]\nphi = ["final"]\n'
    )
    assert main(["sweep", str(plan), "-o", str(tmp_path / "runs")]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[1].split()[-6:] == ["5", "%", "50", "%", "95", "%"]
    at = lines.index("phi.final: worst")
    assert lines[at + 1].split() == ["run", "L", "value"]
    assert [line.split()[:2] for line in lines[at + 2 : at + 4]] == [["2", "0.5"], ["0", "1"]]


def test_values_of_every_size_and_gaps_go_into_the_sketch() -> None:
    rng = np.random.default_rng(2)
    values = rng.normal(size=4000) * 10.0 ** rng.integers(-30, 30, 4000)
    values[:50], values[50:90] = np.nan, 0.0
    good = values[np.isfinite(values)]
    parts = ReducedParts()
    order = [2, 0, 3, 1]  # as workers of a cluster finish them
    for part in order:
        own = values[part * 1000 : (part + 1) * 1000]
        columns = {"run": np.arange(1000) + part * 1000, "stopped": own, "y": own}
        parts.take(part, json.loads(json.dumps(reduce_part(columns, ["y"], ALL))))
    known = parts.columns["y"]
    assert (known.count, known.missing, parts.parts) == (3950, 50, 4)
    for part in np.linspace(0, 1, 23):
        exact = np.quantile(good, part, method="lower")
        assert known.quantile(part) == pytest.approx(exact, rel=1.01e-3, abs=1e-99)
    once = Reduced.of(values, ALL, {"run": np.arange(4000)})
    assert known.bins == once.bins
    assert [r["run"] for r in known.worst] == [r["run"] for r in once.worst]
    assert known.variance == pytest.approx(good.var(ddof=1), rel=1e-12)


def test_a_sweep_that_was_broken_off_goes_on_to_the_same_bits(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("linkwright.sweeps.plans._REDUCED_PART", 64)
    given: dict[str, Any] = {**DRAWN, "seeds": 300, "reduce": ALL}
    whole = lw.sweep("pendulum", 0.2, folder=tmp_path / "whole", **given)
    done: list[int] = []

    def stop(count: int) -> None:
        done.append(count)
        if count >= 128:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        lw.sweep("pendulum", 0.2, folder=tmp_path / "part", progress=stop, **given)
    with pytest.raises(Error, match="begun already"):
        lw.sweep("pendulum", 0.2, folder=tmp_path / "part", **given)
    begun: list[int] = []
    lw.sweep("pendulum", 0.2, folder=tmp_path / "part", resume=True, progress=begun.append, **given)
    assert begun == [128, 192, 256, 300]
    files = [(tmp_path / n / home.REDUCED).read_bytes() for n in ("whole", "part")]
    assert files[0] == files[1]
    assert whole["phi.max"].count == 300
    (tmp_path / "part" / home.REDUCED).write_text("{}")
    with pytest.raises(Error, match="cannot be read"):
        lw.sweep("pendulum", 0.2, folder=tmp_path / "part", resume=True, **given)


def test_draws_of_a_part_are_those_of_the_whole() -> None:
    plan = checked(Plan("pendulum", 1.0, parameters={"L": {"normal": [1, 0.1]}}, runs=90))
    every = plan.numbers(0, 90)[0]["L"]
    assert np.array_equal(plan.numbers(31, 77)[0]["L"], every[31:77])
    two = checked(
        Plan("pendulum", 1.0, parameters={"L": {"normal": [1, 0.1]}, "g": [9.0, 10.0]}, runs=90)
    )
    assert np.array_equal(two.numbers(80, 130)[0]["L"], np.r_[every[80:], every[:40]])


@pytest.mark.parametrize(
    "kind",
    ["median", "worst", "worst 0", "worst 2.5", "histogram 1 0 5", "histogram 0 1 x", "min 3"],
)
def test_what_cannot_be_asked_for_is_named(kind: str) -> None:
    with pytest.raises(Error, match=r"runs cannot be reduced by .*choose min, max, mean"):
        parsed(kind)


def test_quantiles_that_were_not_kept_and_too_many_runs_have_a_remedy() -> None:
    found = lw.sweep("pendulum", 0.1, L=[1.0, 2.0], reduce=["mean"])
    with pytest.raises(Error, match="quantiles were not kept"):
        found["phi.final"].quantile(0.5)
    with pytest.raises(Error, match=r"are possible; give reduce"):
        lw.sweep("pendulum", 0.1, seeds=200_000_000)
