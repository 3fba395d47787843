"""Sessions of zenoh, closed to everybody who was not named.

Nothing is found by multicast or gossip, and nothing listens but where it was set to. On loopback
anybody on this machine may connect. Beyond it nothing starts without TLS, a certificate on both
sides, and clients with their rights; the client's name is the common name of its certificate, and
it can ask under that name alone (`keys`), which zenoh's access control enforces.

A session's threads end when it is closed. Python joins threads before it runs `atexit`, so every
session is closed by a hook that comes before that; a program that falls off its end does end.
"""

from __future__ import annotations

import ipaddress
import json
import re
import socket
import ssl
import threading
import weakref
from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from linkwright.base.errors import InputError
from linkwright.base.optional import extra
from linkwright.server.access import Client, access_rules

LOOPBACK = "tcp/127.0.0.1:0"
"""Where cells listen by default: this machine alone, any free port."""

_ENDPOINT = re.compile(
    r"(?P<protocol>tcp|tls)/(?P<host>\[[0-9a-fA-F:.]+\]|[^\s:/\[\]#?]+):(?P<port>[0-9]{1,5})"
)
_ALERT = 0.1  # s in which the other side may object to our certificate
_ATTEMPTS = 8  # at a free port, which another process may take before we do
_open: weakref.WeakSet[NetworkSession] = weakref.WeakSet()
_hooked = threading.Lock()


@dataclass(frozen=True, slots=True)
class Endpoint:
    """An address: "tcp/127.0.0.1:7447", or "tls/10.0.0.5:7447"."""

    protocol: str  # "tcp" or "tls"
    host: str  # name or number of the machine
    port: int  # 0 for any that is free

    @classmethod
    def read(cls, text: str) -> Endpoint:
        """Read an address.

        >>> Endpoint.read("tls/10.0.0.5:7447")
        Endpoint(protocol='tls', host='10.0.0.5', port=7447)
        """
        found = _ENDPOINT.fullmatch(text)
        if found is None or int(found["port"]) > 65535:
            raise InputError(
                f"{text!r} is not an address",
                remedy="write tcp/127.0.0.1:7447 for this machine, or tls/10.0.0.5:7447",
            )
        return cls(found["protocol"], found["host"], int(found["port"]))

    @property
    def loopback(self) -> bool:
        """Whether it can be reached from this machine alone."""
        if self.host == "localhost":
            return True
        try:
            return ipaddress.ip_address(self.host.strip("[]")).is_loopback
        except ValueError:
            return False

    def __str__(self) -> str:
        return f"{self.protocol}/{self.host}:{self.port}"


@dataclass(frozen=True, slots=True)
class Credentials:
    """What TLS shows to the other side, and whom it believes. All are PEM files.

    Args:
        certificate: ours; its common name is our name.
        key: the private key of the certificate.
        authority: certificate of the authority that signed theirs.

    >>> Credentials("alice.pem", "alice.key", "ca.pem").certificate
    'alice.pem'
    """

    certificate: str
    key: str
    authority: str

    @property
    def name(self) -> str:
        """The common name of the certificate: who we are."""
        return common_name(Path(self.certificate).read_text(encoding="ascii"))

    def check(self) -> None:
        """Reject files that are not there."""
        for what in ("certificate", "key", "authority"):
            path = getattr(self, what)
            if not Path(path).is_file():
                raise InputError(
                    f"there is no file {path!r}", remedy=f"give the path of the {what}"
                )


class NetworkSession:
    """An open session, and where it listens."""

    def __init__(self, session: Any, endpoint: Endpoint) -> None:
        self.session = session
        self.endpoint = endpoint
        _close_before_threads_are_joined()
        _open.add(self)

    def close(self) -> None:
        """End the session and its threads; a second time does nothing."""
        _open.discard(self)
        if not self.session.is_closed():
            self.session.close()


