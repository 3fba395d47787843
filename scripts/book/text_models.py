"""The page *Text models*, made from the schema."""

from __future__ import annotations

import re
import types
import typing
from collections.abc import Mapping, Sequence
from typing import Any, Literal, get_args, get_origin

from pydantic.fields import FieldInfo

from linkwright.formats.text import drive_tables, schema, tables
from linkwright.formats.text.members import member_records
from linkwright.formats.text.schema import ModelFile, ModelParts
from linkwright.formats.text.starters import starter
from linkwright.formats.text.tables import Record

_HEAD = """\
# Text models

A text model is a mechanism in a file, in TOML; with `[[member]]` tables it is a whole System, with
its elements, controllers and motions. `linkwright model new NAME` writes a commented one to start
from, `linkwright model check FILE` validates one, `linkwright model schema` prints the JSON schema
for editors. In Python, `linkwright.load(path)` returns the `Mechanism`, or
the `System` where there are members, and `linkwright.write_model(model)` the text of either,
from which the same equations come. Behind them stands the schema object
`linkwright.formats.text.schema.ModelFile`; `parse_model(text)` and `model_text(model)` of
`linkwright.formats.text.files` go between it and the text, and lose only comments.

## Rules

- The first line is `format = 1`. An unknown key is an error, with the nearest spelling; every
  error has file, line, column and key.
- A text in quotes is an **expression** (see [expressions](expressions.md)) wherever a number may
  stand. Its names are parameters, inputs, coordinates, speeds, states, points, bodies and `t`,
  and they must be declared. Variables stand after `#`.
- With one joint coordinate, the coordinate has the body's name (`rod`) and its speed is
  `rod_dot`. Several are `b.x`, `b.rz`; the speeds of a free or planar body on the ground are
  `b.u`, `b.v`, `b.w` along its axes and `b.p`, `b.q`, `b.r` about them; a quaternion is `b.e0` to
  `b.e3`.
- The ground is the body `n` with the origin `o`. Every body `b` has the points `b0` (its origin)
  and `bcm` (its mass center).
- A **direction** is `"x"`, `"-z"` (of the ground, or, for a joint, of the parent), `"[b1]"` or
  `"b.x"` (of a body), any vector expression, or three components. However it is written, it means
  one thing: `"-z"` and `[0, 0, -1]` are the same axis. A joint turns about its axis by the
  right-hand rule, and with all coordinates zero the body's frame coincides with its parent's,
  unless `turn`, `body_axis` or `reference` places it.
- `turn` turns the frame of a body's joint, or of a point, about its own axes, one after another:
  `[["x", "30 deg"], ["y", "20 deg"], ["z", "10 deg"]]`, any axes, any number of them. The axis of
  the joint is then one of the turned frame: x, y or z where it turns (for others, weld a body
  without mass to the parent, turn that, and hang the joint on it). A `hinge` turns about y of that
  frame, a `swivel` about its x, a `sliding` joint moves along its x; the link that follows runs
  along x (ROBSIM's joints).
- A number with a unit is a text: `"10 in"`, `"30 deg"`, `"5 {kg*in^2}"`. It is converted to SI
  units, in which a mechanism is; a unit of another kind (`mass = "20 m"`) is rejected. `lb` is a
  force, so a mass is `"20 lbm"`.
- A plain number is in SI units, or, with `units = "in-lb"`, in in, lbf, s and lbf*s^2/in; so are
  the numbers in expressions. What is not given has its default in SI units: gravity is 9.81 m/s^2
  in all models. The value of a parameter, input or state is in the unit that it declares, whatever
  that is; in a model in inches each has one, or it follows from where the name stands. Python sees
  SI units; tables, plots and ERD files show the units of `display`.
- `inertia_about = "joint"` takes moments about the body's origin, where its joint is.
- `[[part]]` puts in a text model that stands in a file of its own, in the folder of this one or
  below it: `file = "axle.toml"`, `prefix = "front"`, `parent = "frame"`, `at = [1.2, 0, -0.3]`. Its
  names become `front_hub`, `front_K`; its ground is a place on the parent; `parameters = { K =
  "stiff" }` says what stands for a parameter of it. Its own gravity and run are left out.
- `scene` and `task` name files beside the model: what it is drawn with
  ([studio](studio.md#dressing-a-model)), and what it has to do.
- The order of tables in the file is free: bodies are entered parents first, relations in the
  order `driven_strut`, `point_constraint`, `loop`, `distance_constraint`, `rolling_contact`,
  `prescribe`, `constraint`. Among tables of one kind their order counts.
- A `[[function]]` names a function that is written elsewhere. Python gives its code:
  `load(path, functions={"f": f})`. C code in the file is compiled only where the reader is
  allowed to trust it (`trust=True`, `--trust`).
- A file has at most 4,000,000 characters and 20,000 parts, and includes no other file.

## Components

A component is a group of tables that is used several times. `${...}` in its texts stands for what
differs:

- `${prefix}`: the prefix of the use; `${i}`: the number of the instance; `${count}`: how many
  there are;
- the component's own `arguments`, which have defaults and which a use may set; `first` sets those
  of the first instance;
- the model's `[options]`, whole numbers that a reader may change (`load("chain.toml:n=5")`).

In the braces stands a name, or whole-number arithmetic such as `${i - 1}`. A text that is only a
placeholder takes the value as it is, a list too. Inside an expression a value is put in
parentheses unless it is a number or a name. Uses may stand in components. The parts of the model
come first, then those of each use, in order. This is a chain:

```toml
@CHAIN@
```

## Tables
"""

