"""Each feature of MJCF in a small file: the numbers of MuJoCo, or refused or listed in words."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

from bench.mjcf_peer import exchanged, joints_of, mass_errors, places, random_configuration
from linkwright.base.errors import Error
from linkwright.formats.mjcf import mjcf_text, parse_mjcf, read_mjcf
from linkwright.formats.robot.description import Description, NamedFrame
from linkwright.formats.robot.to_mechanism import assembled
from linkwright.formats.robot.transforms import tensor
from tests.oracles.mechanism import evaluate_numerically
from tests.seeds import seeds
from tests.support.late import Late

if TYPE_CHECKING:
    import mujoco
else:
    mujoco = Late("mujoco")

BALL = '<geom size=".1" pos=".3 .1 0" mass="1"/>'
HINGE = '<joint name="j" axis="0 1 0"/>'
TURNED = 'pos=".1 .2 .3" euler="20 30 40"'
INERTIAL = '<inertial pos=".1 0 .2" mass="2" diaginertia=".1 .2 .25"/>'
FULL = '<inertial pos="0 .1 0" mass="2" fullinertia=".2 .3 .4 .01 .02 -.03"/>'
CUBE = "-.1 -.1 -.1 .2 -.1 -.1 .2 .3 -.1 -.1 .3 -.1 -.1 -.1 .4 .2 -.1 .4 .2 .3 .4 -.1 .3 .4"
MESH = f'<asset><mesh name="m" vertex="{CUBE}"%s/></asset>'


@pytest.fixture(autouse=True)
def _elsewhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """MuJoCo writes its warnings into the current folder."""
    monkeypatch.chdir(tmp_path)


def world(inner: str, before: str = "", after: str = "") -> str:
    return f"<mujoco>{before}<worldbody>{inner}</worldbody>{after}</mujoco>"


def body(inner: str = BALL, joint: str = HINGE, at: str = TURNED) -> str:
    return f'<body name="a" {at}>{joint}{inner}</body>'


def pair(before: str = "", after: str = "", one: str = "", two: str = "") -> str:
    """Return two links on hinges, `j` and `k`."""
    inner = f'<body name="b" pos=".5 0 .1"><joint name="k" axis="0 0 1" {two}/>{BALL}</body>'
    return world(body(BALL + inner, f'<joint name="j" axis="0 1 0" {one}/>'), before, after)


def compiled(words: str, inner: str = "") -> str:
    """Return a file with many angles, masses and ranges under some settings of the compiler."""
    joint = '<joint name="j" axis="1 2 3" pos=".1 0 0" range="-1 1.2" ref=".3" springref=".2"/>'
    parts = INERTIAL + '<geom type="box" size=".1 .2 .3" euler=".3 .4 .5"/>'
    leaf = '<body name="b" pos="0 0 .5" euler=".1 .2 .3"><joint name="k" type="slide" range="0 1"/>'
    leaf += f'<geom type="capsule" size=".1 .2" density="500" group="2"/>{BALL}</body>'
    return world(body(parts + leaf + inner, joint), f"<compiler {words}/>")


def geom(words: str, before: str = "") -> str:
    return world(body(f"<geom {words}/>"), before)


def classes(defaults: str, inner: str = BALL, joint: str = HINGE, at: str = TURNED) -> str:
    return world(body(inner, joint, at), f"<default>{defaults}</default>")


def driven(actuator: str, defaults: str = "") -> str:
    return pair(f"<default>{defaults}</default>", f"<actuator>{actuator}</actuator>")


def coupled(words: str, one: str = "", two: str = "") -> str:
    return pair("", f'<equality><joint joint1="j" {words}/></equality>', one, two)


SAME = {
    "plain": pair(),
    # -- the compiler
    "degrees": compiled('angle="degree"'),
    "radians": compiled('angle="radian"'),
    **{f"eulerseq {s}": compiled(f'angle="radian" eulerseq="{s}"') for s in ("XYZ", "zyx", "xYx")},
    "masses from shapes": compiled('inertiafromgeom="true"'),
    "masses from inertials": compiled('inertiafromgeom="false"').replace(BALL, BALL + FULL),
    "shapes without mass": compiled('inertiafromgeom="true"').replace("<geom", '<geom mass="0"', 1),
    "shapes of other groups": compiled('inertiafromgeom="true" inertiagrouprange="2 3"').replace(
        'size=".1 .2 .3"', 'size=".1 .2 .3" group="1"'
    ),
    "no shape at all": world(body(INERTIAL), '<compiler inertiafromgeom="true"/>'),
    "group range": compiled('inertiagrouprange="2 5"').replace(BALL, '<geom size=".2" group="1"/>'),
    "bound mass": compiled('boundmass="7" boundinertia=".3"'),
    "balance": world(
        body('<inertial pos="0 0 0" mass="1" diaginertia="1 1 4"/>'),
        '<compiler balanceinertia="true"/>',
    ),
    "total mass": compiled('settotalmass="5"'),
    "autolimits off": compiled('autolimits="false"').replace("range", 'limited="true" range'),
    "discard visual": compiled('discardvisual="true"').replace(BALL, BALL + BALL),
    "two compilers": compiled('angle="radian"').replace(
        "<worldbody>", '<compiler angle="degree"/><worldbody>'
    ),
    "fused": compiled('fusestatic="true"'),
    # -- gravity
    "gravity": pair('<option gravity="1 2 -3"/>'),
    "gravity off": pair('<option gravity="1 2 -3"><flag gravity="disable"/></option>'),
    "gravity on again": pair(
        '<option><flag gravity="disable"/></option><option><flag gravity="enable"/></option>'
    ),
    "gravity off later": pair(
        '<option gravity="0 0 -5"/><option><flag gravity="disable"/></option>'
    ),
    "flag of something else": pair(
        '<option><flag gravity="disable"/></option><option><flag warmstart="disable"/></option>'
    ),
    # -- places and turns
    **{
        f"turned by {way}": world(body(at=f'pos="1 2 3" {way}="{numbers}"'))
        for way, numbers in (
            ("quat", "1 .2 .3 .4"),
            ("axisangle", "1 2 3 40"),
            ("xyaxes", "1 .1 0 .2 1 .3"),
            ("zaxis", ".1 .2 .9"),
            ("zaxis", "0 0 -1"),
            ("euler", "10 20 30"),
        )
    },
    "frame": world(body(f"<frame {TURNED}>{BALL}</frame>")),
    "frame around a joint": world(body(BALL, f"<frame {TURNED}>{HINGE}</frame>")),
    "frame around an inertial": world(body(f"<frame {TURNED}>{INERTIAL}</frame>")),
    "frames around an inertial": world(
        body(f"<geom size='.2'/><frame {TURNED}><frame {TURNED}>{FULL}</frame></frame>")
    ),
    "frame around a body": world(f"<frame {TURNED}>{body()}</frame>"),
    "frame with a class": world(
        f'<frame childclass="c">{body("<geom/>")}</frame>',
        '<default><default class="c"><geom size=".2" mass="3"/></default></default>',
    ),
    "bodies without names": world(f"<body>{HINGE}{BALL}<body><joint/>{BALL}</body></body>"),
    "static bodies": world(
        body(f'<body name="s" {TURNED}>{BALL}<site name="t" {TURNED}/></body>{BALL}')
    ),
    "site": world(body(f'{BALL}<site name="s" {TURNED}/>')),
    "site between points": world(
        body(f'{BALL}<site name="s" type="capsule" size=".1" fromto="0 0 0 1 2 3"/>')
    ),
    "site named as its body": world(body(f'{BALL}<site name="a" {TURNED}/>')),
    "site named as another body": world(
        '<body name="s" pos="1 0 0"/>' + body(f'{BALL}<site name="s" {TURNED}/>')
    ),
    "site named as a joint": world(body(f'{BALL}<site name="j" {TURNED}/>')),
    "site named as a made-up name": world(
        body(f'{BALL}<site name="a_j" {TURNED}/>', '<joint name="j" pos="1 0 0"/>')
    ),
    "sites with numbers": world(body(f'{BALL}<site name="a" {TURNED}/><site name="a_2"/>')),
    "sites of a class": world(
        body(f'{BALL}<site name="s"/>'), '<default><site pos="1 2 3" euler="9 8 7"/></default>'
    ),
    # -- masses
    "inertial": world(body(INERTIAL)),
    "full inertia": world(body(FULL)),
    "inertial before shapes": world(body(INERTIAL + BALL)),
    "inertial turned": world(body(INERTIAL.replace("pos=", 'euler="10 20 30" pos='))),
    **{
        f"{kind} {more}": geom(f'type="{kind}" size=".1 .2 .3" {TURNED} {more}')
        for kind in ("sphere", "capsule", "cylinder", "ellipsoid", "box")
        for more in ("", 'mass="3"', 'density="70"', 'shellinertia="true"')
        if (kind, more) != ("ellipsoid", 'shellinertia="true"')
    },
    **{
        f"{kind} between points": geom(f'type="{kind}" size=".1" fromto="0 0 0 .1 .2 .3"')
        for kind in ("capsule", "cylinder", "ellipsoid", "box")
    },
    "mass before density": geom('size=".1" mass="2" density="70"'),
    "several shapes": world(body(BALL + f'<geom type="box" size=".1 .2 .3" {TURNED}/>')),
    "shape without mass": world(body(BALL + '<geom size=".3" mass="0"/>')),
    "plane in the world": world('<geom type="plane" size="1 1 1"/>' + body()),
    **{
        f"mesh {way}": geom('type="mesh" mesh="m"', MESH % f' inertia="{way}"')
        for way in ("legacy", "exact", "convex", "shell")
    },
    "mesh moved": geom(
        f'type="mesh" mesh="m" {TURNED}',
        MESH % ' scale="1 2 -1" refpos=".1 .2 .3" refquat="1 .1 .2 .3"',
    ),
    # -- joints
    "slide": world(body(joint='<joint name="j" type="slide" axis="1 2 3"/>')),
    "ball": world(body(joint='<joint name="j" type="ball" pos=".1 .2 .3"/>')),
    "free": world(body(joint='<freejoint name="j"/>')),
    "free by type": world(body(joint='<joint type="free"/>')),
    "free at the origin": world(body(joint='<freejoint name="j"/>', at="")),
    "free in a frame": world(f"<frame {TURNED}>{body(joint='<freejoint/>')}</frame>"),
    "offset": world(body(joint='<joint name="j" axis="1 1 0" pos=".1 .2 .3"/>')),
    "several joints": world(
        body(
            joint='<joint type="slide" axis="1 0 1"/><joint axis="0 1 1" pos="0 .1 0"/>'
            '<joint axis="1 1 0" pos=".2 0 0"/>'
        )
    ),
    "joints with references": world(
        body(
            joint='<joint type="slide" axis="1 0 1" ref=".2"/><joint axis="0 1 1" pos="0 .1 0"'
            ' ref="20"/><joint axis="1 1 0" pos=".2 0 0" ref="-30"/>'
        )
    ),
    "reference": pair(one='ref="30"', two='ref="-20" springref="10" stiffness="3"'),
    "spring and damper": pair(one='stiffness="2" springref="10" damping=".3"', two='damping="1"'),
    "armature": pair(one='armature=".2"', two='armature=".01"'),
    "dry friction": pair(one='frictionloss=".4"'),
    # -- ranges
    "range": pair(one='range="-10 20"'),
    "range of nothing": pair('<default><joint range="-9 9"/></default>', one='range="0 0"'),
    "range turned round": pair(one='range="40 -40"'),
    "range without ends": pair(one='range="-inf inf"', two='range="-inf 30"'),
    "range that does not count": pair(one='range="-10 20" limited="false"'),
    "range by a flag": pair('<default><joint range="-9 9"/></default>', one='limited="true"'),
    "range of a slide": world(body(joint='<joint type="slide" range="-.1 .3"/>')),
    "force range": pair(one='actuatorfrcrange="-3 4"', two='actuatorfrcrange="0 0"'),
    # -- classes
    "class": classes('<geom density="50"/><joint axis="1 0 0" armature=".1"/>', BALL, "<joint/>"),
    "inner class": classes(
        '<geom mass="1"/><default class="c"><geom mass="2"/><joint armature=".3"/></default>',
        '<geom class="c" size=".1"/>',
        '<joint class="c"/>',
    ),
    "class of the children": classes(
        '<default class="c"><geom mass="2" size=".1"/><joint armature=".3"/></default>',
        "<geom/>",
        "<joint/>",
        'childclass="c"',
    ),
    "class by name": classes("<geom/>", '<geom class="main" size=".1"/>'),
    "size in part": classes(
        '<geom type="capsule" size=".1 .5"/>', '<geom size=".05"/><geom size=".05 .1"/>'
    ),
    "size in part of a box": classes('<geom type="box" size=".1 .2 .3"/>', '<geom size=".5 .4"/>'),
    "size and points": classes(
        '<geom type="capsule" size=".1 .5"/>', '<geom size=".05" fromto="0 0 0 1 0 0"/>'
    ),
    "turn of a class": classes('<geom euler="10 20 30"/>', '<geom type="box" size=".1 .2 .3"/>'),
    "another turn than the class": classes(
        '<geom euler="10 20 30"/>', '<geom type="box" size=".1 .2 .3" quat="1 .1 0 0"/>'
    ),
    "mesh of a class": world(
        body('<geom type="mesh" mesh="m"/>'),
        f'<default><mesh scale="2 1 1"/></default>{MESH % ""}',
    ),
    # -- actuators
    "motor": driven('<motor joint="j" gear="5" ctrlrange="-1 2" forcerange="-3 3"/>'),
    "rotor": driven('<motor joint="j" gear="5" armature=".01" damping=".1"/>'),
    "two motors": driven(
        '<motor joint="j" gear="5" armature=".01"/><motor joint="j" armature=".1"/>'
    ),
    "default of another kind": driven(
        '<motor joint="j" ctrlrange="-1 1"/>', '<position gear="50" armature=".001"/>'
    ),
    "default of general": driven('<motor joint="k"/>', '<general gear="3" armature=".1"/>'),
    "inner default of general": driven(
        '<motor class="c" joint="j" armature=".1"/>',
        '<motor gear="4"/><default class="c"><general gear="7"/></default>',
    ),
    "inner default of motor": driven(
        '<motor class="c" joint="j" armature=".1"/>',
        '<general gear="4"/><default class="c"><motor forcerange="-7 7"/></default>',
    ),
    "gear in part": driven('<motor joint="j" gear="2" armature=".1"/>', '<motor gear="4 5 6"/>'),
    "force range of nothing": driven(
        '<motor joint="j" forcerange="0 0"/>', '<motor forcerange="-4 4"/>'
    ),
    # -- couplings
    **{
        f"coupled by {words}": coupled(f'joint2="k" polycoef="{words}"')
        for words in ("0.5", "0.1 2", "0 -1 0", ".3 .5 0 0 0")
    },
    "coupled": coupled('joint2="k"'),
    "coupled about references": coupled(
        'joint2="k" polycoef=".2 -3"', 'ref="10"', 'ref="-20" range="-9 9"'
    ),
    "not coupled": coupled('joint2="k" active="false"'),
}  # fmt: skip

TOLD = {
    "springs of a ball": (body(joint='<joint type="ball" stiffness="3"/>'), "stiffness of a ball"),
    "rotor of a ball": (body(joint='<joint type="ball" armature=".1"/>'), "armature of a ball"),
    "damping of a free body": (body(joint='<joint type="free" damping="1"/>'), "damping of a free"),
    "range of a ball": (body(joint='<joint type="ball" range="0 30"/>'), "range of a ball"),
    "damping of higher order": (body(joint='<joint damping="1 2"/>'), "damping of higher order"),
    "buoyant": (body(at=f'gravcomp="1" {TURNED}'), "gravcomp"),
    "mocap": ('<body mocap="true"><geom size=".1"/></body>' + body(), "mocap"),
    "tendon": (
        f'{body()}</worldbody><tendon><fixed stiffness="9"><joint joint="j" coef="1"/></fixed>'
        "</tendon><worldbody>",
        "<tendon>",
    ),
    "one joint held": (
        f'{body()}</worldbody><equality><joint joint1="j"/></equality><worldbody>',
        "of one joint",
    ),
    "servo": (
        f'{body()}</worldbody><actuator><position joint="j" kp="9"/></actuator><worldbody>',
        "<position>",
    ),
}  # fmt: skip

REFUSED = {
    "skin of an ellipsoid": geom('type="ellipsoid" size=".1 .2 .3" shellinertia="true"'),
    "shape fitted to a mesh": geom('type="box" mesh="m"', MESH % ""),
    "mesh without its type": geom('mesh="m"', MESH % ""),
    "built-in mesh": geom(
        'type="mesh" mesh="m"', '<asset><mesh name="m" builtin="cone" params="8 .1"/></asset>'
    ),
    "height field that moves": geom(
        'type="hfield" hfield="h"',
        '<asset><hfield name="h" nrow="2" ncol="2" elevation="1 1 1 1" size="1 1 1 1"/></asset>',
    ),
    "copies": world(f'<replicate count="2" offset="1 0 0">{body(joint="<joint/>")}</replicate>'),
    "scaled frame": world(f'<frame scale="2">{body()}</frame>'),
    "hexadecimal": pair(one='range="0x1 0x2"'),
    "total mass of a fused world": world(
        f'<body name="s">{BALL}</body>{body()}', '<compiler settotalmass="9" fusestatic="true"/>'
    ),
    "empty range that is to count": pair(one='range="1 1" limited="true"'),
    "two sites of one name": world(body(f'{BALL}<site name="s"/><site name="s"/>')),
    "two inertials": world(body(f"{INERTIAL}<frame>{INERTIAL}</frame>")),
    "size that no class completes": geom('type="box" size=".1"'),
}  # fmt: skip


def compare(text: str, seed: int = 0) -> Description:
    """Compare all that MuJoCo and Linkwright make of a file; return what it says."""
    model, found = mujoco.MjModel.from_xml_string(text), parse_mjcf(text)
    fused = model.nbody < sum(link.mass is not None for link in found.links) + 1
    assert fused or mass_errors(model, found) < 2e-8  # MuJoCo drops products of inertia of meshes
    data, where = mujoco.MjData(model), joints_of(model, found)
    joints = {joint.name: joint for joint in found.joints}
    for k, name in enumerate(where):
        joint, dof, limits = joints[name], int(model.jnt_dofadr[k]), joints[name].limits
        told = [limits.lower, limits.upper]
        ends = model.jnt_range[k] if model.jnt_limited[k] else (-np.inf, np.inf)
        assert [
            -np.inf if told[0] is None else told[0],
            np.inf if told[1] is None else told[1],
        ] == (pytest.approx(list(ends), abs=1e-14)), name
        theirs = model.dof_frictionloss[dof], model.jnt_stiffness[k]
        assert (joint.friction, joint.stiffness) == pytest.approx(theirs, abs=1e-14), name
        strongest = _strongest(model, k)
        assert limits.effort == (None if np.isinf(strongest) else pytest.approx(strongest)), name
    # places of bodies and sites at the start and elsewhere; the start itself is MuJoCo's qpos0
    for q in (model.qpos0, random_configuration(model, np.random.default_rng(seed))):
        data.qpos[:], data.qvel[:] = q, np.random.default_rng(seed).normal(size=model.nv)
        mujoco.mj_forward(model, data)
        ours = places(found, {name: q[part] for name, part in where.items()})
        for k in range(1, model.nbody):
            _close(ours[model.body(k).name or f"body{k}"], data.xpos[k], data.xmat[k])
        for k in range(model.nsite):
            frame = _frame(found, model, model.site(k).name)
            _close(ours[frame.name], data.site_xpos[k], data.site_xmat[k])
        _compare_forces(model, data, found, q)
    for name, part in where.items():
        joint = joints[name]
        own = joint.start or np.eye(1, 7, 3)[0][7 - (part.stop - part.start) :]
        if joint.mimic is None:
            theirs = model.qpos0[part]
            sign = np.sign(theirs[-4:] @ own[-4:]) if len(theirs) > 1 else 1.0
            assert [*own[:-4], *(sign * np.array(own[-4:]))] == pytest.approx(theirs, abs=1e-14)
    _compare_couplings(model, data, found, where)
    return found


def _frame(found: Description, model: mujoco.MjModel, site: str) -> NamedFrame:
    """Return the frame of a site: of its name, or of one that is like it where a body has that."""
    if all(link.name != site for link in found.links):
        return next(frame for frame in found.frames if frame.name == site)
    known = {model.site(k).name for k in range(model.nsite)}
    (frame,) = (
        f for f in found.frames if f.name.rpartition("_")[0] == site and f.name not in known
    )
    assert any(repr(frame.name) in note for note in found.notes)
    return frame


def _strongest(model: mujoco.MjModel, joint: int) -> float:
    """Return the greatest effort on a joint: of its own range, and of its motors together."""
    found = 0.0
    drives = [k for k in range(model.nu) if model.actuator_trnid[k, 0] == joint]
    for k in drives:
        own = [np.inf]
        if model.actuator_forcelimited[k]:
            own.append(_both_ways(model.actuator_forcerange[k]))
        if model.actuator_ctrllimited[k] and model.actuator_biastype[k] == 0:
            own.append(_both_ways(model.actuator_ctrlrange[k]))
        found += abs(model.actuator_gear[k, 0]) * min(own)
    limit = _both_ways(model.jnt_actfrcrange[joint]) if model.jnt_actfrclimited[joint] else np.inf
    return float(min(limit, found if drives else np.inf))


def _both_ways(span: np.ndarray) -> float:
    """Return the force that there is in both directions; in the one, where there is no other."""
    low, high = span
    return float(min(-low, high) if low < 0 < high else max(-low, high))


@pytest.mark.parametrize("name", ["actuatorfrcrange", "forcerange", "ctrlrange"])
@pytest.mark.parametrize(
    ("span", "effort"),
    [("-3 4", 3), ("-4 3", 3), ("-2 2", 2), ("0 5", 5), ("-5 0", 5), ("1 5", 5), ("-inf 6", 6)],
)
def test_a_range_of_forces_with_unequal_ends_gives_no_more_than_both_ways_have_and_is_told(
    name: str, span: str, effort: float
) -> None:
    if name == "actuatorfrcrange":
        text = pair(one=f'{name}="{span}"')
    else:
        text = driven(f'<motor joint="j" {name}="{span}"/>')
    found = parse_mjcf(text)
    assert found.joints[0].limits.effort == effort
    told = [x for x in found.ignored if x.what == f"{name} with unequal ends"]
    assert len(told) == (span != "-2 2")


def _close(ours: np.ndarray, position: np.ndarray, turn: np.ndarray) -> None:
    np.testing.assert_allclose(ours[:3, 3], position, atol=1e-13)
    np.testing.assert_allclose(ours[:3, :3], turn.reshape(3, 3), atol=1e-13)


def _compare_forces(model: Any, data: Any, found: Description, q: np.ndarray) -> None:
    """Compare the mass matrix and the forces of gravity, inertia, springs and dampers."""
    smooth = tuple(replace(joint, friction=0.0, mimic=None) for joint in found.joints)
    made = assembled(replace(found, joints=smooth, closures=()))
    robot: Any = SimpleNamespace(assembled=made)
    v = np.array(data.qvel)
    ours, speeds, rates = exchanged(robot, model, found, q, v)
    names = [x.name for joint in made.joints for x in joint.coordinates]
    symbols = [s.symbol.name for s in made.mechanism.kinematics().speeds]
    at = dict(zip(symbols, speeds @ v, strict=True))
    told = evaluate_numerically(made.mechanism, dict(zip(names, ours, strict=True)), at)
    theirs = np.zeros((model.nv, model.nv))
    mujoco.mj_fullM(model, data, theirs)
    mass = speeds.T @ told.mass @ speeds
    np.testing.assert_allclose(mass, theirs, atol=3e-8 * np.abs(theirs).max())
    force = speeds.T @ (told.right - told.mass @ (rates @ v))
    expected = data.qfrc_passive - data.qfrc_bias
    np.testing.assert_allclose(force, expected, atol=3e-8 * max(1.0, np.abs(expected).max()))


def _compare_couplings(model: Any, data: Any, found: Description, where: Any) -> None:
    """Where joints follow others as told, MuJoCo's couplings are satisfied."""
    data.qpos[:] = random_configuration(model, np.random.default_rng(7))
    for name, mimic in found.mimics.items():
        data.qpos[where[name]] = mimic.multiplier * data.qpos[where[mimic.joint]] + mimic.offset
    mujoco.mj_forward(model, data)
    held = data.efc_pos[data.efc_type == int(mujoco.mjtConstraint.mjCNSTR_EQUALITY)]
    assert len(held) == len(found.mimics)
    np.testing.assert_allclose(held, 0, atol=1e-12)


