"""A cell as Systems of native blocks: its control, its simulated device, and both in one.

What a client changes is an input. What the device sends and what it is sent are two records, whose
fields are inputs of one side and outputs of the other; in one System a delay of one tick stands for
the way from the loop to the device.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

from linkwright.algebra import Expr, equal, not_equal, total, where
from linkwright.base.cache import entry_key
from linkwright.base.errors import Error, InputError
from linkwright.base.fingerprint import fingerprint
from linkwright.server.axis_blocks import COEFFICIENTS, AxisDrives, AxisOrders, axis_controller
from linkwright.server.cell import Cell, CellArm
from linkwright.server.face import TOOL_SPEEDS
from linkwright.server.verbs import VERBS
from linkwright.simulation.hardware import FAULT
from linkwright.simulation.native.session import Session
from linkwright.simulation.native.stored import Tell, prepared
from linkwright.simulation.settings import FOREVER, RunSettings
from linkwright.system import Member, System
from linkwright.windows import Field, Record

if TYPE_CHECKING:
    from linkwright.motion.chains import ChainMotion

QUEUE = 4
"""Legs that may wait in an arm's motion."""


@dataclass(frozen=True, slots=True)
class Shared:
    """A field of a record with the ports behind it."""

    field: Field  # of the record
    source: str  # port that fills it
    target: str = ""  # port that reads it, or empty

    @property
    def size(self) -> int:
        """How many numbers it has."""
        return self.field.shape[0] if self.field.shape else 1

    @property
    def sources(self) -> tuple[str, ...]:
        """The channels that fill it."""
        return _entries(self.source, self.field)

    @property
    def targets(self) -> tuple[str, ...]:
        """The inputs that read it."""
        return _entries(self.target, self.field)


def _entries(port: str, field: Field) -> tuple[str, ...]:
    if not field.shape:
        return (port,)
    return tuple(f"{port}[{i}]" for i in range(field.shape[0]))


def state_fields(cell: Cell) -> tuple[Shared, ...]:
    """Return what a cell sends to its clients, with the channels that it comes from.

    >>> from linkwright.server.cell_file import read_cell
    >>> [x.field.name for x in state_fields(read_cell("axes2"))][:3]
    ['plane.q', 'plane.u', 'plane.target']
    """
    return tuple(_state_fields(cell))


def _state_fields(cell: Cell) -> Iterator[Shared]:
    for arm in cell.arms:
        n, own = (len(arm.axes),), f"{arm.name}_supervisor"
        unit, speed = _units(arm), _units(arm, "/s")
        yield Shared(Field(f"{arm.name}.q", unit, shape=n), f"{own}.measured")
        yield Shared(Field(f"{arm.name}.u", speed, shape=n), f"{own}.measured_rate")
        yield Shared(Field(f"{arm.name}.target", unit, shape=n), f"{told_by(arm)}.told")
        yield Shared(Field(f"{arm.name}.current", "A", shape=n), f"{own}.drawn")
        yield Shared(Field(f"{arm.name}.moving"), f"{own}.moves")
        yield Shared(Field(f"{arm.name}.probe", unit), f"{arm.name}_probe.value")
        for name in ("life", "taken", "done", "dropped", "cause", "error", "holder"):
            yield Shared(Field(f"{arm.name}.{name}"), f"{own}.{name}")
        for name in ("cut", "cut_after", "cut_cause"):
            yield Shared(Field(f"{arm.name}.{name}"), f"{own}.{name}")
        seen = f"{arm.name}_sense"
        efforts = ",".join(dict.fromkeys("N*m" if x.unit == "rad" else "N" for x in arm.axes))
        yield Shared(Field(f"{arm.name}.external", efforts, shape=n), f"{seen}.external")
        if arm.tool:
            yield Shared(Field(f"{arm.name}.pose", "m", shape=(7,)), f"{seen}.pose")
        if arm.law.kind == "hybrid":
            yield Shared(Field(f"{arm.name}.force", "N", shape=(3,)), f"{arm.name}_force.felt")
    for frame in cell.frames:
        yield Shared(Field(f"frame.{frame.name}.age", "s"), f"frame_{frame.name}.age")


def _units(arm: CellArm, per: str = "") -> str:
    """Return the unit of an arm's joints; of joints that turn and slide all, with commas."""
    units = [f"{axis.unit}{per}" for axis in arm.axes]
    return units[0] if len(set(units)) == 1 else ",".join(units)


