"""Force of a cell's arm: its law on one side of the hardware, what it touches on the other.

An arm with `control = {kind = "hybrid", ...}` carries a tool on a springy wrist that measures
forces along the axes of its base. The law is that of `linkwright.control.force` with the current
place as its base: along each axis that presses or complies the set-point moves with

    gain (F + P)/(Kw T)

where F is the force on the tool, filtered, P what it is to press with, Kw the wrist's stiffness and
T the period that the gain stands for. All other axes follow the motion that was commanded. The
offset that this adds up to is taken back, within `RELEASE`, where nothing presses or complies.
"""

from __future__ import annotations

from collections.abc import Sequence

from linkwright.algebra import Expr, maximum, minimum, not_equal, sqrt, total, where
from linkwright.base.rotations import quaternion_matrix
from linkwright.blocks import Block
from linkwright.motion.chains.solver import tool_at
from linkwright.robots import Robot
from linkwright.robots.ik import tool_kinematics
from linkwright.robots.ik.resolution import quantity_of
from linkwright.server.cell import Cell, CellArm, CellSurface

RELEASE = 0.3
"""s, in which an offset decays."""
LOST = 0.25
"""s without contact after which it counts as lost."""
KEPT, BACK = 0.05, 0.2
"""s in which the tool comes back to the motion along axes without force, at m/s at most."""
_SMALL = 0.02  # damping of joint rates near singular poses
_TOUCHED, _GONE = 0.5, 0.1  # shares of the force wanted, at which contact begins and ends
XYZ = range(3)


class ArmForce(Block):
    """What the set-point of an arm becomes where it presses or complies.

    Its inputs `asked` (a count), `press` (N), `comply`, `guard` (N) and `gain` come from clients.

    >>> from linkwright.server.cell_file import read_cell
    >>> cell = read_cell("press1")
    >>> sorted(ArmForce(cell.arms[0], cell.rate).outputs)
    ['acceleration', 'command', 'command_rate', 'felt', 'told']
    """

    def __init__(self, arm: CellArm, rate: float, name: str = "force") -> None:
        super().__init__(name)
        n, law, hold, remember = len(arm.axes), arm.law, self.intermediate, self.discrete_state
        target = self.input_vector("target", n, list(arm.start), doc="wanted positions")
        speeds = self.input_vector("target_rate", n, doc="wanted speeds")
        ahead = self.input_vector("target_acceleration", n, doc="wanted accelerations")
        wrench = self.input_vector("wrench", 3, unit="N", doc="on the tool, measured")
        on = self.input("on", doc="whether currents flow") > 0
        brake = self.input("brake", doc="whether it brakes along the path") > 0
        asked = self.input("asked", doc="how often a client pressed or complied")
        press = self.input_vector("press", 3, unit="N", doc="what the tool presses with")
        comply = self.input_vector("comply", 3, doc="1 along axes that give way")
        gain = self.input_vector("gain", 3, list(law.gain), doc="of force")
        guard = self.input("guard", unit="N", doc="force at which the arm stops; 0 for none")
        h = 1 / rate

        # the force, filtered as the law has it at its period
        share = 1.0 - law.filter ** (h / law.period)
        felt = []
        for i in XYZ:
            slow = remember(f"slow{i}")
            felt.append(hold(where(on, slow + share * (wrench[i] - slow), 0)))
            self.update(slow, felt[-1])

        # whether it acts: from when it is asked until the arm brakes or is switched off
        seen, armed, touched, apart = (remember(x) for x in ("seen", "armed", "met", "apart"))
        fresh = hold(not_equal(asked, seen))
        acts = hold(on & (fresh | ((armed > 0) & ~brake)))
        chosen = [hold(not_equal(press[i], 0) | (comply[i] > 0)) for i in XYZ]
        any_chosen = hold(chosen[0] | chosen[1] | chosen[2])

        # speed of the tool along the axes of force, and of the joints that give it
        rates = [gain[i] * (felt[i] + press[i]) / (law.wrist * law.period) for i in XYZ]
        kept = [maximum(-law.approach, minimum(law.approach, x)) for x in rates]
        offset = [remember(f"offset{i}") for i in range(n)]
        placed = [hold(x + d) for x, d in zip(target, offset, strict=True)]
        robot = Robot(arm.mechanism.with_parameters(dict(arm.values)))
        kinematics = tool_kinematics(robot, arm.tool)
        there, commanded = (tool_at(self, kinematics, q)[0] for q in (placed, target))
        beside = [maximum(-BACK, minimum(BACK, (y - x) / KEPT))  # along axes without force
                  for x, y in zip(there, commanded, strict=True)]  # fmt: skip
        moves = [hold(where(acts, where(chosen[i], kept[i], beside[i]), 0)) for i in XYZ]
        rows = range(6) if n >= 6 else XYZ
        made = quantity_of(robot, arm.tool, "damped", rows, aimed=True, limited=False).derived()
        zeros = [self.expr(0)] * 3
        found = self.embed(made, {
            "q": placed, "rate": [*moves, *zeros], "aim": [self.expr(0)] * n,
            "weights": [1.0 if i in rows else 0.0 for i in range(6)], "settings": [_SMALL, 1e-9],
        })["rates"]  # fmt: skip
        back = [where(brake, 0, -d / RELEASE) for d in offset]
        turned = [hold(where(any_chosen, x, b)) for x, b in zip(found, back, strict=True)]

        # touch and loss, told to the supervisor at the next tick
        size = hold(sqrt(total(x * x for x in wrench)))
        wanted = hold(sqrt(total(x * x for x in press)))
        along = hold(-total(f * p for f, p in zip(felt, press, strict=True)))
        ways = [remember(f"way{i}") for i in XYZ]
        far = hold(total(x * x for x in ways) > law.travel**2)
        held = hold(along > _TOUCHED * wanted * wanted)
        meets = hold(where(fresh, 0, where(held, 1, touched)))
        gone = hold((wanted > 0) & (meets > 0) & (along < _GONE * wanted * wanted))
        since = hold(where(gone & acts, apart + 1, 0))
        over = hold((guard > 0) & (size > guard) & on)
        before, sounded = remember("over"), remember("touch")
        lost = remember("loss")
        for memory, following in (
            (seen, asked),
            (armed, acts),
            (touched, where(on, meets, 0)),
            (apart, since),
            (before, over),
            (sounded, where(over & (before <= 0), 1, 0)),
            (lost, where(acts & (far | (since > round(LOST * rate))), 1, 0)),
            *zip(ways, [where(acts & c & ~fresh, x + h * v, 0)
                        for x, v, c in zip(ways, moves, chosen, strict=True)], strict=True),
        ):  # fmt: skip
            self.update(memory, following)
        command = []
        for x, d, v, q, axis in zip(offset, turned, speeds, target, arm.axes, strict=True):
            self.update(x, where(on, x + h * d, 0))
            command.append((maximum(axis.low, minimum(axis.high, q + x)), v + d))
        for i, x in enumerate(target):  # without the offset, for motions that begin there
            self.discrete_state(f"plain{i}", x, arm.start[i])
        self.output_vector("command", [x for x, _ in command], doc="positions with the offset")
        self.output_vector("command_rate", [v for _, v in command], doc="and speeds")
        self.output_vector("acceleration", list(ahead), doc="and accelerations")
        self.output_vector("felt", list(wrench), unit="N", doc="force on the tool")
        self.output_vector("told", target, doc="the set-point without the offset")


