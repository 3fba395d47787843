"""Masses and inertias that nothing has are refused at every door of a run, by the body's name."""

from __future__ import annotations

import math
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

import linkwright as lw
from linkwright.cli import main
from linkwright.equations.resistance import unresisted
from linkwright.formats.mjcf import parse_mjcf
from linkwright.formats.robot.description import Description, Link, LinkJoint, Mass
from linkwright.formats.text.check import check_mechanism
from linkwright.formats.text.files import read_model
from linkwright.formats.urdf import parse_urdf
from linkwright.scene.scene import scene_of
from linkwright.studio.live import Live
from linkwright.studio.live_system import plant_of

ROBOTS = Path(__file__).parents[1] / "robots"


def arm(mass: object = "m1", inertia: object = ("I1", "I1", "I1")) -> lw.Mechanism:
    """Return a pendulum whose mass and inertia are parameters."""
    m = lw.Mechanism("arms")
    m.body("base", rotate="y", mass=1, inertia=1)
    m.body("arm", parent=m.bodies["base"], rotate="z", mass=mass, com=(0.5, 0, 0), inertia=inertia)
    m.gravity("-y")
    for name in m.parameters:
        m.defaults({name: 1.0})
    return m


TEXT = """format = 1
name = "arms"
[parameters]
m1 = MASS
[gravity]
along = "-y"
[[body]]
name = "arm"
rotate = "z"
mass = "m1"
com = [0.5, 0, 0]
inertia = [1, 1, MOMENT]
"""
URDF = """<robot name="arms"><link name="world"/>
<link name="arm"><inertial><origin xyz="0.5 0 0"/><mass value="MASS"/>
<inertia ixx="1" iyy="1" izz="MOMENT" ixy="0" ixz="0" iyz="0"/></inertial></link>
<joint name="j" type="continuous"><parent link="world"/><child link="arm"/><axis xyz="0 0 1"/>
</joint></robot>"""
DH = """format = 1
convention = "standard"
name = "arms"
[[joint]]
name = "j"
link = "arm"
mass = MASS
center = [0.5, 0, 0]
inertia = [1, 1, MOMENT]
"""
MJCF = """<mujoco model="arms"><compiler balanceinertia="false"/><worldbody><body name="arm">
<inertial pos="0.5 0 0" mass="MASS" diaginertia="1 1 MOMENT"/><joint name="j" axis="0 0 1"/>
</body></worldbody></mujoco>"""


def by_python(folder: Path, mass: float, moment: float) -> lw.Mechanism:
    """Return the arm as it is built in Python."""
    return arm(mass, (1, 1, moment))


def by_text(folder: Path, mass: float, moment: float) -> lw.Mechanism:
    """Return the arm of a text model."""
    return read_model(_put(TEXT, mass, moment))


def by_urdf(folder: Path, mass: float, moment: float) -> lw.Mechanism:
    """Return the arm of a URDF file."""
    path = folder / "arms.urdf"
    path.write_text(_put(URDF, mass, moment))
    return lw.Robot(path).mechanism


def by_dh(folder: Path, mass: float, moment: float) -> lw.Mechanism:
    """Return the arm of a Denavit-Hartenberg table."""
    path = folder / "arms.toml"
    path.write_text(_put(DH, mass, moment))
    return lw.Robot(path).mechanism


def by_mjcf(folder: Path, mass: float, moment: float) -> lw.Mechanism:
    """Return the arm of an MJCF file."""
    return lw.Robot(parse_mjcf(_put(MJCF, mass, moment))).mechanism


def by_description(folder: Path, mass: float, moment: float) -> lw.Mechanism:
    """Return the arm of a description, to which SL's files lead, too."""
    own = Mass(mass, (0.5, 0.0, 0.0), (1.0, 1.0, moment, 0.0, 0.0, 0.0))
    links = Link("world"), Link("arm", own)
    joint = LinkJoint("j", "revolute", "world", "arm", axis=(0.0, 0.0, 1.0))
    return lw.Robot(Description("arms", links, (joint,))).mechanism


def _put(text: str, mass: float, moment: float) -> str:
    return text.replace("MASS", f"{mass:g}").replace("MOMENT", f"{moment:g}")


DOORS = [by_python, by_text, by_urdf, by_mjcf, by_dh, by_description]