@pytest.mark.parametrize("case", SAME)
def test_a_feature_is_read_as_mujoco_reads_it(case: str) -> None:
    compare(SAME[case])


@pytest.mark.parametrize("case", SAME)
def test_what_is_written_of_a_feature_is_the_same_to_mujoco(case: str) -> None:
    """Also where bodies are drawn: qpos0 of the written file is where the first one starts."""
    first = mujoco.MjModel.from_xml_string(SAME[case])
    told = mjcf_text(parse_mjcf(SAME[case]))
    model = mujoco.MjModel.from_xml_string(told.text)
    if model.nq == first.nq and not model.neq:
        order = [model.joint(first.joint(k).name or k).id for k in range(first.njnt)]
        for k, other in enumerate(order):
            ends = first.jnt_qposadr[k], model.jnt_qposadr[other]
            count = {0: 7, 1: 4}.get(int(first.jnt_type[k]), 1)
            ours, theirs = (
                m.qpos0[e : e + count] for m, e in zip((model, first), ends, strict=True)
            )
            assert min(np.abs(ours - theirs).max(), np.abs(ours - _mirrored(theirs)).max()) < 1e-12


def _mirrored(q: np.ndarray) -> np.ndarray:
    return np.array([*q[:-4], *-q[-4:]])


@pytest.mark.parametrize("case", TOLD)
def test_what_changes_the_motion_and_is_not_read_is_listed(case: str) -> None:
    inner, word = TOLD[case]
    text = world(inner)
    mujoco.MjModel.from_xml_string(text)
    assert any(word in entry.words for entry in parse_mjcf(text).ignored)


