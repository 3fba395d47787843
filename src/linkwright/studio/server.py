"""The studio: a page on this machine, served by Viser, put together from panels.

A panel is a function of the `Studio` that adds its own tab, and one line in `PANELS`. All that is
shared stands in the `Studio`: the server, the takes, their stages, the player, the theme.
"""

from __future__ import annotations

import errno
import shlex
import socket
import threading
from collections.abc import Callable, Sequence
from contextlib import ExitStack, redirect_stdout
from dataclasses import asdict, dataclass, field, replace
from io import StringIO
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from linkwright.base.closable import Closable
from linkwright.base.errors import Error, InputError
from linkwright.base.lazy import named
from linkwright.recording.files import is_recording
from linkwright.scene.forces import nice
from linkwright.scene.motions import SceneMotion, open_motion
from linkwright.scene.previews import PreviewOptions, resting
from linkwright.studio.access import Gate, guarding
from linkwright.studio.arrows import Marks
from linkwright.studio.client_page import Front
from linkwright.studio.link import StudioLink, add_link
from linkwright.studio.messages import Bar
from linkwright.studio.playback import Player, Track, player_for
from linkwright.studio.status import add_status
from linkwright.studio.viser_scene import Stage

if TYPE_CHECKING:
    from linkwright.formats.meshes.triangle_mesh import Color
    from linkwright.scene.scene import Scene
    from linkwright.scene.scene_file import SceneFileLike
    from linkwright.studio.scene_reload import SceneWatch
    from linkwright.studio.scope_requests import ScopeState
    from linkwright.studio.side_pages import SidePages
    from linkwright.studio.state import PanelState


LINK_PANELS: dict[str, dict[str, str]] = {
    "CELL": {
        "Cell": "linkwright.studio.panel_cell:add",
        "Tune": "linkwright.studio.panel_tune:add",
    },
    "LAB": {"Lab": "linkwright.studio.panel_lab:add"},
    "ROTATOR": {"Rotator": "linkwright.studio.panel_rotator:add"},
}
"""The tabs before all others, by the mode of what the studio is connected to."""

PANELS: dict[str, str] = {
    "Play": "linkwright.studio.panel_play:add",
    "Live": "linkwright.studio.panel_live:add",
    "Parameters": "linkwright.studio.panel_values:add",
    "Pose": "linkwright.studio.panel_pose:add",
    "Drives": "linkwright.studio.panel_drives:add",
    "Camera": "linkwright.studio.panel_camera:add",
    "Scope": "linkwright.studio.panel_scope:add",
    "Inspect": "linkwright.studio.panel_inspect:add",
    "View": "linkwright.studio.panel_view:add",
    "Help": "linkwright.studio.panel_help:add",
}
"""The tabs, in order: name, and the function of a `Studio` that fills it, or leaves it out."""

LOOPBACK = "127.0.0.1"
SUNWARD = (0.45, -0.55, 0.95)
"""Where the sun stands, as in pages."""

_SKY, _SUN, _FILL = 2.2, 3.2, 0.7
_ACTED = {"halt": "stopped", "freeze": "frozen"}