@pytest.mark.parametrize("door", DOORS)
@pytest.mark.parametrize(
    ("mass", "moment", "words"),
    [
        (-1.0, 1.0, "its mass, -1 kg, is negative"),
        (1.0, -5.0, "its smallest moment .* is negative"),
    ],
)
def test_a_run_refuses_what_check_calls_an_error(
    tmp_path: Path,
    door: Callable[[Path, float, float], lw.Mechanism],
    mass: float,
    moment: float,
    words: str,
) -> None:
    """Built in Python or read from any file, the mechanism is refused and its body named."""
    m = door(tmp_path, mass, moment)
    found = check_mechanism(m).findings
    assert [f.severity for f in found if f.part.startswith("arm")] == ["error"]
    with pytest.raises(lw.Error, match=words):
        lw.simulate(m, 0.1)
    with pytest.raises(lw.Error, match=words):
        lw.simulate(lw.System(m), 0.1)
    with pytest.raises(lw.Error, match=words):
        lw.simulate_batch(m, 0.1, runs=2)


@pytest.mark.parametrize(
    ("values", "words"),
    [
        ({"m1": -2.0}, r"arm: its mass, -2 kg, is negative; it comes from .*m1 = -2"),
        ({"m1": math.inf}, "arm: its mass, inf, is not finite"),
        ({"I1": math.nan}, "arm: its moment of inertia, nan, is not finite"),
        ({"I1": -1.0}, r"arm: its smallest moment of inertia, -1 kg\*m\^2, is negative"),
        ({"m1": 0.0, "I1": 0.0}, "arm: it moves, but neither it nor what it carries has mass"),
    ],
)
def test_values_of_a_run_count(values: dict[str, float], words: str) -> None:
    """The masses are those of the run's values, alone, in a System, and in any lane of a batch."""
    m = arm()
    with pytest.raises(lw.Error, match=words):
        lw.simulate(m, 0.1, parameters=values)
    with pytest.raises(lw.Error, match=words):
        lw.simulate(lw.System(m), 0.1, parameters=values)
    lanes = {name: np.array([1.0, 1.5, value]) for name, value in values.items()}
    with pytest.raises(lw.Error, match=r"\(run 2\)"):
        lw.simulate_batch(m, 0.1, parameters=lanes)


def test_what_is_not_finite_is_named() -> None:
    """A division by zero in a moment, a mass center or a place names the body and the value."""
    m = arm(1.0, ("1/(L - 1)", 1, 1))
    with pytest.raises(lw.Error, match=r"arm: its moment of inertia, inf, .*L = 1"):
        lw.simulate(m, 0.1)
    m = lw.Mechanism("m")
    m.body("rod", rotate="z", mass=1, com=("1/(L - 1)", 0, 0), inertia=1)
    m.defaults(L=1)
    with pytest.raises(lw.Error, match="rod: its mass center is not finite"):
        lw.simulate(m, 0.1)
    m = lw.Mechanism("m")
    m.body("rod", rotate="z", at=("1/(L - 1)", 0, 0), mass=1, inertia=1)
    m.defaults(L=1)
    with pytest.raises(lw.Error, match="rod: its place in its parent is not finite"):
        lw.simulate(m, 0.1)


def test_published_inertias_that_break_the_triangle_rule_still_run() -> None:
    """They are a warning, as the links of the PUMA 560 are."""
    m = arm(1.0, (0.1, 0.1, 0.3))
    assert [f.severity for f in check_mechanism(m).findings] == ["warning"]
    assert lw.simulate(m, 0.1).final["arm"] < 0


def test_a_joint_that_moves_no_inertia_is_named() -> None:
    """A mass on its own axis resists nothing: the run says so, however it is started."""
    m = lw.Mechanism("m")
    m.body("rod", rotate="z", mass="m1", com=("L", 0, 0), inertia=0)
    m.gravity("-y")
    m.defaults(m1=1, L=0)
    assert unresisted(m) == ("rod_dot",)
    for model in (m, lw.System(m)):
        with pytest.raises(lw.Error, match="nothing that has mass moves with rod_dot"):
            lw.simulate(model, 0.1)
    assert unresisted(m, values={"L": 1.0}) == ()


