"""The braces of a `.dyn` file: lists, expressions and comments, with their lines.

A `.dyn` file is a list for each degree of freedom, in Mathematica's notation: braces around items
with commas between, ``(* comments *)``, ``f[x]`` for a function and ``a[[1]]`` for an entry. Only
the lists are taken apart here; an expression is kept as its tokens and given a value in `terms`.
Separators between the lists of the file may be commas, semicolons or nothing at all.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from linkwright.base.errors import InputError

_TOKEN = re.compile(
    r"(?P<blank>\s+)"
    r"|(?P<number>(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]+|\*\^[+-]?[0-9]+)?)"
    r"|(?P<name>[A-Za-z$][A-Za-z0-9$]*)"
    r'|(?P<string>"[^"\n]*")'
    r"|(?P<sign>\[\[|\]\]|[{}\[\](),;=+\-*/^])"
)
_NAME_ALONE = re.compile(r"[A-Za-z][A-Za-z0-9_]*")
_NAME_IN_COMMENT = re.compile(r"\(\s*([A-Za-z][A-Za-z0-9]*(?:_[A-Za-z0-9]+)+)\s*\)")

MOST_TOKENS = 500_000
MOST_DEPTH = 50


@dataclass(frozen=True, slots=True)
class BraceToken:
    """A word of the file: kind ("number", "name", "string", "sign"), text, line and column."""

    kind: str
    text: str
    line: int
    column: int


@dataclass(frozen=True, slots=True)
class BraceTerm:
    """An expression between commas, as its tokens."""

    tokens: tuple[BraceToken, ...]

    @property
    def line(self) -> int:
        """Where it starts."""
        return self.tokens[0].line

    @property
    def text(self) -> str:
        """The expression, written without blanks."""
        return "".join(token.text for token in self.tokens)


@dataclass(frozen=True, slots=True)
class Braces:
    """A list: its items, the lines where it opens and closes, and the comments in it."""

    items: tuple[Braces | BraceTerm, ...]
    line: int
    end: int
    comments: tuple[str, ...] = ()


def tokenized(text: str, file: str = "") -> tuple[list[BraceToken], list[tuple[int, str]]]:
    """Return the tokens of a text, and its comments with the count of tokens before each.

    >>> [t.text for t in tokenized("{a,(* no *) b[[1]]*2.}")[0]]
    ['{', 'a', ',', 'b', '[[', '1', ']]', '*', '2.', '}']
    """
    tokens: list[BraceToken] = []
    comments: list[tuple[int, str]] = []
    at, line, start = 0, 1, 0
    while at < len(text):
        if text.startswith("(*", at):
            end = _comment_end(text, at)
            if end is None:
                raise InputError(
                    "a comment (* is not closed",
                    file=file or None,
                    line=line,
                    column=at - start + 1,
                    remedy="close it with *)",
                )
            comments.append((len(tokens), text[at + 2 : end - 2].strip()))
            kind = "blank"
        else:
            match = _TOKEN.match(text, at)
            if match is None:
                raise InputError(
                    f"the character {text[at]!r} has no meaning here",
                    file=file or None,
                    line=line,
                    column=at - start + 1,
                    remedy="names have letters, digits and $ only",
                )
            end, kind = match.end(), str(match.lastgroup)
        if kind != "blank":
            tokens.append(BraceToken(kind, text[at:end], line, at - start + 1))
            if len(tokens) > MOST_TOKENS:
                raise InputError(f"there are more than {MOST_TOKENS} words", file=file or None)
        breaks = text.count("\n", at, end)
        if breaks:
            line += breaks
            start = text.rindex("\n", at, end) + 1
        at = end
    return _split_brackets(tokens), comments


def _comment_end(text: str, at: int) -> int | None:
    """Return where a comment ends; comments may stand in comments."""
    depth = 0
    for match in re.compile(r"\(\*|\*\)").finditer(text, at):
        depth += 1 if match.group() == "(*" else -1
        if depth == 0:
            return match.end()
    return None


def _split_brackets(tokens: list[BraceToken]) -> list[BraceToken]:
    """Return the tokens with ``]]`` split where it closes two brackets: ``f[g[1]]``."""
    if not any(token.text == "]]" for token in tokens):
        return tokens
    found: list[BraceToken] = []
    opened: list[str] = []
    for token in tokens:
        if token.text in ("[", "[["):
            opened.append(token.text)
        elif token.text == "]" and opened:
            opened.pop()
        elif token.text == "]]":
            if opened and opened[-1] == "[[":
                opened.pop()
            else:
                found.append(BraceToken("sign", "]", token.line, token.column))
                found.append(BraceToken("sign", "]", token.line, token.column + 1))
                del opened[-2:]
                continue
        found.append(token)
    return found


class _Open:
    """A list whose closing brace has not come yet."""

    __slots__ = ("comments", "items", "token", "waiting")

    def __init__(self, token: BraceToken) -> None:
        self.token = token
        self.items: list[Braces | BraceTerm] = []
        self.waiting: list[BraceToken] = []
        self.comments: list[str] = []


def read_braces(text: str, file: str = "") -> tuple[Braces, ...]:
    """Return the lists of a text, one after the other.

    >>> one, two = read_braces("{a, {1, 2*x}}\\n{b}")
    >>> one.items[1].items[1].text, two.line
    ('2*x', 2)
    """
    tokens, comments = tokenized(text, file)
    lists: list[Braces] = []
    stack: list[_Open] = []
    brackets = 0
    remarks = iter([*comments, (len(tokens) + 1, "")])
    place, remark = next(remarks)
    for count, token in enumerate(tokens):
        while place <= count:
            if stack:
                stack[-1].comments.append(remark)
            place, remark = next(remarks)
        if token.text == "{" and brackets == 0:
            if len(stack) >= MOST_DEPTH:
                raise _fault(token, f"braces stand in each other deeper than {MOST_DEPTH}", file)
            if stack and stack[-1].waiting:
                raise _fault(token, "a list stands right after an expression", file, "add a comma")
            stack.append(_Open(token))
        elif not stack:
            if token.text not in (",", ";"):
                raise _fault(
                    token,
                    f"{token.text!r} stands outside of all braces",
                    file,
                    "each degree of freedom is a list {{jointID,{ID=1}}, ...}",
                )
        elif token.text == "}" and brackets == 0:
            done = stack.pop()
            _take(done)
            whole = Braces(tuple(done.items), done.token.line, token.line, tuple(done.comments))
            (stack[-1].items if stack else lists).append(whole)
        elif token.text == "," and brackets == 0:
            _take(stack[-1])
        else:
            if token.text in ("[", "[[", "("):
                brackets += 1
            elif token.text in ("]", "]]", ")"):
                brackets -= 1
                if brackets < 0:
                    raise _fault(token, f"{token.text!r} closes nothing", file)
            elif token.text in ("{", "}"):
                raise _fault(token, "a bracket is not closed before this brace", file)
            stack[-1].waiting.append(token)
    if stack:
        raise _fault(stack[-1].token, "this brace is not closed", file, "close it with }")
    return tuple(lists)


def name_in_comments(comments: tuple[str, ...]) -> str:
    """Return the name of a degree of freedom in a comment, or nothing.

    It stands in parentheses, with an underscore in it, as in the manual; or it is all of a comment.

    >>> name_in_comments(("left elbow (L_EB), flex is positive",))
    'L_EB'
    """
    for comment in comments:
        if _NAME_ALONE.fullmatch(comment):
            return comment
        match = _NAME_IN_COMMENT.search(comment)
        if match:
            return match.group(1)
    return ""


def _take(opened: _Open) -> None:
    if opened.waiting:
        opened.items.append(BraceTerm(tuple(opened.waiting)))
        opened.waiting = []


def _fault(token: BraceToken, what: str, file: str, remedy: str | None = None) -> InputError:
    return InputError(what, file=file or None, line=token.line, column=token.column, remedy=remedy)
