"""The attributes of MJCF elements that are read; all others are listed as left out."""

from __future__ import annotations

TURNS = ("quat", "axisangle", "xyaxes", "zaxis", "euler")
"""The attributes that turn a frame; an element may have one of them."""

USED: dict[str, tuple[str, ...]] = {
    "geom": (
        *("name", "class", "type", "size", "fromto", "pos", *TURNS),
        *("mass", "density", "shellinertia", "group", "mesh", "rgba", "material"),
        *("contype", "conaffinity"),
    ),
    "joint": (
        *("name", "class", "type", "pos", "axis", "range", "limited", "ref", "springref"),
        *("stiffness", "damping", "frictionloss", "armature"),
        *("actuatorfrcrange", "actuatorfrclimited"),
    ),
    "site": ("name", "class", "pos", *TURNS, "fromto"),
    "mesh": (
        *("name", "class", "file", "vertex", "face", "scale", "refpos", "refquat", "inertia"),
    ),
    "material": ("name", "class", "rgba"),
    "equality": ("active",),
}
"""By element; what is said of them in classes of defaults is read as well."""

IN_PART = frozenset({"size", "gear", "damping", "stiffness"})
"""The attributes of which some numbers may be given, and the rest by a class."""

ACTUATORS = (
    "general",
    "motor",
    "position",
    "velocity",
    "intvelocity",
    "damper",
    "cylinder",
    "muscle",
    "adhesion",
    "dcmotor",
    "pid",
)
"""The kinds of actuators."""

SENSORS = (
    dict.fromkeys(("accelerometer", "velocimeter", "gyro", "force", "torque", "touch"), "site")
    | dict.fromkeys(("magnetometer", "rangefinder"), "site")
    | dict.fromkeys(("jointpos", "jointvel", "ballquat", "ballangvel", "jointactuatorfrc"), "joint")
    | dict.fromkeys(("framepos", "framequat", "framelinvel", "frameangvel"), "objname")
    | dict.fromkeys(("framelinacc", "frameangacc"), "objname")
)
"""The kinds of sensors that are read, and the attribute that says what they are on."""

ACTUATOR = (
    *("name", "class", "group", "joint", "jointinparent", "gear", "armature", "damping"),
    *("forcerange", "forcelimited", "ctrlrange", "ctrllimited"),
)
"""What is read of an actuator."""
