"""One HTML file that plays a motion, with nothing else: no network, no server, no other file.

The file holds a small renderer (WebGL 2) and a plotter of our own in plain JavaScript, and one
binary block: triangles with 16-bit places in their box and poses with 16 bits over their range,
differences from sample to sample, high bytes apart from low ones; channels as the floating-point
numbers that they are; all of it deflated. A minute of a humanoid at 60 frames a second takes well
under 3 MB; where it would not, frames, then triangles, are thinned until it does.
"""

from __future__ import annotations

import base64
import hashlib
import json
import os
import zlib
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from linkwright.base.errors import InputError
from linkwright.base.files import write_text
from linkwright.formats.meshes.triangle_mesh import TriangleMesh
from linkwright.formats.robot.description import Place
from linkwright.pages.assets_text import asset, icon
from linkwright.pages.scope import first_layout
from linkwright.scene.arrow_shapes import FULL, HEAD, HEAD_RADIUS, SHAFT_RADIUS, SHORTEST
from linkwright.scene.forces import (
    LEAST,
    LONGEST,
    USUAL,
    recorded_forces,
    reference_of,
)
from linkwright.scene.motions import SceneMotion
from linkwright.scene.scene import Scene
from linkwright.scene.viewpoint import extent, pedestal, point_of, seen_of, upright
from linkwright.version import __version__

Array = NDArray[np.float64]
MOST_BYTES = 2_900_000
MOST_FRAMES = 3600
_TRIANGLES = 60_000
_SAMPLES = 400_000  # of all channels together
_EXACT = 100_000  # samples up to which channels have 64 bits; 32 beyond
SCRIPTS = (
    "unpack.js",
    "renderer.js",
    "labels.js",
    "signals.js",
    "plots.js",
    "scope.js",
    "camera.js",
    "arrows.js",
    "page.js",
)
_TOP = 65534  # the highest level; 65535 stands for what is not a number


@dataclass(eq=False)
class PageBlock:
    """Bytes that grow, with arrays at known places in them."""

    parts: list[bytes] = field(default_factory=list)
    size: int = 0

    def add(self, columns: NDArray[np.uint16]) -> list[int]:
        """Store rows x columns of levels, each column as differences; return place and shape."""
        rows, count = columns.shape
        steps = np.diff(columns.T, axis=1, prepend=np.uint16(0)).astype("<u2")
        planes = steps.reshape(-1).view(np.uint8).reshape(-1, 2).T
        start = self.size
        self._append(np.ascontiguousarray(planes).tobytes())
        return [start, rows, count]

    def add_numbers(self, columns: Array, bits: int) -> dict[str, Any]:
        """Store rows x columns of floating-point numbers, each byte of them apart."""
        rows, count = columns.shape
        numbers = np.ascontiguousarray(columns.T, f"<f{bits // 8}")
        start = self.size
        self._append(np.ascontiguousarray(numbers.reshape(-1, 1).view(np.uint8).T).tobytes())
        return {"at": [start, rows, count], "bits": bits}

    def _append(self, data: bytes) -> None:
        self.parts.append(data)
        self.size += len(data)

    def text(self) -> str:
        """Return all of it, deflated, as base64."""
        return deflated(b"".join(self.parts))


def deflated(data: bytes) -> str:
    """Return bytes, deflated, as base64."""
    return base64.b64encode(zlib.compress(data, 9)).decode()


def page_text(motions: Sequence[SceneMotion], *, title: str = "", most: int = MOST_BYTES) -> str:
    """Return the page of one or several takes, the first in full and the others as ghosts."""
    if not motions:
        raise InputError("a page needs a recording or a model")
    if not most > 0:
        raise InputError(f"a page cannot have {most} bytes", remedy="allow 2,900,000, say")
    frames, triangles = MOST_FRAMES, _TRIANGLES
    for _ in range(12):
        text = _written(motions, title, frames, triangles)
        if len(text) <= most:
            return text
        if triangles > 4000 and _share_of_triangles(motions) > 0.4:
            triangles = int(0.6 * triangles)
        else:
            frames, triangles = int(0.7 * frames), max(2000, int(0.8 * triangles))
    raise InputError(
        f"the page does not fit into {most} bytes",
        remedy="record fewer channels, or allow more bytes",
    )