class ToolContact(Block):
    """What a simulated tool meets: surfaces of the cell, through the spring of its wrist.

    >>> from linkwright.server.cell_file import read_cell
    >>> cell = read_cell("press1")
    >>> sorted(ToolContact(cell.arms[0], cell).outputs)
    ['push', 'wrench']
    """

    def __init__(self, arm: CellArm, cell: Cell, name: str = "contact") -> None:
        super().__init__(name)
        n, hold = len(arm.axes), self.intermediate
        q = self.input_vector("q", n, list(arm.start), doc="positions")
        u = self.input_vector("u", n, doc="speeds")
        robot = Robot(arm.mechanism.with_parameters(dict(arm.values)))
        kinematics = tool_kinematics(robot, arm.tool)
        place, _ = tool_at(self, kinematics, q)
        none = [self.expr(0)] * n
        columns = []
        for i in range(n):
            one = [self.expr(1 if k == i else 0) for k in range(n)]
            found = self.embed(kinematics.forward, {"q": q, "u": one, "a": none})["twist"]
            columns.append([hold(x) for x in found[:3]])
        moves = [hold(total(columns[i][k] * u[i] for i in range(n))) for k in XYZ]
        force: list[Expr] = [self.expr(0)] * 3
        for surface in cell.surfaces:
            at, normal = surface_in_base(surface, arm)
            depth = hold(-total((place[k] - at[k]) * normal[k] for k in XYZ))
            closing = hold(-total(moves[k] * normal[k] for k in XYZ))
            spring = 1 / (1 / arm.law.wrist + 1 / surface.stiffness)
            push = spring * depth + surface.damping * closing
            pressed = hold(where(depth > 0, maximum(0, push), 0))
            force = [hold(f + pressed * x) for f, x in zip(force, normal, strict=True)]
        self.output_vector("wrench", force, unit="N", doc="force on the tool")
        rows = [total(c[k] * force[k] for k in XYZ) for c in columns]
        self.output_vector("push", rows, doc="torques that it gives the joints")


def surface_in_base(surface: CellSurface, arm: CellArm) -> tuple[Sequence[float], Sequence[float]]:
    """Return a point and the outward normal of a surface, in the base of an arm."""
    turn = quaternion_matrix(surface.pose[3:])
    at, normal = list(surface.pose[:3]), turn[:, 2]
    if not arm.mount:
        return at, normal.tolist()
    base = quaternion_matrix(arm.mount[3:])
    shifted = [x - y for x, y in zip(at, arm.mount[:3], strict=True)]
    return (base.T @ shifted).tolist(), (base.T @ normal).tolist()
