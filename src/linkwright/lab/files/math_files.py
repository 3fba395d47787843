"""The math files of SL as C: dynamics and kinematics in the order and the arrays of SL.

SL's compiler wrote six of them from a `.dyn` file (section 7.2 of its manual): inverse and forward
dynamics, positions of vertices with the joints that carry them, information of links, the Jacobian
of end-effectors, and what draws a stick figure. Arrays count from 1, as all of SL's do; element 0
is not touched. `sl_math.h` has sizes, names and functions, and a Makefile puts them into a library
that needs only libm.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Mapping
from dataclasses import replace
from pathlib import Path

from linkwright.backends.c import c_source
from linkwright.base.errors import InputError
from linkwright.base.files import file_exists, write_text
from linkwright.formats.robot.description import NamedFrame
from linkwright.lab.config import LabConfig
from linkwright.lab.plant import place_of
from linkwright.program.program import Program
from linkwright.robots import Robot

_NAME = re.compile(r"\W")


def math_texts(config: LabConfig) -> dict[str, str]:
    """Return the six files, their header and their Makefile, by name.

    Args:
        config: of a laboratory whose base is fixed.
    """
    if config.base == "floating" or config.mechanism is not None:
        raise InputError(
            f"the math files are of a robot file on a fixed base, and {config.name!r} is none",
            remedy="fix its base, or write --target kernel",
        )
    frames = {f"sl_{e.name}": NamedFrame(f"sl_{e.name}", e.link, place_of(e)) for e in
              config.end_effectors}  # fmt: skip
    description = config.description
    robot = Robot(replace(description, frames=(*description.frames, *frames.values())))
    if tuple(robot.coordinates) != config.names:
        raise InputError(
            f"the joints of {config.name!r} are not those of its robot, in its order",
            remedy="list all joints in the order of the robot's file",
        )
    vertices, links = dict(config.vertices), {j.name: j.child for j in description.joints}
    parts = {
        "InvDyn_math.c": _inverse(robot),
        "ForDyn_math.c": _forward(robot),
        "LEKin_math.c": _endpoints(robot, vertices),
        "LEInfo_math.c": _information(robot, config, links),
        "GJac_math.c": _jacobian(robot, list(frames)),
        "LEKin_contact.h": _contacts(config),
        "OpenGL.h": _sticks(config, links),
    }
    made = {name: text if name.endswith(".h") else _file(config, text) for name, text in
            parts.items()}  # fmt: skip
    return {"sl_math.h": _header(config, vertices), **made, "Makefile": _makefile(parts)}


def write_math(
    config: LabConfig, folder: str | os.PathLike[str], *, replace: bool = False
) -> list[Path]:
    """Write the math files of a laboratory, and return their paths.

    Args:
        config: of the laboratory.
        folder: that they go to; it is made where it is not there.
        replace: whether files that are there may be replaced.
    """
    texts, home = math_texts(config), Path(folder)
    there = [home / name for name in texts if (home / name).exists()]
    if there and not replace:
        raise file_exists(there[0])
    home.mkdir(parents=True, exist_ok=True)
    for name, text in texts.items():
        write_text(home / name, text, replace=True)
    return [home / name for name in texts]


def _static(program: Program, name: str) -> str:
    """Return a program as a function of its file alone."""
    text = c_source(program, name=name)
    return re.sub(rf"(?m)^void {name}\(", f"static void {name}(", text)


def _file(config: LabConfig, text: str) -> str:
    return f"/* {config.name}: written by linkwright; arrays count from 1. */\n" + (
        f'#include "sl_math.h"\n\n{text}'
    )


def _inverse(robot: Robot) -> str:
    return (
        f"{_static(robot.inverse_dynamics.program, 'inverse')}\n"
        "void sl_inverse_dynamics(const double th[], const double thd[], const double thdd[],\n"
        "                         double u[])\n{\n"
        "    inverse(th + 1, thd + 1, thdd + 1, u + 1);\n}\n"
    )


def _forward(robot: Robot) -> str:
    return (
        f"{_static(robot.forward_dynamics.program, 'forward')}\n"
        "void sl_forward_dynamics(const double th[], const double thd[], const double u[],\n"
        "                         double thdd[])\n{\n"
        "    forward(th + 1, thd + 1, u + 1, thdd + 1);\n}\n"
    )


def _endpoints(robot: Robot, vertices: Mapping[str, str]) -> str:
    names = [f"vertex_{k}" for k in range(1, len(vertices) + 1)]
    found = [
        _static(robot.position.of(frame).program, name)
        for name, frame in zip(names, vertices.values(), strict=True)
    ]
    calls = "".join(f"    {name}(th + 1, Xlink[{k}] + 1);\n" for k, name in enumerate(names, 1))
    return "\n".join(found) + (
        "\nvoid sl_endpoint_kinematics(const double th[], double Xlink[N_LINKS + 1][4])\n"
        f"{{\n{calls}}}\n"
    )


def _information(robot: Robot, config: LabConfig, links: Mapping[str, str]) -> str:
    axes = {j.name: j.axis for j in config.description.joints}
    masses = {link.name: link.mass for link in config.description.links}
    found, calls = [], []
    for k, name in enumerate(config.names, 1):
        found.append(_static(robot.pose.of(links[name]).program, f"link_{k}"))
        mass = masses[links[name]]
        center = [0.0] * 3 if mass is None else [mass.mass * c for c in mass.center]
        axis, at = ", ".join(map(repr, axes[name])), ", ".join(repr(float(c)) for c in center)
        weight = 0.0 if mass is None else float(mass.mass)
        calls.append(
            f"    link_{k}(th + 1, T);\n"
            f"    put(T, (const double[]){{{axis}}}, (const double[]){{{at}}}, {weight!r},\n"
            f"        Xaxis[{k}], Xorigin[{k}], Xmcog[{k}], Alink[{k}]);\n"
        )
    put = """static void put(const double T[16], const double axis[3], const double mcm[3],
                double m, double Xaxis[4], double Xorigin[4], double Xmcog[4], double A[5][5])
{
    int i, j;
    for (i = 0; i < 3; ++i) {
        const double *R = T + 4*i;
        Xaxis[i + 1] = R[0]*axis[0] + R[1]*axis[1] + R[2]*axis[2];
        Xorigin[i + 1] = R[3];
        Xmcog[i + 1] = R[0]*mcm[0] + R[1]*mcm[1] + R[2]*mcm[2] + m*R[3];
    }
    for (i = 0; i < 4; ++i)
        for (j = 0; j < 4; ++j)
            A[i + 1][j + 1] = T[4*i + j];
}
"""
    return "\n".join([*found, put]) + (
        "\nvoid sl_link_information(const double th[], double Xaxis[N_DOFS + 1][4],\n"
        "                         double Xorigin[N_DOFS + 1][4], double Xmcog[N_DOFS + 1][4],\n"
        f"                         double Alink[N_DOFS + 1][5][5])\n{{\n    double T[16];\n"
        f"{''.join(calls)}}}\n"
    )


def _jacobian(robot: Robot, ends: Iterable[str]) -> str:
    ends = list(ends)
    names = [f"end_{k}" for k in range(1, len(ends) + 1)]
    found = [
        _static(robot.jacobian.of(frame).program, name)
        for name, frame in zip(names, ends, strict=True)
    ]
    calls = "".join(
        f"    {n}(th + 1, own);\n    put(own, J + {6 * k});\n" for k, n in enumerate(names)
    )
    put = """static void put(const double own[], double J[][N_DOFS + 1])
{
    int i, j;
    for (i = 0; i < 6; ++i)
        for (j = 0; j < N_DOFS; ++j)
            J[i + 1][j + 1] = own[i*N_DOFS + j];
}
"""
    body = f"    double own[6*N_DOFS];\n{calls}" if ends else "    (void)th;\n    (void)J;\n"
    return "\n".join([*found, *([put] if ends else [])]) + (
        f"\nvoid sl_geometric_jacobian(const double th[], double J[][N_DOFS + 1])\n{{\n{body}}}\n"
    )


def _owners(config: LabConfig) -> list[int]:
    """Return the number of the joint that carries each vertex; 0 for one that stands."""
    above = {joint.child: joint for joint in config.description.joints}
    frames = {frame.name: frame.link for frame in config.description.frames}
    found = []
    for frame in config.vertices.values():
        link = frames.get(frame, frame)
        while link in above and above[link].name not in config.names:
            link = above[link].parent
        joint = above.get(link)
        found.append(0 if joint is None else config.names.index(joint.name) + 1)
    return found


def _contacts(config: LabConfig) -> str:
    owners = ", ".join(map(str, [0, *_owners(config)]))
    return (
        f"/* {config.name}: the joint that carries each vertex. */\n"
        "#ifndef SL_CONTACT_H\n#define SL_CONTACT_H\n\n"
        f"static const int sl_contact_dof[] = {{{owners}}};\n\n#endif\n"
    )


def _sticks(config: LabConfig, links: Mapping[str, str]) -> str:
    """Return the sticks of a figure: pairs of joints, and of a joint and what it carries."""
    above = {joint.child: joint for joint in config.description.joints}
    pairs = []
    for name in config.names:
        link = above[links[name]].parent
        while link in above and above[link].name not in config.names:
            link = above[link].parent
        if link in above:
            pairs.append((config.names.index(above[link].name) + 1, config.names.index(name) + 1))
    joints = ",\n    ".join(f"{{{a}, {b}}}" for a, b in pairs) or "{0, 0}"
    ends = [(d, k) for k, d in enumerate(_owners(config), 1) if d]
    tips = ",\n    ".join(f"{{{a}, {b}}}" for a, b in ends) or "{0, 0}"
    return (
        f"/* {config.name}: sticks from Xorigin to Xorigin, and from Xorigin to Xlink. */\n"
        "#ifndef SL_OPENGL_H\n#define SL_OPENGL_H\n\n"
        f"#define N_STICKS {len(pairs)}\n#define N_TIPS {len(ends)}\n"
        f"static const int sl_sticks[][2] = {{\n    {joints}\n}};\n"
        f"static const int sl_tips[][2] = {{\n    {tips}\n}};\n\n#endif\n"
    )


def _header(config: LabConfig, vertices: Mapping[str, str]) -> str:
    dofs = ",\n    ".join(f"{_NAME.sub('_', n)} = {k}" for k, n in enumerate(config.names, 1))
    names = "".join(f"/* vertex {k}: {n} */\n" for k, n in enumerate(vertices, 1))
    return (
        f"/* {config.name}: the math of SL, written by linkwright. Arrays count from 1. */\n"
        "#ifndef SL_MATH_H\n#define SL_MATH_H\n\n"
        f"#define N_DOFS {len(config.names)}\n#define N_LINKS {len(vertices)}\n"
        f"#define N_ENDEFFS {len(config.end_effectors)}\n\n"
        f"enum RobotDOFs {{\n    {dofs}\n}};\n\n{names}\n"
        "void sl_inverse_dynamics(const double th[], const double thd[], const double thdd[],\n"
        "                         double u[]);\n"
        "void sl_forward_dynamics(const double th[], const double thd[], const double u[],\n"
        "                         double thdd[]);\n"
        "void sl_endpoint_kinematics(const double th[], double Xlink[N_LINKS + 1][4]);\n"
        "void sl_link_information(const double th[], double Xaxis[N_DOFS + 1][4],\n"
        "                         double Xorigin[N_DOFS + 1][4], double Xmcog[N_DOFS + 1][4],\n"
        "                         double Alink[N_DOFS + 1][5][5]);\n"
        "/* 6 rows for each end-effector, velocity first */\n"
        "void sl_geometric_jacobian(const double th[], double J[][N_DOFS + 1]);\n\n#endif\n"
    )


def _makefile(parts: Iterable[str]) -> str:
    objects = " ".join(name[:-2] + ".o" for name in parts if name.endswith(".c"))
    return (
        "CFLAGS = -O2 -std=c99 -Wall -fPIC\n\n"
        f"libsl_math.a: {objects}\n\t$(AR) rcs $@ $^\n\n%.o: %.c sl_math.h\n"
        "\t$(CC) $(CFLAGS) -c $< -o $@\n\nclean:\n\trm -f *.o libsl_math.a\n"
    )
