"""What a scene file adds to a scene: shapes, objects around them, tool, points and ground."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from linkwright.base.errors import suggestion
from linkwright.formats.robot.description import Place
from linkwright.formats.robot.transforms import composed, rotate, transposed
from linkwright.formats.text.positions import Path as KeyPath
from linkwright.robots.fixed_frames import FixedFrame, spot_in
from linkwright.scene.default_shapes import glyph, thickness
from linkwright.scene.poses import Hanging, Poses
from linkwright.scene.scene import GROUND, Marked, SceneNode
from linkwright.scene.scene_file import SceneFile
from linkwright.scene.scene_tables import ObjectTable
from linkwright.scene.solids import Solid

if TYPE_CHECKING:
    from linkwright.scene.scene import Scene


@dataclass(frozen=True, slots=True)
class _Home:
    """Where a name of a scene file leads: a node, and a place in it."""

    name: str
    node: int
    place: Place
    whole: bool


def decorated(scene: Scene, scene_file: SceneFile) -> Scene:
    """Return a scene in a scene_file."""
    table = scene_file.table
    nodes: list[SceneNode] = list(scene.nodes)
    hanging: list[Hanging] = list(scene.poses.hanging)
    frames, labels = list(scene.frames), list(scene.labels)
    _sections(scene, scene_file, nodes)
    if table.tool is not None:
        home = _home(scene, scene_file, ("tool", "body"), table.tool.body)
        at = composed(home.place, scene_file.place(table.tool.at, table.tool.turn))
        given, unit = table.tool.length, scene_file.unit
        long = unit * given if given is not None else _reach(nodes[home.node], scene_file)
        shapes = (*nodes[home.node].solids, *glyph(at, long))
        nodes[home.node] = replace(nodes[home.node], solids=shapes)
        frames.append(Marked(_free("tool", [f.name for f in frames]), home.node, at))
    for k, thing in enumerate(table.environment):
        node, spot = _thing(scene, scene_file, nodes, ("environment", k), thing)
        nodes.append(node)
        hanging.append(spot)
    for k, point in enumerate(table.point):
        home = _home(scene, scene_file, ("point", k, "within"), point.within)
        at = composed(home.place, scene_file.place(point.at, ()))
        labels.append(Marked(point.name, home.node, at))
    poses = scene.poses
    if table.environment:
        poses = Poses(scene.robot, hanging, scene.poses.values)
    look = table.view
    made = replace(
        scene,
        nodes=tuple(nodes),
        poses=poses,
        frames=tuple(frames),
        labels=tuple(labels),
        looked_from=scene.looked_from if look is None else (look.azimuth, look.height),
        bare=scene,
        scene_file=scene_file,
    )
    ground = table.ground
    if ground is None:
        return made
    floor = scene.floor if ground.height is None else scene_file.unit * ground.height
    return replace(made, floor=floor, grounded=ground.shown, ground=ground.color)


def _sections(scene: Scene, scene_file: SceneFile, nodes: list[SceneNode]) -> None:
    seen: set[str] = set()
    for k, section in enumerate(scene_file.table.section):
        home = _home(scene, scene_file, ("section", k, "body"), section.body)
        if home.name in seen:
            raise scene_file.source.error(
                ("section", k, "body"),
                f"{home.name!r} has a section already",
                "put all its shapes into one",
            )
        seen.add(home.name)
        old = nodes[home.node].solids
        kept = old if section.keep else tuple(s for s in old if not _replaced(s, home))
        made = [
            replace(s, place=composed(home.place, s.place), link=home.name)
            for s in scene_file.solids(("section", k), section.shape)
        ]
        nodes[home.node] = replace(nodes[home.node], solids=(*kept, *made))


def _replaced(solid: Solid, home: _Home) -> bool:
    if home.whole and (home.name == GROUND or not solid.link):
        return True
    return solid.link == home.name


def _thing(
    scene: Scene, scene_file: SceneFile, nodes: list[SceneNode], path: KeyPath, thing: ObjectTable
) -> tuple[SceneNode, FixedFrame]:
    home = _home(scene, scene_file, (*path, "within"), thing.within)
    if any(node.name == thing.name for node in nodes):
        raise scene_file.source.error(
            (*path, "name"), f"{thing.name!r} is there already", "give it another name"
        )
    hangs = scene.poses.hanging[home.node]
    if not isinstance(hangs, FixedFrame):
        raise scene_file.source.error(
            (*path, "within"), f"{thing.within!r} is a strut, and nothing can stand in it"
        )
    own = scene_file.place(thing.at, thing.turn)
    # Copies are shifted along the axes of what the object stands in, as its own place is.
    back = transposed(own.rotation)
    one = scene_file.solids(path, thing.shape)
    scene_file.require_few(len(one) * (thing.repeat.count if thing.repeat else 1), path)
    solids = [
        replace(s, place=composed(Place(rotate(back, copy.position)), s.place))
        for copy in scene_file.copies(thing.repeat)
        for s in one
    ]
    node = SceneNode(
        thing.name,
        tuple(solids),
        scene.nodes[home.node].name,
        "environment",
        moves=scene.nodes[home.node].moves,
        environment=True,
    )
    return node, spot_in(hangs.body, composed(home.place, own))


def _home(scene: Scene, scene_file: SceneFile, path: KeyPath, name: str) -> _Home:
    for k, node in enumerate(scene.nodes):
        if node.name == name and not node.environment:
            return _Home(name, k, Place(), True)
    for marked in scene.frames:
        if marked.name == name:
            return _Home(name, marked.node, marked.place, False)
    known = list(dict.fromkeys([*(n.name for n in scene.nodes), *(f.name for f in scene.frames)]))
    shown = ", ".join(known[:12]) + (", ..." if len(known) > 12 else "")
    raise scene_file.source.error(
        path,
        f"{scene.name!r} has no body or frame {name!r}",
        suggestion(name, known, f"it has {shown}"),
    )


def _free(name: str, taken: Iterable[str]) -> str:
    known = set(taken)
    tried, k = name, 1
    while tried in known:
        k += 1
        tried = f"{name} {k}"
    return tried


def _reach(node: SceneNode, scene_file: SceneFile) -> float:
    """Return twice the radius of the last round shape of a node (ROBSIM's 2.1.1.5)."""
    radius = thickness(node.solids)
    if radius is None:
        raise scene_file.source.error(
            ("tool",), f"{node.name!r} has no round shape to size the axes by", "add length = ..."
        )
    return 2 * radius
