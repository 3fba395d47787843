"""Learned models against least squares on all samples, their slopes, their files and Programs."""

from __future__ import annotations

import subprocess
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

import linkwright as lw
from linkwright.base.errors import Error
from linkwright.lab import Task
from linkwright.lab.lab import Lab
from linkwright.lab.sources import lab_config
from linkwright.learning import Regressor
from linkwright.learning.local_models import weight_slope
from tests.seeds import cases
from tests.support.lab_robots import planar_file

Array = NDArray[np.float64]

SETTINGS: dict[str, dict[str, Any]] = {
    "fields": {"scale": 0.3},
    "memory": {"scale": [0.4, 0.5], "size": 600},
    "features": {"scale": 0.8, "size": 120},
    "grid": {"lower": -1.5, "upper": 1.5, "cells": [12, 9], "gain": 0.2},
}


def wavy(x: Array) -> Array:
    """What is to be learned."""
    return np.column_stack([np.sin(2 * x[:, 0]) * np.cos(x[:, 1]), x[:, 0] ** 2 - x[:, 1]])


def samples(count: int, seed: int = 0) -> tuple[Array, Array]:
    """Points and noisy values."""
    rng = np.random.default_rng(seed)
    x = rng.uniform(-1.5, 1.5, (count, 2))
    return x, wavy(x) + 0.02 * rng.normal(size=(count, 2))


def learned(kind: str, count: int = 900, **more: Any) -> Regressor:
    """A model of it, from samples one after the other."""
    made = Regressor(kind, 2, 2, **{**SETTINGS[kind], **more})
    made.update(*samples(count))
    return made


@pytest.mark.parametrize(
    ("kind", "bar"), [("fields", 0.12), ("memory", 0.05), ("features", 0.03), ("grid", 0.08)]
)
def test_what_is_learned_is_the_function(kind: str, bar: float) -> None:
    x = np.random.default_rng(5).uniform(-1.3, 1.3, (200, 2))
    off = np.sqrt(np.mean((learned(kind).predict(x) - wavy(x)) ** 2))
    assert off < bar
    assert Regressor(kind, 2, 2, **SETTINGS[kind]).predict(x) == pytest.approx(0 * x)


def test_features_are_ridge_regression_on_all_samples() -> None:
    part: Any = learned("features", 300)._learner
    x, y = samples(300)
    waves = np.sqrt(2 / 120) * np.cos(x / 0.8 @ part.w.T + part.phase)
    wanted = np.linalg.solve(waves.T @ waves + 1e-3 * np.eye(120), waves.T @ y)
    assert part.b == pytest.approx(wanted, abs=1e-6)


def test_memory_is_weighted_regression_on_the_latest_samples() -> None:
    """By weights of all samples without a tree; the first 300 of 900 are forgotten."""
    model = learned("memory")
    points = np.random.default_rng(1).uniform(-1.2, 1.2, (25, 2))
    for at in points:
        d = (samples(900)[0][300:] - at) / [0.4, 0.5]
        w = np.sqrt(np.maximum(1 - (d**2).sum(axis=1), 0) ** 3)
        rows = np.vstack([w[:, None] * np.column_stack([d, np.ones(600)]), 1e-2 * np.eye(3)])
        right = np.vstack([w[:, None] * samples(900)[1][300:], np.zeros((3, 2))])
        wanted = np.linalg.lstsq(rows, right)[0][-1]
        assert model.predict(at) == pytest.approx(wanted, abs=1e-10)


def test_a_grid_interpolates_as_scipy_does_and_holds_its_edge() -> None:
    from scipy.interpolate import RegularGridInterpolator

    model = learned("grid")
    part: Any = model._learner
    axes = [np.linspace(-1.5, 1.5, 13), np.linspace(-1.5, 1.5, 10)]
    x = np.random.default_rng(2).uniform(-1.5, 1.5, (50, 2))
    assert model.predict(x) == pytest.approx(
        RegularGridInterpolator(axes, part.table)(x), abs=1e-12
    )
    assert model.predict([9.0, 0.2]) == pytest.approx(model.predict([1.5, 0.2]))
    whole = Regressor("grid", 2, **{**SETTINGS["grid"], "gain": 1.0})
    whole.update([0.31, 0.2], [7.0])
    assert whole.predict([0.31, 0.2]) == pytest.approx(7.0)


def leave_one_out(x: Array, y: Array, w: Array, ridge: float) -> float:
    """The mean error of what is predicted from all others, by solving anew for each."""
    total = 0.0
    for k in range(len(x)):
        v = np.where(np.arange(len(x)) == k, 0.0, w)
        matrix = (x.T * v) @ x + ridge * np.eye(x.shape[1])
        total += w[k] * np.sum((y[k] - x[k] @ np.linalg.solve(matrix, (x.T * v) @ y)) ** 2)
    return float(total / w.sum())


