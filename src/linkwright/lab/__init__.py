"""The laboratory: servos, tasks, a console and a recorder around a robot, simulated or real."""

from __future__ import annotations

from typing import TYPE_CHECKING

from linkwright.lazy import lazy_names

if TYPE_CHECKING:
    from linkwright.lab.config import (
        EndEffector as EndEffector,
        JointConfig as JointConfig,
        LabConfig as LabConfig,
        VisionConfig as VisionConfig,
    )
    from linkwright.lab.functions import (
        absolute as absolute,
        acos as acos,
        asin as asin,
        atan as atan,
        atan2 as atan2,
        clip as clip,
        cos as cos,
        cosh as cosh,
        equal as equal,
        exp as exp,
        floor as floor,
        log as log,
        maximum as maximum,
        minimum as minimum,
        pi as pi,
        sign as sign,
        sin as sin,
        sinh as sinh,
        sqrt as sqrt,
        tan as tan,
        tanh as tanh,
        where as where,
    )
    from linkwright.lab.tasks import (
        Task as Task,
        channel as channel,
        parameter as parameter,
        setting as setting,
        state as state,
    )

_HOMES = {
    "linkwright.lab.config": ("EndEffector", "JointConfig", "LabConfig", "VisionConfig"),
    "linkwright.lab.functions": (
        "absolute",
        "acos",
        "asin",
        "atan",
        "atan2",
        "clip",
        "cos",
        "cosh",
        "equal",
        "exp",
        "floor",
        "log",
        "maximum",
        "minimum",
        "pi",
        "sign",
        "sin",
        "sinh",
        "sqrt",
        "tan",
        "tanh",
        "where",
    ),
    "linkwright.lab.tasks": ("Task", "channel", "parameter", "setting", "state"),
}

__all__ = [
    "EndEffector",
    "JointConfig",
    "LabConfig",
    "Task",
    "VisionConfig",
    "absolute",
    "acos",
    "asin",
    "atan",
    "atan2",
    "channel",
    "clip",
    "cos",
    "cosh",
    "equal",
    "exp",
    "floor",
    "log",
    "maximum",
    "minimum",
    "parameter",
    "pi",
    "setting",
    "sign",
    "sin",
    "sinh",
    "sqrt",
    "state",
    "tan",
    "tanh",
    "where",
]

__getattr__ = lazy_names(__name__, _HOMES)