@dataclass(eq=False, repr=False)
class Studio(Closable):
    """What is open in a browser."""

    motions: list[SceneMotion]
    host: str = LOOPBACK
    port: int = 0
    names: Sequence[str] = ()
    framed: bool = False
    token: str = ""
    link: StudioLink | None = None
    server: Any = None
    stages: list[Stage] = field(default_factory=list)
    tracks: list[Track | None] = field(default_factory=list)
    player: Player = field(init=False)
    gate: Gate = field(init=False, repr=False)
    dark: set[int] = field(default_factory=set)
    closers: list[Callable[[], None]] = field(default_factory=list)
    again: str = ""
    folder: Path | None = None
    panels: PanelState = field(init=False, repr=False)
    pages: SidePages = field(init=False, repr=False)
    scope: ScopeState = field(init=False, repr=False)
    scene_watch: SceneWatch | None = None
    status: Callable[[dict[str, str]], dict[str, Any]] | None = None
    spans: list[Callable[[float, float], None]] = field(default_factory=list)
    keys: dict[str, str] = field(default_factory=dict)
    acts: dict[str, list[Callable[[Any], None]]] = field(default_factory=dict)
    grid: Any = None
    size: float = 1.0
    center: Any = None
    view: dict[str, Any] = field(default_factory=dict)
    marks: Marks | None = None
    floor: float | None = None
    paint: Color | None = None
    _over: threading.Event = field(default_factory=threading.Event, repr=False)

    def __post_init__(self) -> None:
        viser = require_viser()
        port = free_port(self.host, self.port)
        self.gate = Gate(self.host, tuple(self.names), self.framed)
        if self.token:  # of a studio that this one replaces, so that its page finds it
            self.gate = replace(self.gate, token=self.token)
        client = Path(viser.__file__).parent / "client" / "build"
        front = Front(client, f"{self.title} · Linkwright", self.state, self._acts())
        with redirect_stdout(StringIO()), guarding(self.gate, front.answer):
            self.server = _closed_server(viser)(host=self.host, port=port, verbose=False)
        self.port = int(self.server.get_port())
        self.player = player_for(self.motions)
        try:
            self.set_theme()
            self.server.gui.set_panel_label(self.title)
            self.server.gui.main_panel.dock_right()
            self._build()
        except BaseException:
            self.close()
            raise
        self.player.run()

    @property
    def title(self) -> str:
        """What is shown, in a word."""
        return self.motions[0].name if self.link is None else self.link.name

    @property
    def _side_by_side(self) -> bool:
        return self.link is not None and self.link.side_by_side

    def _acts(self) -> dict[str, Callable[[], None]]:
        """Return what buttons in every tab do to what runs, each in a thread of its own."""
        link = self.link
        if link is None:
            return {}

        def beside(words: str, act: Callable[[], None]) -> Callable[[], None]:
            def run() -> None:
                try:
                    act()
                except Exception as error:  # told in the page, which must not wait for it
                    self.panels.report(f"{link.name} was not {words}: {error}")

            return lambda: threading.Thread(
                target=run, name=f"linkwright {words}", daemon=True
            ).start()

        return {name: beside(_ACTED.get(name, name), act) for name, act in link.acts.items()}

    @property
    def address(self) -> str:
        """Where the page is; without the word at its end nothing is answered."""
        host = "localhost" if self.host == "0.0.0.0" else self.host
        return f"http://{host}:{self.port}/{self.gate.token}/"

    def state(self, query: dict[str, str]) -> dict[str, Any]:
        """Return what the bar over the scene shows."""
        return asdict(Bar()) if self.status is None else self.status(query)

    @property
    def stage(self) -> Stage | None:
        """The first scene, or None where there is none."""
        return self.stages[0] if self.stages else None

    def _light(self) -> None:
        """Light the scene as pages are lit: a sky, the sun from the same side, a fill opposite."""
        api = self.server.scene
        api.configure_environment_map(None)
        api.configure_default_lights(enabled=False)
        api.add_light_hemisphere(
            "/sky", sky_color=(219, 230, 245), ground_color=(128, 124, 120), intensity=_SKY
        )
        for name, place, color, intensity in (
            ("/sun", SUNWARD, (255, 245, 230), _SUN),
            ("/fill", (-SUNWARD[0], -SUNWARD[1], 0.35), (190, 210, 240), _FILL),
        ):
            far = tuple(100.0 * x for x in place)
            api.add_light_directional(
                name, color=color, intensity=intensity, cast_shadow=name == "/sun", position=far
            )

    def _build(self) -> None:
        api = self.server.scene
        api.set_up_direction("+z")
        self._light()
        for k, motion in enumerate(self.motions):
            if motion.scene is None:
                continue
            ghost = bool(self.stages) and not self._side_by_side
            stage = Stage(self.server, motion.scene, f"/take {k + 1}", ghost)
            self.stages.append(stage)
            moves = motion.q is not None and len(motion.q) > 0 and self.link is None
            self.tracks.append(Track(motion) if moves else None)
            start = resting(motion.scene)
            if self.link is not None and motion.q is not None:
                start = motion.q[0]
            stage.show(motion.scene.poses(start))
        self._ground()
        self.player.listeners.append(self._show)
        tabs = self.server.gui.add_tab_group()
        own = {} if self.link is None else LINK_PANELS[self.link.mode]
        for name, home in (own | PANELS).items():
            named(home)(self, tabs, name)
        if self.link is not None:
            add_link(self, self.link)
        add_status(self)
        self.player.go_to(self.player.start)

    def _show(self, t: float) -> None:
        for stage, track in zip(self.stages, self.tracks, strict=True):
            if track is not None:
                now = track.at(t)
                stage.show_upright(*now)
                if stage is self.stages[0] and self.marks is not None:
                    self.marks.show(track.forces_at(t, now[0]), track.reference)

    def _ground(self) -> None:
        from linkwright.scene.viewpoint import ground_and_view, pedestal

        if not self.stages:
            return
        stage = self.stages[0]
        if not self._side_by_side:
            floor, view = ground_and_view(self.motions[0], stage.scene, *self.motions[1:])
        else:
            from linkwright.studio.cell_studio import arrange

            floor, view = arrange(self.stages, [m for m in self.motions if m.scene is not None])
        self.floor = floor
        self.view = view
        self.size = size = float(view["radius"])
        self.center = np.array(view["center"])
        self.marks = Marks(self.server, stage.root, stage.size)
        for one in self.stages if self._side_by_side else [stage]:
            column = pedestal(one.scene, None if floor is None else floor - float(one.shift[2]))
            if column is not None:
                one.add_shapes(0, f"{one.names[0]}/pedestal", [column])
        self.paint_ground(stage.scene)
        a, h = np.radians(view["azimuth"]), np.radians(view["height"])
        away = np.array([np.cos(a) * np.cos(h), np.sin(a) * np.cos(h), np.sin(h)])
        camera = self.server.initial_camera
        camera.position = self.center + 1.08 * float(view["distance"]) * away
        camera.look_at = self.center
        camera.fov = 0.66
        camera.near = min(0.01 * size, 0.5)  # Viser's background stands at 1
        camera.far = 200 * size

    def paint_ground(self, scene: Scene) -> None:
        """Give the ground the height and the color that a scene says."""
        self.paint = scene.ground
        if scene.floor is not None:
            self.floor = scene.floor
        if self.marks is not None:
            self.marks.floor = self.floor
        self.grid = self._draw_ground(self.server)
        for client in self.server.get_clients().values():
            if client.client_id in self.dark:
                self._draw_ground(client, dark=True)

    def set_theme(self, client: Any = None) -> None:
        """Make the page light in all browsers, or the other of light and dark in one."""
        dark = client is not None and client.client_id not in self.dark
        if client is not None:
            (self.dark.add if dark else self.dark.discard)(client.client_id)
        where = self.server if client is None else client
        where.gui.configure_theme(
            dark_mode=dark,
            control_width="large",
            show_logo=False,
            show_share_button=False,
            brand_color=(104, 164, 212) if dark else (47, 102, 144),
        )
        top, bottom = ((17, 22, 27), (30, 38, 46)) if dark else ((206, 215, 224), (234, 236, 237))
        rows = np.linspace(top, bottom, 64).round().astype(np.uint8)
        where.scene.set_background_image(np.repeat(rows[:, None, :], 8, axis=1))
        if client is not None and self.grid is not None:
            self._draw_ground(client, dark=dark)

    def _draw_ground(self, where: Any, *, dark: bool = False) -> Any:
        """Draw the ground in all browsers, or in its other colors in one."""
        cell = nice(self.size / 3)
        floor, grid = self.floor, self.grid
        made = where.scene.add_grid(
            "/ground",
            infinite_grid=True,
            cell_size=cell,
            section_size=5 * cell,
            cell_color=(64, 76, 88) if dark else (184, 192, 200),
            section_color=(96, 112, 128) if dark else (150, 160, 170),
            fade_distance=9 * self.size,
            shadow_opacity=0.35,
            position=(0.0, 0.0, floor if floor is not None else 0.0),
            visible=floor is not None if grid is None else bool(grid.visible),
        )
        if self.paint is not None:
            r, g, b = (round((90 if dark else 255) * v) for v in self.paint[:3])
            made.plane_color = (r, g, b)
        made.plane_opacity = 0.0 if self.paint is None else 1.0
        return made

    def wait(self) -> None:
        """Serve until `close` is called or the program is interrupted."""
        try:
            while not self._over.wait(0.5):
                pass
        except KeyboardInterrupt:
            pass
        finally:
            self.close()

    def __repr__(self) -> str:
        shown = ", ".join(motion.name for motion in self.motions)
        return f"<Studio of {shown} at {self.address}>"

    def close(self) -> None:
        """End all threads and the server; so does the end of a `with` block."""
        self._over.set()
        with ExitStack() as ends:  # each is called, whatever becomes of the others
            ends.callback(self._stop)
            ends.callback(self.player.close)
            for closer in reversed(self.closers):
                ends.callback(closer)
            if self.link is not None:
                ends.callback(self.link.close)

    def _stop(self) -> None:
        with redirect_stdout(StringIO()):
            self.server.stop()


