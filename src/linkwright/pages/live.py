"""One HTML file in which the model itself runs: the player's page with a module of the run.

The module (`linkwright.simulation.native.wasm`) has the Programs of the run, its loop, its memory
at the start, and the Program of the poses. The page advances it by a fixed time for each kept
sample, so that what happens does not depend on how often the browser draws.
"""

from __future__ import annotations

import html
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import quote

import numpy as np
from numpy.typing import NDArray

from linkwright.base.errors import InputError, suggestion
from linkwright.formats.meshes.triangle_mesh import TriangleMesh
from linkwright.formats.robot.transforms import rotation_quaternion
from linkwright.pages.assets_text import asset, icon
from linkwright.pages.page import SCRIPTS, PageBlock, deflated, filled, scene_data
from linkwright.pages.scope import Graph, ScopeLayout, first_layout
from linkwright.program import Program
from linkwright.recording import Recording
from linkwright.scene.default_shapes import tuple3
from linkwright.scene.motions import SceneMotion, scene_motion
from linkwright.scene.scene import Scene
from linkwright.simulation.described import phase_channels
from linkwright.simulation.native.session import Session
from linkwright.simulation.native.wasm import live_module
from linkwright.version import __version__

Array = NDArray[np.float64]
Row = tuple[float, float, float]
MOST_BYTES = 400_000
_TRIANGLES = (24_000, 12_000, 6_000, 3_000)
_TRIAL = 3.0
"""Seconds of the run that are looked at to find what is seen and which graphs are shown."""
_MOST_STEPS = 60_000
_SHOWN = 8
"""Controls that are open at first, where nobody has chosen them."""
_LINEAR = 1e-6  # m, from a proportion
_LENGTHS = ("m", "mm", "cm", "in", "ft", "?")


@dataclass(frozen=True, slots=True, eq=False)
class LiveModel:
    """A model that is to run in a page."""

    session: Session  # at its start
    scene: Scene | None  # None where it has no body
    adjustable: Sequence[Any]  # parameters and inputs: name, unit, value, low, high and so on
    hands: Mapping[str, tuple[int, int, int]] = field(default_factory=dict)  # by body, in w
    speed: float = 1.0  # at which it is best looked at, seconds in a second on the wall
    # what is demanded of parameters and inputs, and what each number of it says where it is not met
    conditions: tuple[Program | None, Sequence[str]] = (None, ())


def live_page_text(
    model: LiveModel,
    *,
    title: str = "",
    controls: Sequence[str] | None = None,
    inputs: Sequence[str] = (),
    graphs: Sequence[str | Sequence[str]] | None = None,
    exact: bool = False,
    most: int = MOST_BYTES,
) -> str:
    """Return the page of a model that runs in it."""
    chosen, shown = _controls(model, controls, inputs)
    layout = _layout(model, graphs)
    start, scene = tried(model), model.scene
    poses = None if scene is None else scene.poses.program()
    demanded, words = model.conditions
    more = {n: made for n, made in (("poses", poses), ("conditions", demanded)) if made is not None}
    ports = [port for made in more.values() for port in (*made.inputs, *made.outputs)]
    made = live_module(
        model.session,
        exact=exact,
        more=more,
        scratch=8 * (sum(port.size for port in ports) + 8),
    )
    name = model.session.phases.name if scene is None else scene.name
    motion = SceneMotion(name, start) if scene is None else scene_motion(name, start, scene)
    about = _told(model, poses, chosen, shown)
    about |= {"places": made.places, "whole": made.whole, "fused": made.fused}
    if demanded is not None:
        about["demands"] = {"takes": [port.name for port in demanded.inputs], "words": list(words)}
    text, module = "", f'<script type="text/plain" id="module">{deflated(made.code)}</script>\n'
    for triangles in _TRIANGLES:
        block, drawn = PageBlock(), motion.scene
        shapes = [] if drawn is None else _shapes(block, drawn, chosen, triangles)
        data = {
            "title": title or name,
            "doc": "" if scene is None else scene.doc,
            "version": __version__,
            "story": _story(model, exact),
            "notes": [] if scene is None else list(scene.notes),
            "takes": [_take(motion)],
            "layout": (layout or first_layout(start)).plain() | {"last": 10.0},
            "scene": None if drawn is None else scene_data(block, drawn, [motion], triangles),
            "live": about | {"shapes": shapes},
        }
        scripts = [*SCRIPTS[:-1], "live.js", "controls.js", SCRIPTS[-1]]
        text = filled(data, block, scripts, style=asset("live.css"), more=module)
        if len(text.encode()) <= most:
            return text
    raise InputError(
        f"the page of {name!r} takes {len(text.encode()) / 1e3:.0f} kB, and {most / 1e3:.0f} "
        "are allowed",
        remedy="allow more: --max-size 1, say",
    )