@pytest.mark.parametrize("case", REFUSED)
def test_what_cannot_be_read_right_is_refused_in_words(case: str) -> None:
    with pytest.raises(Error) as caught:
        parse_mjcf(REFUSED[case])
    assert len(str(caught.value)) > 20


def combined(seed: int) -> str:
    """Return a random file of several bodies, with classes, actuators and couplings."""
    rng = np.random.default_rng(seed)

    def some(*options: str) -> str:
        return str(rng.choice(options))

    def link(k: int, inner: str) -> str:
        kind = some("hinge", "hinge", "slide")
        scale = 1.0 if kind == "slide" else 40.0
        low, high = sorted(rng.uniform(-scale, scale, 2))
        ends = some("", f'range="{low} {high}"', 'range="0 0"', f'range="{high} {low}"')
        more = some("", f'ref="{rng.uniform(-scale, scale)}"', 'stiffness="2" springref=".1"')
        more += some("", ' armature=".1"', ' damping=".2"', ' class="c"')
        at = " ".join(str(x) for x in rng.uniform(-1, 1, 3))
        more += some("", f' pos="{at}"')
        joint = f'<joint name="j{k}" type="{kind}" axis="{at}" {ends} {more}/>'
        shape = some(
            '<geom size=".1"/>',
            '<geom class="c" size=".2"/>',
            '<geom type="box" size=".1 .2 .3"/>',
            '<geom size=".1" group="4"/>',
            '<geom type="capsule" size=".1" fromto="0 0 0 .1 .2 .3"/>',
        )
        parts = shape + some("", INERTIAL, f"<frame {TURNED}>{FULL}</frame>", BALL)
        if "inertial" not in parts:
            parts += '<geom size=".1" mass=".3" group="1"/>'
        parts += some("", f'<site name="b{rng.integers(3)}" {TURNED}/>' if k == 1 else "")
        parts = some(parts, parts, f"<frame {TURNED}>{parts}</frame>")
        child = some("", 'childclass="c"')
        return f'<body name="b{k}" {some("", TURNED)} {child}>{joint}{parts}{inner}</body>'

    inner = ""
    for k in reversed(range(3)):
        inner = link(k, inner)
    flags = some("", 'inertiafromgeom="true"', 'inertiagrouprange="0 3"', 'boundmass=".5"')
    flags += some("", f' eulerseq="{some("XYZ", "zyx", "ZXz")}"', ' boundinertia=".01"')
    kinds = "motor", "position", "velocity", "general"
    defaults = (
        f'<default><{some(*kinds)} gear="{rng.integers(1, 9)}"/><geom density="30"/>'
        f'<default class="c"><geom density="99" size=".1 .2 .3"/><joint frictionloss=".2"/>'
        f'<{some(*kinds)} armature=".01" forcerange="-{rng.integers(1, 9)} 4"/></default></default>'
    )
    of = some("", " class='c'")
    drive = f'<motor joint="j0"{of} ctrlrange="-2 2"/>'
    words = some("", "polycoef='.4'", "polycoef='.1 -2'")
    ties = some("", f'<joint joint1="j{rng.integers(2)}" joint2="j2" {words}/>')
    after = f"<actuator>{drive}</actuator><equality>{ties}</equality>"
    return world(inner, f"<compiler {flags}/>{defaults}", after)