def test_the_slope_of_the_leave_one_out_error_is_its_difference() -> None:
    """By the weight of one sample, from sums over all samples as Schaal & Atkeson keep them."""
    rng = np.random.default_rng(3)
    x = np.column_stack([rng.normal(size=(30, 2)), np.ones(30)])
    y, w = rng.normal(size=(30, 2)), rng.uniform(0.2, 1, 30)
    P = np.linalg.inv((x.T * w) @ x + 0.1 * np.eye(3))
    e = y - x @ P @ (x.T * w) @ y
    left = 1 - w * np.einsum("ki,ij,kj->k", x, P, x)
    cv = e / left[:, None]
    E = np.sum(w * np.sum(cv**2, axis=1))
    for k in (0, 11):
        rest = np.arange(30) != k
        H = np.einsum("k,ki,km->im", (w / left)[rest], x[rest], cv[rest])
        spread = (w**2 * np.sum(cv**2, axis=1) / left)[rest]
        R = np.einsum("k,ki,kj->ij", spread, x[rest], x[rest])
        args = (np.sum(cv[k] ** 2), P @ x[k], x[k], e[k], w.sum(), E, H, R)
        found = weight_slope(*(np.asarray(a)[None] for a in args))[0]
        up, down = w.copy(), w.copy()
        up[k] += 1e-5
        down[k] -= 1e-5
        wanted = (leave_one_out(x, y, up, 0.1) - leave_one_out(x, y, down, 0.1)) / 2e-5
        assert found == pytest.approx(wanted, rel=1e-6, abs=1e-9)


def test_fields_grow_narrow_where_the_function_bends() -> None:
    """And what they predict comes nearer to it than with the width that they began with."""
    x = np.random.default_rng(4).uniform(-1.3, 1.3, (200, 2))
    stiff, free = (learned("fields", 2500, scale=0.8, adapt=a) for a in (0.0, 1.0))
    off = [np.sqrt(np.mean((m.predict(x) - wavy(x)) ** 2)) for m in (stiff, free)]
    assert off[1] < 0.75 * off[0]
    part: Any = free._learner
    M = part.M
    assert np.median(np.linalg.det(np.einsum("kri,krj->kij", M, M))) > 2.0


@pytest.mark.parametrize("kind", sorted(SETTINGS))
def test_a_frozen_model_is_a_program(kind: str, tmp_path: Path) -> None:
    """Compiled, in rows, in C, and as a block at a rate."""
    model = learned(kind, 300)
    x = np.random.default_rng(1).uniform(-2, 2, (40, 2))
    wanted = model.predict(x)
    assert lw.compile(model.program()).batch(x) == pytest.approx(wanted, abs=1e-10)
    source = lw.c_source(model.program("learned"))
    main = (
        f"{source}\n#include <stdio.h>\nint main(void) {{ double x[2] = {{0.3, -0.4}}, y[2]; "
        'learned(x, y); printf("%.17g %.17g\\n", y[0], y[1]); return 0; }\n'
    )
    (tmp_path / "m.c").write_text(main)
    subprocess.run(
        ["cc", "-std=c99", "-O1", "-o", str(tmp_path / "m"), str(tmp_path / "m.c"), "-lm"],
        check=True,
    )
    done = subprocess.run([str(tmp_path / "m")], capture_output=True, text=True, check=True)
    own = model.predict([0.3, -0.4])
    assert [float(v) for v in done.stdout.split()] == pytest.approx(own, abs=1e-10)
    s = lw.System(name="s", base=100)
    member = s.add(model.block(rate=50))
    s.connect("0.3", member.x[0])
    s.connect("-0.4", member.x[1])
    run = lw.simulate(s, 0.1)
    assert run.final["learned.y[1]"] == pytest.approx(own[1], abs=1e-10)


@pytest.mark.parametrize("kind", sorted(SETTINGS))
def test_a_saved_model_goes_on_learning(kind: str, tmp_path: Path) -> None:
    model, (x, y) = learned(kind, 700), samples(800, seed=9)
    model.save(tmp_path / "m.npz")
    again = Regressor.load(tmp_path / "m.npz")
    assert (again.samples, repr(again)) == (700, repr(model))
    model.update(x[700:], y[700:])
    again.update(x[700:], y[700:])
    assert np.array_equal(again.predict(x), model.predict(x))
    again.save(tmp_path / "m.npz")  # in place of the other
    assert Regressor.load(tmp_path / "m.npz").samples == 800


@pytest.mark.parametrize("kind", cases(["features", "fields", "memory"], daily=2))
def test_over_a_model_it_learns_what_that_leaves(kind: str, puma: Any) -> None:
    """An arm whose friction the model does not know; far from samples the model stands."""
    inverse = puma.inverse_dynamics
    n, rng = 6, np.random.default_rng(0)
    x = rng.uniform(-1, 1, (250, 3 * n))
    analytic = inverse(*np.split(x, 3, axis=1))
    model = Regressor(kind, 3 * n, n, scale=6.0, over=inverse)
    model.update(x, analytic + 3.0 * x[:, n : 2 * n])
    at = rng.uniform(-0.5, 0.5, (20, 3 * n))
    wanted = inverse(*np.split(at, 3, axis=1)) + 3.0 * at[:, n : 2 * n]
    assert np.abs(model.predict(at) - wanted).max() < 0.5
    made = lw.compile(model.program())
    assert made.batch(at) == pytest.approx(model.predict(at), abs=1e-8)
    far = np.full(3 * n, 1e3)
    if kind != "features":
        assert model.predict(far) == pytest.approx(inverse(*np.split(far, 3)), rel=1e-12)