_MEMBERS = """
## Members: a System in a file

`[[member]]` adds an element, a controller, a motion or another block to the mechanism, and the file
becomes a System. Its `kind` is the name of the class or function in Python, its other keys are the
arguments of that; a number may be a constant expression in quotes, such as `"90 deg"`. A member has
a `name`, of which its ports have theirs (`servo.target`), and may have a `rate`: a number of hertz,
`{ period = 0.002, offset = 0.001 }` in seconds, or `{ ticks = 5, offset = 2 }` of the base clock.
Without a rate it is continuous.

`[[wire]]` drives a port by another one, or by any expression of ports and of the mechanism. What
nothing drives is an input with a default. The commands `check`, `simulate`, `sweep`, `rerun`,
`page`, `studio` and `new` take such a file as they take any model; parameters of members are
called by their names, as in `--set servo.kp=300`.

```toml
@SERVO@
```

An argument that is a thing itself is a table with a `kind` of its own:
`surface = { kind = "Plane" }`, `law = { kind = "MagicFormula", b = 10, c = 1.9, d = 1, e = 0.97 }`.
A table of numbers is named: `by_length = "strength"`, after a `[[table]]`.

A control law of your own is a `Block` of formulas. This one filters what is measured and adds it up
at its instants; `n` is a standard normal number, and `period` the time between instants:

```toml
format = 1
name = "law"

[[member]]
kind = "Block"
name = "law"
rate = 100
inputs = { e = { value = 0, unit = "rad" }, limits = { size = 2 } }
parameters = { k = { value = 3, unit = "1/s" }, noise = 0.01 }
noise = ["n"]
states = { x = { rate = "k*(e - x)", initial = 0.5, unit = "rad" } }
discrete_states = { sum = { rate = "sum + period*e" } }
outputs = { y = { value = "x + noise*n", unit = "rad" }, both = ["sum", "2*sum"] }

[[wire]]
source = "sin(t)"
target = "law.e"
```

A `Python` function is called at its instants with its arguments by name: `t` is the time, `q` and
`u` are all coordinates and speeds, a name of the mechanism reads that, and any other argument is a
port. Its source in the file runs only by permission (`trust=True`, `--trust`); Python may give the
function instead. Without either, the System can be checked and drawn but not run:

```toml
format = 1
name = "swing"

[[body]]
name = "rod"
rotate = "z"
mass = 1
com = [0, -1, 0]

[[member]]
kind = "Python"
name = "task"
rate = 50
arguments = ["t", "rod", "gain"]
inputs = { gain = 0 }
outputs = { target = 0 }
source = '''
def task(t, rod, gain):
    return gain * rod + 0.1 * t
'''
```

These are the kinds:
"""

_CLASSES: dict[str, type[Record]] = {
    "[parameters]": tables.ParameterTable,
    "[inputs]": tables.Input,
    "[gravity]": tables.Gravity,
    "[[table]]": tables.LookupTable,
    "[[function]]": tables.FunctionTable,
    "[[body]]": tables.BodyTable,
    "[[point]]": tables.PointTable,
    "[platform]": drive_tables.PlatformTable,
    "[[driven_strut]]": drive_tables.DrivenStrutTable,
    "[[shape]]": tables.ShapeTable,
    "[[state]]": tables.StateTable,
    "[[force]]": tables.ForceTable,
    "[[strut]]": tables.Strut,
    "[[moment]]": tables.MomentTable,
    "[[point_constraint]]": tables.PointConstraint,
    "[[loop]]": tables.LoopTable,
    "[[distance_constraint]]": tables.DistanceConstraint,
    "[[rolling_contact]]": tables.RollingContact,
    "[[prescribe]]": tables.Prescribe,
    "[[constraint]]": tables.ConstraintTable,
    "[[limit]]": tables.Limit,
    "[[cone_limit]]": drive_tables.ConeLimitTable,
    "[[collision_capsule]]": drive_tables.CollisionCapsuleTable,
    "`acts` of a constraint": tables.Act,
    "[[output]]": tables.OutputTable,
    "[run]": tables.RunTable,
    "[system]": tables.SystemTable,
    "[[wire]]": tables.WireTable,
    "[[expose]]": tables.ExposeTable,
    "[component.NAME]": schema.Component,
    "[[use]]": tables.Use,
}


