"""The configuration files of an SL robot: gains, ranges, filters, link parameters and the rest.

Each is a text in which a keyword, mostly the name of a degree of freedom, is followed by a fixed
number of values; the order of keywords is free, C comments are skipped, and so is whatever stands
between (SL manual, section 5.6). A name of a file may be written as the manual or as its header
spells it. Units are SI; angles are radians.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from linkwright.base.errors import InputError
from linkwright.base.files import read_bytes
from linkwright.formats.robot.xml import finite
from linkwright.formats.sl.header import without_comments

MOST_BYTES = 2**20


@dataclass(frozen=True, slots=True)
class SensorOffset:
    """A line of SensorOffset.cf: what a joint may do, where it starts and where it likes to be."""

    lower: float  # rad, after the offset is taken off
    upper: float  # rad, after the offset is taken off
    default: float = 0.0  # posture at the start, rad
    rest: float = 0.0  # posture of the null space of inverse kinematics, rad
    weight: float = 1.0  # of that posture
    offset: float = 0.0  # of the sensor of the robot, rad; a simulation has none


@dataclass(frozen=True, slots=True)
class Gains:
    """A line of Gains.cf: proportional, derivative and integral gain, and the greatest command."""

    position: float
    velocity: float
    integral: float
    greatest: float


@dataclass(frozen=True, slots=True)
class Filters:
    """A line of SensorFilter.cf: cutoffs in percent of the Nyquist frequency, 0 or 100 for none."""

    position: float
    velocity: float
    acceleration: float
    load: float


@dataclass(frozen=True, slots=True)
class LinkParameters:
    """A line of LinkParameters.cf, in the frame of the link."""

    mass: float  # kg
    x: float  # first component of mass times center, kg*m
    y: float  # the second one
    z: float  # the third one
    # inertia about the origin of the link, not about its center, kg*m^2; so are the others
    i11: float
    i12: float  # product, with its sign in the tensor
    i13: float  # product
    i22: float  # second moment
    i23: float  # product
    i33: float  # third moment
    viscous: float = 0.0  # friction of the joint, N*m*s/rad


@dataclass(frozen=True, slots=True)
class Calibration:
    """A line of SensorCalibration.cf: which parts are linear, their geometry, and polarities."""

    linear_sensor: float
    linear_actuator: float
    linear_load_cell: float
    moment_arm: float
    attachment: float
    position_polarity: float
    load_polarity: float


@dataclass(frozen=True, slots=True)
class SceneObject:
    """An object of Objects.cf that a robot may touch."""

    name: str  # at most 20 characters
    kind: str  # "cube" or "sphere"
    color: tuple[float, ...]  # red, green, blue, 0 to 1
    position: tuple[float, ...]  # of its center, m
    rotation: tuple[float, ...]  # Euler angles about x, y, z, rad
    scale: tuple[float, ...]  # edge lengths or diameters, m
    contact_model: int  # number of the contact model; 0 for none
    object_parameters: tuple[float, ...] = ()  # of the object
    contact_parameters: tuple[float, ...] = ()  # of the contact model
    mass: float = 0.0  # kg, of one that moves freely, which no file of SL has; 0: it stands fast


@dataclass(frozen=True, slots=True)
class Configuration:
    """All that the configuration files say; a file that is not there leaves its table empty."""

    # from SensorOffset.cf, by degree of freedom
    ranges: Mapping[str, SensorOffset] = field(default_factory=dict)
    gains: Mapping[str, Gains] = field(default_factory=dict)  # from Gains.cf
    filters: Mapping[str, Filters] = field(default_factory=dict)  # from SensorFilter.cf
    # from LinkParametersSim.cf, else LinkParameters.cf
    links: Mapping[str, LinkParameters] = field(default_factory=dict)
    # from SensorCalibration.cf
    calibration: Mapping[str, Calibration] = field(default_factory=dict)
    # from WhichDOFs.cf: the degrees of freedom that each servo commands
    servos: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    objects: tuple[SceneObject, ...] = ()  # from Objects.cf
    files: tuple[str, ...] = ()  # that were read
    # from LinkParameters.cf, where LinkParametersSim.cf is there too: what controllers believe the
    # robot to be
    believed: Mapping[str, LinkParameters] = field(default_factory=dict)
    notes: tuple[str, ...] = ()  # what is missing in files and was made up for


Word = tuple[str, int]


def words_of(text: str) -> list[Word]:
    """Return the words of a configuration text with their lines, comments left out.

    >>> words_of("/* no */ A 1\\nB")
    [('A', 1), ('1', 1), ('B', 2)]
    """
    return [
        (word, line)
        for line, row in enumerate(without_comments(text).split("\n"), 1)
        for word in row.split()
    ]


def table(
    text: str, names: Iterable[str], count: int, file: str = "", *, optional: Iterable[str] = ()
) -> dict[str, tuple[float, ...]]:
    """Return the values after each keyword of a configuration text, no more and no fewer.

    >>> table("B 3 4  A 1 2", ["A", "B"], 2)
    {'A': (1.0, 2.0), 'B': (3.0, 4.0)}
    """
    words = words_of(text)
    where: dict[str, int] = {}
    for at, (word, _) in enumerate(words):
        where.setdefault(word, at)
    found: dict[str, tuple[float, ...]] = {}
    left_out = set(optional)
    for name in names:
        if name not in where:
            if name in left_out:
                continue
            raise InputError(
                f"there is no line for {name!r}",
                file=file or None,
                line=words[-1][1] if words else 1,
                remedy=f"add one with {count} values",
            )
        found[name] = _values(words, where[name], count, file)
    return found


def _values(words: list[Word], at: int, count: int, file: str) -> tuple[float, ...]:
    keyword, line = words[at]
    numbers: list[float] = []
    for word, here in words[at + 1 : at + 1 + count]:
        number = finite(word)
        if number is None:
            raise InputError(
                f"after {keyword!r} stand {len(numbers)} values, then {word[:40]!r}; {count} are"
                " needed",
                file=file or None,
                line=here,
                remedy="give them all, in the order that the manual states",
            )
        numbers.append(number)
    if (given := _numbers_after(words, at)) != count:
        raise InputError(
            f"after {keyword!r} stand {given} values; {count} are needed",
            file=file or None,
            line=line,
            remedy="give them all, in the order that the manual states",
        )
    return tuple(numbers)


def servo_lists(text: str, names: Iterable[str], file: str = "") -> dict[str, tuple[str, ...]]:
    """Return the degrees of freedom of each servo in a text of WhichDOFs.cf.

    >>> servo_lists("task_servo A B vision_servo", ["A", "B"])
    {'task_servo': ('A', 'B'), 'vision_servo': ()}
    """
    known = set(names)
    found: dict[str, list[str]] = {}
    current: list[str] | None = None
    for word, line in words_of(text):
        if word.endswith("_servo"):
            current = found.setdefault(word, [])
        elif current is not None:
            if word not in known:
                raise InputError(
                    f"no degree of freedom is called {word[:40]!r}",
                    file=file or None,
                    line=line,
                    remedy=f"there are {', '.join(sorted(known))}",
                )
            current.append(word)
    return {servo: tuple(members) for servo, members in found.items()}


def scene(
    text: str, file: str = "", parameters: int = 5, notes: list[str] | None = None
) -> tuple[SceneObject, ...]:
    """Return the objects in a text of Objects.cf.

    An object whose values end before its contact model, as the manual's does, or have zeros alone
    where its parameters are, has none: it is scenery. That is noted in `notes`.

    >>> floor = "floor 1 .4 .6 .9  0 0 -1.3  0 0 0  4 4 .1  0  0 0 0 0 0  0 0 0 0 0"
    >>> scene(floor)[0].kind
    'cube'
    >>> told = []
    >>> (
    ...     scene("floor 1 .4 .6 .9  0 0 -1.3  0 0 0  4 4 .1", "O.cf", notes=told)[
    ...         0
    ...     ].contact_model,
    ...     told,
    ... )
    (0, ["O.cf:1: 'floor' has no contact model, so nothing touches it"])
    """
    words = words_of(text)
    kinds = {1: "cube", 2: "sphere"}
    found: list[SceneObject] = []
    at = 0
    whole, bare = 14 + 2 * parameters, 13
    while at < len(words):
        name, line = words[at]
        if finite(name) is not None:
            raise InputError(
                f"a name of an object is needed, not {name[:40]!r}",
                file=file or None,
                line=line,
                remedy=f"an object has a name and {whole} values",
            )
        if len(name) > 20:
            raise InputError(
                f"the name {name[:40]!r} is longer than 20 characters", file=file or None, line=line
            )
        count = whole
        given = _numbers_after(words, at)
        still = all(finite(word) == 0 for word, _ in words[at + 1 + bare : at + whole])
        if given == bare or (given == whole - 1 and still):
            count = given
            if notes is not None:
                place = f"{file}:{line}: " if file else f"line {line}: "
                notes.append(f"{place}{name!r} has no contact model, so nothing touches it")
        values = _values(words, at, count, file)
        if count != whole:
            values = (*values[:bare], 0.0, *values[bare:])
        if values[0] not in kinds:
            raise InputError(
                f"{values[0]:g} is not a type of object",
                file=file or None,
                line=line,
                remedy="use 1 for a cube, 2 for a sphere",
            )
        found.append(
            SceneObject(
                name,
                kinds[int(values[0])],
                values[1:4],
                values[4:7],
                values[7:10],
                values[10:13],
                int(values[13]),
                values[14 : 14 + parameters],
                values[14 + parameters :],
            )
        )
        at += 1 + count
    return tuple(found)


def _numbers_after(words: list[Word], at: int) -> int:
    """Return how many numbers follow a word."""
    count = 0
    while at + 1 + count < len(words) and finite(words[at + 1 + count][0]) is not None:
        count += 1
    return count


FILES: dict[str, tuple[str, ...]] = {
    "ranges": ("SensorOffset.cf", "SensorOffsets.cf"),
    "gains": ("Gains.cf",),
    "filters": ("SensorFilter.cf",),
    "links": ("LinkParametersSim.cf", "LinkParameters.cf"),
    "believed": ("LinkParameters.cf",),
    "calibration": ("SensorCalibration.cf",),
    "servos": ("WhichDOFs.cf",),
    "objects": ("Objects.cf",),
}
"""Names of the files of each table; the first that is there is read."""


def read_configuration(
    folders: Iterable[Path], names: Iterable[str], *, base: str = "BASE"
) -> Configuration:
    """Return what the configuration files in some folders say."""
    names = tuple(names)
    texts: dict[str, tuple[str, str]] = {}
    folders = tuple(folders)
    for part, choices in FILES.items():
        path = next(
            (folder / name for name in choices for folder in folders if (folder / name).is_file()),
            None,
        )
        if path is not None:
            texts[part] = (text_of(path), str(path))
    if texts.get("believed") == texts.get("links"):
        texts.pop("believed", None)

    def lines(part: str, count: int, *more: str) -> dict[str, tuple[float, ...]]:
        if part not in texts:
            return {}
        text, file = texts[part]
        return table(text, [*names, *more], count, file, optional=more)

    servos, objects = texts.get("servos"), texts.get("objects")
    notes: list[str] = []
    return Configuration(
        {name: SensorOffset(*row) for name, row in lines("ranges", 6).items()},
        {name: Gains(*row) for name, row in lines("gains", 4).items()},
        {name: Filters(*row) for name, row in lines("filters", 4).items()},
        {name: LinkParameters(*row) for name, row in lines("links", 11, base).items()},
        {name: Calibration(*row) for name, row in lines("calibration", 7).items()},
        {} if servos is None else servo_lists(servos[0], names, servos[1]),
        () if objects is None else scene(*objects, notes=notes),
        tuple(file for _, file in texts.values()),
        {name: LinkParameters(*row) for name, row in lines("believed", 11, base).items()},
        tuple(notes),
    )


def text_of(path: Path) -> str:
    """Return the text of a small file; bytes that are not UTF-8 are replaced."""
    return read_bytes(path, MOST_BYTES).decode("utf-8", "replace")
