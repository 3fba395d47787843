"""The tab Play: play, pause, speed, scrub, step, loop, and how several recordings stand."""

from __future__ import annotations

import time
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from linkwright.studio.messages import only_words
from linkwright.studio.playback import SPEEDS
from linkwright.studio.rows import Control, Rows
from linkwright.studio.shortcuts import add_key, says
from linkwright.studio.state import RUN, panels_of

if TYPE_CHECKING:
    from linkwright.studio.server import Studio

_FRAME = "Previous, next frame (live: N is a step)"
_STEPS = (-10, -1, 1, 10)  # samples
_BESIDE, _ALONE = "Side by side", "Only the first"
_EVERY = 0.1  # s between updates of the slider while playing


def add(studio: Studio, tabs: Any, name: str) -> None:
    """Add the tab, but for cells."""
    if studio.link is not None:
        return
    player, gui, rows = studio.player, studio.server.gui, Rows(studio)
    with tabs.add_tab(name):
        first = studio.motions[0]
        heading = gui.add_markdown(_heading(studio))
        if not player.end > player.start:
            empty = "Nothing to play: the recording has fewer than two samples."
            unrun = "This System has not run yet. Press **Run** in the tab *Live*."
            gui.add_markdown(empty if first.system is None or len(first.recording) != 1 else unrun)
            return
        play = gui.add_button("Play", hint="Play or pause", icon="player-play")
        span = player.end - player.start
        scrub = gui.add_slider(
            "Time [s]",
            min=player.start,
            max=player.end,
            step=max(span / 2000, 1e-9),
            initial_value=player.start,
        )
        shown_time = Control(scrub, studio.server.get_event_loop())
        steps = {"Start": lambda: player.go_to(player.start)}
        steps |= {f"−{-k}" if k < 0 else f"+{k}": partial(player.step, k) for k in _STEPS}
        rows.buttons("Step", steps)
        speed = rows.speed(SPEEDS, player.speed, partial(setattr, player, "speed"))
        rows.box("Loop", player.loop, partial(setattr, player, "loop"))
        if len(studio.stages) > 1:
            _arrangement(studio, rows)
        else:
            add_key(studio, "O", "Other recordings", says("Only one recording is open."))

    def label() -> None:
        words = "Pause" if player.playing else "Play"
        if play.label != words:
            play.label, play.icon = words, f"player-{words.lower()}"

    panels_of(studio).every(0.2, label)

    def press(_: Any = None) -> None:
        if not player.playing and player.time >= player.end:
            player.go_to(player.start)
        player.playing = not player.playing
        label()

    play.on_click(press)
    _keys(studio, press, speed)

    def scrubbed(event: Any) -> None:
        if event.client is not None:  # what we set ourselves is no wish of a user's
            player.go_to(shown_time.take())

    scrub.on_update(scrubbed)

    shown = {"at": -1.0}

    def follow(t: float) -> None:
        now = time.monotonic()
        if player.playing and now - shown["at"] < _EVERY:
            return
        shown["at"] = now
        shown_time.show(float(t))
        if not player.playing:
            label()

    player.listeners.append(follow)

    def refit(start: float, end: float) -> None:
        scrub.min, scrub.max, scrub.step = start, end, max((end - start) / 2000, 1e-9)
        heading.content = _heading(studio)

    studio.spans.append(refit)


def _heading(studio: Studio) -> str:
    """Return what is shown, where it comes from, and what a user should know of it."""
    first = studio.motions[0]
    words = [f"**{only_words(first.scene.name if first.scene is not None else first.name)}**"]
    if first.scene is not None and first.scene.doc:
        words.append(only_words(first.scene.doc))
    if first.story:
        words.append(f"*{only_words(first.story)}*")
    if len(studio.motions) > 1:
        others = ", ".join(only_words(motion.name) for motion in studio.motions[1:])
        words.append(f"Main: {only_words(first.name)} · Ghosts: {others}")
    notes = dict.fromkeys(n for motion in studio.motions for n in motion.notes)
    return "\n\n".join(["  \n".join(words), *(f"⚠ {only_words(note)}" for note in notes)])


def _keys(studio: Studio, press: Any, speed: Any) -> None:
    """Let keys play, step and change the speed; in a live run, its own keys step and reset it."""
    player, panels = studio.player, panels_of(studio)

    def step(by: int) -> None:
        if panels.mode != RUN:
            player.step(by)

    def begin() -> None:
        if panels.mode != RUN:
            player.go_to(player.start)

    def paced(by: int) -> None:
        at = list(speed.options).index(speed.value) + by
        speed.value = speed.options[min(max(at, 0), len(speed.options) - 1)]

    for key, words, act, line in (
        ("space", "Play or pause", press, "Play, pause"),
        ("P", "", press, "Play, pause"),
        ("B", "Previous frame", lambda _: step(-1), _FRAME),
        ("N", "Next frame", lambda _: step(1), _FRAME),
        ("R", "Back to the start", lambda _: begin(), "To the start (live: reset)"),
        ("home", "Start of the recording", lambda _: player.go_to(player.start), "Start, end"),
        ("end", "End of the recording", lambda _: player.go_to(player.end), "Start, end"),
        ("pagedown", "Slower", lambda _: paced(-1), "Slower, faster"),
        ("pageup", "Faster", lambda _: paced(1), "Slower, faster"),
    ):
        add_key(studio, key, words or "Play or pause (P)", act, line=line)


def _arrangement(studio: Studio, rows: Rows) -> None:
    """Let several recordings stand over each other, side by side, or alone."""

    def arrange(how: str) -> None:
        for k, stage in enumerate(studio.stages):
            beside = how == _BESIDE
            stage.place(np.array([0.0, k * 1.6 * studio.size if beside else 0.0, 0.0]))
            stage.top.visible = k == 0 or how != _ALONE

    options, words = ("Overlaid as ghosts", _BESIDE, _ALONE), "Other recordings"
    rows.choice("Recordings", options, options[0], arrange, key="O", words=words)