def page() -> str:
    """Return the page.

    >>> page().splitlines()[0]
    '# Text models'
    """
    lines = [_HEAD.replace("@CHAIN@", _chain())]
    lines += ["### The file\n", *_section(ModelFile)]
    for heading, kind in _CLASSES.items():
        lines += [f"\n### {heading}\n", *_section(kind)]
    lines += [_MEMBERS.replace("@SERVO@", starter("NAME", "servo").rstrip())]
    for name, kind in member_records().items():
        lines += [f"\n### `{name}`\n", *_section(kind, without=("kind", "name", "rate"))]
    lines += ["\n## Examples\n"]
    for name in ("pendulum", "cart"):
        lines += [f"`linkwright model new NAME --template {name}` writes:\n"]
        lines += ["```toml", starter("NAME", name).rstrip(), "```\n"]
    return "\n".join(lines).rstrip() + "\n"


def _chain() -> str:
    text = starter("arm", "arm")
    start, end = text.index("[component.link]"), text.index("[[component.link.moment]]")
    use = text.index("[[use]]")
    return text[start:end] + text[use : text.index("[[point]]", use)].rstrip()


def _section(kind: type[Record], without: Sequence[str] = ()) -> list[str]:
    fields = {k: found for k, found in kind.model_fields.items() if k not in without}
    if not fields:
        return [sentence(kind)]
    lines = [f"{sentence(kind)}\n", "| key | value | default | meaning |", "|---|---|---|---|"]
    names = [*(k for k in ("name", "format") if k in fields), *fields]
    for name in dict.fromkeys(names):
        if kind is schema.Component and name in ModelParts.model_fields:
            continue
        found = fields[name]
        lines.append(
            f"| `{name}` | {_words(found)} | {default_words(found)} | {found.description or ''} |"
        )
    if kind is schema.Component:
        lines.append("\nAnd the tables of the file, as in `[[component.NAME.body]]`.")
    return lines


def sentence(kind: type[Any]) -> str:
    """Return what a class says of itself, before its arguments and examples, on one line."""
    return " ".join(re.split(r"Args:|>>>", kind.__doc__ or "")[0].split())


def default_words(found: FieldInfo) -> str:
    """Return what a key is where it is left out, in words."""
    if found.is_required():
        return "needed"
    value = found.default
    if value is None or value in ("", [], {}, ()) or isinstance(value, Record | Mapping):
        return ""
    if isinstance(value, bool):
        return "`true`" if value else "`false`"
    return f"`{_listed(value)!r}`".replace("'", '"')


def _listed(value: Any) -> Any:
    return [_listed(x) for x in value] if isinstance(value, list | tuple) else value


def _words(found: FieldInfo) -> str:
    named = [x for x in found.metadata if isinstance(x, str)]
    return named[0] if named else type_words(found.annotation)


def type_words(kind: Any) -> str:
    """Return a type in words."""
    if kind is type(None):
        return ""
    if get_origin(kind) is typing.Annotated:
        named = [x for x in kind.__metadata__ if isinstance(x, str)]
        return named[0] if named else type_words(get_args(kind)[0])
    origin, inside = get_origin(kind), get_args(kind)
    if origin in (typing.Union, types.UnionType):
        return " or ".join(filter(None, map(type_words, inside)))
    if origin is Literal:
        return ", ".join(f"`{x!r}`".replace("'", '"') for x in inside if x != "")
    if kind is Any:
        return "value"
    if origin in (list, tuple):
        if isinstance(inside[0], type) and issubclass(inside[0], Record):
            return "tables"
        return "list of " + ("truths" if inside[0] is bool else f"{type_words(inside[0])}s")
    if origin in (dict, Mapping):
        return "table"
    if isinstance(kind, type) and issubclass(kind, Record):
        return "table"
    return {str: "text", bool: "`true` or `false`", int: "whole number", float: "number"}.get(
        kind, str(kind)
    )
