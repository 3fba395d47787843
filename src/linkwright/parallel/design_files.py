"""Design files: which dimensions of a machine may change, what is wanted, and where.

A file names a model, variables with their ranges, one goal, limits, and the directions or actuators
of the poses that must be reached.
"""

from __future__ import annotations

import os
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated, Any, Literal

import numpy as np
from numpy.typing import NDArray
from pydantic import BaseModel

from linkwright.algebra.units import amount
from linkwright.base.errors import InputError, UnitError, suggestion
from linkwright.base.files import is_there
from linkwright.base.reprs import one_line
from linkwright.formats.schema import Format, Key, read_record
from linkwright.formats.text.document import TextSource
from linkwright.formats.text.tables import Record
from linkwright.mechanism import Mechanism, mechanism_of
from linkwright.parallel.flexing import soft_texts
from linkwright.parallel.machine_design import METHODS, DesignLimit, MachineDesign, design

__all__ = ["DesignTask", "read_design"]

_WORDS = {"SLSQP": "SLSQP", "trust-constr": "trust-constr", "global": "differential evolution"}


class GoalTable(Record):
    """One of two goals."""

    largest: Annotated[str, Key("quantity whose smallest value shall be large")] = ""
    least: Annotated[str, Key("quantity whose greatest magnitude shall be small")] = ""


class DesignLimitTable(Record):
    """A limit of a quantity."""

    least: Annotated[float | None, Key("it is not below")] = None
    most: Annotated[float | None, Key("it is not above")] = None


class SoftTable(Record, BaseModel):
    """What gives way, by name of links, actuators and joints."""

    tubes: Annotated[
        dict[str, list[float | str]], Key("of links: diameter, wall, perhaps Young's modulus")
    ] = {}
    drives: Annotated[dict[str, float | str], Key("stiffness of actuators, N*m/rad or N/m")] = {}
    joints: Annotated[dict[str, float | str], Key("radial stiffness of joints, N/m")] = {}
    clearances: Annotated[dict[str, float | str], Key("radial clearance of joints, m")] = {}


class PosesTable(Record):
    """Directions that must be reached: from, to (deg) and count."""

    azimuth: Annotated[tuple[float, float, int], Key("about the vertical")] = (0.0, 360.0, 24)
    zenith: Annotated[tuple[float, float, int], Key("from the vertical")] = (0.0, 90.0, 7)


class DesignFile(Record, BaseModel):
    """Which dimensions of a machine may change, what is wanted, and where."""

    format: Format
    model: Annotated[str, Key("a shipped machine, or a file beside this one")]
    goal: Annotated[GoalTable, Key("what is wanted")]
    variables: Annotated[
        dict[str, tuple[float | str, float | str]], Key("ranges of dimensions, by parameter")
    ]
    limits: Annotated[dict[str, DesignLimitTable], Key("of other quantities")] = {}
    poses: Annotated[PosesTable, Key("that must be reached")] = PosesTable()
    soft: Annotated[SoftTable, Key("what gives way, for compliance and slack")] = SoftTable()
    start: Annotated[dict[str, float], Key("where the search begins")] = {}
    method: Annotated[Literal["SLSQP", "trust-constr", "global"], Key("of the optimizer")] = "SLSQP"
    turns: Annotated[int, Key("of the optimizer at most")] = 60