def open_session(
    *,
    listen: str | None = None,
    connect: str | None = None,
    clients: Iterable[Client] = (),
    credentials: Credentials | None = None,
    seconds: float = 3.0,
) -> NetworkSession:
    """Open a session that listens at one address, or is connected to one, and nothing else.

    >>> open_session(listen="tcp/0.0.0.0:7447")
    Traceback (most recent call last):
    linkwright.InputError: tcp/0.0.0.0:7447 listens on all networks of this machine;
    give the address of the one that the clients are on
    """
    if (listen is None) == (connect is None):
        raise InputError("a session listens or is connected", remedy="give listen= or connect=")
    if listen is not None:
        return _listening(Endpoint.read(listen), tuple(clients), credentials)
    return _connected(Endpoint.read(connect or ""), credentials, seconds)


def _listening(
    endpoint: Endpoint, clients: tuple[Client, ...], credentials: Credentials | None
) -> NetworkSession:
    check_listening(endpoint, clients, credentials)
    settings: dict[str, Any] = {"mode": "peer", "listen/exit_on_failure": True}
    if endpoint.protocol == "tls" and credentials is not None:
        settings["transport/link/tls"] = {
            "root_ca_certificate": credentials.authority,
            "listen_certificate": credentials.certificate,
            "listen_private_key": credentials.key,
            "enable_mtls": True,
        }
        settings["access_control"] = access_rules(clients)
    for attempt in range(_ATTEMPTS):
        at = endpoint if endpoint.port else _free(endpoint)
        try:
            return NetworkSession(_session(settings | {"listen/endpoints": [str(at)]}), at)
        except InputError:
            if endpoint.port or attempt == _ATTEMPTS - 1:
                raise
    raise AssertionError  # the last attempt returns or raises


def _connected(
    endpoint: Endpoint, credentials: Credentials | None, seconds: float
) -> NetworkSession:
    if endpoint.protocol == "tcp" and not endpoint.loopback:
        raise InputError(
            f"{endpoint} is another machine, and nothing goes there unencrypted",
            remedy=f"connect to tls/{endpoint.host}:{endpoint.port} with a certificate",
        )
    settings: dict[str, Any] = {
        "mode": "client",
        "listen/endpoints": [],
        "connect/endpoints": [str(endpoint)],
        "connect/timeout_ms": int(seconds * 1000),
        "connect/exit_on_failure": True,
    }
    if endpoint.protocol == "tls":
        if credentials is None:
            raise InputError(
                f"{endpoint} asks for a certificate",
                remedy="give certificate=, key= and authority=, the paths of three PEM files",
            )
        credentials.check()
        settings["transport/link/tls"] = {
            "root_ca_certificate": credentials.authority,
            "connect_certificate": credentials.certificate,
            "connect_private_key": credentials.key,
            "enable_mtls": True,
            "verify_name_on_connect": True,
        }
    _knock(endpoint, credentials, seconds)
    return NetworkSession(_session(settings), endpoint)


def common_name(pem: str) -> str:
    """Return the common name of the subject of a certificate (RFC 5280, section 4.1)."""
    end = "-----END CERTIFICATE-----"
    try:
        der = ssl.PEM_cert_to_DER_cert(pem[: pem.index(end)] + end)
        parts = list(_parts(next(_parts(next(_parts(der))[1]))[1]))
        # version [0] and then serial, signature, issuer, validity, subject
        subject = parts[5 if parts[0][0] == 0xA0 else 4][1]
        for _, several in _parts(subject):
            for _, pair in _parts(several):
                (_, kind), (_, value) = _parts(pair)
                if kind == b"\x55\x04\x03":  # 2.5.4.3
                    return value.decode()
    except (ValueError, IndexError, StopIteration):
        pass
    raise InputError(
        "the certificate has no common name", remedy="give a PEM file with one: CN is the client"
    )


def _parts(der: bytes) -> Iterator[tuple[int, bytes]]:
    """Yield the tag and the content of each value that stands in DER."""
    at = 0
    while at < len(der):
        tag, size = der[at], der[at + 1]
        at += 2
        if size & 0x80:
            more = size & 0x7F
            size, at = int.from_bytes(der[at : at + more], "big"), at + more
        yield tag, der[at : at + size]
        at += size