def device_states(cell: Cell) -> tuple[Shared, ...]:
    """Return what the device sends to the control."""
    found = []
    for arm in cell.arms:
        n, card, own = (len(arm.axes),), f"{arm.name}_card", f"{arm.name}_supervisor"
        unit, speed = _units(arm), _units(arm, "/s")
        found += [
            Shared(Field(f"{arm.name}.q", unit, shape=n), f"{card}.position", f"{own}.q"),
            Shared(Field(f"{arm.name}.u", speed, shape=n), f"{card}.speed", f"{own}.u"),
            Shared(Field(f"{arm.name}.current", "A", shape=n), f"{card}.applied", f"{own}.current"),
            Shared(Field(f"{arm.name}.card"), f"{card}.panicked", f"{own}.card"),
            Shared(Field(f"{arm.name}.tick"), f"{card}.tick", f"{own}.device"),
            Shared(Field(f"{arm.name}.button"), f"{card}.pressed", f"{own}.button"),
        ]
        if arm.law.kind == "hybrid":
            force = Field(f"{arm.name}.force", "N", shape=(3,))
            found.append(Shared(force, f"{card}.force", f"{arm.name}_force.wrench"))
    return tuple(found)


def device_commands(cell: Cell) -> tuple[Shared, ...]:
    """Return what the control sends to the device."""
    found = []
    for arm in cell.arms:
        n, card, own = (len(arm.axes),), f"{arm.name}_card", f"{arm.name}_supervisor"
        current = Field(f"{arm.name}.current", "A", shape=n)
        found += [
            Shared(current, current_of(arm), f"{card}.current"),
            Shared(Field(f"{arm.name}.brake"), f"{own}.brake", f"{card}.brake"),
            Shared(Field(f"{arm.name}.panic"), f"{own}.panic", f"{card}.panic"),
            Shared(Field(f"{arm.name}.clears"), f"{own}.clears", f"{card}.clears"),
            Shared(Field(f"{arm.name}.tick"), f"{own}.tick", f"{card}.server"),
        ]
    return tuple(found)


def current_of(arm: CellArm) -> str:
    """Return the port that asks for an arm's currents."""
    return f"{arm.name}_{'drives' if arm.law.kind == 'axes' else 'control'}.current"


def told_by(arm: CellArm) -> str:
    """Return the block that reports an arm's set-point, without what forces add to it."""
    return f"{arm.name}_{'force' if arm.law.kind == 'hybrid' else 'control'}"


def record_of(name: str, shared: Sequence[Shared], *more: Field) -> Record:
    """Return the record of some fields."""
    return Record(name, *(x.field for x in shared), *more)


def control_system(cell: Cell) -> System:
    """Return the control of a cell: supervisors, motions, laws and frames, all native.

    >>> from linkwright.server.cell_file import read_cell
    >>> sorted(control_system(read_cell("axes2")).members)[:2]
    ['plane_axes', 'plane_control']
    """
    from linkwright.server.frames import FrameBlock

    system = System(name=cell.name, base=cell.rate)
    for frame in cell.frames:
        system.add(FrameBlock(frame, cell.rate, name=f"frame_{frame.name}"), rate=cell.rate)
    for arm in cell.arms:
        _add_control(system, cell, arm)
    if cell.linked:
        for arm in cell.arms:
            others = [system[f"{x.name}_supervisor"] for x in cell.arms if x is not arm]
            if others:
                own = f"{arm.name}_supervisor"
                apart = [equal(x.was, FAULT) & (x.spoiled > 0) for x in others]
                system.connect(total(x.sounded for x in others), f"{own}.linked")
                system.connect(total(x.asked_clear for x in others), f"{own}.clears_too")
                system.connect(_any_of(apart), f"{own}.apart")
    return system


