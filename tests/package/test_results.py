"""Every result has the same six methods, and each of them works on a real one.

Real results are what the examples of the docs make: those of the class, else those of the function
that returns it. Whatever is made while they run is called here.
"""

from __future__ import annotations

import doctest
import inspect
import json
import re
from collections.abc import Callable
from contextlib import redirect_stdout
from functools import cache
from importlib import import_module
from io import StringIO
from pathlib import Path
from typing import Any, get_args, get_type_hints

import pytest

import linkwright as lw
from linkwright.base.results import Result, in_columns, unit_key
from linkwright.recording.holder import Recorded
from linkwright.simulation import changing
from linkwright.simulation.balance import balance
from linkwright.simulation.changing import simulate_modes
from tests.package.test_package import public_callables

SOURCE = Path(lw.__file__).parent
OWN_FILES = {"Chart", "ContactMap", "DeckComparison", "MountComparison", "SecondOrderModel"}
"""What writes files of its own kinds, besides recordings."""
BARE = {
    "time",
    "seconds",
    "duration",
    "angle",
    "azimuth",
    "elevation",
    "degrees",
    "speed",
    "torque",
}
"""Words that say nothing without their unit."""
BY_JOINT = {"JointCycle": {"speed", "torque"}}
"""What has the unit of its joint, which is in the data."""


NOT_RESULTS = {
    # models, parts, programs and what is run
    *("Equations", "Program", "Kernel", "Trajectory", "Task", "System", "Mechanism", "Description"),
    *("Catalog", "WristFile", "LoopTask", "Sampled", "GraspObject", "MountAxes", "SerialAxes"),
    *("MoveTask", "TargetPath", "Orbits", "Led", "WaveSpectrum", "Ship", "Site", "StateModel"),
    *("SensorNode", "RemoteCell", "CoordinatorHost", "Observation", "BodyForces", "Block", "Expr"),
    *("Open", "ForeignFunction"),
}
"""Classes that public functions return, and that are not what an analysis found."""


MADE: dict[str, Callable[[], Any]] = {
    "Energies": lambda: lw.simulate("pendulum", 0.1).energies(),
    "Balance": lambda: balance(lw.simulate("pendulum", 0.1).recording),
    "ChangingRun": lambda: made_by(simulate_modes.__doc__ or "", changing, changing.ChangingRun)[
        -1
    ],
}
"""Results that no example of a public function makes."""


@cache
def results() -> dict[str, type[Result]]:
    """Every class of results, by its name."""
    for file in sorted(SOURCE.rglob("*.py")):
        if re.search(r"^class \w+\(.*\b(?:Result|Recorded)\b", file.read_text("utf-8"), re.M):
            import_module(".".join(file.relative_to(SOURCE.parent).with_suffix("").parts))
    waiting: list[type[Result]] = [Result]
    found: dict[str, type[Result]] = {}
    while waiting:
        kind = waiting.pop()
        waiting += kind.__subclasses__()
        if getattr(import_module(kind.__module__), kind.__name__, None) is kind:
            found[kind.__name__] = kind  # not what a dataclass with slots was made from
    return {n: k for n, k in found.items() if n not in ("Result", "Recorded")}


def returned() -> dict[type, str]:
    """What public functions and methods return, with the name of one."""
    found: dict[type, str] = {}
    for name, function in public_callables().items():
        if inspect.isclass(function):
            continue
        try:
            hint = get_type_hints(inspect.unwrap(function)).get("return")
        except (NameError, TypeError):  # a name for type checkers alone
            continue
        for kind in (hint, *get_args(hint)):
            if inspect.isclass(kind):
                found.setdefault(kind, name)
    return found


def made_by(examples: str, module: Any, kind: type) -> list[Any]:
    """Run examples, and return the instances of a class that came into being."""
    made: list[Any] = []
    begin = kind.__init__  # type: ignore[misc]

    def note(self: Any, *args: Any, **more: Any) -> None:
        begin(self, *args, **more)
        made.append(self)

    kind.__init__ = note  # type: ignore[misc]
    try:
        space = dict(vars(module))
        with redirect_stdout(StringIO()):
            for example in doctest.DocTestParser().get_examples(examples):
                if example.exc_msg is None:
                    exec(compile(example.source, "example", "single"), space)  # noqa: S102
    finally:
        kind.__init__ = begin  # type: ignore[misc]
    return made


def real(kind: type) -> Any:
    """Return an instance from the examples of a class, or of a function that returns it."""
    if kind.__name__ in MADE:
        return MADE[kind.__name__]()
    texts = [(kind.__doc__ or "", import_module(kind.__module__))]
    for function in public_callables().values():
        plain = inspect.unwrap(function)
        if not inspect.isclass(plain) and re.search(
            rf"\b{kind.__name__}\b", str(getattr(plain, "__annotations__", {}).get("return", ""))
        ):
            texts.append((inspect.getdoc(plain) or "", import_module(plain.__module__)))
    for text, module in texts:
        made = made_by(text, module, kind) if ">>>" in text else []
        if made:
            return made[-1]
    return None


@pytest.mark.parametrize("name", sorted(results()))
def test_a_real_result_has_the_six_methods(name: str, tmp_path: Path) -> None:
    result = real(results()[name])
    assert result is not None, "it needs an example that makes one"
    data = result.as_dict()
    json.dumps(data, allow_nan=False)
    loose = [
        k
        for k in data
        if k in BARE - BY_JOINT.get(name, set()) or not re.fullmatch(r"[a-z][a-z0-9_]*", k.lower())
    ]
    assert loose == []
    heads, *rows = result.table()
    assert all(len(row) == len(heads) for row in rows)
    assert all(isinstance(cell, str) for row in rows for cell in (*heads, *row))
    assert len(result.summary()) > 3
    assert result._repr_html_().count("<tr>") == len(rows) + 1
    assert len(result.to_pandas().columns) > 0
    if not isinstance(result, Recorded) or len(getattr(result, "recording", ())):
        assert result.plot().axes
    if name not in OWN_FILES and not hasattr(result, "recording"):
        for ending in ("json", "csv", "txt", "html"):
            result.save(tmp_path / f"r.{ending}")
            assert (tmp_path / f"r.{ending}").stat().st_size > 3
        with pytest.raises(lw.InputError, match="does not name a form of a result"):
            result.save(tmp_path / "r.exe")


def test_what_an_analysis_returns_is_a_result() -> None:
    bare = {
        f"{name} returns {kind.__name__}"
        for kind, name in returned().items()
        if kind.__module__.startswith("linkwright.")
        and name.rpartition(".")[2][:1].islower()
        and not name.rpartition(".")[0].rpartition(".")[2][:1].isupper()
        and not issubclass(kind, Result)
        and kind.__name__ not in NOT_RESULTS
    }
    assert bare == set()


def test_keys_end_in_their_units() -> None:
    assert unit_key("stress", "Pa") == "stress_pa"
    assert unit_key("inertia", "kg*m^2") == "inertia_kg_m2"
    assert in_columns([("a", "b")]) == "a  b"