def _session(settings: Mapping[str, Any]) -> Any:
    zenoh = extra("zenoh", "cell")
    config = zenoh.Config()
    for key, value in (_ALWAYS | dict(settings)).items():
        config.insert_json5(key, json.dumps(value))
    try:
        return zenoh.open(config)
    except zenoh.ZError as error:
        said = str(error).partition(" at /")[0]  # without the place in zenoh's own source
        raise InputError(
            f"the network does not open: {said}",
            remedy="see that the address is ours and free, and that both sides' certificates are "
            "signed by the authority of the other",
        ) from None


_ALWAYS: dict[str, Any] = {
    "scouting/multicast/enabled": False,
    "scouting/gossip/enabled": False,
    "transport/link/rx/max_message_size": 1 << 22,  # a larger one is no message of ours
    "transport/link/tx/lease": 4000,  # ms, until a dead connection is dropped
    # What does not fit into the queue of a slow reader is dropped at once, and a reader that takes
    # no answers is cut off: nobody waits for it.
    "transport/link/tx/queue/congestion_control/drop/wait_before_drop": 0,
    "transport/link/tx/queue/congestion_control/block/wait_before_close": 100_000,  # us
}


def check_listening(
    endpoint: Endpoint, clients: Iterable[Client], credentials: Credentials | None
) -> None:
    """Reject an address beyond loopback, or with TLS, without certificates and named clients."""
    if endpoint.loopback and endpoint.protocol == "tcp":
        return
    if endpoint.host in ("0.0.0.0", "[::]"):
        raise InputError(
            f"{endpoint} listens on all networks of this machine",
            remedy="give the address of the one that the clients are on",
        )
    if endpoint.protocol != "tls" or credentials is None:
        raise InputError(
            f"{endpoint} is open to other machines, and nothing starts there without TLS",
            remedy=f"listen at tls/{endpoint.host}:{endpoint.port} and give certificate, key and "
            "authority, or listen at tcp/127.0.0.1:0",
        )
    if not tuple(clients):
        raise InputError(
            f"{endpoint} is open to other machines, and no client is named",
            remedy="name clients with their rights: look, command, supervise",
        )
    credentials.check()


def _free(endpoint: Endpoint) -> Endpoint:
    """The same address with a port that is free now."""
    family = socket.AF_INET6 if endpoint.host.startswith("[") else socket.AF_INET
    with socket.socket(family) as probe:
        try:
            probe.bind((endpoint.host.strip("[]"), 0))
        except OSError as error:
            raise InputError(
                f"nothing can listen at {endpoint.host}: {error.strerror}",
                remedy="give an address of this machine",
            ) from None
        return Endpoint(endpoint.protocol, endpoint.host, probe.getsockname()[1])


def _knock(endpoint: Endpoint, credentials: Credentials | None, seconds: float) -> None:
    """Reject at once where nobody listens or a certificate is wrong, and say why.

    Zenoh would try again until its time is over, and say only that.
    """
    host = endpoint.host.strip("[]")
    try:
        with socket.create_connection((host, endpoint.port), seconds) as link:
            if credentials is not None:
                context = ssl.create_default_context(cafile=credentials.authority)
                context.load_cert_chain(credentials.certificate, credentials.key)
                with context.wrap_socket(link, server_hostname=host) as secured:
                    secured.settimeout(_ALERT)
                    with suppress(TimeoutError):  # no alert came: the other side is content
                        secured.recv(1)
    except ssl.SSLError as error:
        raise InputError(
            f"{endpoint} and we do not trust each other: {error.reason or error}",
            remedy="both certificates must be signed by the authority that the other side knows, "
            "and the cell's must name its address",
        ) from None
    except OSError as error:
        why = error.strerror or "it does not answer"
        raise InputError(
            f"nobody answers at {endpoint}: {why}", remedy="is the cell served?"
        ) from None


def _close_before_threads_are_joined() -> None:
    """Close all sessions when the interpreter ends, before it waits for their threads."""
    if _hooked.acquire(blocking=False):  # once
        threading._register_atexit(_close_all)  # type: ignore[attr-defined]


def _close_all() -> None:
    for network in list(_open):
        with suppress(Exception):  # the others are closed whatever becomes of this one
            network.close()