def _add_control(system: System, cell: Cell, arm: CellArm) -> None:
    from linkwright.server.arm_blocks import ArmControl, ArmSense
    from linkwright.server.probe import ArmProbe
    from linkwright.server.supervisor import Supervisor
    from linkwright.server.timed import ArmTimed
    from linkwright.server.tracking import Tracker, online_motion

    supervisor, motion, tracker, free, probe, timed, control, sense = (
        system.add(block, rate=cell.rate)
        for block in (
            Supervisor(arm, cell, f"{arm.name}_supervisor"),
            _motion(cell, arm),
            Tracker(arm, f"{arm.name}_tracker"),
            online_motion(arm, cell.rate),
            ArmProbe(arm, cell.rate, f"{arm.name}_probe"),
            ArmTimed(arm, cell.rate, f"{arm.name}_timed"),
            AxisOrders(arm, cell.rate, f"{arm.name}_control")
            if arm.law.kind == "axes"
            else ArmControl(arm, f"{arm.name}_control"),
            ArmSense(arm, cell.rate, f"{arm.name}_sense"),
        )
    )
    n = len(arm.axes)
    tracking = tracker.tracking
    wanted = [
        [where(tracking, x, y) for x, y in zip(free[a], motion[b], strict=True)]
        for a, b in (("q", "q"), ("q_dot", "u"), ("q_ddot", "a"))
    ]
    excited = [
        [where(probe.excited, x, y) for x, y in zip(probe[word], values, strict=True)]
        for word, values in zip(("moved", "rise"), wanted, strict=False)
    ]
    set_points = [
        [where(timed.runs, x, y) for x, y in zip(timed[word], values, strict=True)]
        for word, values in zip(("q", "u", "a"), (*excited, wanted[2]), strict=True)
    ]
    after = set_points
    if arm.law.kind == "hybrid":
        after = _add_force(system, cell, arm, set_points)
    # how both stand, by what they remember of the tick before; the chain has to know the place
    arrived = (free.since >= 0) & (free.since >= free.length * cell.rate + 1)
    going = tracker.jogging & _any_of([not_equal(tracker[f"rate{i}"], 0) for i in range(n)])
    rest = arrived & ~going & equal(probe.running, 0) & equal(timed.running, 0)
    follows = motion.flowing if arm.tool else 0
    last = [control[f"wanted{i}"] for i in range(n)]  # the set-point of the tick before
    plain = last
    if arm.law.kind == "hybrid":
        plain = [system[f"{arm.name}_force"][f"plain{i}"] for i in range(n)]
    begin = [  # a target is gone for from where the chain is, or from where another motion ends
        [
            where(timed.leaves, x, where(probe.leaves, y, z))
            for x, y, z in zip(timed[b], probe[a], motion[b], strict=True)
        ]
        for a, b in (("left", "q"), ("left_rate", "u"), ("left_acceleration", "a"))
    ]
    tracked = where(rest | tracker.jogging, supervisor.goals, 0)
    for source, target in (
        (
            [where(tracking, x, y) for x, y in zip(free.q, supervisor.measured, strict=True)],
            motion.measured,
        ),
        ((1 - supervisor.on) | tracking, motion.follow),
        (supervisor.hold, motion.stop),
        ([supervisor.leg], motion.kind),
        (supervisor.goal[: len(motion["values"])], motion["values"]),
        ([supervisor.speed], motion.speed),
        ([supervisor.blend], motion.blend),
        ([supervisor.frame], motion.frame),
        ([tracker.leg], motion.sequence),
        (supervisor.count, tracker.count),
        (supervisor.kind, tracker.kind),
        (supervisor.waits, tracker.waits),
        (supervisor.goal[:n], tracker.goal),
        (supervisor.speed, tracker.speed),
        (supervisor.on, tracker.on),
        (supervisor.hold, tracker.brake),
        (supervisor.measured, tracker.q),
        (tracker.target, free.target),
        (tracker.target_rate, free.target_rate),
        (tracker.mode, free.mode),
        (tracker.most, free.max_speed),
        (plain, tracker.here),
        (probe.running, tracker.probing),
        (tracker.begins | probe.leaves | timed.leaves, free.reset),
        (supervisor.hold & tracking, free.stop),
        (begin[0], free.start),
        (begin[1], free.start_rate),
        (begin[2], free.start_acceleration),
        (where(tracker.active, ~rest, motion.busy | follows), supervisor.moving),
        (
            where(tracker.active, ~rest, (motion.busy & (motion.sigma > 0)) | follows),
            supervisor.shifts,
        ),
        (probe.running, supervisor.probing),
        (where(tracker.active, rest, motion.waiting < QUEUE), supervisor.ready),
        (where(tracker.active, tracked, motion.last_done), supervisor.finished),
        (motion.last_refused, supervisor.spurned),
        (supervisor.measured, control.q),
        (supervisor.measured_rate, control.u),
        (supervisor.measured, probe.q),
        (supervisor.count, probe.count),
        (supervisor.kind, probe.kind),
        (supervisor.goal[:6], probe.goal),
        (supervisor.on, probe.on),
        (supervisor.hold, probe.brake),
        (supervisor.waits, probe.waits),
        (plain, probe.here),
        ([tracker[f"place{i}"] for i in range(n)], probe.place),
        (supervisor.count, timed.count),
        (supervisor.kind, timed.kind),
        (supervisor.on, timed.on),
        (supervisor.hold, timed.brake),
        (after[0], control.target),
        (after[1], control.target_rate),
        (after[2], control.target_acceleration),
        (last, supervisor.target),
        (supervisor.measured, sense.q),
        (supervisor.measured_rate, sense.u),
        (supervisor.drawn, sense.current),
        (supervisor.on, sense.on),
    ):
        system.connect(source, target)
    if arm.law.kind == "axes":
        _add_axes(system, cell, arm)
    else:
        system.connect(supervisor.on, control.on)
    if arm.tool:
        _add_frames(system, cell, arm, motion)