def write_page(
    path: str | os.PathLike[str],
    motions: Sequence[SceneMotion],
    *,
    title: str = "",
    most: int = MOST_BYTES,
    replace: bool = True,
) -> int:
    """Write the page of takes into a file, and return its size in bytes."""
    text = page_text(motions, title=title, most=most)
    write_text(path, text, replace=replace)
    return len(text.encode())


def page_notes(motions: Sequence[SceneMotion]) -> list[str]:
    """Return what a user should know of takes that share a page."""
    scene, notes = motions[0].scene, [n for motion in motions for n in motion.notes]
    if scene is not None:
        others = [t for t in motions[1:] if t.scene is not None and not _alike(t.scene, scene)]
        notes += [f"{t.name} is not of {scene.name!r}: only its plots are shown" for t in others]
    return list(dict.fromkeys(notes))


def _alike(one: Scene, other: Scene) -> bool:
    return [n.name for n in one.nodes] == [n.name for n in other.nodes]


def _share_of_triangles(motions: Sequence[SceneMotion]) -> float:
    scene = motions[0].scene
    if scene is None:
        return 0.0
    count = min(sum(len(s.faces) for node in scene.surfaces for s in node), _TRIANGLES)
    moving = sum(len(t.recording) for t in motions) * len(scene.nodes) * 7
    return 9 * count / (9 * count + moving)


def _written(motions: Sequence[SceneMotion], title: str, frames: int, triangles: int) -> str:
    block = PageBlock()
    scene = motions[0].scene
    data: dict[str, Any] = {
        "title": title or (scene.name if scene is not None else motions[0].name),
        "doc": scene.doc if scene is not None else "",
        "version": __version__,
        "story": motions[0].story,
        "notes": page_notes(motions),
        "takes": [_motion(block, motion, scene, frames, triangles) for motion in motions],
        "layout": first_layout(motions[0].recording).plain(),
        "scene": None if scene is None else scene_data(block, scene, motions, triangles),
    }
    return filled(data, block, SCRIPTS)


def filled(
    data: dict[str, Any],
    block: PageBlock,
    scripts: Sequence[str],
    *,
    style: str = "",
    more: str = "",
) -> str:
    """Return the page of some data; with `more` elements it says itself what it may do."""
    parts = {
        "ICON": icon(),
        "TITLE": _escaped(data["title"]),
        "STYLE": asset("page.css") + asset("plots.css") + asset("touch.css") + style,
        "DATA": json.dumps(data, separators=(",", ":"), ensure_ascii=False).replace("<", "\\u003c"),
        "BLOCK": block.text(),
        "SCRIPT": "\n".join(map(asset, scripts)),
        "MORE": more,
        "POLICY": "",
    }
    pieces = asset("page.html").split("%%")
    if more:
        script = '\n"use strict";\n' + parts["SCRIPT"] + "\n"
        parts["POLICY"] = _policy(script, "\n" + parts["STYLE"] + "\n")
    return "".join(parts[p] if k % 2 else p for k, p in enumerate(pieces))


def _policy(script: str, style: str) -> str:
    """Return what a page that holds one script and one sheet of style may do: nothing else."""
    script, style = (
        f"'sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}'"
        for text in (script, style)
    )
    rules = (
        f"default-src 'none'; script-src {script} 'wasm-unsafe-eval'; style-src {style}; "
        "img-src data: blob:; base-uri 'none'; form-action 'none'"
    )
    return f'<meta http-equiv="Content-Security-Policy" content="{rules}">\n'


def _escaped(text: str) -> str:
    return text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")


# -- what moves ------------------------------------------------------------------------------------
def _motion(
    block: PageBlock, motion: SceneMotion, scene: Scene | None, frames: int, triangles: int
) -> dict[str, Any]:
    times = motion.recording.times
    info: dict[str, Any] = {"name": motion.name, "channels": _channels(block, motion, frames)}
    info["start"], info["end"] = (float(times[0]), float(times[-1])) if len(times) else (0.0, 0.0)
    if motion.q is None or scene is None or motion.scene is None or not len(times):
        return info
    if not _alike(motion.scene, scene):
        return info
    even, poses, center = _sampled(motion, motion.scene, frames)
    info["poses"] = _levels(block, poses.reshape(len(poses), -1), poses=True)
    info["center"] = _levels(block, center)
    info["arrows"] = _arrows(block, motion, even, poses)
    info["shapes"] = _own_shapes(block, motion.scene, scene, triangles)
    return info