def test_a_joint_that_moves_no_inertia_is_named_where_nothing_acts(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Accelerations are zero then, whatever the masses are: no run would notice by itself."""
    m = lw.Mechanism("m")
    m.body("rod", rotate="z", mass=1, com=("L", 0, 0), inertia=0)
    m.defaults(L=0)
    words = "nothing that has mass moves with rod_dot"
    for moved in (m, lw.System(m)):
        with pytest.raises(lw.Error, match=words):
            lw.simulate(moved, 0.1)
    path, out = tmp_path / "m.toml", tmp_path / "m.csv"
    path.write_text(lw.write_model(m))
    for more in (["--set", "L=1"], []):  # the first is not stored for the second
        code = main(["simulate", str(path), "--until", "0.1", *more, "-o", str(out)])
        assert code == (0 if more else 2)
        out.unlink(missing_ok=True)
    assert words in capsys.readouterr().err
    lw.simulate(m, 0.1, parameters={"L": 1.0})


def test_a_page_refuses_a_place_that_is_not_finite(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """With the words of `check`, and nothing written."""
    path, out = tmp_path / "m.toml", tmp_path / "m.html"
    path.write_text(
        _put(TEXT, 1.0, 1.0).replace('name = "arm"\n', 'name = "arm"\nat = ["-inf", 0, 0]\n')
    )
    for words in (["model", "check", str(path)], ["page", str(path), "-o", str(out)]):
        assert main(words) == 2
        told = "".join(capsys.readouterr())
        assert "arm: its place in its parent is not finite" in told
    assert list(tmp_path.iterdir()) == [path]


def test_a_live_run_refuses_masses_as_other_runs_do() -> None:
    """A parameter of any sign may make a mass that cannot be; nothing of the change stays."""
    m = arm("m1 - c", (1, 1, 1))
    m.defaults(m1=2.0, c=1.0)
    live = Live(plant_of(m), scene_of(m))
    before = dict(live.values)
    for value, words in ((3.0, "arm: its mass, -1 kg, is negative"), (math.inf, "finite")):
        with pytest.raises(lw.Error, match=words):
            live.set_value("c", value)
        assert live.values == before
    live.set_value("c", 0.5)
    assert live.values["c"] == 0.5


def test_a_sweep_refuses_a_negative_mass() -> None:
    """The run is named."""
    with pytest.raises(lw.Error, match=r"arm: its mass, -1 kg, is negative \(run 1\)"):
        lw.sweep(arm(), 0.1, parameters={"m1": [1.0, -1.0]}, channels={"arm": "final"})


def test_a_run_of_an_sl_robot_refuses_its_negative_inertia() -> None:
    """The identified parameters of the manual's example are not those of a rigid body."""
    with pytest.raises(lw.Error, match=r"its smallest moment of inertia, -.* is negative"):
        lw.simulate(lw.load(ROBOTS / "sl_arm" / "arm.dyn"), 0.01)


def test_the_command_refuses_and_leaves_nothing(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Exit code 2, the body by name, no recording and no journal; stored models too."""
    path = tmp_path / "arms.toml"
    path.write_text(_put(TEXT, 1.0, 0.0).replace("[1, 1, 0]", "0"))
    out = tmp_path / "run.csv"
    run = ["simulate", str(path), "--until", "0.1", "-o", str(out)]
    for set_, words in (("m1=-1", "arm: its mass, -1 kg, is negative"), ("m1=0", "arm: it moves")):
        for _ in range(2):
            assert main([*run, "--set", set_]) == 2
            assert words in capsys.readouterr().err
            assert list(tmp_path.iterdir()) == [path]
        assert main([*run, "--force"]) == 0  # which stores the model for the second round
        out.unlink()
        capsys.readouterr()
    path.write_text(path.read_text().replace("com = [0.5, 0, 0]", 'com = ["m1 - 1", 0, 0]'))
    assert main(run) == 2
    assert "nothing that has mass moves with arm_dot" in capsys.readouterr().err
    assert list(tmp_path.iterdir()) == [path]


# -- robots ----------------------------------------------------------------------------------------
def test_a_robot_that_floats_cannot_be_freed_again() -> None:
    """The joint that lets it float is named; on a robot that stands, the base is freed."""
    floating = lw.load(ROBOTS / "quadruped.urdf", base="free")
    with pytest.raises(lw.Error, match="floats already, by its joint 'floating_base'"):
        len(floating.speeds)
    assert len(lw.load(ROBOTS / "gripper.urdf", base="free").speeds) > 6


def test_forward_dynamics_says_why_it_has_no_solution() -> None:
    """Two slides along one axis with nothing between: an error with names, no NaN."""
    text = URDF.replace("continuous", "prismatic").replace("MASS", "1").replace("MOMENT", "1")
    middle = '<link name="middle"/>'
    first = (
        '<joint name="first" type="prismatic"><parent link="world"/><child link="middle"/>'
        '<axis xyz="0 0 1"/></joint>'
    )
    text = text.replace('<parent link="world"/><child link="arm"/>', "MOVED")
    text = text.replace("</robot>", f"{middle}{first}</robot>")
    text = text.replace("MOVED", '<parent link="middle"/><child link="arm"/>')
    robot = lw.Robot(parse_urdf(text))
    with pytest.raises(lw.Error, match="nothing that has mass moves with first_dot, j_dot where"):
        robot.forward_dynamics([0, 0], [0, 0], [0, 0])


def test_mass_that_is_welded_to_the_ground_counts_nowhere() -> None:
    """The mass center is that of what moves, from URDF, MJCF or a mechanism, as in Pinocchio."""
    import pinocchio as pin

    heavy = """<link name="world"><inertial><mass value="50"/>
<inertia ixx="1" iyy="1" izz="1" ixy="0" ixz="0" iyz="0"/></inertial></link>"""
    text = _put(URDF, 2.0, 1.0).replace('<link name="world"/>', heavy)
    block = '<body name="block" pos="0 1 0"><geom type="sphere" size="1" mass="50"/></body>'
    mjcf = _put(MJCF, 2.0, 1.0).replace("<worldbody>", f"<worldbody>{block}")
    m = lw.Mechanism("arms")
    m.body("block", joint=lw.Weld(), at=(0, 1, 0), mass=50, inertia=1)
    m.body("arm", joint=lw.Revolute("z"), mass=2, com=(0.5, 0, 0), inertia=1)
    m.gravity("-z")
    robots = [lw.Robot(parse_urdf(text)), lw.Robot(parse_mjcf(mjcf)), lw.Robot(m)]
    model = pin.buildModelFromXML(text)
    theirs = pin.centerOfMass(model, model.createData(), pin.neutral(model))
    for robot in robots:
        assert np.allclose(robot.center_of_mass([0.0]), theirs)
        assert np.allclose(robot.center_of_mass([1.0]), [0.5 * np.cos(1), 0.5 * np.sin(1), 0])
        assert robot.potential_energy([0.3]) == pytest.approx(0.0, abs=1e-12)


@pytest.mark.parametrize(
    "use",
    [
        pytest.param(lambda m, out: lw.linearize(m), id="linear model"),
        pytest.param(lambda m, out: lw.linearize(arm(), parameters={"m1": -3}), id="values of one"),
        pytest.param(lambda m, out: lw.equilibrium(m), id="equilibrium"),
        pytest.param(lambda m, out: lw.codegen(m, out), id="written program"),
        pytest.param(
            lambda m, out: lw.Robot(m).forward_dynamics([0, 0], [0, 0], [0, 0]), id="forward"
        ),
        pytest.param(
            lambda m, out: lw.Robot(m).inverse_dynamics([0, 0], [0, 0], [0, 0]), id="inverse"
        ),
        pytest.param(lambda m, out: lw.Robot(m).mass_matrix([0, 0]), id="mass matrix"),
        pytest.param(lambda m, out: lw.Robot(m).kinetic_energy([0, 0], [1, 1]), id="energy"),
    ],
)
@pytest.mark.parametrize("mass", [-3, math.inf])
def test_doors_without_a_run_refuse_them_too(
    use: Callable[[lw.Mechanism, Path], object], mass: float, tmp_path: Path
) -> None:
    with pytest.raises(lw.Error, match="arm: its mass"):
        use(arm(mass), tmp_path / "out")
    assert not (tmp_path / "out").exists()


def test_kinematics_needs_no_masses() -> None:
    assert lw.Robot(arm(-3)).pose([0, 0], "arm")[3, 3] == 1


def test_what_is_welded_to_the_ground_is_no_mass_of_a_robot() -> None:
    m = lw.Mechanism("m")
    foot = m.body("foot", mass=10, inertia=1)
    m.body("arm", parent=foot, rotate="z", mass=1, com=(1, 0, 0), inertia=1)
    assert lw.Robot(m).mass == 1