@one_line
@dataclass(frozen=True, slots=True, eq=False)
class DesignTask:
    """What a design file asks for.

    >>> DesignTask(Mechanism("m"), {}, np.zeros((0, 3)), "transmission").largest
    'transmission'
    """

    model: Mechanism  # the machine
    # least and greatest value of each dimension that may change
    variables: dict[str, tuple[float, float]]
    # unit vectors that must be reached, one row each
    directions: NDArray[np.float64] = field(repr=False)
    largest: str = ""  # quantity whose smallest value shall be large; none where empty
    least: str = ""  # quantity whose greatest magnitude shall be small; none where empty
    limits: tuple[DesignLimit, ...] = ()  # of other quantities
    method: str = METHODS[0]  # of the optimizer
    turns: int = 60  # of the optimizer at most
    start: dict[str, float] = field(default_factory=dict)
    soft: dict[str, dict[str, Any]] = field(default_factory=dict, repr=False)  # what gives way

    def run(self) -> MachineDesign:
        """Return the dimensions found."""
        return design(
            self.model,
            self.variables,
            {"direction": self.directions},
            largest=self.largest or None,
            least=self.least or None,
            limits=self.limits,
            method=self.method,
            start=self.start or None,
            turns=self.turns,
            soft=self.soft,
        )


def read_design(path: str | os.PathLike[str]) -> DesignTask:
    """Return what a design file asks for.

    >>> import tempfile
    >>> from pathlib import Path
    >>> text = 'format = 1\\nmodel = "mount-prismatic"\\n[goal]\\nleast = "effort"\\n'
    >>> text += '[variables]\\nh = [0.3, "50 cm"]\\n'
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     place = Path(folder) / "jacks.toml"
    ...     _ = place.write_text(text)
    ...     read_design(place).variables
    {'h': (0.3, 0.5)}
    """
    record, source = read_record(path, DesignFile, "a design")
    if bool(record.goal.largest) == bool(record.goal.least):
        raise source.error(
            ("goal",), "a design has one goal", 'write largest = "…" or least = "…", not both'
        )
    beside = Path(path).parent / record.model
    model = mechanism_of(str(beside) if is_there(beside) else record.model)
    variables = {name: _range(model, source, name, ends) for name, ends in record.variables.items()}
    limits = tuple(
        DesignLimit(name, given.least, given.most) for name, given in record.limits.items()
    )
    for name, given in record.limits.items():
        if given.least is None and given.most is None:
            raise source.error(("limits", name), "the limit has no number", "give least or most")
    try:
        soft = soft_texts(model, **{k: getattr(record.soft, k) for k in SoftTable.model_fields})
    except (InputError, UnitError) as error:
        raise source.error(("soft",), error.what, error.remedy) from None
    return DesignTask(
        model,
        variables,
        _grid(record.poses, source),
        record.goal.largest,
        record.goal.least,
        limits,
        _WORDS[record.method],
        record.turns,
        dict(record.start),
        soft,
    )


def _range(
    model: Mechanism, source: TextSource, name: str, ends: tuple[Any, Any]
) -> tuple[float, float]:
    if name not in model.parameters:
        remedy = suggestion(name, model.parameters, "linkwright model describe lists them")
        raise source.error(
            ("variables", name), f"{model.name!r} has no parameter {name!r}", remedy, key=True
        )
    unit = model.units.get(name, "?")
    try:
        low, high = (amount(x, name, unit) for x in ends)
    except (InputError, UnitError) as error:
        raise source.error(("variables", name), error.what, f"give numbers in {unit}") from None
    if not low < high:
        raise source.error(
            ("variables", name), f"{low:g} to {high:g} is not a range", "give the smaller one first"
        )
    return low, high


def _grid(poses: PosesTable, source: TextSource) -> NDArray[np.float64]:
    """Return directions ring by ring, each from where the last one ended."""
    for name, given in (("azimuth", poses.azimuth), ("zenith", poses.zenith)):
        if given[2] < 1 or given[2] > 10_000:
            raise source.error(
                ("poses", name), f"{given[2]} values are asked for", "give 1 to 10000"
            )
    low, high, count = poses.azimuth
    around = np.linspace(low, high, count, endpoint=abs(high - low) < 360.0)
    rows = []
    for k, zenith in enumerate(np.linspace(*poses.zenith)):
        for azimuth in around if k % 2 == 0 else around[::-1]:
            a, z = np.radians([azimuth, zenith])
            rows.append([np.cos(a) * np.sin(z), np.sin(a) * np.sin(z), np.cos(z)])
    return np.array(rows)
