"""Sessions again: repeated and compared bit by bit, or gone on with from a moment of them.

Nothing of a task's file is executed for that: compiled tasks are made of their stored Programs, and
what Python tasks gave is on the tape. Only where it is asked for, tasks are made of the texts that
the session holds, and their `run` is called again.
"""

from __future__ import annotations

import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from linkwright.base.errors import InputError
from linkwright.lab.newer_tasks import taken_up
from linkwright.lab.running import carried_states, task_failure, task_function
from linkwright.lab.session import StoredFunction, StoredSession, read_session
from linkwright.lab.slot import SlotLayout
from linkwright.lab.stored_tasks import from_session
from linkwright.lab.task_files import load_tasks
from linkwright.lab.tasks import Task
from linkwright.recording import Recording
from linkwright.recording.streams import Stream, stream_of, whole
from linkwright.simulation.described import fingerprint
from linkwright.simulation.native.called import SlotFunction
from linkwright.simulation.pacing import PacedLoop, Show
from linkwright.version import __version__

if TYPE_CHECKING:
    from linkwright.lab.lab import Lab


def run_again(
    stream: Stream, *, tasks: bool = False, show: Show | None = None
) -> tuple[Stream, Sequence[str]]:
    """Repeat a session in lockstep; return its states, and what is to be said."""
    found = read_session(whole(stream))
    again, notes = _executed(found, show) if tasks else (_taped(found, show), ())
    return stream_of(again), notes


def _taped(found: StoredSession, progress: Show | None) -> Recording:
    """Return the states of a session that is repeated from its tape alone."""
    session = found.at_start()
    loop = PacedLoop(session, clock="virtual", waits=True, states=found.every)
    found.follow(loop, show=progress)
    samples, rows = loop.samples(), slice(0, len(found.recording))
    about = {"version": __version__, "hash": fingerprint(session.phases)}
    channels = found.recording.channels
    return Recording(samples.times[rows], channels, samples.values[rows], about)


def _executed(found: StoredSession, progress: Show | None) -> tuple[Recording, tuple[str, ...]]:
    """Return the states of a session whose tasks are executed again, and what is to be said."""
    from linkwright.lab.lab import Lab

    if found.real:
        raise InputError(
            "the tasks of a session with a real robot ran beside it",
            remedy="rerun it without --execute-tasks",
        )
    with tempfile.TemporaryDirectory(prefix="linkwright-") as folder:
        with Lab(found.config, seed=found.seed, folder=folder, session_rate=found.rate) as lab:
            made = _Executed(found, lab)
            found.follow(lab.loop, show=progress, make=made.function)
        assert lab.session is not None
        again = read_session(lab.session.path).recording
    rows = slice(0, len(found.recording))
    about = {key: again.metadata[key] for key in ("version", "hash")}
    cut = Recording(again.times[rows], again.channels, again.data[rows], about)
    return cut, ((f"executed again: {', '.join(made.names)}",) if made.names else ())


class _Executed:
    """Tasks that are made of the texts of a session, and called again."""

    def __init__(self, found: StoredSession, lab: Lab) -> None:
        self._found, self._lab = found, lab
        self._classes: dict[str, dict[str, type[Task]]] = {}
        self._running: dict[str, Task] = {}
        self.names: list[str] = []

    def function(self, stored: StoredFunction) -> SlotFunction:
        """Return the function of a task, made anew where there is a text of it."""
        if stored.text not in self._found.texts:
            if stored.data is None:
                raise InputError(
                    f"the session does not hold the text of the task {stored.name!r}",
                    remedy="rerun it without --execute-tasks",
                )
            sizes = self._lab.loop.session.slot_sizes(stored.servo)
            return from_session(stored.name, stored.data, sizes)
        cls, older = self._class(stored), self._running.get(stored.servo)
        layout, carried = SlotLayout(self._found.config, stored.servo), None
        if stored.answers is None and older is not None:  # it goes on, without `init`
            task = taken_up(older, cls)
            task.set(stored.values)
            carried = carried_states(task, older)
        else:
            task = cls()
            task.set(stored.values)
            self._bring_up_to(stored.tick)
            try:
                task.init(_Spectator(self._lab, stored.answers or ()))
            except Exception as error:
                raise task_failure(task, error, "init") from error
        self._running[stored.servo] = task
        if stored.name not in self.names:
            self.names.append(stored.name)
        return task_function(task, layout, carried)

    def _bring_up_to(self, tick: int) -> None:
        """Let the laboratory know what it was given so far, which `init` may look at."""
        given = {c.name: c.value for c in self._found.tape if c.tick <= tick + 1}
        origins = [origin for told, origin in self._found.origins if told <= tick + 1]
        self._lab.take_over((), given, origins[-1] if origins else 0)

    def _class(self, stored: StoredFunction) -> type[Task]:
        if stored.text not in self._classes:
            text = self._found.texts[stored.text]
            with tempfile.TemporaryDirectory(prefix="linkwright-") as name:
                folder = Path(name).resolve()
                main = folder / Path(text.name).name
                for path, content in [
                    (main, text.content),
                    *((folder / other, content) for other, content in text.beside.items()),
                ]:
                    if not path.resolve().is_relative_to(folder):
                        raise InputError(f"the session has a text for {path}, which is not a place")
                    path.parent.mkdir(parents=True, exist_ok=True)
                    path.write_text(content, encoding="utf-8", newline="")
                self._classes[stored.text] = load_tasks(main).tasks
        found = self._classes[stored.text].get(stored.name)
        if found is None:
            raise InputError(f"the text of the session has no task {stored.name!r}")
        return found


class _Spectator:
    """A laboratory that is looked at only: what is asked of it in `init` is on the tape."""

    def __init__(self, lab: Any, answers: Sequence[Any] = ()) -> None:
        self._lab, self._answers = lab, iter(answers)

    def __getattr__(self, name: str) -> Any:
        value = getattr(self._lab, name)
        return _nothing if callable(value) and name not in _READ else value

    @property
    def recorder(self) -> _Spectator:
        """The recorder, which is looked at only, too."""
        return _Spectator(self._lab.recorder)

    def ask(self, question: str, default: Any, **_: Any) -> Any:
        """Answer what was answered then."""
        del question
        answer = next(self._answers, default)
        return tuple(answer) if isinstance(default, tuple) else answer


_READ = ("values", "given", "has", "running", "layout", "sample_script")
"""What only reads."""


def _nothing(*_: Any, **__: Any) -> None:
    """Do nothing, whatever is asked."""


def go_on_from(lab: Lab, found: StoredSession, at: float | None = None) -> None:
    """Bring a laboratory that stands at its start to a moment of a session.

    Compiled tasks go on; a Python task is frozen there, because its code is not executed.

    Units: `at` in s.
    """
    tick = found.tape.end if at is None else round(at / float(lab.period))
    if not 0 <= tick <= found.tape.end:
        end = float(found.tape.end * lab.period)
        raise InputError(
            f"the session has no time {at:g} s", remedy=f"choose one from 0 to {end:g} s"
        )
    made = found.follow(lab.loop, tick, journal=lab.session)
    given = {change.name: change.value for change in found.tape if change.tick <= tick}
    origins = [origin for told, origin in found.origins if told <= tick]
    if lab.session is not None and origins:
        lab.session.say(tick, origin=origins[-1])
    lab.take_over(made, given, origins[-1] if origins else 0)