class Swing(Task):
    """Two joints swing; torques that the known robot does not explain are learned and added."""

    learns = True
    known: Any = None

    def init(self, lab: Any) -> None:
        lab.mode("invdyn")
        self.model = Regressor("features", 6, 2, scale=[1.0, 1.0, 3.0, 3.0, 10.0, 10.0])

    def run(self, t: Any, state: Any, desired: Any) -> None:
        w = np.array([5.0, 7.0])
        size = np.array([0.4, 0.3])
        desired.q = size * (1 - np.cos(w * t))
        desired.u = size * w * np.sin(w * t)
        desired.a = size * w**2 * np.cos(w * t)
        if self.learns and t > 0:
            q, u, a = np.array(state.q), np.array(state.u), np.array(state.a)
            left = state.load - self.known.inverse_dynamics(q, u, a)
            self.model.update(np.concatenate([q, u, a]), left)
            desired.uex = self.model.predict(np.concatenate([desired.q, desired.u, desired.a]))


def test_a_servo_that_learns_tracks_three_times_better(tmp_path: Path) -> None:
    """Unknown friction and an unknown load, learned from what is measured while it moves."""
    known = lab_config(planar_file(tmp_path))
    text = (tmp_path / "planar.urdf").read_text()
    text = text.replace('"1.5"', '"2.5"').replace("<limit", '<dynamics damping="3.0"/><limit')
    (tmp_path / "heavy.urdf").write_text(text)
    actual = lab_config(tmp_path / "heavy.urdf")
    off = {}
    for learns in (False, True):
        config = replace(actual, model=known.description, rate=500.0)
        robot = lw.load(planar_file(tmp_path))
        with Lab(config) as lab:
            lab.add(type("Swing", (Swing,), {"learns": learns, "known": robot}))
            lab.start("swing")
            lab.run(2.5)
            errors = []
            for _ in range(60):
                lab.run(0.02)
                errors.append(lab.state.q - lab.desired.q)
        off[learns] = np.sqrt(np.mean(np.square(errors)))
    assert off[True] < off[False] / 3


@pytest.mark.parametrize(
    ("make", "word"),
    [
        (lambda: Regressor("lwr", 2), "choose|fields"),
        (lambda: Regressor("fields", 0), "inputs"),
        (lambda: Regressor("fields", 2, scale=0.0), "scale above zero"),
        (lambda: Regressor("fields", 2, scale=[1.0, 2.0, 3.0]), "scale"),
        (lambda: Regressor("fields", 2, seed=1), "has no seed"),
        (lambda: Regressor("fields", 2, cells=1), "has no cells"),
        (lambda: Regressor("grid", 2, lower=0.0, cells=3), "needs upper"),
        (lambda: Regressor("grid", 1, lower=1.0, upper=0.0, cells=3), "upper above lower"),
        (lambda: Regressor("features", 2, forgetting=1.5), "from 0.5 to 1"),
        (lambda: Regressor("features", 2).update([1.0, 2.0], [np.nan]), "not finite"),
        (lambda: Regressor("features", 2).predict([1.0]), "2 numbers"),
        (lambda: Regressor("features", 2).update(np.ones((3, 2)), [1.0]), "3 rows"),
        (lambda: Regressor("features", 2, over=np.sum).predict([[1.0, 2.0]] * 2), "analytic"),
        (lambda: Regressor("features", 2, over=wavy).program(), "Python function"),
    ],
)
def test_what_is_wrong_is_said(make: Any, word: str) -> None:
    with pytest.raises(Error, match=word):
        make()


def test_a_file_that_is_no_learned_model_is_rejected(tmp_path: Path) -> None:
    path = tmp_path / "m.npz"
    learned("fields", 50).save(path)
    whole = path.read_bytes()
    with np.load(path) as kept:
        arrays = dict(kept)
    bad = [b"", whole[: len(whole) // 2], b"PK" + whole[2:90]]
    for name in ("c", "P", "b"):
        np.savez(path, **{**arrays, name: arrays[name][..., :-1]})
        bad.append(path.read_bytes())
        np.savez(path, **{k: v for k, v in arrays.items() if k != name})
        bad.append(path.read_bytes())
    np.savez(path, **{**arrays, "head": np.array([{"kind": "fields"}], object)})
    bad.append(path.read_bytes())
    for content in bad:
        path.write_bytes(content)
        with pytest.raises(Error, match="learned model"):
            Regressor.load(path)
    with pytest.raises(Error, match="there is no such file"):
        Regressor.load(tmp_path / "none.npz")