def _add_force(
    system: System, cell: Cell, arm: CellArm, set_points: list[list[Expr]]
) -> list[list[Expr]]:
    """Put the law of force behind the motions of an arm, and return what set-points become."""
    from linkwright.server.force_blocks import ArmForce

    supervisor = system[f"{arm.name}_supervisor"]
    force = system.add(ArmForce(arm, cell.rate, f"{arm.name}_force"), rate=cell.rate)
    for source, target in (
        (set_points[0], force.target),
        (set_points[1], force.target_rate),
        (set_points[2], force.target_acceleration),
        (supervisor.on, force.on),
        (supervisor.hold, force.brake),
        (force.touch, supervisor.touched),  # as they were a tick before
        (force.loss, supervisor.missed),
    ):
        system.connect(source, target)
    return [list(force.command), list(force.command_rate), list(force.acceleration)]


def _add_axes(system: System, cell: Cell, arm: CellArm) -> None:
    """Put an axis controller between the orders of an arm and its currents."""
    supervisor, orders = (system[f"{arm.name}_{word}"] for word in ("supervisor", "control"))
    axes = system.add(axis_controller(arm, cell.rate, f"{arm.name}_axes"), rate=cell.rate)
    drives = system.add(AxisDrives(arm, f"{arm.name}_drives"), rate=cell.rate)
    for source, target in (
        (orders.demand, axes.demand),
        (orders.offset, axes.offset),
        (orders.modes, axes.mode),
        (orders.kvs, axes.kv),
        (orders.kas, axes.ka),
        *((orders[key], axes[key]) for key in COEFFICIENTS),
        (orders.target_rate, axes.demand_rate),
        (orders.target_acceleration, axes.demand_acceleration),
        (supervisor.measured, axes.encoder),
        (supervisor.on, axes.enable),
        (supervisor.panic, axes.panic_line),
        (1 - supervisor.panic, axes.clear),
        (axes.current, drives.asked),
        (axes.trips, supervisor.tripped),  # as they were a tick before
        (axes.last, supervisor.tripped_code),
    ):
        system.connect(source, target)


def _any_of(conditions: Sequence[Expr]) -> Expr:
    found = conditions[0]
    for condition in conditions[1:]:
        found = found | condition
    return found


def _motion(cell: Cell, arm: CellArm) -> ChainMotion:
    """Return the motion of an arm: of its joints, and of its tool where it has one."""
    from linkwright.motion.chains import ArmMotion, ChainMotion
    from linkwright.robots import Robot
    from linkwright.robots.ik import tool_kinematics

    speed, acceleration, jerk = (
        [getattr(x, w) for x in arm.axes] for w in ("speed", "acceleration", "jerk")
    )
    lower, upper = ([getattr(x, w) for x in arm.axes] for w in ("low", "high"))
    name, start = f"{arm.name}_motion", list(arm.start)
    if not arm.tool:
        return ChainMotion(
            speed,
            acceleration,
            jerk=jerk,
            start=start,
            lower=lower,
            upper=upper,
            queue=QUEUE,
            slots=1,
            name=name,
        )
    robot = Robot(arm.mechanism.with_parameters(dict(arm.values)))
    return ArmMotion(
        tool_kinematics(robot, arm.tool),
        speed,
        acceleration,
        jerk=jerk,
        frames=[frame.name for frame in cell.frames],
        tool_speed=(TOOL_SPEEDS["m/s"], TOOL_SPEEDS["rad/s"]),
        start=start,
        lower=lower,
        upper=upper,
        queue=QUEUE,
        slots=1,
        name=name,
    )


