"""The pages of commands, made from what `--help` prints: one page for each group."""

from __future__ import annotations

from collections.abc import Iterator
from inspect import cleandoc
from typing import Any

from linkwright.cli.app import Members
from linkwright.cli.commands import COMMANDS, GROUPS

_HEAD = """\
# Commands

`linkwright COMMAND --help` prints what these pages say. `linkwright --version` prints the version,
`linkwright --install-completion` lets the shell complete commands, models, parameters and channels.

Exit codes: 0 success; 1 a closed pipe, a rerun that differs, an error found by `model check`, or a
limit exceeded in `analyze require`; 2 wrong usage or an error (one line on stderr); 130 Ctrl-C; 143
SIGTERM; 129 SIGHUP. Old names work in this release, with a warning:
[What was renamed](../../migration.md).
"""
_ALONE = "general"


def pages() -> dict[str, str]:
    """Return the pages of all commands, by their names in the folder `commands`."""
    groups: dict[str, list[str]] = {_ALONE: []}
    for path in COMMANDS:
        group, _, _ = path.rpartition(" ")
        groups.setdefault(group or _ALONE, []).append(path)
    found = {}
    rows = []
    for group, members in groups.items():
        name = f"linkwright {group}" if group != _ALONE else "Commands without a group"
        line = GROUPS.get(group, "Run a model, run it again, plot it, show it, write it as code.")
        texts = {path: _command(path) for path in members}
        found[group] = "\n".join([f"# {name}\n", f"{line}\n", *texts.values()])
        for path in members:
            anchor = f"linkwright-{path.replace(' ', '-')}"
            rows.append(f"| [`linkwright {path}`]({group}.md#{anchor}) | {_summary(path)} |")
    tree = [":::{toctree}", ":hidden:", "", *groups, ":::", ""]
    table = ["| command | what it does |", "|---|---|", *rows, ""]
    found["index"] = "\n".join([_HEAD, *table, *tree])
    return found


def _click(path: str) -> Any:
    group, _, name = path.rpartition(" ")
    return Members(group)[name]


def _summary(path: str) -> str:
    return (_click(path).help or "").partition("\n")[0].replace("|", "\\|")


def _command(path: str) -> str:
    """Return the section of a command: summary, usage, arguments and options, examples."""
    command = _click(path)
    context = command.make_context(path, [], resilient_parsing=True)
    usage = " ".join(["linkwright", path, *command.collect_usage_pieces(context)])
    lines = [f"## linkwright {path}\n", *_prose(command.help or ""), "```sh", usage, "```\n"]
    rows = [_row(param) for param in command.get_params(context)]
    return "\n".join(
        [*lines, "| argument or option | meaning |", "|---|---|", *filter(None, rows), ""]
    )


def _prose(text: str) -> Iterator[str]:
    """Yield the paragraphs of a help text; what has lines of its own is shown as typed."""
    for part in cleandoc(text).split("\n\n"):
        head, _, rest = part.partition("\n")
        if rest and head.rstrip().endswith(":"):
            yield f"{head}\n\n```sh\n{cleandoc(rest)}\n```\n"
        elif rest:
            yield f"```\n{part}\n```\n"
        else:
            yield f"{escaped(part)}\n"


def _row(param: Any) -> str:
    if getattr(param, "hidden", False):
        return ""
    flag = getattr(param, "is_flag", False)
    names = param.opts if param.param_type_name == "option" else [_usage(param)]
    value = "" if flag or param.param_type_name != "option" else f" {param.metavar or ''}"
    shown = ", ".join(f"`{name}{value if i == 0 else ''}`" for i, name in enumerate(names))
    given = param.default
    plain = given is not None and not callable(given) and not flag and "Sentinel" not in repr(given)
    default = (
        f" Default: `{getattr(given, 'value', given)}`." if plain and given not in ("", []) else ""
    )
    return f"| {shown} | {escaped(param.help or '')}{default} |"


def _usage(argument: Any) -> str:
    name = argument.metavar or argument.name.upper()
    return str(name)


def escaped(text: str) -> str:
    """Return plain words as Markdown that shows them as they are."""
    words = " ".join(text.split()).replace("\\[", "[")
    parts = words.split("`")
    marks = str.maketrans({c: f"\\{c}" for c in "*_<>[]|"})
    shown = [part if i % 2 else part.translate(marks) for i, part in enumerate(parts)]
    return "`".join(part.replace("|", "\\|") if i % 2 else part for i, part in enumerate(shown))
