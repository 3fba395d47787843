"""The command line in processes of their own."""

import subprocess
import sys
from collections.abc import Callable, Iterator
from typing import Any

import pytest

Begin = Callable[..., subprocess.Popen[str]]


@pytest.fixture
def begin() -> Iterator[Begin]:
    """Give what starts the command in a process of its own, which does not outlive the test."""
    started: list[subprocess.Popen[str]] = []

    def start(*words: str, **options: Any) -> subprocess.Popen[str]:
        command = [sys.executable, "-m", "linkwright", *words]
        pipe = subprocess.PIPE
        started.append(subprocess.Popen(command, text=True, stdout=pipe, stderr=pipe, **options))
        return started[-1]

    yield start
    for process in started:
        process.kill()
        process.communicate()
