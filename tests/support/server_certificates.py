"""Certificates for tests: an authority, a cell, its clients, and somebody else's authority."""

from __future__ import annotations

from pathlib import Path

import trustme

from linkwright.server.network import Credentials


class Authority:
    """Signs certificates and keeps them in a folder."""

    def __init__(self, folder: Path) -> None:
        folder.mkdir()
        self._folder = folder
        self._signs = trustme.CA()
        self._signs.cert_pem.write_to_path(str(folder / "authority.pem"))

    def issue(self, name: str, *, host: str = "client.invalid", by: str = "") -> Credentials:
        """A certificate with a common name, believing in an authority: our own, unless told."""
        made = self._signs.issue_cert(host, common_name=name)
        key, chain = self._folder / f"{name}.key", self._folder / f"{name}.pem"
        made.private_key_pem.write_to_path(str(key))
        chain.write_bytes(b"".join(part.bytes() for part in made.cert_chain_pems))
        return Credentials(str(chain), str(key), by or self.certificate)

    @property
    def certificate(self) -> str:
        return str(self._folder / "authority.pem")