def _add_frames(system: System, cell: Cell, arm: CellArm, motion: Member) -> None:
    """Let the legs of an arm be in the frames of its cell; legs in one that is too old stand."""
    from linkwright.blocks import Delay
    from linkwright.motion.chains import CAUSES
    from linkwright.server.frames import MountedFrame

    for frame in cell.frames:
        source = system[f"frame_{frame.name}"]
        pose, twist = source["pose"], source["twist"]
        if arm.mount:
            block = MountedFrame(arm.mount, name=f"{arm.name}_sees_{frame.name}")
            seen = system.add(block, rate=cell.rate)
            system.connect(pose, seen.pose)
            system.connect(twist, seen.twist)
            pose, twist = seen.base_pose, seen.base_twist
        for value, target in (
            (pose, f"{frame.name}_pose"),
            (twist, f"{frame.name}_twist"),
            (source["age"], f"age_{frame.name}"),
        ):
            system.connect(value, motion[target])
        system.set_parameters({f"{motion.name}.{frame.name}_limit": frame.age})
    late = system.add(Delay(1, name=f"{arm.name}_stale"), rate=cell.rate)
    system.connect(equal(motion.cause, CAUSES.index("age")), late.u)
    system.connect(late.y, f"{arm.name}_supervisor.stale")
    system.connect(motion.barred, f"{arm.name}_supervisor.barred")
    system.connect(motion.flowing, f"{arm.name}_supervisor.follows")


def device_system(cell: Cell) -> System:
    """Return the simulated hardware of a cell: cards with watchdogs and brakes, and the arms.

    >>> from linkwright.server.cell_file import read_cell
    >>> device_system(read_cell("axes2"))
    System(axes2_device: plane_card, plane_plant)
    """
    system = System(name=f"{cell.name}_device", base=cell.rate)
    _add_device(system, cell)
    return system


def _add_device(system: System, cell: Cell) -> None:
    from linkwright.server.arm_blocks import ArmPlant, Card
    from linkwright.server.force_blocks import ToolContact

    for arm in cell.arms:
        card = system.add(Card(arm, cell, f"{arm.name}_card"), rate=cell.rate)
        plant = system.add(ArmPlant(arm, f"{arm.name}_plant"))
        for source, target in (
            (plant.q, card.q),
            (plant.u, card.u),
            (card.applied, plant.current),
            (card.closed, plant.closed),
        ):
            system.connect(source, target)
        if arm.law.kind == "hybrid":
            contact = system.add(ToolContact(arm, cell, f"{arm.name}_contact"))
            for source, target in (
                (plant.q, contact.q),
                (plant.u, contact.u),
                (contact.push, plant.push),
                (contact.wrench, card.felt),
            ):
                system.connect(source, target)


def refuse_unbuilt(cell: Cell) -> None:
    """Reject a cell whose arms cannot be put together with their control, by the arm's name.

    >>> from linkwright.server.cell_file import read_cell
    >>> refuse_unbuilt(read_cell("axes2"))
    """
    for arm in cell.arms:
        try:
            whole_system(replace(cell, arms=(arm,)))
        except Error as error:
            what = f"{cell.file}: the arm {arm.name!r} ({arm.model}) cannot be run: {error.what}"
            raise InputError(what, remedy=error.remedy) from error


def whole_system(cell: Cell) -> System:
    """Return a cell with its simulated hardware as one System.

    >>> from linkwright.server.cell_file import read_cell
    >>> "plane_plant" in whole_system(read_cell("axes2")).members
    True
    """
    from linkwright.blocks import Delay

    system = control_system(cell)
    _add_device(system, cell)
    for shared in device_states(cell):
        system.connect(shared.source, shared.target)
    for shared in device_commands(cell):
        count = shared.size if shared.field.shape else None
        late = Delay(1, count=count, name=f"late_{shared.field.name.replace('.', '_')}")
        member = system.add(late, rate=cell.rate)
        system.connect(shared.source, member.u)
        system.connect(member.y, shared.target)
    return system


def session_of_cell(
    cell: Cell,
    build: Callable[[Cell], System],
    *,
    every: int,
    record: Iterable[str] | None = None,
    tell: Tell | None = None,
) -> Session:
    """Return a run of one of a cell's Systems that stands at its start.

    Its phases are kept in the cache of native code, under a digest of the cell, of its models and
    of this package's code: what has run once starts without being put together.

    >>> from linkwright.server.cell_file import read_cell
    >>> session_of_cell(read_cell("axes2"), device_system, every=0).tick
    0
    """
    names = None if record is None else tuple(dict.fromkeys(record))
    files = [arm.file and (str(arm.file), Path(arm.file).read_bytes()) for arm in cell.arms]
    moves = [(i, x.moves, x.goal) for i, x in enumerate(VERBS.values()) if x.moves]
    content = (fingerprint("cells"), cell.text, build.__name__, names, files, moves)
    return prepared(
        entry_key(repr(content).encode(), "cell"),
        RunSettings(FOREVER, 1 / cell.rate, "verlet", every=every),
        lambda: build(cell).phases(names),
        ", ".join(dict.fromkeys(arm.model for arm in cell.arms)),
        tell,
    )
