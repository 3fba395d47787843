"""What a task is handed: the robot as it is, and what is wanted, as views of the slot's arrays.

The arrays hold numbers, or symbols where a task is compiled; the views are the same.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

import numpy as np

from linkwright.base.errors import Error, suggestion, unknown
from linkwright.lab.kinematics import ASKED, WHOLE, RobotAnswers
from linkwright.lab.slot import (
    BLOB,
    CARTESIAN,
    FRAME,
    JOINT_STATE,
    JOINT_TARGET,
    MUSCLE,
    SlotLayout,
)


class _Part:
    """An array, or a number, among the parts of a view."""

    def __set_name__(self, owner: type, name: str) -> None:
        self.name = name

    def __get__(self, view: View | None, owner: type) -> Any:
        if view is None:
            return self
        found = view.parts[self.name]
        return found if found.ndim else found.item()

    def __set__(self, view: View, value: Any) -> None:
        if not view.writable:
            raise Error(f"{view.path}.{self.name} is what it is", remedy="set it in desired")
        part = view.parts[self.name]
        try:
            part[...] = value
        except (TypeError, ValueError):
            name = f"{view.path}.{self.name}"
            if np.asarray(value).dtype.kind not in "biufO" or np.size(value) in (1, part.size):
                raise Error(f"{name} is set to {value!r}, which is not a number") from None
            raise Error(
                f"{name} has {part.size} numbers, not {np.size(value)}",
                remedy="give one for all, or one for each",
            ) from None


class View:
    """Named parts of an array."""

    __slots__ = ("parts", "path", "writable")

    def __init__(self, path: str, parts: Mapping[str, Any], writable: bool) -> None:
        self.path, self.parts, self.writable = path, dict(parts), writable


class FrameView(View):
    """A frame in space: position, velocity, acceleration, quaternion, angular motion."""

    __slots__ = ()
    x = _Part()
    xd = _Part()
    xdd = _Part()
    q = _Part()
    w = _Part()
    wd = _Part()


class TargetView(FrameView):
    """A wanted frame; `status` is 1 for each of six components that is wanted."""

    __slots__ = ()
    status = _Part()


class BlobView(View):
    """A blob as it is seen; `status` is 0 where it is not."""

    __slots__ = ()
    x = _Part()
    xd = _Part()
    xdd = _Part()
    status = _Part()


class MuscleView(View):
    """A muscle as it is: m, m/s, N."""

    __slots__ = ()
    length = _Part()
    speed = _Part()
    tension = _Part()


class ActivationView(View):
    """What is wanted of a muscle: 0 to 1."""

    __slots__ = ()
    activation = _Part()


class WantedView(View):
    """What is wanted of the joints."""

    __slots__ = ()
    q = _Part()
    u = _Part()
    a = _Part()
    uff = _Part()
    uex = _Part()


class Named(dict[str, Any]):
    """Views by name; one that is not there is rejected in words."""

    def __init__(self, what: str, views: Mapping[str, View]) -> None:
        super().__init__(views)
        self.what = what

    def __missing__(self, name: str) -> Any:
        there = ", ".join(self) or "none"
        raise unknown(self.what, name, self, f"there are: {there}", kind=Error)


class _Moving:
    """What a task may ask of links, vertices and end-effectors, and of the whole robot."""

    __slots__ = ()
    asked: RobotAnswers

    def position(self, frame: str) -> Any:
        """Return where a frame is in the world, m."""
        return self.asked.of("position", frame)

    def pose(self, frame: str) -> Any:
        """Return the homogeneous 4 x 4 matrix of a frame in the world."""
        return self.asked.of("pose", frame)

    def jacobian(self, frame: str) -> Any:
        """Return velocity and angular velocity of a frame for unit speeds, 6 x n."""
        return self.asked.of("jacobian", frame)

    def jacobian_rate(self, frame: str) -> Any:
        """Return the rate of `jacobian`."""
        return self.asked.of("jacobian_rate", frame)

    def center_of_mass(self) -> Any:
        """Return the mass center in the world with what end-effectors carry, m."""
        return self.asked.of("center_of_mass")

    def center_of_mass_jacobian(self) -> Any:
        """Return the velocity of the mass center for unit speeds, 3 x n."""
        return self.asked.of("center_of_mass_jacobian")


class NowView(WantedView, _Moving):
    """What is wanted of the joints at present, and where that puts the robot."""

    __slots__ = ("asked", "cart")

    def __init__(self, wanted: Mapping[str, Any]) -> None:
        super().__init__("state.desired", wanted, False)
        self.cart = Named("end-effector", {})


class StateView(View, _Moving):
    """The robot as it is: joints, end-effectors, base, blobs, and what is wanted at present."""

    __slots__ = ("asked", "base", "blobs", "cart", "desired", "muscles")
    q = _Part()
    u = _Part()
    a = _Part()
    ufb = _Part()
    tau = _Part()
    load = _Part()

    def __init__(self, layout: SlotLayout, arguments: Any) -> None:
        seen = arguments.view()
        seen.flags.writeable = False
        at = layout.argument
        super().__init__("state", {name: seen[at[name]] for name in JOINT_STATE}, False)
        wanted = {name: seen[at[f"now_{name}"]] for name in JOINT_TARGET}
        self.desired = NowView(wanted)
        self.base = FrameView("state.base", _cut(seen[at["base"]], CARTESIAN), False)
        carts: dict[str, View] = {}
        nows: dict[str, View] = {}
        blobs: dict[str, View] = {}
        for i, name in enumerate(layout.end_effectors):
            for found, port, path in ((carts, "cart", "cart"), (nows, "now_cart", "desired.cart")):
                row = seen[at[port]].reshape(-1, FRAME)[i]
                found[name] = FrameView(f"state.{path}[{name!r}]", _cut(row, CARTESIAN), False)
        for i, name in enumerate(layout.blobs):
            row = seen[at["blobs"]].reshape(-1, sum(BLOB.values()))[i]
            blobs[name] = BlobView(f"state.blobs[{name!r}]", _cut(row, BLOB), False)
        muscles: dict[str, View] = {}
        for i, name in enumerate(layout.muscles):
            row = seen[at["muscle"]].reshape(-1, len(MUSCLE))[i]
            muscles[name] = MuscleView(f"state.muscles[{name!r}]", _cut(row, MUSCLE), False)
        self.cart, self.blobs = Named("end-effector", carts), Named("blob", blobs)
        self.muscles = Named("muscle", muscles)
        self.desired.cart.update(nows)
        more = {"base": self.base.parts, "carried": seen[at["carried"]] if carts else ()}
        parts = {name: view.parts for name, view in carts.items()}
        self.asked = RobotAnswers(layout.kinematics, {**self.parts, **more}, parts)
        self.desired.asked = RobotAnswers(layout.kinematics, {**wanted, **more}, parts, self.asked)


class DesiredView(WantedView):
    """What a task wants; what it does not set stays. `done` ends the task."""

    __slots__ = ("cart", "muscles")
    done = _Part()

    def __init__(self, layout: SlotLayout, results: Any) -> None:
        at = layout.result
        parts = {name: results[at[f"des_{name}"]] for name in JOINT_TARGET}
        parts["done"] = results[at["done"]].reshape(())
        super().__init__("desired", parts, True)
        carts = {}
        for i, name in enumerate(layout.end_effectors):
            row = results[at["target"]].reshape(-1, FRAME)[i]
            frame = _cut(row, CARTESIAN)
            frame["status"] = results[at["target_status"]].reshape(-1, 6)[i]
            carts[name] = TargetView(f"desired.cart[{name!r}]", frame, True)
        self.cart = Named("end-effector", carts)
        wanted = results[at["activation"]] if layout.muscles else results[:0]
        self.muscles = Named(
            "muscle",
            {
                name: ActivationView(
                    f"desired.muscles[{name!r}]",
                    {"activation": wanted[i : i + 1].reshape(())},
                    True,
                )
                for i, name in enumerate(layout.muscles)
            },
        )


def _cut(row: Any, sizes: Mapping[str, int]) -> dict[str, Any]:
    """Return the parts of a row by name; a single number has no axis."""
    parts, at = {}, 0
    for name, size in sizes.items():
        part = row[at : at + size]
        parts[name] = part.reshape(()) if size == 1 else part
        at += size
    return parts


def missing_part(error: AttributeError) -> Error | None:
    """Return what is reported of a part that a view does not have, where that was asked for."""
    found = re.match(r"'(\w+)' object has no attribute '(\w+)'", str(error))
    views = {v.__name__: (path, v) for path, v in _PATHS.items()}
    if found is None or found[1] not in views:
        return None
    path, view = views[found[1]]
    parts = [n for n in dir(view) if isinstance(getattr(view, n), _Part)]
    parts += [
        n
        for n in ("cart", "base", "blobs", "muscles", "desired", *ASKED, *WHOLE)
        if hasattr(view, n)
    ]
    return Error(
        f"there is no {path}.{found[2]}",
        remedy=suggestion(found[2], parts, f"there are {', '.join(parts)}"),
    )


_PATHS: dict[str, type[View]] = {
    "state": StateView,
    "desired": DesiredView,
    "state.desired": WantedView,
    "state.cart[...]": FrameView,
    "desired.cart[...]": TargetView,
    "state.blobs[...]": BlobView,
    "state.muscles[...]": MuscleView,
    "desired.muscles[...]": ActivationView,
}
