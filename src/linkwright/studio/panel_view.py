"""The tab View: views and fit, axes, trails, forces, a camera that follows, light and dark."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from linkwright.studio.cameras import WHOLE
from linkwright.studio.rows import Rows
from linkwright.studio.scene_reload import redraw
from linkwright.studio.shortcuts import add_key, says
from linkwright.studio.state import POSED, panels_of
from linkwright.studio.traces import Trace

if TYPE_CHECKING:
    from linkwright.studio.server import Studio
    from linkwright.studio.viser_scene import Stage

_VIEWS = ("Isometric", "Front", "Side", "Top")
_FROM = "Isometric, front, side, top view"
_NOTHING = "off"
_WIDE, _SLIM = 388, 292  # pixels: all tabs in a row, and for narrow windows
_NARROW = 540  # pixels that are left to the scene


def angles_of(studio: Studio, view: str) -> tuple[float, float]:
    """Return where a view is seen from: azimuth and height over the ground, degrees."""
    front, side = float(studio.view["front"]), float(studio.view["side"])
    usual = float(studio.view["azimuth"])
    corner = -55.0 if usual == -72.0 else usual  # flat ones are looked at from the front at first
    heights = {"Isometric": (corner, 20.0), "Front": (front, 4.0), "Side": (side, 4.0)}
    return heights.get(view, (-90.0, 89.0))


def add(studio: Studio, tabs: Any, name: str) -> None:
    """Add the tab."""
    gui, rows = studio.server.gui, Rows(studio)
    with tabs.add_tab(name):
        if studio.stage is not None:
            _views(studio)
            _looks(studio, rows)
            if studio.link is None:
                _forces(studio, rows)
                _follow(studio, rows)
            gui.main_panel.set_width(_WIDE)
        else:
            studio.server.scene.add_label("/nothing", "Nothing to draw: see the tab Scope")
        dark = gui.add_button("Light or dark", icon="sun-moon", color="gray")

    def turn(event: Any) -> None:
        if event.client is not None:
            studio.set_theme(event.client)

    dark.on_click(turn)
    add_key(studio, "I", "Light or dark", turn)


def _looks(studio: Studio, rows: Rows) -> None:
    """Add what shows and hides parts of the picture."""
    drawn, stage = _drawn(studio), studio.stages[0]

    def frames(on: bool) -> None:
        for each in studio.stages:
            each.set_frames(on)

    def clear(on: bool) -> None:
        for each in drawn:
            each.set_clear(on)

    def wire(on: bool) -> None:
        for each in drawn:
            each.wire = on
            redraw(each, each.drawn)
            panels_of(studio).listen(each)

    def center(on: bool) -> None:
        for each in studio.stages:
            each.center.visible = on
        studio.player.go_to(studio.player.time)

    def ground(on: bool) -> None:
        studio.grid.visible = on

    def around(on: bool) -> None:
        for each in studio.stages:
            each.set_around(on)

    def labels(on: bool) -> None:
        for each in studio.stages:
            for label in each.labels:
                label.visible = on

    rows.box("Body axes", False, frames, key="X")
    rows.box("Transparent bodies", False, clear, hint="For what is inside or behind")
    rows.box("Wireframe", False, wire, hint="Only the edges of triangles")
    rows.box("Center of mass", False, center, key="C")
    rows.box("Ground", bool(studio.grid.visible), ground, key="G")
    if any(n.environment for n in stage.scene.nodes):
        rows.box("Environment", True, around, key="U")
    else:
        add_key(studio, "U", "Environment", says("This model has no environment."))
    if stage.labels:
        rows.box("Labels", True, labels)
    if studio.link is None:
        trace = Trace(studio)
        names = (_NOTHING, *_moving(studio))
        words = "Trail of the next body"
        rows.choice("Trail", names, _NOTHING, lambda n: trace.show(_named(n)), key="T", words=words)
        panels_of(studio).every(0.2, trace.refresh)


def _drawn(studio: Studio) -> list[Stage]:
    """Return what is drawn in full: the first, or all arms of a cell."""
    return studio.stages[:1] if studio.link is None else studio.stages


def _named(choice: str) -> str:
    return "" if choice == _NOTHING else choice


def _forces(studio: Studio, rows: Rows) -> None:
    gui, marks = studio.server.gui, studio.marks
    assert marks is not None

    def wanted(_: object) -> None:
        marks.contacts, marks.forces = bool(contacts.value), bool(forces.value)
        marks.factor = float(longer.value)
        marks.again()
        tell()

    contacts = rows.box("Contact points", marks.contacts, wanted, hint="Shown while they touch")
    forces = rows.box("Forces", marks.forces, wanted, hint="As arrows, from where they act")
    longer = gui.add_slider("Force scale", 0.1, 10.0, 0.1, 1.0, hint="Length of the arrows")
    longer.on_update(wanted)
    legend = gui.add_markdown("", visible=False)
    contacts.visible = forces.visible = longer.visible = False

    def tell() -> None:
        for box, some in ((contacts, marks.touches), (forces, marks.acts), (longer, marks.acts)):
            if some and not box.visible:
                box.visible = True
        if legend.content != marks.legend:
            legend.content = marks.legend
            legend.visible = bool(marks.legend)

    def toggle(event: Any) -> None:
        if not marks.acts and not marks.touches:
            says("No forces act in what is shown.")(event)
            return
        forces.value = contacts.value = not (forces.value or contacts.value)

    add_key(studio, "K", "Forces and contact points", toggle)
    panels_of(studio).every(0.5, tell)


def _moving(studio: Studio) -> list[str]:
    assert studio.stage is not None
    return [n.name for n in studio.stage.scene.nodes if n.moves]


def _follow(studio: Studio, rows: Rows) -> None:
    """Let the camera go along: with the whole model from the start if it can travel."""
    panels = panels_of(studio)
    names, first = (_NOTHING, WHOLE, *_moving(studio)), panels.cameras.followed or _NOTHING

    def follow(name: str) -> None:
        panels.cameras.follow(_named(name))

    rows.choice("Follow", names, first, follow, key="F", words="Follow the next body")
    studio.player.listeners.append(lambda _: panels.move_cameras())


def _views(studio: Studio) -> None:
    gui = studio.server.gui
    usual = gui.add_button_group("View", _VIEWS)
    whole = gui.add_button("Fit to view", icon="focus-2", hint="Or the key Z")
    keep = gui.add_button("Save view", icon="bookmark", color="gray")
    kept: list[tuple[Any, Any]] = []
    saved = gui.add_button_group("Saved views", ("1",), visible=False)

    def save(event: Any) -> None:
        if event.client is None:
            return
        camera = event.client.camera
        kept.append((np.array(camera.position), np.array(camera.look_at)))
        saved.options = tuple(str(k + 1) for k in range(len(kept)))
        saved.visible = True

    usual.on_click(lambda event: _look_from(studio, str(usual.value), event))
    whole.on_click(partial(_fit, studio))
    keep.on_click(save)
    for k, name in enumerate(_VIEWS):
        go = partial(_look_from, studio, name)
        add_key(studio, str(k + 1), f"{name} view", go, line=_FROM)
    add_key(studio, "Z", "Fit to view", partial(_fit, studio))
    add_key(studio, "V", "Save view", save)
    studio.server.on_client_connect(partial(_step_back, studio))

    saved.on_click(lambda event: _look(event.client, *kept[int(saved.value) - 1]))


def _look_from(studio: Studio, view: str, event: Any) -> None:
    """Let a browser look at the whole scene from a side."""
    if event.client is None:
        return
    azimuth, height = angles_of(studio, view)
    a, h = np.radians(azimuth), np.radians(height)
    away = np.array([np.cos(a) * np.cos(h), np.sin(a) * np.cos(h), np.sin(h)])
    first = studio.server.initial_camera
    usual = float(np.linalg.norm(np.subtract(first.position, first.look_at)))
    far, at = usual * _narrow(event.client.camera), _middle(studio)
    _look(event.client, at + far * away, at)


def _middle(studio: Studio) -> Any:
    """Return what to look at: the middle of the scene, gone along with a model that travels."""
    stage, panels = studio.stage, panels_of(studio)
    if stage is None or panels.mode == POSED or panels.cameras.followed != WHOLE:
        return studio.center
    gone = panels.center(panels.q) - panels.center(stage.scene.poses.start)
    gone[2] = 0.0
    return studio.center + gone


def _fit(studio: Studio, event: Any) -> None:
    """Bring all that is drawn of the model into view, from where the browser looks."""
    stage = studio.stage
    if event.client is None or stage is None:
        return
    boxes = [one.box() for one in _drawn(studio)]
    low = np.min([low for low, _ in boxes], axis=0)
    high = np.max([high for _, high in boxes], axis=0)
    at, radius = (low + high) / 2, max(float(np.linalg.norm(high - low)) / 2, 1e-6)
    camera = event.client.camera
    away = np.subtract(camera.position, camera.look_at)
    length = float(np.linalg.norm(away))
    away = away / length if length > 1e-9 else np.array([0.0, -1.0, 0.3])
    far = 1.1 * radius / np.sin(float(camera.fov) / 2) * _narrow(camera)
    _look(event.client, at + far * away, at)


def _step_back(studio: Studio, client: Any) -> None:
    """Let a browser with a narrow window see all of the scene, until its user moves the camera."""
    first = studio.server.initial_camera
    at, away = np.array(first.look_at), np.subtract(first.position, first.look_at)
    stands, wide = at + away, True

    def fit(_: Any) -> None:
        nonlocal stands, wide
        if wide and client.camera.update_timestamp != 0.0:
            wide = False
            if 0 < client.camera.image_width < _NARROW:  # a tablet: the model needs the room
                client.gui.main_panel.set_width(_SLIM)
        wanted = at + _narrow(client.camera) * away
        if np.abs(wanted - stands).max() > 0.01 * studio.size:
            stands = wanted
            _look(client, wanted, at)

    def refit(event: Any) -> None:  # panels dock after the first moment, and windows change
        if np.abs(np.subtract(client.camera.position, stands)).max() < 0.01 * studio.size:
            fit(event)

    client.camera.on_update(refit)

    fit(None)


def _narrow(camera: Any) -> float:
    """Return how much farther away a camera must be because its window is higher than wide."""
    known = camera.update_timestamp != 0.0
    return max(1.0, 1.0 / max(camera.aspect, 0.1)) if known else 1.0


def _look(client: Any, position: Any, at: Any) -> None:
    if client is not None:
        with client.atomic():
            client.camera.position = position
            client.camera.look_at = at
