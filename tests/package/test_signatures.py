"""Arguments of public functions: one name has one meaning and default; numbers name a unit."""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable, Iterator
from functools import cache

from tests.package.test_package import own_signature, public_callables

UNIT = (
    r"(?<!\w)(?:rad|degrees|m|s|h|kg|N|W|J|Pa|V|A|K|F|Hz|H|ohm|deg|dB|Wb|T|%|percent|pixels?|px|bits?"
    r"|days?|degC|°C|turns|UTC|seconds)(?!\w)"
)
"""What a sentence has that names a unit."""
PLAIN = (
    r"ratio|shares?\b|factor|gain|unit|number of|how many|how often|times|probab|between 0 and 1"
    r"|exponent|order|relative|weight|count|part of|as `|the same|number|fraction|squared|multiple"
    r"|coefficient|friction|pairs|periods|lines|in relation to|power|brightness|instants|steps"
    r"|pictures in|states a second|in a turn|ticks|samples|mu\.|least output|greatest output"
    r"|in the same way|pole of|of the law|of the band|does not matter|enhanced|activation|drives it"
    r"|c\.$|0 to 1|from 0 to below 1|proportional part|between it and|priority"
    r"|how fast their widths|change of D|over that of|value before|radius of the Earth"
)
"""What a sentence has where the argument is without unit, or in that of something else."""
OWN = {"default", "lower", "upper", "low", "high", "initial", "goal", "static", "zero", "gain"}
"""Arguments that are in the unit of the quantity that they belong to."""
MODEL = r"ModelLike"
OLD = {
    "low",
    "high",
    "least",
    "most",
    "source",
    "mechanism",
    "together",
    "turns",
    "numbers",
    "start",
}
"""Words of the old vocabulary, which only those below still have, and why."""
STILL = {
    # what a member of a text model is made with: its keys are those arguments
    r"(?:control|elements|drives|motion)\.\w+": OLD,
    r"Task|mounts\.\w+_path|mounts\.(?:ReportOrbit|StepperMotor)": {"start"},
    r"sampling\.Uniform": {"low", "high"},  # its keys in the file of a loop
    # the source of text, numbers or pictures: not a model
    r"load|convert|read_task|mounts\.read_ship|sizing\.read_catalog|shapes\.Mesh|Recording": {
        "source"
    },
    r"System\.connect|server\.\w+|Lab": {"source", "least", "most"},
    # a Mechanism itself, from which nothing else can be made
    r"Equations|System|Element|lab\.LabConfig": {"mechanism"},
    # instants and values at a beginning
    r"linear\.step_measures|mounts\.Site\.passes|Lab\.start": {"start"},
    r"lab\.Task\.stand_in": {"numbers"},  # how many of each kind
    r"parallel\.Counterweight": {"most"},
    r"page": {"most"},
    r"Mechanism\.flexible": {"source"},  # a file of modes
}
SHARED: dict[str, tuple[str, set[object]]] = {
    "seed": (r"seed|noise|random|draw|same|generat|of (?:the |their )?\w+", {0, None}),
    "threads": (r"thread|processors|as for|share", {None, 1}),
    "rate": (r"Hz|hertz|a second|in a second|as for", set()),
    "tolerance": (r"", set()),
    "until": (r"\bs\b|end", {None, 2.0}),
    "initial": (r"", {None, 0.0}),
    "parameters": (r"param|values?|number|by name|in the same way|drawn", {None}),
    "values": (r"", {None, False}),
    "at": (r"", {None, (0, 0, 0)}),
    "folder": (r"", {None}),
}
"""Names that many functions have: what their sentences say, and their defaults."""


@cache
def arguments() -> list[tuple[str, inspect.Parameter, int, str]]:
    """Every argument of a public function: whose, its place, and what the docstring says of it."""
    return list(_arguments())


def _arguments() -> Iterator[tuple[str, inspect.Parameter, int, str]]:
    for name, function in public_callables().items():
        text = _text(function)
        for place, p in enumerate(own_signature(function)):
            found = re.search(
                rf"(?ms)^\s*(?:\*{{0,2}}\w+, )*{p.name}(?:, \w+)*:\s(.*?)"
                r"(?=^\s{0,12}\w+(?:, \w+)*:\s|^\s*$|\Z)",
                text,
            )
            yield name, p, place, " ".join(found[1].split()) if found else text.partition("\n")[0]


def _text(function: Callable[..., object]) -> str:
    if inspect.isclass(function):
        return "\n".join(c.__doc__ or "" for c in inspect.getmro(function))
    return inspect.getdoc(function) or ""


def _allowed(name: str, argument: str) -> bool:
    return any(re.fullmatch(who, name) and argument in what for who, what in STILL.items())


def test_whatever_takes_a_model_takes_it_first_and_calls_it_model() -> None:
    wrong = [
        f"{name}({p.name}) at {place}"
        for name, p, place, _ in arguments()
        if re.search(MODEL, str(p.annotation)) and (p.name != "model" or place)
    ]
    assert wrong == []


def test_words_of_the_old_vocabulary_are_where_they_have_to_be() -> None:
    wrong = [
        f"{n}: {p.name}" for n, p, _, _ in arguments() if p.name in OLD and not _allowed(n, p.name)
    ]
    assert wrong == []


def test_one_name_has_one_meaning_and_one_default() -> None:
    wrong = []
    for name, p, _, words in arguments():
        if p.name in SHARED:
            meaning, defaults = SHARED[p.name]
            if words and str(p.annotation) != "Rate" and not re.search(meaning, words):
                wrong.append(f"{name}: {p.name} is {words!r}")
            if p.default is not p.empty and defaults and not _is_in(p.default, defaults):
                wrong.append(f"{name}: {p.name}={p.default!r}")
    assert wrong == []


def _is_in(value: object, those: set[object]) -> bool:
    return any(value is each or value == each for each in those)


def test_every_number_says_its_unit_or_that_it_has_none() -> None:
    silent = [
        f"{name}: {p.name} is {words!r}"
        for name, p, _, words in arguments()
        if re.fullmatch(r"(?:float|Amount)(?: \| None)?", str(p.annotation))
        and p.name not in OWN
        and not re.search(UNIT, words)
        and not re.search(PLAIN, words)
    ]
    assert silent == []


def test_angles_are_in_radians() -> None:
    degrees = {
        name: p.name
        for name, p, _, words in arguments()
        if re.search(r"(?<!\w)(?:deg|degrees)(?![\w/]*C)\b(?! Celsius)|arcmin|\brpm\b|knots", words)
        and not re.search(r'"[^"]*deg"|`[^`]*deg', words)
    }
    assert degrees == {}


GRAVITY = {
    "Mechanism.gravity.g",  # the field itself
    "mounts.Ship.felt.g",  # of a ship, which is no model
    "drives.Pendulum.g",  # a load of a drive, given by its own numbers
}


def test_gravity_of_a_model_is_nobody_elses_default() -> None:
    """What takes a model takes its field; 9.81 is the default of what has none."""
    given = {
        f"{name}.{p.name}"
        for name, value in public_callables().items()
        for p in own_signature(value)
        if isinstance(p.default, float) and abs(p.default - 9.81) < 0.01
    }
    assert {name.rpartition("linkwright.")[2] for name in given} <= GRAVITY
    assert any(name.endswith("Mechanism.gravity.g") for name in given)