def _story(model: LiveModel, exact: bool) -> str:
    settings = model.session.machine.settings
    how = "adaptive steps" if settings.method.adaptive else f"steps of {1e3 * settings.step:.3g} ms"
    bits = (
        "fused multiply-adds, the bits of the native run"
        if exact
        else "plain multiplies and adds, near the native run to rounding"
    )
    return f"Live: computed in this page · {settings.method.name}, {how} · {bits}"


def tried(model: LiveModel) -> Recording:
    """Return the first seconds of the run, native; the session stands at its start again."""
    session = model.session
    fresh, phases = session.snapshot(), session.phases
    end = max(1, round(_TRIAL * model.speed / phases.tick_seconds))
    session.extend(end)
    parts = []
    while not session.done and session.steps < _MOST_STEPS:
        parts.append(session.advance(2000))
    session.restore(fresh)
    session.events.clear()
    times = np.concatenate([part.times for part in parts])
    values = np.concatenate([part.values for part in parts])
    about = {"model": phases.name, "live": True}
    return Recording(times, phase_channels(phases), values, about)


def _take(motion: SceneMotion) -> dict[str, Any]:
    labels = [[c.name, c.unit, c.long, c.generic, c.body] for c in motion.recording.channels]
    channels = {"labels": labels, "values": None}
    return {"name": motion.name, "channels": channels, "start": 0.0, "end": 0.0}


def _told(
    model: LiveModel, poses: Program | None, controls: Sequence[Any], shown: int
) -> dict[str, Any]:
    """Return what the page knows of the run."""
    session, scene = model.session, model.scene
    phases, settings = session.phases, session.machine.settings
    x = {s.name: k for k, s in enumerate(phases.x)}
    places = {s.name: ["p", k] for k, s in enumerate(phases.p)}
    places |= {s.name: ["w", k] for k, s in enumerate(phases.w)}
    nodes = {} if scene is None else {node.name: k for k, node in enumerate(scene.nodes)}
    remembered = [i for i, s in enumerate(phases.d) if s.name.startswith("guard.inverse")]
    initialize = phases.initialize
    return {
        "tick": phases.tick_seconds,
        "every": settings.every,
        "speed": model.speed,
        "method": settings.method.name,
        "counts": {a: len(getattr(phases, a)) for a in ("x", "d", "p", "w")},
        "channels": len(phases.outputs),
        "states": [s.name for s in phases.x],
        "events": [e.name for e in phases.event_list],
        **(_drawn(poses, scene, x, places) if poses is not None and scene is not None else {}),
        "remembered": remembered,
        "accepted": phases.accepted is not None,
        "initialize": None if initialize is None else [port.name for port in initialize.inputs],
        "controls": [_control(c, places) for c in controls],
        "shown": shown,
        "joints": [] if scene is None else _joints(phases.quaternions, scene, x),
        "hands": {str(nodes[b]): list(at) for b, at in model.hands.items() if b in nodes},
    }


def _joints(
    quaternions: Sequence[Sequence[int]], scene: Scene, x: Mapping[str, int]
) -> list[list[Any]]:
    """Return name, unit and place of each coordinate that a reader can set."""
    units, turned = scene.robot.mechanism.units, {k for q in quaternions for k in q}
    names = [n for n in scene.poses.coordinates if n in x and x[n] not in turned]
    return [[n, units.get(n, "?"), x[n]] for n in names]


def _drawn(
    poses: Program, scene: Scene, x: Mapping[str, int], places: Mapping[str, list[Any]]
) -> dict[str, Any]:
    """Return where the Program of the poses takes its inputs, and how the picture is turned."""
    rows = _rows(scene)
    return {
        "poses": [_port(port.name, port.entries, x, places, scene) for port in poses.inputs],
        "turn": list(rotation_quaternion(rows)),
        "rows": [list(row) for row in rows],
    }


def _rows(scene: Scene) -> tuple[Row, Row, Row]:
    first, second, third = (tuple3(row) for row in scene.upright)
    return first, second, third


def _port(
    name: str,
    entries: Sequence[Any],
    x: Mapping[str, int],
    places: Mapping[str, list[Any]],
    scene: Scene,
) -> list[list[Any]]:
    """Return where each number of an input of the poses comes from: an array with a place in it,
    or a number."""
    known = {**scene.robot.mechanism.values, **scene.poses.values}
    start = dict(zip(scene.poses.coordinates, map(float, scene.poses.start), strict=True))
    names = scene.poses.coordinates if name == "q" else [entry.name for entry in entries]
    made: list[list[Any]] = []
    for each in names:
        if name == "q" and each in x:
            made.append(["x", x[each]])
        elif name == "p" and each in places:
            made.append(places[each])
        else:
            made.append(["", start[each] if name == "q" else float(known[each])])
    return made