def open_studio(
    names: Sequence[str],
    *,
    model: str = "",
    roots: Sequence[str | Path] = (),
    scene_file: SceneFileLike | None = None,
    asked: PreviewOptions | None = None,
    base: str = "auto",
    host: str = LOOPBACK,
    port: int = 0,
    allowed: Sequence[str] = (),
    token: str = "",
) -> Studio:
    """Return the studio of recordings, models and robot files, already serving."""
    if not names:
        raise InputError("the studio needs something to show", remedy="name a recording or a model")
    motions = [
        open_motion(n, model=model, roots=roots, scene_file=scene_file, base=base, asked=asked)
        for n in names
    ]
    made = Studio(motions, host, port, allowed, token=token)
    made.again = shlex.join(["linkwright", "studio", *names])
    if is_recording(names[0]):
        made.folder = Path(names[0]).resolve().parent
    if scene_file is not None:
        from linkwright.studio.scene_reload import watch

        made.scene_watch = watch(made, scene_file, roots)
    return made


def free_port(host: str, port: int = 0) -> int:
    """Return a port at which nobody serves now; one that is asked for and taken is an error."""
    if not 0 <= port <= 65535:
        raise InputError(
            f"there is no port {port}", remedy="take one of 1024 to 65535, or 0 for any"
        )
    try:
        with socket.create_server((host, port)) as made:
            return int(made.getsockname()[1])
    except OSError as error:
        why = error.strerror or str(error)
        if port and error.errno in (errno.EADDRINUSE, errno.EACCES):
            what = f"port {port} of {host!r} cannot be used: {why}"
            raise InputError(what, remedy="take another, or 0 for any that is free") from None
        remedy = f"use an address of this machine, such as {LOOPBACK}"
        raise InputError(f"nothing can be served at {host!r}: {why}", remedy=remedy) from None


def _closed_server(viser: Any) -> Any:
    """Return Viser's server without its tunnel, by which strangers would reach this machine."""

    def request_share_url(self: Any, verbose: bool = True) -> None:
        """Open no tunnel, whoever asks."""

    def disconnect_share_url(self: Any) -> None:
        """Do nothing: there is no tunnel."""

    own = {f.__name__: f for f in (request_share_url, disconnect_share_url)}
    return type("ClosedServer", (viser.ViserServer,), own)


def require_viser() -> Any:
    """Return Viser; it is an error with what to do where it is not installed."""
    try:
        import viser
    except ImportError:
        raise Error(
            "the studio needs Viser, which is not installed",
            remedy="pip install 'linkwright[studio]', or write a page that plays in any browser: "
            "`linkwright page`, or page() in Python",
        ) from None
    return viser