def _own_shapes(
    block: PageBlock, own: Scene, first: Scene, triangles: int
) -> list[dict[str, Any] | None]:
    """Store the shapes of nodes that are not those of the first take, None for the others."""
    thinned = own.surfaces_within(triangles)
    made: list[dict[str, Any] | None] = []
    for k, (mine, theirs) in enumerate(zip(own.surfaces, first.surfaces, strict=True)):
        same = len(mine) == len(theirs) and all(
            a is b or (np.array_equal(a.points, b.points) and a.color == b.color)
            for a, b in zip(mine, theirs, strict=True)
        )
        point = [round(float(v), 6) for v in point_of(own, own.nodes[k].name)]
        parts = None if same else [_part(block, s) for s in thinned[k]]
        made.append(None if parts is None else {"parts": parts, "point": point})
    return made


def _arrows(
    block: PageBlock, motion: SceneMotion, even: Array, poses: Array
) -> dict[str, Any] | None:
    """Store the forces of a take, which points touch, and how long arrows are."""
    assert motion.scene is not None
    arrows, column = recorded_forces(motion.scene, motion.recording)
    if not arrows.each:
        return None
    times = motion.recording.times
    shown = arrows.at(
        poses, lambda name: np.interp(even, times, np.broadcast_to(column(name), times.shape))
    )
    each = [
        {
            "name": a.name,
            "node": a.node,
            "at": [float(f"{v:.6g}") for v in a.at],
            "down": a.down,
            "contact": bool(a.touch),
            "far": None if a.far is None else [a.far[0], [float(f"{v:.6g}") for v in a.far[1]]],
            "reaction": a.reaction,
        }
        for a in arrows.each
    ]
    return {
        "each": each,
        "forces": _levels(block, shown.forces.reshape(len(even), -1)),
        "touching": _levels(block, shown.touching.astype(float)),
        "reference": float(f"{reference_of(arrows, shown.forces):.6g}"),
        "share": [USUAL, LONGEST, LEAST, SHORTEST],
        "shape": [FULL, HEAD, HEAD_RADIUS, SHAFT_RADIUS],
        "units": arrows.units,
        "radius": float(f"{extent(motion.scene):.6g}"),
    }


def _sampled(motion: SceneMotion, scene: Scene, frames: int) -> tuple[Array, Array, Array]:
    """Return evenly spaced times, poses in the picture's axes and mass centers."""
    assert motion.q is not None
    times = motion.recording.times
    span = float(times[-1] - times[0])
    count = max(2, min(len(times), frames)) if span > 0 else 1
    even = np.linspace(times[0], times[-1], count)
    q = np.empty((count, motion.q.shape[1]))
    for k, column in enumerate(motion.q.T):
        q[:, k] = np.interp(even, times, column)
    where = scene.poses(q)
    return even, upright(scene, where.poses), where.center @ scene.upright.T


def _levels(block: PageBlock, columns: Array, *, poses: bool = False) -> dict[str, Any]:
    """Store columns with 16 bits over their range; quaternions over -1 to 1."""
    low, high = _ranges(columns)
    if poses:
        low[np.arange(len(low)) % 7 > 2] = -1.0
        high[np.arange(len(high)) % 7 > 2] = 1.0
    step = np.where(high > low, (high - low) / (_TOP - 1), 1.0)
    if not poses:  # zero is a level of its own
        low = np.where((low < 0) & (high > 0), np.floor(low / step) * step, low)
    with np.errstate(invalid="ignore"):
        levels = np.clip(np.round((columns - low) / step), 0, _TOP)
    whole = np.where(np.isfinite(columns), levels, _TOP + 1).astype(np.uint16)
    return {
        "at": block.add(whole),
        "low": [float(f"{v:.9g}") for v in low] if poses else low.tolist(),
        "step": [float(f"{v:.9g}") for v in step] if poses else step.tolist(),
    }


def _ranges(columns: Array) -> tuple[Array, Array]:
    finite = np.isfinite(columns)
    some = finite.any(axis=0)
    low = np.where(some, np.where(finite, columns, np.inf).min(axis=0), 0.0)
    high = np.where(some, np.where(finite, columns, -np.inf).max(axis=0), 0.0)
    return low, high


