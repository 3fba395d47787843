"""Who may do what in a cell, and the keys under which they ask.

Keys of a cell's network, all under `linkwright`; a cell has an address of its own:

`state/<n>` is the state at every n-th tick, published. `as/<client>/...` is what a client asks for:
`describe`, `clock`, `halt`, `lease/<arm>`, `command/<arm>` are requests with an answer;
`beat/<arm>` and `frame/<name>` are sent without one. The name of the client stands in the key, and
beyond loopback only the holder of its certificate can use it. A coordinator of sensors has an
address of its own too, and answers `clock` and `report`; `observe/<kind>/<frame>/<label>` is sent.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from linkwright.base.errors import InputError, suggestion

ROOT = "linkwright"
"""What all keys begin with."""
RIGHTS = ("look", "command", "supervise", "sense")
"""See the state and halt; command arms; take an arm from another; say where frames are."""

_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.-]{0,62}")


def check_name(name: str, what: str) -> str:
    """Return a name that may stand in a key.

    >>> check_name("cell1", "a cell")
    'cell1'
    """
    if _NAME.fullmatch(name) is None:
        raise InputError(
            f"{name!r} cannot be the name of {what}",
            remedy="use letters, digits, and _ . - after the first",
        )
    return name


@dataclass(frozen=True, slots=True)
class Client:
    """Somebody who may connect.

    Args:
        name: common name of its certificate.
        rights: of `RIGHTS`; whoever may command may look, whoever supervises may command.

    >>> Client("alice", ["command"]).may("look")
    True
    """

    name: str
    rights: Iterable[str] = field(default=("look",))

    def __post_init__(self) -> None:
        check_name(self.name, "a client")
        given = tuple(self.rights)
        for right in given:
            if right not in RIGHTS:
                hint = suggestion(right, RIGHTS, f"there are {', '.join(RIGHTS)}")
                raise InputError(f"{right!r} is not a right (client {self.name!r})", remedy=hint)
        if not given:
            raise InputError(
                f"client {self.name!r} has no rights", remedy=f"give some of {', '.join(RIGHTS)}"
            )
        object.__setattr__(self, "rights", given)

    def may(self, right: str) -> bool:
        """Whether it has a right, or one that contains it."""
        return any(right in _CONTAINS[given] for given in self.rights)


_CONTAINS: Mapping[str, tuple[str, ...]] = {
    "look": ("look",),
    "command": ("look", "command"),
    "supervise": ("look", "command", "supervise"),
    "sense": ("look", "sense"),
}


def access_rules(clients: Iterable[Client]) -> dict[str, Any]:
    """Zenoh's access control for the clients of a cell: what is not allowed here is dropped.

    Requests of a client under its own name come in whatever its rights are, because they can be
    rejected by name; what has no answer comes in by right.
    """
    states = f"{ROOT}/state/*"
    rules: list[dict[str, Any]] = [
        _rule("look", "ingress", ["declare_subscriber"], [states]),
        _rule("state", "egress", ["put"], [states]),
    ]
    subjects, policies = [], []
    for client in clients:
        own = f"{ROOT}/as/{client.name}"
        sent = [f"{own}/beat/*"] * client.may("command")
        if client.may("sense"):
            sent += [f"{own}/frame/*", f"{own}/observe/*/*/*"]
        mine = [
            _rule(f"ask {client.name}", "ingress", ["query"], [f"{own}/**"]),
            _rule(
                f"answer {client.name}",
                "egress",
                ["reply", "declare_queryable", "declare_subscriber"],
                [f"{ROOT}/as/*/**"],
            ),
        ]
        if sent:
            mine.append(_rule(f"send {client.name}", "ingress", ["put"], sent))
        rules += mine
        subjects.append({"id": client.name, "cert_common_names": [client.name]})
        policies.append(
            {"rules": ["look", "state", *(r["id"] for r in mine)], "subjects": [client.name]}
        )
    return {
        "enabled": True,
        "default_permission": "deny",
        "rules": rules,
        "subjects": subjects,
        "policies": policies,
    }


def _rule(name: str, flow: str, messages: list[str], keys: list[str]) -> dict[str, Any]:
    return {
        "id": name,
        "permission": "allow",
        "flows": [flow],
        "messages": messages,
        "key_exprs": keys,
    }
