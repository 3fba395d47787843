"""The dialogue itself: its menus, and what each of them does.

The top menu is a place from which nothing is taken back: what was saved is saved. Between two
visits to it, the dialogue is a function of its answers (`linkwright.heritage.dialogue.talk`).
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

from linkwright.base.errors import Error, InputError
from linkwright.base.files import read_text, write_text
from linkwright.heritage.dialogue.answers import Question, choice, is_name, new_name, truth, words
from linkwright.heritage.dialogue.talk import Talk

if TYPE_CHECKING:
    from linkwright.heritage.dialogue.model import Draft

TOP = ("define", "analyze", "postprocess", "quit")
_TOP_HELP = (
    "define: make a model, or change one. analyze: check it, or find what a task needs. "
    "postprocess: plots, and the motion as a page. quit: leave. Everywhere, ? explains a question, "
    "< goes back to the one before, and an empty line takes the answer in brackets."
)
_DEFINE = ("create", "modify", "drive", "return")
_MODIFY = (
    "base",
    "link",
    "add",
    "delete",
    "tool",
    "limits",
    "motion",
    "environment",
    "shapes",
    "detail",
    "options",
    "done",
)
_MODIFY_HELP = (
    "base: its place. link: one category of one link. add, delete: links. tool: its frame. limits: "
    "of a joint. motion: the task. environment: shapes on the base. shapes: on links. detail: "
    "cylinders, cones, boxes, trapezoids and trusses, turned and moved. options: gravity "
    "and runs. done: save, or leave it."
)


class Guide:
    """A dialogue about one file."""

    def __init__(self, file: Path, talk: Talk, show: Callable[[Path], None] | None = None) -> None:
        self.file = file
        self.show = show
        self.talk = talk
        self.preview = file.with_suffix(".draft.toml")
        self.preview_scene = file.with_suffix(".draft-scene.toml")
        self.backup: Path | None = None
        self._loaded: str | None = None

    # -- top ---------------------------------------------------------------------------------------
    def play(self) -> None:
        """Run the dialogue from the top menu until it is left."""
        acts: dict[str, Callable[[], None]] = {
            "define": self._define,
            "analyze": self._analyze,
            "postprocess": self._postprocess,
        }
        while True:
            chosen = self.talk.ask(
                Question(_menu(TOP), choice(TOP), None, _TOP_HELP, (*TOP, "?", "<"))
            )
            if chosen == "quit":
                self._commit()
                return
            try:
                acts[chosen]()
            except Error as error:
                if self.talk.lines.strict:
                    raise
                if not self._goes_on(error):
                    self._commit()
                    return
            self._commit()

    def _goes_on(self, error: Error) -> bool:
        """Print an error that ended a function, and return whether to go on."""
        self.talk.tell(error if error.code else _from_below(error))
        ways = ("continue", "stop")
        help_ = "continue: back to the top menu. stop: leave the dialogue."
        found: bool = (
            self.talk.ask(Question(_menu(ways), choice(ways), "continue", help_)) != "stop"
        )
        return found

    def _commit(self) -> None:
        self._loaded = None
        self.talk.commit()
        self.preview.unlink(missing_ok=True)
        self.preview_scene.unlink(missing_ok=True)

    # -- define ------------------------------------------------------------------------------------
    def _define(self) -> None:
        help_ = (
            "create: a new model, from nothing. modify: the one in the file. drive: the drive of a "
            "joint, new or in the file."
        )
        chosen = self.talk.ask(Question(_menu(_DEFINE), choice(_DEFINE), "return", help_))
        if chosen == "create":
            self._create()
        elif chosen == "modify":
            self._modify()
        elif chosen == "drive":
            self._drive()

    def _drive(self) -> None:
        """Ask for the drive of a joint: all of it where it is new, then edits."""
        from linkwright.formats.text.writer import value_text
        from linkwright.heritage.dialogue import drive
        from linkwright.heritage.dialogue.model import Draft

        talk = self.talk
        text = self._loaded = self._text_of_file()
        stem = self.file.stem if is_name(self.file.stem) else "drive"
        draft = Draft(text or f"format = 1\nname = {value_text(stem)}\n").checked()
        there = drive.chain_number(draft) is not None
        help_ = "yes: all constants are asked. no: those of the file stay, but for edits."
        wanted = Question("answer all constants (yes, no)", truth, "no" if there else "yes", help_)
        if not there or talk.ask(wanted):
            draft = self._component(draft, lambda d: drive.ask_drive(talk, d))
            draft = self._component(draft, lambda d: drive.ask_noise(talk, d))
        draft = drive.ask_edits(talk, draft)
        if draft.text != text:
            self._save(draft)
        else:
            talk.say("nothing was changed")

    def _create(self) -> None:
        talk = self.talk
        self._loaded = self._text_of_file()
        stem = self.file.stem if is_name(self.file.stem) else "robot"
        name = talk.ask(Question("name of the model", new_name(()), stem, "A word for it."))
        doc = talk.ask(Question("what it is, in a line", words, "", "One line that says it."))
        from linkwright.formats.text.writer import value_text
        from linkwright.heritage.dialogue import components
        from linkwright.heritage.dialogue.model import Draft
        from linkwright.heritage.dialogue.motion import ask_motion

        head = f"format = 1\nname = {value_text(name)}\n"
        draft = Draft(head + (f"doc = {value_text(doc)}\n" if doc else ""))
        draft = self._component(draft, lambda d: components.ask_base(talk, d))
        while True:
            draft = self._component(
                draft, lambda d: components.ask_new_link(talk, d, d.last_link())
            )
            more = Question("another joint (yes, no)", truth, "yes", "The next joint and its link.")
            if not talk.ask(more):
                break
        draft = self._component(draft, lambda d: components.ask_tool(talk, d))
        draft = self._component(draft, lambda d: ask_motion(talk, d, self.file.parent))
        draft = self._component(draft, lambda d: components.ask_options(talk, d))
        self._save(draft, keep_old=True)

    def _modify(self) -> None:
        from linkwright.heritage.dialogue.model import Draft

        talk = self.talk
        text = self._text_of_file()
        if text is None:
            raise InputError(
                f"there is no file {str(self.file)!r}", remedy="create the model", code="R112"
            )
        self._loaded = text
        draft = Draft(text).checked()
        ways = ("keep", "delete")
        help_ = "delete takes the file away until it is saved; a backup of it stays."
        kept = talk.ask(Question("the file on disk (keep, delete)", choice(ways), "keep", help_))
        if kept == "delete" and not talk.pending:
            self._set_aside()
        while True:
            chosen = talk.ask(
                Question(_menu(_MODIFY), choice(_MODIFY), "done", _MODIFY_HELP, _MODIFY)
            )
            if chosen == "done":
                break
            draft = self._changed(draft, chosen)
        if draft != Draft(text) or kept == "delete":
            self._save(draft)
        else:
            talk.say("nothing was changed")

    def _changed(self, draft: Draft, category: str) -> Draft:
        from linkwright.heritage.dialogue import components as ask
        from linkwright.heritage.dialogue.motion import ask_motion

        talk, links = self.talk, draft.links
        if category == "base":
            only = self._category(ask.BASE)
            return self._component(draft, lambda d: ask.ask_base(talk, d, only))
        if category == "tool":
            only = self._category(ask.TOOL)
            return self._component(draft, lambda d: ask.ask_tool(talk, d, only))
        if category == "options":
            only = self._category(ask.OPTIONS)
            return self._component(draft, lambda d: ask.ask_options(talk, d, only))
        if category == "motion":
            return self._component(draft, lambda d: ask_motion(talk, d, self.file.parent))
        if category == "detail":
            from linkwright.heritage.dialogue.detail import ask_detail

            return self._component(draft, lambda d: ask_detail(talk, d, self.file))
        if category == "add":
            return self._component(draft, lambda d: ask.ask_new_link(talk, d, self._above(d)))
        if category == "environment":
            base = draft.base
            where = ["n"] if base is None else [str(draft.bodies[base]["name"]), "n"]
            return self._component(draft, lambda d: ask.ask_shape(talk, d, where, "environment"))
        if not links:
            talk.tell(InputError("the model has no link", remedy="add one first", code="R115"))
            return draft
        if category == "shapes":
            return self._component(draft, lambda d: ask.ask_shape(talk, d, links, "shape"))
        name = talk.ask(
            Question(f"which link ({', '.join(links)})", choice(links), None, "", tuple(links))
        )
        if category == "delete":
            return self._without(draft, name)
        only = "limits" if category == "limits" else self._category(ask.LINK)
        return self._component(draft, lambda d: ask.ask_link(talk, d, name, only))

    def _above(self, draft: Draft) -> str:
        bodies = [str(body["name"]) for body in draft.bodies]
        help_ = "The new link hangs on this one; what hung on it hangs on the new link then."
        question = f"behind which link ({', '.join(bodies)})"
        found: str = self.talk.ask(
            Question(question, choice(bodies), draft.last_link(), help_, tuple(bodies))
        )
        return found

    def _category(self, names: tuple[str, ...]) -> str:
        help_ = "Only this category is asked, and only it changes."
        found: str = self.talk.ask(Question(_menu(names), choice(names), None, help_, names))
        return found

    def _component(self, draft: Draft, ask: Callable[[Draft], Draft]) -> Draft:
        """Return the draft with a component, which is asked until it is accepted."""
        talk = self.talk
        while True:
            try:
                new = ask(draft).checked()
            except InputError as error:
                talk.refuse(error)
                continue
            if new == draft:
                return draft
            self._show(draft, new)
            help_ = "no: it is asked again, and replaced. yes: it is kept."
            if talk.ask(Question("keep it (yes, no)", truth, "yes", help_)):
                return new
            self._show(new, draft)

    def _without(self, draft: Draft, name: str) -> Draft:
        """Return the draft without a link, if all that is left can be built and is accepted."""
        try:
            new = draft.without_link(name).checked()
        except InputError as error:
            self.talk.refuse(error)
            return draft
        self._show(draft, new)
        help_ = "no: the link stays. yes: it goes, with all that is only of it."
        accepted = self.talk.ask(Question("keep it (yes, no)", truth, "yes", help_))
        return new if accepted else draft

    def _show(self, old: Draft, new: Draft) -> None:
        """Print the lines that are new, and let a studio that looks at the draft see them."""
        from difflib import ndiff

        pairs = ((old.text, new.text), (old.task, new.task), (old.scene, new.scene))
        for was, now in pairs:
            for line in ndiff(was.splitlines(), now.splitlines()):
                if line[:1] in "+-" and line[2:].strip():
                    self.talk.say(f"  {line}")
        if not self.talk.pending:
            write_text(self.preview, self._previewed(new), replace=True)
            if self.show is not None:
                self.show(self.preview)

    def _previewed(self, draft: Draft) -> str:
        """Return the text of the preview, whose scene is a file of its own."""
        if not draft.scene:
            return draft.text
        from linkwright.formats.text.edits import with_value

        write_text(self.preview_scene, draft.scene, replace=True)
        return with_value(draft.text, ("scene",), self.preview_scene.name)

    # -- files -------------------------------------------------------------------------------------
    def _text_of_file(self) -> str | None:
        """Return what the file held when this part of the dialogue began."""
        if self._loaded is not None:
            return self._loaded
        paths = [self.file, self.backup]
        if self.talk.pending:  # a draft is resumed in which the file was set aside
            paths += sorted(self.file.parent.glob(f"{self.file.name}.bak*"), key=_age)[-1:]
        for path in paths:
            if path is not None and path.is_file():
                return read_text(path, 16_000_000)
        return None

    def _set_aside(self) -> None:
        backup = free_name(self.file)
        with suppress(FileNotFoundError):
            self.file.rename(backup)
            self.backup = backup
            self.talk.say(f"{self.file} is {backup} now")

    def _save(self, draft: Draft, *, keep_old: bool = False) -> None:
        talk = self.talk
        help_ = "yes: the file is written, whole. no: it stays as it is, and the draft is dropped."
        if not talk.ask(Question(f"save {self.file} (yes, no)", truth, "yes", help_)):
            talk.say("not saved")
            return
        there = read_text(self.file, 16_000_000) if self.file.is_file() else None
        if there is not None and there != self._loaded:
            raise InputError(
                f"{str(self.file)!r} was changed by another program meanwhile",
                remedy="modify it again, from what it holds now",
                code="R112",
            )
        if draft.task:
            self._write(self.file.parent / draft.data["task"], draft.task, keep_old=True)
        if draft.scene:
            self._write(self.file.parent / draft.data["scene"], draft.scene, keep_old=True)
        self._write(self.file, draft.text, keep_old=keep_old)
        talk.say(f"wrote {self.file}; `linkwright studio {self.file}` shows it")

    def _write(self, file: Path, text: str, *, keep_old: bool) -> None:
        """Write a file whole; what it held is kept in a backup where that is wanted."""
        there = read_text(file, 16_000_000) if file.is_file() else None
        if keep_old and there is not None and there != text:
            backup = free_name(file)
            write_text(backup, there)
            self.talk.say(f"what {file} held is in {backup}")
        write_text(file, text, replace=True)

    # -- analyze, postprocess ----------------------------------------------------------------------
    def _analyze(self) -> None:
        from linkwright.heritage.dialogue.functions import analyze

        analyze(self.talk, self.file)

    def _postprocess(self) -> None:
        from linkwright.heritage.dialogue.functions import postprocess

        postprocess(self.talk, self.file)


def free_name(file: Path) -> Path:
    """Return a name for a backup of a file that no file has."""
    path, k = file.with_name(f"{file.name}.bak"), 1
    while path.exists():
        k += 1
        path = file.with_name(f"{file.name}.bak{k}")
    return path


def _age(path: Path) -> float:
    return path.stat().st_mtime


def _menu(names: tuple[str, ...]) -> str:
    return ", ".join(f"{k} {name}" for k, name in enumerate(names, 1))


def _from_below(error: Error) -> InputError:
    return InputError(f"{error}", remedy="correct it, and try again", code="R116")
