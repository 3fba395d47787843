"""The table of commands as a page has it: SL's names beside ours, and what Python has for them.

python -m linkwright.lab.console.documentation
"""

from __future__ import annotations

from linkwright.lab.console.commands import standard_commands
from linkwright.lab.console.table import ConsoleCommand

PYTHON = {
    "setTask": 'lab.start("wave", frequency=2.0)',
    "redo": "lab.redo()",
    "changeTaskParm": "lab.change(frequency=1.0)",
    "tasks": "lab.tasks",
    "freeze": "lab.freeze()",
    "stop": 'lab.stop("reason")',
    "reset": "lab.reset()",
    "go0": "lab.go_default()",
    "go": "lab.go_to(q)",
    "goVisTarget": 'lab.go_cartesian({"R_HAND": x})',
    "blob": 'lab.place_blob("blob1", x)',
    "where_base": "lab.base",
    "where_misc": "lab.misc",
    "bwhere": "lab.blobs",
    "rbwhere": "lab.raw_blobs",
    "rbwhere2D": "lab.raw_blobs_2d",
    "reload": "lab.reload()",
    "step": 'lab.start("step", ...)',
    "run": "lab.run(5.0)",
    "pace": "lab.pace(1)",
    "where": "lab.state",
    "where_des": "lab.desired",
    "cwhere": "lab.cart",
    "lwhere": "lab.robot.position(q, vertex)",
    "linfo": "lab.robot.pose(q, link)",
    "status": "lab.counters",
    "jitter": "lab.counters",
    "setG": "lab.set_gravity((0, 0, -9.81))",
    "push": 'lab.push("R_HAND", (0, 0, -5.0), seconds=0.5)',
    "ck": 'lab.controller("pidff")',
    "estimate": 'lab.estimate(seconds=60, to="LinkParameters.cf")',
    "mode": 'lab.mode("invdyn")',
    "toggle_filter": "lab.filters(False)",
    "patience": "lab.patience(50)",
    "freezeBase": "lab.freeze_base(True)",
    "scd": "lab.recorder.start()",
    "stopcd": "lab.recorder.stop()",
    "scds": "lab.recorder.start(save=True)",
    "mscds": "lab.recorder.start(save=True, repeat=3)",
    "dscd": "lab.recorder.start(delay=1.0)",
    "saveData": "lab.recorder.save()",
    "outMenu": "lab.recorder.configure(rate=480)",
    "man": "lab.commands",
}
"""What Python has for a command; others are `lab.do("...")`."""

OURS = frozenset(
    {"tasks", "reload", "run", "pace", "jitter", "mode", "quit", "blob", "patience", "push"}
    | {"estimate"}
)
"""Commands that SL does not have."""


def command_tables() -> str:
    """Return two tables in Markdown: SL's commands, and those that came since."""
    commands = list(standard_commands())
    parts = []
    for head, chosen in (
        ("SL's command", [c for c in commands if c.name not in OURS]),
        ("further command", [c for c in commands if c.name in OURS]),
    ):
        lines = [f"| {head} | what it does | in Python |", "|---|---|---|"]
        lines += [_row(command) for command in chosen]
        parts.append("\n".join(lines))
    return "\n\n".join(parts) + "\n"


def _row(command: ConsoleCommand) -> str:
    usage = " ".join(f"`{name}`" for name in (command.usage, *command.short))
    python = f"`{PYTHON[command.name]}`" if command.name in PYTHON else ""
    return f"| {usage} | {command.help} | {python} |"


if __name__ == "__main__":
    print(command_tables(), end="")
