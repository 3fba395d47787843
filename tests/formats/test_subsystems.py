"""Text models put together from files: the same motion as written out, names, and mistakes."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import linkwright as lw
from linkwright.base.errors import InputError
from linkwright.cli import main
from linkwright.equations import derive
from linkwright.equations.evaluation import Evaluator
from linkwright.formats.text.files import read_model, write_model
from linkwright.mechanism import Mechanism

AXLE = """
format = 1
name = "axle"
[parameters]
K = { value = 4000, unit = "N/m" }
C = { value = 60, unit = "N*s/m" }
m = { value = 12, unit = "kg" }
[gravity]
along = "-z"
[[body]]
name = "hub"
at = [0, 0, -0.2]
translate = "z"
mass = "m"
com = [0, 0.1, 0]
inertia = [1, 2, 3]
[[body]]
name = "wheel"
parent = "hub"
at = [0, 0.3, 0]
rotate = "y"
mass = 7
inertia = [0.2, 0.4, 0.2]
[[point]]
name = "top"
at = [0.05, 0, 0.3]
[[strut]]
name = "spring"
magnitude = "-K*(x - x0) - C*v"
at = "hub0"
to = "top"
[[moment]]
name = "bearing drag"
magnitude = "-0.1*wheel_dot"
on = "wheel"
about = "[hub2]"
reaction = "hub"
[[output]]
name = "load"
value = "fm(spring) + dot(vel(hub0), [n3])*0"
unit = "N"
[initial]
hub = 0.01
"""
CART = """
format = 1
name = "cart"
[parameters]
stiff = { value = 9000, unit = "N/m" }
[gravity]
along = "-z"
[[body]]
name = "frame"
translate = "xyz"
rotate = "zyx"
mass = 300
inertia = [40, 90, 100]
[[part]]
file = "axle.toml"
prefix = "front"
parent = "frame"
at = [1.2, 0, -0.3]
parameters = { K = "stiff", C = 80 }
[[part]]
file = "axle.toml"
prefix = "rear"
parent = "frame"
at = [-1.4, 0, -0.3]
"""


def files(folder: Path) -> Path:
    (folder / "axle.toml").write_text(AXLE)
    (folder / "cart.toml").write_text(CART)
    return folder / "cart.toml"


def by_hand() -> Mechanism:
    m = Mechanism("cart")
    m.gravity(along="-z")
    frame = m.body("frame", translate="xyz", rotate="zyx", mass=300, inertia=(40, 90, 100))
    hubs = []
    for name, x in (("front", 1.2), ("rear", -1.4)):
        hub = m.body(f"{name}_hub", parent=frame, at=(x, 0, -0.5), translate="z", mass=12,
                     com=(0, 0.1, 0), inertia=(1, 2, 3))  # fmt: skip
        wheel = m.body(f"{name}_wheel", parent=hub, at=(0, 0.3, 0), rotate="y", mass=7,
                       inertia=(0.2, 0.4, 0.2))  # fmt: skip
        hubs.append((name, x, hub, wheel))
    for (name, x, hub, wheel), k, c in zip(hubs, (9000, 4000), (80, 60), strict=True):
        top = m.point(f"{name}_top", frame, (x + 0.05, 0, 0.0))
        m.strut(f"{name}_spring", f"-{k}*(x - x0) - {c}*v", at=hub.origin, to=top)
        m.moment(f"{name} drag", f"-0.1*{name}_wheel_dot", on=wheel, about=hub.y, reaction=hub)
    return m


def accelerations(m: Mechanism, seed: int) -> np.ndarray:
    rng = np.random.default_rng(seed)
    equations = derive(m, "composite")
    made = Evaluator(m, equations.program(outputs=False), dict(m.values), backend="python")
    q, u = (
        rng.uniform(-0.2, 0.2, len(equations.coordinates)),
        rng.uniform(-1, 1, len(equations.speeds)),
    )
    return np.asarray(made(q=q, u=u)[1])


def test_a_model_of_parts_moves_as_what_is_written_out(tmp_path: Path) -> None:
    m, other = lw.load(files(tmp_path)), by_hand()
    assert list(m.coordinates) == list(other.coordinates)
    assert accelerations(m, 3) == pytest.approx(accelerations(other, 3), rel=1e-10)
    assert m.values["rear_K"] == 4000
    assert "front_K" not in m.parameters
    assert [o.name for o in m.outputs] == ["front_load", "rear_load"]
    assert (m.initial["front_hub"], m.initial["rear_hub"]) == (0.01, 0.01)
    alone = lw.simulate(tmp_path / "axle.toml", 0.2, step=0.001)
    assert np.isfinite(alone.recording["load"]).all()


def test_a_model_of_parts_is_written_whole_and_changes_with_its_files(tmp_path: Path) -> None:
    path = files(tmp_path)
    m = lw.load(path)
    again = tmp_path / "whole" / "cart.toml"
    again.parent.mkdir()
    again.write_text(write_model(m))
    assert accelerations(lw.load(again), 5) == pytest.approx(accelerations(m, 5), rel=1e-12)
    first = lw.simulate(path, 0.05, step=0.001).recording["rear_load"][-1]
    (tmp_path / "axle.toml").write_text(AXLE.replace("value = 4000", "value = 8000"))
    second = lw.simulate(path, 0.05, step=0.001).recording["rear_load"][-1]
    assert lw.load(path).values["rear_K"] == 8000
    assert abs(second - first) > 0.05 * abs(first)


def test_parts_may_have_parts(tmp_path: Path) -> None:
    files(tmp_path)
    inner = tmp_path / "pair.toml"
    inner.write_text(
        'format = 1\nname = "pair"\n[[body]]\nname = "beam"\nrotate = "x"\nmass = 5\n'
        "inertia = [1, 1, 1]\n"
        '[[part]]\nfile = "axle.toml"\nprefix = "left"\nparent = "beam"\nat = [0, 0.5, 0]\n'
    )
    outer = tmp_path / "outer.toml"
    outer.write_text('format = 1\nname = "outer"\n[[part]]\nfile = "pair.toml"\nprefix = "a"\n')
    assert list(lw.load(outer).coordinates) == ["a_beam", "a_left_hub", "a_left_wheel"]


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (('"axle.toml"', '"../axle.toml"'), "lies outside of the model's folder"),
        (('"axle.toml"', '"/etc/passwd"'), "lies outside"),
        (('"axle.toml"', '"none.toml"'), "there is no file none.toml beside"),
        (('"axle.toml"', '"cart.toml"'), "more than 8 deep"),
        (('{ K = "stiff", C = 80 }', "{ Q = 1 }"), "axle.toml has no parameter 'Q'"),
        (('prefix = "rear"', 'prefix = "front"'), "the name 'front_m' is taken"),
        (('parent = "frame"\nat = [1.2', 'parent = "fram"\nat = [1.2'), "fram"),
    ],
)  # fmt: skip
def test_mistakes_name_the_model_and_the_part(
    change: tuple[str, str], message: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = files(tmp_path)
    path.write_text(CART.replace(*change, 1))
    with pytest.raises(InputError, match=message):
        lw.load(path)
    assert main(["model", "check", str(path)]) != 0
    assert message.split()[0] in "".join(capsys.readouterr())


def test_a_text_that_is_no_file_has_no_parts() -> None:
    with pytest.raises(InputError, match="no folder with parts"):
        read_model(CART)
