"""Every public function with everything that describes a model."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import linkwright as lw
from linkwright.mechanism import mechanism_of

URDF = """<robot name="arm"><link name="base"/><link name="rod"><inertial><origin xyz="0 0 -1"/>
<mass value="2"/><inertia ixx="1" ixy="0" ixz="0" iyy="1" iyz="0" izz="1"/></inertial></link>
<joint name="hinge" type="continuous"><parent link="base"/><child link="rod"/><axis xyz="0 1 0"/>
<dynamics damping="0.3"/></joint></robot>
"""


def controlled() -> lw.System:
    """A System with a member."""
    s = lw.System("pendulum")
    s.add(lw.elements.JointSpring(s.mechanism, "phi", 2.0))
    return s


def robot_file(folder: Path) -> Path:
    """A robot with one joint."""
    path = folder / "arm.urdf"
    path.write_text(URDF)
    return path


def text_model(folder: Path) -> Path:
    """A text model in a file."""
    path = folder / "swing.toml"
    path.write_text(lw.write_model(lw.load("pendulum")))
    return path


def shown(model: Any) -> None:
    """Open the studio and close it."""
    studio = lw.show(model, block=False, browser=False)
    assert studio is not None
    studio.close()


def first(model: Any) -> str:
    """The name of the first coordinate."""
    return next(iter(mechanism_of(model).coordinates))


MODELS: dict[str, Callable[[Path], Any]] = {
    "Mechanism": lambda folder: lw.load("pendulum"),
    "Robot": lambda folder: lw.Robot(robot_file(folder)),
    "System": lambda folder: controlled(),
    "text model": text_model,
    "robot file": lambda folder: str(robot_file(folder)),
    "name": lambda folder: "pendulum",
}
NONSENSE = {"number": 3.5, "object": object(), "list": [1, 2], "name": "pendulun", "file": "x.toml"}

DOORS: dict[str, Callable[[Any, Path], Any]] = {
    "assemble": lambda x, folder: lw.assemble(x),
    "base_parameters": lambda x, folder: lw.base_parameters(x),
    "codegen": lambda x, folder: lw.codegen(x, folder / "program"),
    "derive": lambda x, folder: lw.derive(x),
    "energy": lambda x, folder: lw.energy(x),
    "equilibrium": lambda x, folder: lw.equilibrium(x),
    "fit": lambda x, folder: lw.fit(x, lw.simulate(x, 0.02, step=0.01), [first(x)]),
    "linearize": lambda x, folder: lw.linearize(x),
    "page": lambda x, folder: lw.page(folder / "page.html", x),
    "reactions": lambda x, folder: lw.reactions(x),
    "sensitivity": lambda x, folder: lw.sensitivity(x, 0.02, of=f"final.{first(x)}", to=[first(x)]),
    "show": lambda x, folder: shown(x),
    "simulate": lambda x, folder: lw.simulate(x, 0.01),
    "simulate_batch": lambda x, folder: lw.simulate_batch(x, 0.01),
    "sweep": lambda x, folder: lw.sweep(x, until=0.01),
    "write_model": lambda x, folder: lw.write_model(x),
    "Robot": lambda x, folder: lw.Robot(x).coordinates,
    "System": lambda x, folder: lw.System(x).phases(),
    "PD": lambda x, folder: lw.control.PD(x, kp=1.0, kd=1.0),
}
REFUSED = {
    **dict.fromkeys(
        ("derive", "energy", "equilibrium", "reactions"),
        r"takes a mechanism alone.*joint_spring.*\.mechanism",
    ),
    "page": "simulate it first",
}
"""What is said to a System with members: loads would be left out, or it has not moved yet."""
OTHERS = {
    "convert": "from file to file",
    "load": "opens files and names",
    "read_description": "reads robot files",
    "read_task": "reads tasks",
    "write_description": "writes the description of a robot",
}


@pytest.mark.parametrize("kind", MODELS)
@pytest.mark.parametrize("door", DOORS)
def test_every_door_takes_every_model(door: str, kind: str, tmp_path: Path) -> None:
    """Or says what it takes."""
    model = MODELS[kind](tmp_path)
    if kind == "System" and door in REFUSED:
        with pytest.raises(lw.Error, match=REFUSED[door]):
            DOORS[door](model, tmp_path)
        model = model.mechanism
    DOORS[door](model, tmp_path)


@pytest.mark.parametrize("kind", NONSENSE)
@pytest.mark.parametrize("door", DOORS)
def test_every_door_refuses_nonsense_in_our_words(door: str, kind: str, tmp_path: Path) -> None:
    """With what was given, and nothing is written."""
    with pytest.raises(lw.Error) as refused:
        DOORS[door](NONSENSE[kind], tmp_path)
    given = NONSENSE[kind]
    told = str(refused.value)
    assert str(given) in told or type(given).__name__ in told
    assert not list(tmp_path.iterdir())


def test_no_public_function_that_takes_a_model_is_left_out() -> None:
    """A new one gets its line in the table above."""
    words = {"mechanism", "model", "system", "robot", "source", "things"}
    found = set()
    for name in vars(lw)["__all__"]:
        value = getattr(lw, name)
        if inspect.isfunction(value) and words & set(inspect.signature(value).parameters):
            found.add(name)
    assert found - set(OTHERS) <= set(DOORS)


def test_a_door_gives_the_same_for_a_name_as_for_what_it_names(tmp_path: Path) -> None:
    """Also for a file, and for a robot's file with the robot's defaults."""
    wanted = lw.simulate(lw.load("pendulum"), 0.5)["phi"]
    for given in ("pendulum", text_model(tmp_path), lw.System("pendulum")):
        assert (lw.simulate(given, 0.5)["phi"] == wanted).all()
    arm = robot_file(tmp_path)
    one, other = lw.linearize(str(arm)), lw.linearize(lw.load(arm))
    assert (one.a == other.a).all()