# -- what a reader changes and sees ----------------------------------------------------------------
def _controls(
    model: LiveModel, controls: Sequence[str] | None, inputs: Sequence[str]
) -> tuple[list[Any], int]:
    """Return the numbers that can be changed, and how many of them are open at first."""
    known = {c.name: c for c in model.adjustable}
    wanted = [*inputs, *(controls or ())]
    for name in wanted:
        if name not in known:
            there = f"there are {', '.join(known)}" if known else "it has none"
            raise InputError(
                f"{model.session.phases.name!r} has no parameter or input {name!r}",
                remedy=suggestion(name, known, there),
            )
        if wanted.count(name) > 1:
            raise InputError(f"the control {name!r} is given twice", remedy="leave one of them out")
    for name in inputs:
        if known[name].kind not in ("input", "target"):
            raise InputError(
                f"{name!r} is not an input but a parameter", remedy="name it a control"
            )
    if controls is not None or inputs:
        return [known[name] for name in wanted], len(wanted)
    order = {"input": 0, "target": 0, "parameter": 1, "gain": 2}
    listed = sorted(known.values(), key=lambda c: order[c.kind])
    return listed, min(_SHOWN, len(listed))


def _control(control: Any, places: Mapping[str, list[Any]]) -> dict[str, Any]:
    names = ("name", "unit", "value", "low", "high", "doc", "kind")
    return {**{n: getattr(control, n) for n in names}, "at": places[control.name]}


def _layout(model: LiveModel, graphs: Sequence[str | Sequence[str]] | None) -> ScopeLayout | None:
    if graphs is None:
        return None
    known = [s.name for s in model.session.phases.outputs]
    listed = [[g] if isinstance(g, str) else list(g) for g in graphs]
    for name in (n for graph in listed for n in graph):
        if name not in known:
            raise InputError(
                f"{model.session.phases.name!r} has no channel {name!r}",
                remedy=suggestion(name, known, f"there are {', '.join(known[:40])}"),
            )
    return ScopeLayout(tuple(Graph(tuple(graph)) for graph in listed))


def _shapes(
    block: PageBlock, scene: Scene, controls: Sequence[Any], triangles: int
) -> list[dict[str, Any]]:
    """Store how points of the shapes move with lengths, where that is in proportion.

    A point of a shape that is drawn with fewer triangles moves as the nearest one of the whole.
    """
    own = scene.robot.mechanism.parameters
    drawn = scene.surfaces_within(triangles)
    made: list[dict[str, Any]] = []
    for control in controls:
        if control.name not in own or control.unit not in _LENGTHS:
            continue
        size = 0.1 * abs(control.value) or 0.1
        near = scene.with_parameters({control.name: control.value + size}).surfaces
        if all(map(_alike, scene.surfaces, near)):
            continue
        far = scene.with_parameters({control.name: control.value + 2 * size}).surfaces
        for k, parts in enumerate(zip(scene.surfaces, near, far, strict=True)):
            if _alike(*parts[:2]) or len({len(part) for part in parts}) > 1:
                continue
            for j, (a, b, c) in enumerate(zip(*parts, strict=True)):
                move = _move(a.points, b.points, c.points)
                if move is None:
                    continue
                places = _nearest(a.points, drawn[k][j].points)
                told = block.add_numbers(move[places] / size, 32)
                made.append({"control": control.name, "node": k, "part": j, "points": told})
    return made


def _alike(first: Sequence[TriangleMesh], second: Sequence[TriangleMesh]) -> bool:
    """Return whether surfaces are those of before."""
    pairs = zip(first, second, strict=False)
    return len(first) == len(second) and all(np.array_equal(a.points, b.points) for a, b in pairs)


def _move(a: Array, b: Array, c: Array) -> Array | None:
    """Return how points move from a to b, where they move as far from b to c; else None.

    Where points come in another order, all of them move as the box around them does.
    """
    if len(a) == len(b) == len(c) and abs(a - 2 * b + c).max() <= _LINEAR:
        return b - a if (a != b).any() else None
    low, high = (np.array([end(s, axis=0) for s in (a, b, c)]) for end in (np.min, np.max))
    if max(abs(e[0] - 2 * e[1] + e[2]).max() for e in (low, high)) > _LINEAR:
        return None
    span = high[0] - low[0]
    share = (a - low[0]) / np.where(span > 0, span, 1.0)
    return np.asarray(low[1] - low[0] + share * (high[1] - low[1] - span))


def _nearest(points: Array, wanted: Array) -> NDArray[np.int64]:
    """Return which of some points is the nearest to each of others."""
    if len(points) == len(wanted) and (points == wanted).all():
        return np.arange(len(points))
    return np.array([int(((points - p) ** 2).sum(axis=1).argmin()) for p in wanted], np.int64)


# -- several of them -------------------------------------------------------------------------------
def card(name: str, doc: str, file: str, size: int) -> str:
    """Return what a gallery shows of a page."""
    words, what = html.escape(name), html.escape(doc)
    told = f"<b>{words}</b><span>{what}</span><small>{size / 1e3:.0f} kB</small>"
    return f'<li><a href="{quote(file)}">{told}</a></li>'


def gallery_text(cards: Sequence[str]) -> str:
    """Return the page that lists live pages beside it."""
    text = asset("gallery.html").replace("%%ICON%%", icon())
    return text.replace("%%LIST%%", "\n".join(cards))
