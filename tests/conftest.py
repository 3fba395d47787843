"""Fixtures that all rooms share: models that are made once in a worker (`tests.support.shared`)."""

from __future__ import annotations

import pytest

import linkwright as lw
from linkwright.mechanism import Mechanism
from tests.support import shared


@pytest.fixture(scope="session")
def puma() -> lw.Robot:
    """The PUMA 560 with its drives."""
    return shared.robot("puma560")


@pytest.fixture(scope="session")
def bare_puma() -> lw.Robot:
    """The PUMA 560 without drives."""
    return shared.robot("puma560:drives=off")


@pytest.fixture(scope="session")
def stanford() -> lw.Robot:
    """The Stanford arm."""
    return shared.robot("stanford-arm")


@pytest.fixture(scope="session")
def pendulum() -> Mechanism:
    """One rod on a hinge."""
    return shared.model("pendulum")


@pytest.fixture(scope="session")
def double_pendulum() -> Mechanism:
    """Two rods in a row."""
    return shared.model("double-pendulum")


@pytest.fixture(scope="session")
def four_bar() -> Mechanism:
    """A loop of three bars on the ground."""
    return shared.model("four-bar")