@pytest.mark.parametrize("seed", seeds(40, daily=4))
def test_features_together_are_read_as_mujoco_reads_them(seed: int) -> None:
    compare(combined(seed), seed)


@pytest.mark.parametrize("seed", seeds(6, daily=1))
def test_polygons_of_an_obj_file_weigh_what_they_weigh_in_mujoco(seed: int, tmp_path: Path) -> None:
    """A prism of an outline that need not be convex, off the origin, with faces not quite flat."""
    rng = np.random.default_rng(seed)
    n = int(rng.integers(4, 9))
    angles, radii = np.sort(rng.uniform(0, 2 * np.pi, n)), rng.uniform(0.1, 0.4, n)
    outline = np.c_[radii * np.cos(angles), radii * np.sin(angles)] + rng.uniform(-0.5, 0.5, 2)
    ends = np.vstack([np.c_[outline, np.zeros(n)], np.c_[0.8 * outline, np.full(n, 0.3)]])
    points = ends @ np.linalg.qr(rng.normal(size=(3, 3)))[0]
    points += float(rng.choice((0.0, 0.01))) * rng.normal(size=points.shape)
    faces = [list(range(n))[::-1], list(range(n, 2 * n))]
    faces += [[k, (k + 1) % n, (k + 1) % n + n, k + n] for k in range(n)]
    rows = [f"v {x!r} {y!r} {z!r}" for x, y, z in points.astype(np.float32).tolist()]
    rows += ["f " + " ".join(str(k + 1) for k in face) for face in faces]
    (tmp_path / "m.obj").write_text("\n".join(rows))
    for way in ("legacy", "exact", "shell", "convex"):
        path = tmp_path / f"{way}.xml"
        asset = f'<asset><mesh name="m" file="m.obj" inertia="{way}"/></asset>'
        path.write_text(geom('type="mesh" mesh="m"', asset))
        try:
            theirs = mujoco.MjModel.from_xml_path(str(path)).body("a")
        except ValueError:  # its volume is negative, or it is not closed
            continue
        mass = read_mjcf(path).link("a").mass
        assert mass is not None
        assert mass.mass == pytest.approx(float(theirs.mass[0]), rel=1e-9), way
        np.testing.assert_allclose(mass.center, theirs.ipos, atol=1e-9)
        moments = np.linalg.eigvalsh(np.array(tensor(mass.inertia)))
        np.testing.assert_allclose(moments, np.sort(theirs.inertia), rtol=1e-7)
