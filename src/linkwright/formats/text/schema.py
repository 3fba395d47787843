"""The schema of text models: one description from which everything about the format comes.

Reader, writer, defaults, JSON schema and the page *Text models* are made from these classes
and their tables (`linkwright.formats.text.tables`). A `ModelFile` is the whole file, a `Component`
a group of parts that is used several times.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any, ClassVar, Literal

from pydantic import BaseModel, Field, StrictInt, StrictStr

from linkwright.formats.text.drive_tables import (
    CollisionCapsuleTable,
    ConeLimitTable,
    DrivenStrutTable,
    PlatformTable,
)
from linkwright.formats.text.member_type import MemberType
from linkwright.formats.text.tables import (
    BodyTable,
    ConstraintTable,
    DistanceConstraint,
    ExposeTable,
    ForceTable,
    FunctionTable,
    Gravity,
    Input,
    Limit,
    LookupTable,
    LoopTable,
    MomentTable,
    OutputTable,
    ParameterTable,
    PartFileTable,
    PointConstraint,
    PointTable,
    Prescribe,
    Record,
    RollingContact,
    RunTable,
    SensorTable,
    ShapeTable,
    StateTable,
    Strut,
    SystemTable,
    Use,
    WireTable,
)
from linkwright.formats.text.values import (
    Argument,
    Expression,
    Name,
)

if TYPE_CHECKING:
    from linkwright.mechanism import Mechanism


class ModelParts(Record, BaseModel):
    """What a model and a component consist of."""

    small: Annotated[
        list[Name], Field(description="parameters, inputs and speeds that are small")
    ] = []
    large: Annotated[list[Name], Field(description="parameters that outweigh a small factor")] = []
    actuators: Annotated[
        list[Name], Field(description="coordinates that are driven; loops leave these speeds free")
    ] = []
    parameters: Annotated[
        dict[StrictStr, ParameterTable], Field(description="parameters by name")
    ] = {}
    inputs: Annotated[dict[StrictStr, Input], Field(description="inputs by name")] = {}
    variables: Annotated[
        dict[StrictStr, Expression],
        Field(description="expressions, or vectors, by name; `#name` stands for one"),
    ] = {}
    body: Annotated[list[BodyTable], Field(description="bodies")] = []
    point: Annotated[list[PointTable], Field(description="points")] = []
    driven_strut: Annotated[
        list[DrivenStrutTable], Field(description="struts whose length is a coordinate")
    ] = []
    shape: Annotated[list[ShapeTable], Field(description="what bodies are drawn with")] = []
    state: Annotated[list[StateTable], Field(description="states of your own")] = []
    force: Annotated[list[ForceTable], Field(description="forces")] = []
    strut: Annotated[list[Strut], Field(description="forces between points")] = []
    moment: Annotated[list[MomentTable], Field(description="couples")] = []
    point_constraint: Annotated[
        list[PointConstraint], Field(description="points held together")
    ] = []
    loop: Annotated[list[LoopTable], Field(description="joints that close loops")] = []
    distance_constraint: Annotated[
        list[DistanceConstraint], Field(description="points at a distance")
    ] = []
    rolling_contact: Annotated[list[RollingContact], Field(description="wheels that roll")] = []
    prescribe: Annotated[list[Prescribe], Field(description="prescribed coordinates")] = []
    constraint: Annotated[list[ConstraintTable], Field(description="other relations")] = []
    limit: Annotated[list[Limit], Field(description="limits of joints")] = []
    cone_limit: Annotated[
        list[ConeLimitTable], Field(description="how far balls and universal joints tilt")
    ] = []
    collision_capsule: Annotated[
        list[CollisionCapsuleTable], Field(description="what may not interfere")
    ] = []
    sensor: Annotated[list[SensorTable], Field(description="sensors")] = []
    output: Annotated[list[OutputTable], Field(description="results")] = []
    initial: Annotated[
        dict[StrictStr, Expression],
        Field(description="values at the start of coordinates, speeds and states, by name"),
    ] = {}
    member: Annotated[
        list[Annotated[Any, MemberType(), "table"]],
        Field(description="elements, controllers, motions and other blocks: a System"),
    ] = []
    wire: Annotated[list[WireTable], Field(description="what drives the ports of members")] = []
    expose: Annotated[list[ExposeTable], Field(description="ports of the System itself")] = []
    use: Annotated[list[Use], Field(description="instances of components")] = []
    part: Annotated[
        list[PartFileTable], Field(description="text models in files of their own")
    ] = []

    LISTS: ClassVar[tuple[str, ...]] = (
        "body",
        "point",
        "driven_strut",
        "shape",
        "state",
        "force",
        "strut",
        "moment",
        "point_constraint",
        "loop",
        "distance_constraint",
        "rolling_contact",
        "prescribe",
        "constraint",
        "limit",
        "cone_limit",
        "collision_capsule",
        "sensor",
        "output",
        "member",
        "wire",
        "expose",
    )
    TABLES: ClassVar[tuple[str, ...]] = ("parameters", "inputs", "variables", "initial")
    NAMES: ClassVar[tuple[str, ...]] = ("small", "large", "actuators")


class Component(ModelParts):
    """A group of parts that is used several times, with `${...}` for what differs."""

    doc: Annotated[StrictStr, Field(description="what it is")] = ""
    arguments: Annotated[
        dict[StrictStr, Argument], Field(description="names of its arguments, with their defaults")
    ] = {}


class ModelFile(ModelParts):
    """A mechanism as text; with members, a System."""

    format: Annotated[Literal[1], Field(description="version of this format")]
    name: Annotated[Name, Field(description="a word for the mechanism")]
    doc: Annotated[StrictStr, Field(description="one line that says what it is")] = ""
    units: Annotated[
        Literal["mks", "in-lb"] | None,
        Field(description="what its numbers are in; by default in-lb where a length is in inches"),
    ] = None
    display: Annotated[
        Literal["mks", "in-lb"] | None,
        Field(description="what its results are printed in; by default what its numbers are in"),
    ] = None
    small_order: Annotated[
        StrictInt,
        Field(description="the highest order of small variables that is kept", ge=1, le=9),
    ] = 1
    options: Annotated[
        dict[StrictStr, StrictInt],
        Field(description="whole numbers that shape the model (`${n}`), with their defaults"),
    ] = {}
    scene: Annotated[
        StrictStr, Field(description="the scene file that it is drawn with, in its own folder")
    ] = ""
    task: Annotated[
        StrictStr, Field(description="the task file that says what it has to do, in its own folder")
    ] = ""
    gravity: Annotated[Gravity | None, Field(description="the field of gravity")] = None
    platform: Annotated[
        PlatformTable | None, Field(description="what the machine moves, and where it points")
    ] = None
    run: Annotated[RunTable | None, Field(description="how a run goes")] = None
    system: Annotated[
        SystemTable | None, Field(description="of a System: its clock and values")
    ] = None
    table: Annotated[list[LookupTable], Field(description="functions given by points")] = []
    function: Annotated[list[FunctionTable], Field(description="functions written elsewhere")] = []
    component: Annotated[dict[StrictStr, Component], Field(description="components by name")] = {}

    @property
    def is_system(self) -> bool:
        """Whether it describes a System: a mechanism with what acts on it."""
        groups = (self, *self.component.values())
        return self.system is not None or any(g.member or g.wire or g.expose for g in groups)

    def build(self, **more: Any) -> Mechanism:
        """Return the mechanism that is described; see `linkwright.formats.text.builder.build`.

        >>> model = ModelFile(format=1, name="m", body=[{"name": "b", "rotate": "z", "mass": 1}])
        >>> list(model.build().coordinates)
        ['b']
        """
        from linkwright.formats.text.builder import build

        return build(self, **more)