def _channels(block: PageBlock, motion: SceneMotion, frames: int) -> dict[str, Any]:
    """Store all channels as they are; where they are too many, at fewer, evenly spaced times."""
    recording = motion.recording
    if not recording.channels or not len(recording):
        return {"labels": [], "values": None}
    labels = [[c.name, c.unit, c.long, c.generic, c.body] for c in recording.channels]
    most = round(_SAMPLES * min(1.0, frames / MOST_FRAMES))
    count = max(2, min(len(recording), max(200, most // len(labels))))
    data, times = recording.data, recording.times
    if count < len(recording):
        even = np.linspace(times[0], times[-1], count)
        data = np.column_stack([_evened(even, times, x) for x in data.T])
    bits = 64 if data.size <= _EXACT else 32
    info = {"labels": labels, "values": block.add_numbers(data, bits), "of": len(recording)}
    if count == len(recording) and recording.rate is None:
        info["times"] = block.add_numbers(times[:, None], 64)
    return info


def _evened(even: Array, times: Array, values: Array) -> Array:
    """Return a channel at even times; peaks between them that would be lost are kept.

    >>> spike = np.where(np.arange(10_000) == 5003, 9.0, 0.0)
    >>> float(_evened(np.linspace(0, 9999, 100), np.arange(10_000.0), spike).max())
    9.0
    """
    made: Array = np.interp(even, times, values)
    finite = values[np.isfinite(values)]
    if len(times) <= len(even) or not len(finite):
        return made
    middle = (even[1:] + even[:-1]) / 2
    starts = np.concatenate([[0], np.searchsorted(times, middle)])
    full = np.diff(np.append(starts, len(times))) > 0
    enough = 0.02 * float(np.ptp(finite))
    for extreme, beyond in ((np.fmax, 1.0), (np.fmin, -1.0)):
        inside = extreme.reduceat(values, np.minimum(starts, len(times) - 1))
        around = extreme(made, extreme(np.roll(made, 1), np.roll(made, -1)))
        lost = full & (beyond * (inside - around) > enough)
        made[lost] = inside[lost]
    return made


# -- what is seen ----------------------------------------------------------------------------------
def scene_data(
    block: PageBlock, scene: Scene, motions: Sequence[SceneMotion], most: int
) -> dict[str, Any]:
    surfaces = scene.surfaces_within(most)
    seen = seen_of(scene, *motions)
    nodes: list[dict[str, Any]] = [
        {
            "name": node.name,
            "parent": node.parent,
            "doc": node.doc,
            "mass": node.mass,
            "moves": node.moves,
            "point": [round(float(v), 6) for v in point_of(scene, node.name)],
            "axes": _axes(scene.axes_of(k)),
            "around": node.environment,
            "parts": [_part(block, s) for s in parts],
        }
        for k, (node, parts) in enumerate(zip(scene.nodes, surfaces, strict=True))
    ]
    still = upright(scene, scene.poses(scene.poses.start).poses[None])[0]
    column = pedestal(scene, seen.floor)
    if column is not None:
        nodes[0]["parts"].append(_part(block, column))
    return {
        "nodes": nodes,
        "pose": [[round(float(v), 6) for v in row] for row in still],
        "labels": [
            {"name": each.name, "node": each.node, "at": [round(v, 6) for v in each.place.position]}
            for each in scene.labels
        ],
        "floor": seen.floor,
        "ground": None if scene.ground is None else [round(v, 4) for v in scene.ground[:3]],
        "view": seen.view,
        "travels": seen.travels,
    }


def _axes(place: Place) -> list[list[float]]:
    """Return origin and axes of a link in its node."""
    rows = place.position, *zip(*place.rotation, strict=True)
    return [[round(v, 6) for v in row] for row in rows]


def _part(block: PageBlock, surface: TriangleMesh) -> dict[str, Any]:
    low, high = surface.points.min(axis=0), surface.points.max(axis=0)
    step = np.where(high > low, (high - low) / _TOP, 1.0)
    levels = np.round((surface.points - low) / step).astype(np.uint16)
    order = np.arange(len(levels))
    faces = order[surface.faces]
    high_part, low_part = (faces >> 16).astype(np.uint16), (faces & 0xFFFF).astype(np.uint16)
    info = {
        "color": [round(v, 4) for v in surface.color or (0.8, 0.8, 0.8, 1.0)],
        "low": [float(f"{v:.7g}") for v in low],
        "step": [float(f"{v:.7g}") for v in step],
        "points": block.add(levels),
        "faces": block.add(low_part.reshape(-1, 1)),
    }
    if high_part.any():
        info["more"] = block.add(high_part.reshape(-1, 1))
    return info
