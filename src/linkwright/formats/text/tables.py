"""The tables of text models, one class each; `linkwright.formats.text.schema` is the whole file.

Strings are expressions of the language of `linkwright.algebra.language`; `${...}` in them is
replaced before anything else is done (`linkwright.formats.text.components`).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Annotated, Any, Literal

from pydantic import (
    BaseModel,
    ConfigDict,
    Field,
    StrictBool,
    StrictInt,
    StrictStr,
    model_validator,
)
from pydantic_core import PydanticCustomError

from linkwright.base.errors import nearest
from linkwright.formats.text.values import (
    Argument,
    Axes,
    Direction,
    Expression,
    JointName,
    Matrix,
    Moments,
    Name,
    Number,
    Numbers,
    Place,
    Rows,
    Text,
    Tint,
    Turns,
    wrong,
)

if TYPE_CHECKING:
    pass


class Record(BaseModel):
    """A table of the file: its keys are known, and another one is an error."""

    model_config = ConfigDict(extra="forbid", frozen=True, ser_json_inf_nan="constants")

    @model_validator(mode="before")
    @classmethod
    def _known_keys(cls, data: Any) -> Any:
        data = cls.from_short(data)
        if isinstance(data, Mapping):
            known = [field.alias or name for name, field in cls.model_fields.items()]
            for key in data:
                if key not in known:
                    near = nearest(str(key), known)
                    raise PydanticCustomError(
                        "unknown_key",
                        "unknown key {key}",
                        {
                            "key": str(key),
                            "near": near,
                            "known": ", ".join(sorted(known)) or "none",
                        },
                    )
        return data

    @classmethod
    def from_short(cls, data: Any) -> Any:
        """Return the full table of a short form; only some tables have one."""
        return data


class ParameterTable(Record):
    """A constant that can be changed from run to run; `L = 1.5` gives only its value."""

    value: Annotated[Expression | None, Field(description="its default")] = None
    unit: Annotated[StrictStr, Field(description="its unit, as in `kg*m^2`")] = "?"
    sign: Annotated[
        Literal["", "positive", "nonzero"],
        Field(description="what is promised of it, so that it may be divided by"),
    ] = ""
    doc: Annotated[StrictStr, Field(description="what it is")] = ""

    @classmethod
    def from_short(cls, data: Any) -> Any:
        """Return the table of `L = 1.5`."""
        return data if isinstance(data, Mapping | Record) else {"value": data}


class Input(Record):
    """A value that is given from outside at every instant; `F = 0` gives only its default."""

    value: Annotated[Expression, Field(description="its value where none is given")] = 0
    unit: Annotated[StrictStr, Field(description="its unit")] = "?"
    doc: Annotated[StrictStr, Field(description="what it is")] = ""

    @classmethod
    def from_short(cls, data: Any) -> Any:
        """Return the table of `F = 0`."""
        return data if isinstance(data, Mapping | Record) else {"value": data}


class Gravity(Record):
    """A uniform field of gravity; without this table there is none."""

    along: Annotated[
        Direction,
        Field(
            description="the direction in which things fall, of length 1; with `g = 1` the "
            "acceleration itself"
        ),
    ] = "-z"
    g: Annotated[Expression, Field(description="its acceleration, m/s^2")] = 9.81


class Connection(Record):
    """How two bodies may move relative to each other; shared by `body` and `loop`."""

    joint: Annotated[
        JointName | None,
        Field(
            description="a joint by its name; else `translate` and `rotate`. A hinge turns about "
            "its own y, a swivel about its own x, a sliding joint moves along its own x"
        ),
    ] = None
    axis: Annotated[
        Direction | None,
        Field(
            description="of a revolute, prismatic, screw, cylindrical or planar joint (its normal)"
        ),
    ] = None
    axes: Annotated[Axes | None, Field(description="both axes of a universal joint")] = None
    sequence: Annotated[
        Text | None, Field(description="body axes of the angles of a ball or free joint")
    ] = None
    quaternion: Annotated[
        StrictBool, Field(description="a quaternion in place of the angles of a ball or free joint")
    ] = False
    pitch: Annotated[Expression | None, Field(description="of a screw: advance in a turn, m")] = (
        None
    )


class BodyTable(Connection):
    """A rigid body with the joint that it hangs on."""

    name: Annotated[Name, Field(description="letters, digits, `_`; a single coordinate has it too")]
    parent: Annotated[Name, Field(description="the body that it hangs on; `n` is the ground")] = "n"
    translate: Annotated[
        Axes | None, Field(description='directions of translation in the parent: `"xy"`')
    ] = None
    rotate: Annotated[
        Axes | None, Field(description='one axis in the parent, or three body axes: `"z"`, `"xyz"`')
    ] = None
    body_axis: Annotated[
        Text | None, Field(description="which axis of the body lies along the one axis")
    ] = None
    first_axis: Annotated[
        Direction | None, Field(description="of three rotations: the first axis in the parent")
    ] = None
    reference: Annotated[
        Direction | None, Field(description="the parent's direction from which the angle counts")
    ] = None
    advance_per_radian: Annotated[
        Expression | None, Field(description="advance along the axis, m/rad")
    ] = None
    offset: Annotated[
        Expression | None, Field(description="what is added to the angle of one rotation, rad")
    ] = None
    matrix: Annotated[
        Matrix | None,
        Field(description="of a weld: rows of the rotation from body to parent components"),
    ] = None
    at_origin: Annotated[
        StrictBool,
        Field(description="speeds of a free body are those of its origin, not of its mass center"),
    ] = False
    at: Annotated[Place, Field(description="the joint in the parent's frame, m")] = [0, 0, 0]
    turn: Annotated[
        Turns,
        Field(
            description="how the joint's frame is turned in the parent's: turns about its own "
            'axes, in order: `[["x", "90 deg"], ["z", 0.5]]`'
        ),
    ] = []
    mass: Annotated[Expression, Field(description="kg")] = 0
    com: Annotated[Place, Field(description="mass center in the body's frame, m")] = [0, 0, 0]
    inertia: Annotated[Moments, Field(description="about the mass center in body axes, kg*m^2")] = 0
    inertia_about: Annotated[
        Literal["com", "joint"],
        Field(description="whether `inertia` is about the mass center, or about the body's origin"),
    ] = "com"
    armature: Annotated[
        Expression | None, Field(description="of a geared rotor, on the joint's speed, kg*m^2")
    ] = None
    damping: Annotated[Expression | None, Field(description="of the joint, N*m*s/rad or N*s/m")] = (
        None
    )
    friction: Annotated[Expression | None, Field(description="dry, in the joint, N*m or N")] = None
    stiffness: Annotated[
        Expression | None, Field(description="of a spring in the joint, N*m/rad or N/m")
    ] = None
    rest: Annotated[
        Expression | None, Field(description="coordinate at which that spring is slack, rad or m")
    ] = None
    joint_name: Annotated[
        StrictStr, Field(description="in robot files, where it is not that of the coordinate")
    ] = ""
    coordinates_in: Annotated[
        Name | None,
        Field(description="the body in whose frame `at`, `com` and axes are given, in zero pose"),
    ] = None
    coordinates: Annotated[
        list[Name] | None, Field(description="names of the coordinates, translations first")
    ] = None
    small: Annotated[
        StrictBool | list[StrictBool], Field(description="coordinates and speeds are small")
    ] = False
    doc: Annotated[StrictStr, Field(description="what it is")] = ""


class PointTable(Record):
    """A point fixed in a body, or a frame. The points `b0` (origin) and `bcm` (mass center) need no
    table.
    """

    name: Annotated[Name, Field(description="how expressions call it")]
    body: Annotated[Name, Field(description="the body; `n` is the ground")] = "n"
    at: Annotated[Place, Field(description="its place in the body's frame, m")] = [0, 0, 0]
    coordinates_in: Annotated[
        Name | None, Field(description="the body in whose frame `at` is given, in zero pose")
    ] = None
    matrix: Annotated[
        Matrix | None,
        Field(description="of a frame: rows of the rotation from its components to the body's"),
    ] = None
    turn: Annotated[
        Turns, Field(description="of a frame, in place of `matrix`: turns about its own axes")
    ] = []


class ShapeTable(Record):
    """A shape that a body is drawn with in place of generated ones; it has no mass."""

    body: Annotated[Name, Field(description="the body; `n` is the ground")]
    kind: Annotated[
        Literal["box", "sphere", "cylinder", "capsule", "ellipsoid", "plane", "mesh"],
        Field(description="cylinders and capsules lie along z, about the middle"),
    ]
    edges: Annotated[Place | None, Field(description="of a box, along x, y and z, m")] = None
    radius: Annotated[Expression | None, Field(description="of what is round, m")] = None
    length: Annotated[
        Expression | None, Field(description="of a cylinder, or a capsule without its caps, m")
    ] = None
    radii: Annotated[Place | None, Field(description="of an ellipsoid, along x, y and z, m")] = None
    file: Annotated[Text | None, Field(description="of a mesh, in the folder of the model")] = None
    scale: Annotated[list[Number] | None, Field(description="of a mesh, along x, y and z")] = None
    at: Annotated[Place, Field(description="its own origin in the body's frame, m")] = [0, 0, 0]
    turn: Annotated[
        Turns, Field(description='turns about its own axes, in order: `[["x", "90 deg"]]`')
    ] = []
    color: Annotated[
        Tint | None,
        Field(
            description='`"#rrggbb"`, `"#rrggbbaa"`, `[r, g, b, a]`, or a name such as `"steel"`'
        ),
    ] = None
    name: Annotated[StrictStr, Field(description="in robot files")] = ""
    material: Annotated[StrictStr, Field(description="what has its color, in robot files")] = ""
    seen: Annotated[StrictBool, Field(description="it is drawn")] = True
    touched: Annotated[
        StrictBool, Field(description="it takes part in contact, in robot files")
    ] = False


class ForceTable(Record):
    """A force of known direction; it may depend on `x`, `x0` and `v` as that of a strut."""

    name: Annotated[Text, Field(description="its name, for `fm(...)`")]
    magnitude: Annotated[Expression, Field(description="N, along the direction")]
    at: Annotated[Name, Field(description="the point where it acts")]
    along: Annotated[Direction, Field(description="its direction")]
    reaction: Annotated[
        Name, Field(description="the body or point that feels the opposite; `n` is the ground")
    ] = "n"
    doc: Annotated[StrictStr, Field(description="what it is")] = ""


class Strut(Record):
    """A force along the line between two points."""

    name: Annotated[Text, Field(description="its name, for `fm(...)`")]
    magnitude: Annotated[
        Expression,
        Field(description="N, pushes apart; `x`, `x0`, `v`: length, that in zero pose, its rate"),
    ]
    at: Annotated[Name, Field(description="the point that it pushes")]
    to: Annotated[Name, Field(description="the other point; `o` is the ground's origin")] = "o"
    doc: Annotated[StrictStr, Field(description="what it is")] = ""


class MomentTable(Record):
    """A couple on a body."""

    name: Annotated[Text, Field(description="its name, for `fm(...)`")]
    magnitude: Annotated[Expression, Field(description="N*m")]
    on: Annotated[Name, Field(description="the body that feels it")]
    about: Annotated[Direction, Field(description="its direction")]
    reaction: Annotated[Name, Field(description="the body that feels the opposite")] = "n"
    doc: Annotated[StrictStr, Field(description="what it is")] = ""


class PointConstraint(Record):
    """Two points that do not move apart along a direction."""

    first: Annotated[Name, Field(description="a point of one body")]
    second: Annotated[Name, Field(description="a point of another")]
    along: Annotated[Direction, Field(description="the direction")]
    name: Annotated[StrictStr, Field(description="its name")] = ""


class LoopTable(Connection):
    """A joint that closes a loop of the tree."""

    name: Annotated[Text, Field(description="its name")]
    first: Annotated[Name, Field(description="body or point in which the joint's axes are fixed")]
    second: Annotated[Name, Field(description="the other body, or the point of it in the joint")]
    along: Annotated[
        list[Direction] | None,
        Field(description="directions in which the points are held together"),
    ] = None
    second_axis: Annotated[
        Direction | None, Field(description="the joint's axis in the second body, where it differs")
    ] = None
    relations: Annotated[
        list[Text] | None,
        Field(description="names of constraints that state what it forbids, in place of its own"),
    ] = None


class DistanceConstraint(Record):
    """Two points at a fixed distance: a massless rod."""

    first: Annotated[Name, Field(description="a point of one body")]
    second: Annotated[Name, Field(description="a point of another")]
    length: Annotated[Expression, Field(description="m")]
    name: Annotated[StrictStr, Field(description="its name")] = ""


class RollingContact(Record):
    """A wheel that rolls without slip on the ground, its axle level."""

    wheel: Annotated[Name, Field(description="a body with one rotation, about its axle")]
    radius: Annotated[Expression, Field(description="m")]
    forward: Annotated[
        Direction | None, Field(description="the direction of rolling; else across the axle")
    ] = None
    lateral: Annotated[StrictBool, Field(description="it does not slip sideways either")] = True
    name: Annotated[StrictStr, Field(description="its name")] = ""


class Prescribe(Record):
    """A coordinate that follows a function of time."""

    coordinate: Annotated[Name, Field(description="its name")]
    motion: Annotated[Expression, Field(description="an expression of `t`, rad or m")]
    name: Annotated[StrictStr, Field(description="its name")] = ""


class Limit(Record):
    """How far a joint may go: in runs, end stops push it back."""

    coordinate: Annotated[Name, Field(description="its name")]
    lower: Annotated[Expression | None, Field(description="a number or none, rad or m")] = None
    upper: Annotated[Expression | None, Field(description="a number or none, rad or m")] = None
    speed: Annotated[
        Number | None, Field(description="greatest, rad/s or m/s; left to controllers")
    ] = None
    effort: Annotated[
        Number | None, Field(description="greatest, N*m or N; left to controllers")
    ] = None


class SensorTable(Record):
    """A sensor of a robot file; it adds no channel to runs."""

    name: Annotated[Text, Field(description="its name")]
    kind: Annotated[Text, Field(description='in MJCF\'s words: `"jointpos"`, `"gyro"`, `"force"`')]
    on: Annotated[Name, Field(description="the coordinate, body or point that it is on")]


class Act(Record):
    """Where the force that maintains a constraint acts, for reactions."""

    along: Annotated[Direction, Field(description="the force, or couple, for the multiplier 1")]
    at: Annotated[Name, Field(description="the point where it acts")]
    reaction: Annotated[Name, Field(description="the point where the opposite acts")] = "o"
    turns: Annotated[StrictBool, Field(description="it is a couple")] = False


class ConstraintTable(Record):
    """A relation that must hold: of speeds, or of coordinates with its rate."""

    name: Annotated[StrictStr, Field(description="its name")] = ""
    speed: Annotated[
        Expression | None, Field(description="linear in the speeds; it must vanish")
    ] = None
    position: Annotated[
        Expression | None,
        Field(description="of the coordinates; it must vanish, and so must its rate"),
    ] = None
    eliminate: Annotated[Name | None, Field(description="the speed to eliminate")] = None
    compute: Annotated[Name | None, Field(description="the coordinate to compute from it")] = None
    acts: Annotated[list[Act], Field(description="where its force acts; else in the joints")] = []
    length: Annotated[
        Name | None, Field(description="of a driven strut, the coordinate that is its length")
    ] = None

    @model_validator(mode="after")
    def _has_relation(self) -> ConstraintTable:
        if self.speed is None and self.position is None:
            raise wrong("a constraint needs `speed` or `position`")
        return self


class StateTable(Record):
    """A first-order state of your own."""

    name: Annotated[Name, Field(description="how expressions call it")]
    rate: Annotated[Expression, Field(description="its time derivative; it may use any state")]
    initial: Annotated[Expression, Field(description="its value at the start, a constant")] = 0
    unit: Annotated[StrictStr, Field(description="its unit")] = "?"


class OutputTable(Record):
    """A channel of results; or, with `all`, the channels of all quantities of a kind."""

    name: Annotated[Text | None, Field(description="its name")] = None
    value: Annotated[
        Expression | None, Field(description="an expression; accelerations may occur in it")
    ] = None
    unit: Annotated[StrictStr, Field(description="its unit")] = "?"
    doc: Annotated[StrictStr, Field(description="a longer name")] = ""
    body: Annotated[Name | None, Field(description="the body that it belongs to")] = None
    all: Annotated[
        Literal[
            "coordinates",
            "speeds",
            "accelerations",
            "forces",
            "moments",
            "energies",
            "reactions",
        ]
        | None,
        Field(description="in place of the other keys: a kind of quantity"),
    ] = None

    @model_validator(mode="after")
    def _one_way(self) -> OutputTable:
        if self.all is None and (self.name is None or self.value is None):
            raise wrong("an output needs `name` and `value`, or `all`")
        if self.all is not None and self.model_fields_set != {"all"}:
            raise wrong("`all` stands alone")
        return self


class WireTable(Record):
    """What drives a port of a member, or an input of the mechanism."""

    source: Annotated[
        Argument, Field(description="an expression of ports and of the mechanism, or a list")
    ]
    target: Annotated[Text, Field(description='the port: `"servo.target"`; or an input')]
    solve: Annotated[StrictBool, Field(description="it closes a loop that is to be solved")] = False


class ExposeTable(Record):
    """A port of the System itself: what a larger System sees of it, and what is linearized."""

    name: Annotated[Name, Field(description="of the port")]
    value: Annotated[
        Argument, Field(description="an open port, an expression of ports, or a list of them")
    ]


class SystemTable(Record):
    """What a System has beside its members and wires."""

    base: Annotated[
        Expression | None,
        Field(description="base clock, Hz; by default the slowest of which all rates are parts"),
    ] = None
    formulation: Annotated[
        Text, Field(description="how the equations of motion are derived, as for `derive`")
    ] = "quick"
    values: Annotated[
        dict[StrictStr, Expression], Field(description="of parameters and inputs: `servo.kp`")
    ] = {}
    initial: Annotated[
        dict[StrictStr, Expression], Field(description="where states start, over `[initial]`")
    ] = {}


class MemberTable(Record):
    """A part of a System; `kind` says what it is, and the other keys are its arguments."""


class RunTable(Record):
    """Settings of a run, with their defaults."""

    until: Annotated[Number, Field(description="its end, s")]
    step: Annotated[
        Number | None,
        Field(description="of a method with fixed steps, s; else a ten-thousandth of the run"),
    ] = None
    every: Annotated[StrictInt, Field(description="steps from one record to the next", ge=1)] = 1


class LookupTable(Record):
    """A function given by points: `x` and `y`, or a grid `x`, `y` with the values `z`."""

    name: Annotated[Name, Field(description="how expressions call it")]
    x: Annotated[Numbers, Field(description="abscissae, increasing")]
    y: Annotated[Numbers, Field(description="values; with `z`, abscissae of the second argument")]
    z: Annotated[
        Rows | None, Field(description="values: a row for each x, a column for each y")
    ] = None
    kind: Annotated[
        Literal["linear", "cubic"], Field(description="straight or monotone cubic in between")
    ] = "linear"
    outside: Annotated[
        Literal["hold", "linear"], Field(description="hold the border value, or its slope")
    ] = "hold"


class FunctionTable(Record):
    """A function that is written elsewhere. Its code is given in Python, by `functions={...}`.

    The C source of a file is only used if the reader is allowed to trust it (`trust=True`,
    `--trust`).
    """

    name: Annotated[Name, Field(description="how expressions, and C, call it")]
    arguments: Annotated[list[Name], Field(description="names of its arguments", min_length=1)]
    outputs: Annotated[StrictInt, Field(description="number of results", ge=1, le=1000)] = 1
    pure: Annotated[StrictBool, Field(description="equal arguments give equal results")] = True
    derivatives: Annotated[
        list[Expression] | None, Field(description="by each argument, in terms of the arguments")
    ] = None
    c_source: Annotated[StrictStr, Field(description="its definition in C")] = ""
    doc: Annotated[StrictStr, Field(description="what it is")] = ""


class PartFileTable(Record):
    """A text model in a file of its own, put in under a prefix."""

    file: Annotated[StrictStr, Field(description="the file, in the folder of this one or below it")]
    prefix: Annotated[Name, Field(description="stands before its names, with an underscore")]
    parent: Annotated[Name, Field(description="the body that is its ground")] = "n"
    at: Annotated[Place, Field(description="where its ground is on that body")] = [0, 0, 0]
    parameters: Annotated[
        dict[StrictStr, Expression], Field(description="what stands for parameters of it")
    ] = {}


class Use(Record):
    """An instance of a component, or several."""

    component: Annotated[Name, Field(description="which one")]
    prefix: Annotated[StrictStr, Field(description="what stands for `${prefix}`")] = ""
    count: Annotated[Expression, Field(description="how many; `${i}` counts them from `start`")] = 1
    start: Annotated[Expression, Field(description="the first `${i}`")] = 0
    arguments: Annotated[
        dict[StrictStr, Argument], Field(description="what stands for the component's arguments")
    ] = {}
    first: Annotated[
        dict[StrictStr, Argument], Field(description="arguments that differ in the first one")
    ] = {}
