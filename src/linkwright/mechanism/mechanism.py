"""The Mechanism: what the analyst describes, and what Linkwright derives from.

The class says what a mechanism holds. Its methods are functions of a mechanism, each beside the
others of its kind: symbols and numbers (`symbols`), what texts and names stand for (`places`),
bodies and points (`bodies`), loads (`loads`), relations that must hold (`relations`), actuators and
the platform (`drives`), quantities and files (`quantities`), structure and views (`structure`).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from linkwright.algebra import ZERO, ZERO_VECTOR, Expr, Frame, Vector, symbol, units
from linkwright.algebra.units import Amount, unit_system
from linkwright.base.reprs import brief
from linkwright.base.viewer import Shown
from linkwright.mechanism import (
    bodies,
    drives,
    flexible,
    loads,
    places,
    quantities,
    relations,
    structure,
    symbols,
)
from linkwright.mechanism.joints import Joint, MechanismError
from linkwright.mechanism.parts import (
    Body,
    ClosedLoop,
    CollisionCapsule,
    ConeLimit,
    Constraint,
    DrivenStrut,
    Force,
    Inertia,
    Moment,
    Output,
    Passive,
    Platform,
    Point,
    Range,
    Sensor,
    State,
    Timing,
)
from linkwright.mechanism.scope import MechanismScope
from linkwright.mechanism.transactions import builder

if TYPE_CHECKING:
    from linkwright.mechanism.kinematics import Kinematics
    from linkwright.mechanism.provenance import Provenance
    from linkwright.mechanism.shapes import Shape


class Mechanism(Shown):
    """A mechanism of rigid bodies.

    Args:
        name: a word that names it; it owns the mechanism's symbols.
        doc: one line that says what it is.
        display: the units in which its results are printed: "mks" or "in-lb" (in, lbf, s). Numbers
            are in SI units whatever it is.
        small_order: the highest order of small variables that expressions keep beside their
            leading terms; 1 makes equations of small motions linear, 5 serves bifurcations.

    >>> m = Mechanism("pendulum")
    >>> rod = m.body("rod", rotate="z", mass="m", com=("L", 0, 0), inertia=0)
    >>> m.gravity(along=-m.y)
    >>> rod.omega
    rod_dot*n.z
    """

    is_frozen = False

    def __init__(
        self, name: str, doc: str = "", *, display: str = "mks", small_order: int = 1
    ) -> None:
        if type(small_order) is not int or small_order < 1:
            raise MechanismError(f"small_order is a whole number from 1, not {brief(small_order)}")
        self.name = name
        self.small_order = small_order
        self.doc = doc
        self.display = unit_system(display)
        # symbols, with their numbers and units
        self.time = symbol("t", "time", owner=name, unit="s")
        self.parameters: dict[str, Expr] = {}
        self.inputs: dict[str, Expr] = {}
        self.coordinates: dict[str, Expr] = {}
        self.values: dict[str, float] = {}
        self.units: dict[str, str] = {}
        self.docs: dict[str, str] = {}
        self._orders: dict[str, int] = {}
        self._signs: dict[str, str] = {}
        self.initial: dict[str, float] = {}
        self.initial_rules: dict[str, Expr] = {}
        # bodies and what is fixed in them
        self.bodies: dict[str, Body] = {}
        self.shapes: dict[str, tuple[Shape, ...]] = {}
        self.points: dict[str, Point] = {}
        self.frames: dict[str, Point] = {}  # links and sites of a robot file, as it spells them
        self._points_of: dict[Body, dict[Vector, Point]] = {}
        self._kinematics: Kinematics | None = None
        self._tables_of = self  # a view has those of another mechanism
        # what acts on them
        self.gravity_vector: Vector = ZERO_VECTOR
        self.forces: list[Force] = []
        self.moments: list[Moment] = []
        self.armatures: dict[Body, Expr] = {}
        self.passives: dict[Body, Passive] = {}
        # what must hold
        self.constraints: list[Constraint] = []
        self.loops: list[ClosedLoop] = []
        self.ranges: list[Range] = []
        # what is driven, and how far it may go
        self.actuators: list[Expr] = []
        self.platform: Platform | None = None
        self.cones: list[ConeLimit] = []
        self.collision_capsules: list[CollisionCapsule] = []
        # what is computed beside, and where it comes from
        self.states: list[State] = []
        self.outputs: list[Output] = []
        self.sensors: list[Sensor] = []
        self.variables: dict[str, Any] = {}
        self.functions: dict[str, Callable[..., object]] = {}
        self.reports: list[str] = []
        self.timing: Timing | None = None
        self.files: dict[str, str] = {}
        self.provenance: Provenance | None = None
        self.declared_only = False
        self.scope = MechanismScope(self)
        frame = Frame.root("n")
        none = Inertia(ZERO, (ZERO, ZERO, ZERO), (ZERO,) * 6)
        self.ground = Body("n", self, None, Joint(), frame, none, (), (), ZERO_VECTOR, ZERO)
        self.origin = self.point_of(self.ground, (0, 0, 0), "o")

    def __copy__(self) -> Mechanism:
        return structure.copy_of(self)

    def __repr__(self) -> str:
        counts = [
            (len(self.bodies), "body", "bodies"),
            (len(self.coordinates), "coordinate", "coordinates"),
            (len(self.constraints), "constraint", "constraints"),
            (len(self.forces) + len(self.moments), "load", "loads"),
            (len(self.parameters), "parameter", "parameters"),
        ]
        told = [f"{n} {one if n == 1 else more}" for n, one, more in counts if n]
        return f"Mechanism({self.name!r}: {', '.join(told) or 'empty'})"

    @property
    def x(self) -> Vector:
        """The first axis of the ground."""
        return self.ground.x

    @property
    def y(self) -> Vector:
        """The second axis of the ground."""
        return self.ground.y

    @property
    def z(self) -> Vector:
        """The third axis of the ground."""
        return self.ground.z

    parameter = symbols.parameter
    speed_symbol = symbols.speed_symbol
    small = symbols.small
    large = symbols.large
    declared_orders = symbols.declared_orders
    positive = symbols.positive
    nonzero = symbols.nonzero
    defaults = symbols.defaults
    set_initial = symbols.set_initial
    set_parameters = symbols.set_parameters
    when_changed = symbols.when_changed
    known_units = symbols.known_units
    amount = symbols.amount
    amounts = symbols.amounts
    unknown = symbols.unknown

    @builder
    def input(self, name: str, default: Amount = 0.0, *, unit: str = "?", doc: str = "") -> Expr:
        """Return an input: a value that is given from outside at every instant.

        Args:
            name: its name.
            default: the value it has where none is given.
            unit: its unit.
            doc: what it is.

        >>> Mechanism("m").input("tau", unit="N*m")
        tau
        """
        symbols.require_name(name, "an input")
        symbols.si_only(unit, name)
        value = units.amount(default, f"the value of {name!r}", unit)
        known = self.inputs.get(name)
        if known is None:
            symbols.refuse_taken(self, name)
            known = self.inputs[name] = symbol(name, "input", owner=self.name)
        self.values[name] = value
        if unit != "?":
            self.units[name] = unit
        if doc:
            self.docs[name] = doc
        return known

    expr = places.expr
    exprs = places.exprs
    vector = places.vector
    automatic_point = places.automatic_point
    link_or_body = places.link_or_body
    link_of = places.link_of
    place = places.place
    body_of = places.body_of
    point_of = places.point_of
    children = places.children
    depth_first = places.depth_first
    has_speed_name = places.has_speed_name
    kinematics = places.kinematics

    body = bodies.body
    beam = flexible.beam
    modal_beam = flexible.modal_beam
    flexible = flexible.flexible
    shape = bodies.shape
    point = bodies.point
    usual_names = bodies.usual_names
    moments_about_center = bodies.moments_about_center

    gravity = loads.gravity
    force = loads.force
    strut = loads.strut
    moment = loads.moment
    armature = loads.armature
    passive = loads.passive

    constrain = relations.constrain
    constrain_position = relations.constrain_position
    constrain_points = relations.constrain_points
    constrain_distance = relations.constrain_distance
    close_loop = relations.close_loop
    prescribe = relations.prescribe
    rolling_contact = relations.rolling_contact
    limit = relations.limit

    actuate = drives.actuate
    with_drives = drives.with_drives
    drive_strut = drives.drive_strut
    set_platform = drives.set_platform
    limit_cone = drives.limit_cone
    collision_capsule = drives.collision_capsule

    @property
    def driven_struts(self) -> tuple[DrivenStrut, ...]:
        """The struts whose length is a coordinate, in order.

        >>> m = Mechanism("m")
        >>> b = m.body("b", translate="x", mass=1)
        >>> cylinder = m.drive_strut("cylinder", m.origin, b)
        >>> [(s.name, s.first.name) for s in m.driven_struts]
        [('cylinder', 'o')]
        """
        return drives.driven_struts(self)

    state = quantities.state
    sensor = quantities.sensor
    output = quantities.output
    output_all = quantities.output_all
    set_timing = quantities.set_timing
    set_files = quantities.set_files
    file_beside = quantities.file_beside
    function = quantities.function
    equations = quantities.equations

    frozen = structure.frozen
    fingerprint = structure.fingerprint
    with_parameters = structure.with_parameters
    with_loads = structure.with_loads
    with_outputs = structure.with_outputs
    with_parts = structure.with_parts


for _home in (bodies, drives, flexible, loads, places, quantities, relations, structure, symbols):
    vars(_home)["Mechanism"] = Mechanism  # so that hints of its methods are found at run time
