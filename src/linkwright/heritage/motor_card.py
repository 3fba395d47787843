"""The motor device of the report: its requests, parameters, state and errors under their names.

`MotorDevice` is `/dev/mc0` over a virtual session: cards of two axes, the servo code of
`linkwright.control.AxisController` in integers, and a motor k/(s(Js + B)) with an encoder at each
axis. Time passes in `run` alone. Source: Paul and others, *A distributed computer architecture
acting as a force and motion server*, appendix A.2, section 2.3; numbers that the report does not
give are our own.
"""

from __future__ import annotations

import errno
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, fields, replace
from enum import IntEnum, IntFlag
from fractions import Fraction
from functools import lru_cache

import numpy as np

from linkwright.algebra import Scalar, floor
from linkwright.base.errors import Error
from linkwright.blocks import Block, checked
from linkwright.control.axis import AxisController, AxisError, AxisMode
from linkwright.control.axis.codes import COUNTER, DAC_SCALE, WORD
from linkwright.simulation.native.session import Session
from linkwright.system import Phases, System

HEARTBEAT = 50_000
"""Time constant of the cards' heartbeat, us."""

INTERVALS = (100, 65_535)
"""What the timer can do, us."""

MOST_CARDS = 8
"""Cards on one bus."""


class McFlag(IntFlag):
    """Flags of a mode word, or'd with a number of `AxisMode`.

    >>> hex(AxisMode.VEL | McFlag.SOFTERR | McFlag.POSCHK)
    '0x602'
    """

    COULCOMP = 0x10
    ADFB = 0x20
    ZEROFB = 0x40
    ADDMD = 0x80
    ADOFF = 0x100
    POSCHK = 0x200
    SOFTERR = 0x400


MD_OFF, MD_POS, MD_VEL, MD_TORQ, MD_TEST1 = list(AxisMode)[:5]
MERRPLO, MERRPHI, MERRILIM = AxisError.PLO, AxisError.PHI, AxisError.ILIM
MERRPANIC, MERRPOSERR, MERRRANGE = AxisError.PANIC, AxisError.POSERR, AxisError.RANGE
M_VERBOSE, M_ERRORPRINT = 1, 2
M_ANDIAG, M_ENDIAG = 1, 2


class McRequest(IntEnum):
    """Requests of `MotorDevice.ioctl`."""

    MGETNUMCARDS = 1
    MSETNUMJOINTS = 2
    MGETPARAM = 3
    MSETPARAM = 4
    MSTOP = 5
    MENABLE = 6
    MSETVERBOSITY = 7
    MGETVERBOSITY = 8
    MGETLASTERR = 9
    MSETINTERVAL = 10
    MGETINTERVAL = 11
    MSETENC = 12
    MSETLED = 13
    MSETDIAG = 14
    MSETDAC = 15
    MDACMODE = 16
    MGETSTATS = 17
    MZEROSTATS = 18


class McError(Error):
    """A request that the device rejects, with the number of the error.

    >>> McError(errno.EINVAL, "there is no axis 7").errno == errno.EINVAL
    True
    """

    def __init__(self, number: int, what: str, **more: str) -> None:
        super().__init__(f"{errno.errorcode[number]}: {what}", **more)
        self.errno = number


@dataclass(frozen=True, slots=True)
class McParam:
    """The parameters of an axis, `struct mc_param`; as it is made, those after opening.

    >>> McParam(0).ilim
    1023
    """

    which: int  # the axis
    a2: int = 0  # coefficient of the error two samples ago
    a1: int = 0  # coefficient of the error a sample ago
    a0: int = 1  # coefficient of the error
    b2: int = 0  # coefficient of the output two samples ago
    b1: int = 0  # coefficient of the output a sample ago
    b0: int = 1  # by which all is divided
    ic_pos: int = 0  # current against Coulomb friction, turning forward
    ic_neg: int = 0  # current against Coulomb friction, turning backward
    mode: int = MD_OFF  # a number of `AxisMode`, or'd with flags of `McFlag`
    clkdivisor: int = 1  # ticks in a sample
    ilim: int = DAC_SCALE // 2  # limit of the current
    ilimmax: int = 0  # samples above it before a trip; 0 clips
    plo: int = 0  # lowest position
    phi: int = 0  # highest position
    adc_a: int = 1  # slope of the A/D law
    adc_b: int = 0  # offset of the A/D law
    ipole: int = 0  # pole of the filter of the current, times FSCALE; 0 for none


@dataclass(frozen=True, slots=True)
class McState:
    """The state of an axis, `struct mc_state`; counts, D/A units, counts a sample."""

    adcval: int
    encnow: int
    inow: int
    error: int
    fbnow: int
    vel: int


@dataclass(frozen=True, slots=True)
class McStats:
    """Interrupts of the sample clock: all, those not served, and those served late."""

    total: int
    missed: int
    overrun: int


@dataclass(frozen=True, slots=True)
class MotorPlant:
    """A motor k/(s(Js + B)) with its encoder.

    >>> MotorPlant(1500.0, friction=25.0).inertia
    1.0
    """

    k: float = 1500.0  # torque constant: counts/s^2 for a D/A unit, times `inertia`
    inertia: float = 1.0  # J
    friction: float = 25.0  # B, 1/s times `inertia`
    reversed: bool = False  # whether the encoder counts down where the current is positive


class MotorDevice:
    """The motor device with its bus, cards, axes and motors, in virtual time.

    Units: `interval` in us.

    >>> with MotorDevice(cards=1) as mc:
    ...     mc.ioctl(McRequest.MGETNUMCARDS)
    1
    """

    def __init__(
        self,
        cards: int = 1,
        plants: MotorPlant | Sequence[MotorPlant] = MotorPlant(),  # noqa: B008 - frozen
        *,
        interval: int = 2000,
        printer: Callable[[str], None] = print,
    ) -> None:
        if not 1 <= cards <= MOST_CARDS:
            raise McError(errno.EINVAL, f"a bus has 1 to {MOST_CARDS} cards, not {cards}")
        self.axes = 2 * cards
        given = [plants] * self.axes if isinstance(plants, MotorPlant) else list(plants)
        if len(given) != self.axes:
            raise McError(errno.EINVAL, f"there are {self.axes} axes, and {len(given)} motors")
        self._plants = given
        self._cards, self._joints = cards, self.axes
        self._verbosity, self._print = 0, printer
        self._handler: Callable[[], None] | None = None
        self._params = [McParam(k) for k in range(self.axes)]
        self._inputs: dict[str, float] = {}
        self._last, self._counted, self._zero = 0, [0] * (self.axes + 1), (0, 0, 0)
        self._open = True
        self._interval = self._reachable(interval)
        self._session = self._made({}, {})
        for param in self._params:
            self._put(param)
        self._say(M_VERBOSE, f"{self._cards} cards, axes 0 to {self.axes - 1}")

    def __enter__(self) -> MotorDevice:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    # -- the calls of the driver -------------------------------------------------------------------
    def read(self) -> tuple[McState, ...]:
        """Return the state of each axis at the last tick."""
        place = self._alive().place().d
        keys = [f.name for f in fields(McState)]
        return tuple(
            McState(**{key: int(place[f"axes.{key}[{k}]"]) for key in keys})
            for k in range(self._joints)
        )

    def write(self, setpoints: Sequence[int]) -> None:
        """Give the set-points of all axes, which hold from the next tick on."""
        if len(setpoints) != self._joints:
            raise McError(errno.EINVAL, f"{self._joints} set-points are needed")
        self._set({f"axes.demand[{k}]": _word(x) for k, x in enumerate(setpoints)})

    def signal(self, handler: Callable[[], None] | None) -> None:
        """Let a function be called at each error, as the signal SIGUSR1 was."""
        self._handler = handler

    def ioctl(
        self, request: McRequest, argument: int | McParam = 0
    ) -> int | McParam | McStats | None:
        """Do what a request asks for."""
        self._alive()
        if isinstance(argument, McParam):
            return self._param(request, argument)
        axis, rest = argument & 0xFF, argument >> 8
        match request:
            case McRequest.MGETNUMCARDS:
                return self._cards
            case McRequest.MSETNUMJOINTS:
                if not 0 <= argument <= self.axes:
                    raise McError(errno.EINVAL, f"the cards have {self.axes} axes, not {argument}")
                self._joints = argument
            case McRequest.MSTOP:
                self._stop()
            case McRequest.MENABLE:
                self._enable()
            case McRequest.MSETVERBOSITY:
                self._verbosity = argument
            case McRequest.MGETVERBOSITY:
                return self._verbosity
            case McRequest.MGETLASTERR:
                return self._last
            case McRequest.MSETINTERVAL:
                self._reclock(self._reachable(argument))
            case McRequest.MGETINTERVAL:
                return self._interval
            case McRequest.MSETENC:
                count = self._inputs.get(f"axes.presets[{self._known(axis)}]", 0.0) + 1
                value = _signed(rest, 16)
                self._set({f"axes.preset[{axis}]": value, f"axes.presets[{axis}]": count})
            case McRequest.MSETLED:
                self._set({f"axes.leds[{self._known(axis)}]": rest})
            case McRequest.MSETDIAG:
                if argument & ~(M_ANDIAG | M_ENDIAG):
                    raise McError(errno.EINVAL, f"the cards have no diagnostic {argument:#x}")
                loops = {"analog_loop": M_ANDIAG, "encoder_loop": M_ENDIAG}
                self._set({f"axes.{key}": bool(argument & bit) for key, bit in loops.items()})
            case McRequest.MSETDAC:
                self._set({f"axes.dac[{self._known(axis)}]": _signed(rest, 12)})
            case McRequest.MDACMODE:
                self._set({"axes.double_buffer": bool(argument)})
            case McRequest.MGETSTATS:
                now = self._counts()
                return McStats(*(n - z for n, z in zip(now, self._zero, strict=True)))
            case McRequest.MZEROSTATS:
                self._zero = self._counts()
            case _:
                raise McError(errno.EINVAL, f"{request!r} needs parameters")
        return None

    def diagnose(self) -> tuple[dict[str, bool], ...]:
        """Check the boards axis by axis by their loops, and return whether each part does its work.

        Converters are written and read back (`analog`), encoders count the sample clock
        (`encoder`), and lamps are lit (`lights`). All axes are stopped before and after; while it
        lasts, some 30 ticks, up to 8 units of current flow back and forth. A board that is not
        ready is an error of the request MENABLE.
        """
        self._stop()
        self._enable()
        axes = range(self._joints)
        found = [dict.fromkeys(("analog", "encoder", "lights"), True) for _ in axes]
        lamps = [int(self._inputs.get(f"axes.leds[{k}]", 0)) for k in axes]
        try:
            self.ioctl(McRequest.MSETDIAG, M_ANDIAG | M_ENDIAG)
            for value in (8, -8, 5, -5, 0):
                for k in axes:
                    self.ioctl(McRequest.MSETDAC, k | (value & 0xFFF) << 8)
                    self.ioctl(McRequest.MSETLED, k | abs(value) << 8)
                self.run(3)
                before = self.read()
                self.run(3)
                for k, (old, new) in enumerate(zip(before, self.read(), strict=True)):
                    law = self._params[k]
                    found[k]["analog"] &= new.adcval == law.adc_a * value + law.adc_b
                    found[k]["encoder"] &= _signed(new.encnow - old.encnow, 16) == 3
                    found[k]["lights"] &= self.outputs[f"led[{k}]"] == abs(value)
        finally:
            self.ioctl(McRequest.MSETDIAG, 0)
            for k in axes:
                self.ioctl(McRequest.MSETLED, k | lamps[k] << 8)
            self._stop()
        return tuple(found)

    def close(self) -> None:
        """Take the current from all motors and assert PANIC; the device cannot be used again."""
        if self._open:
            self._handler = None
            self._set({"axes.panic_line": 1.0})
            self.run(1)
            self._open = False

    # -- what happens to the hardware --------------------------------------------------------------
    def run(self, ticks: int) -> None:
        """Let time pass."""
        for _ in range(ticks):
            session = self._alive()
            session.extend(session.tick + 1)
            session.advance()
            self._notify()

    def stall(self, ticks: int) -> None:
        """Let time pass while the host does not serve the sample clock."""
        self._set({"host.alive": 0.0})
        self.run(ticks)
        self._set({"host.alive": 1.0})

    def hurry(self, ticks: int) -> None:
        """Let time pass while the host serves each tick when the next is due already."""
        self._set({"host.busy": 1.0})
        self.run(ticks)
        self._set({"host.busy": 0.0})

    def press(self, pressed: bool = True) -> None:
        """Press or release the PANIC button."""
        self._set({"axes.button": float(pressed)})

    def plug(self, connected: bool) -> None:
        """Plug the cable to the cards in or out."""
        self._set({"axes.connected": float(connected)})

    def fail(self, card: int, failed: bool = True) -> None:
        """Let a card fail, or mend it."""
        if not 0 <= card < self._cards:
            raise McError(errno.EINVAL, f"there is no card {card}")
        self._set({f"axes.fault[{card}]": float(failed)})

    def feed(self, axis: int, value: int) -> None:
        """Put a voltage at the A/D converter of an axis, in its units."""
        self._set({f"axes.adc[{self._known(axis)}]": _word(value)})

    @property
    def outputs(self) -> Mapping[str, float]:
        """All that the axis controller puts out, by the name of the output."""
        place = self._session.place().d
        return {k.removeprefix("axes."): v for k, v in place.items() if k.startswith("axes.")}

    @property
    def angles(self) -> tuple[float, ...]:
        """Where the shafts are, counts."""
        x = self._session.state()
        return tuple(x[f"motors.angle{k}"] for k in range(self.axes))

    # -- pieces ------------------------------------------------------------------------------------
    def _alive(self) -> Session:
        if not self._open:
            raise McError(errno.EBADF, "the motor device is closed")
        return self._session

    def _known(self, axis: int) -> int:
        if not 0 <= axis < self._joints:
            raise McError(
                errno.EINVAL, f"there is no axis {axis}", remedy=f"0 to {self._joints - 1}"
            )
        return axis

    def _say(self, bit: int, text: str) -> None:
        if self._verbosity & bit:
            self._print(f"mc0: {text}")

    def _set(self, values: Mapping[str, float]) -> None:
        numbers = {name: float(value) for name, value in values.items()}
        self._alive().set(numbers)
        self._inputs |= numbers

    def _param(self, request: McRequest, given: McParam) -> McParam | None:
        self._known(given.which)
        if request == McRequest.MGETPARAM:
            return self._params[given.which]
        if request != McRequest.MSETPARAM:
            raise McError(errno.EINVAL, f"{request.name} takes no parameters")
        if given.b0 == 0:
            raise McError(errno.EINVAL, "b0 is 0, and all is divided by it")
        if given.clkdivisor < 1:
            raise McError(errno.EINVAL, f"clkdivisor is {given.clkdivisor}", remedy="1 or more")
        if given.mode & 0xF > MD_TEST1 or given.mode & ~0xF & ~sum(McFlag):
            raise McError(errno.EINVAL, f"there is no mode {given.mode:#x}")
        self._put(given)
        return None

    def _put(self, param: McParam) -> None:
        """Give the parameters of an axis to its controller."""
        values: dict[str, float] = {
            key: _word(value)
            for key, value in asdict(param).items()
            if key not in ("which", "mode")
        }
        values["mode"] = param.mode & 0xF
        values |= {flag.name.lower(): bool(param.mode & flag) for flag in McFlag if flag.name}
        self._set({f"axes.{key}[{param.which}]": value for key, value in values.items()})
        self._params[param.which] = param

    def _stop(self) -> None:
        for param in self._params:
            self._put(replace(param, mode=MD_OFF))
        self._set({"axes.enable": 0.0})
        self.run(1)

    def _enable(self) -> None:
        """Forget what is over, look at all boards, and let currents flow; takes two ticks."""
        self._set({"axes.enable": 0.0, "axes.clear": 0.0})
        self.run(1)
        self._set({"axes.enable": 1.0, "axes.clear": 1.0})
        self.run(1)
        if not self.outputs["enabled"]:
            raise McError(errno.EIO, "a board is not ready: PANIC is asserted")

    def _reachable(self, interval: int) -> int:
        low, high = INTERVALS
        if not low <= interval <= high or int(interval) != interval:
            raise McError(
                errno.EINVAL, f"the timer cannot do {interval} us", remedy=f"{low} to {high}"
            )
        return int(interval)

    def _reclock(self, interval: int) -> None:
        """Go on from here with another interval of the sample clock."""
        place = self._session.place()
        self._interval = interval
        self._session = self._made(place.x, place.d)

    def _counts(self) -> tuple[int, int, int]:
        place = self._session.place().d
        total, missed, overrun = (int(place[f"host.{n}"]) for n in ("total", "missed", "overrun"))
        return total, missed, overrun

    def _notify(self) -> None:
        """Report errors that happened at the last tick."""
        errors = int(self._session.machine.rows_of("d")[0, self._errors_at])
        if errors == sum(self._counted):
            return
        place = self._session.place().d
        counts = [int(place[f"axes.count[{k}]"]) for k in range(self.axes)]
        counts.append(errors - sum(counts))
        new = [k for k, count in enumerate(counts) if count != self._counted[k]]
        self._counted = counts
        for k in new:
            panic = k == self.axes
            code = int(MERRPANIC) if panic else int(place[f"axes.code[{k}]"]) | k
            self._last = code
            self._say(M_VERBOSE | M_ERRORPRINT, "PANIC" if panic else f"error {code:#x}, axis {k}")
            if self._handler is not None:
                self._handler()

    def _made(self, x: Mapping[str, float], d: Mapping[str, float]) -> Session:
        phases = _phases(tuple(self._plants), self._interval)
        self._errors_at = [signal.name for signal in phases.d].index("axes.errors")
        step = self._interval / 1e6
        start = {**x, **d}
        made = Session(
            phases, 1e6, initial=start, inputs=self._inputs, method="rk4", step=step, every=1
        )
        made.extend(0)
        made.advance()
        return made


@lru_cache(maxsize=32)
def _phases(plants: tuple[MotorPlant, ...], interval: int) -> Phases:
    """Return the whole device as one System: host, axis controller, motors."""
    s = System(name="mc")
    rate = Fraction(1_000_000, interval)
    start = {"heartbeat": HEARTBEAT / 1e6}
    names = [f"axis{k}" for k in range(len(plants))]
    axes = s.add(AxisController(names, integers=True, start=start), rate=rate)
    host = s.add(_host(), rate=rate)
    motors = s.add(_motors(plants))
    s.connect(host.service, axes.service)
    s.connect(axes.current, motors.current)
    s.connect(motors.counts, axes.encoder)
    return s.phases(["host.service"])


def _host() -> Block:
    """Return what serves the sample clock, with its statistics."""
    block = Block("host")
    alive, busy = block.input("alive", 1.0), block.input("busy")
    counted: dict[str, Scalar] = {
        "total": 1,
        "missed": alive <= 0,
        "overrun": (alive > 0) & (busy > 0),
    }
    for name, more in counted.items():
        x = block.discrete_state(name)
        block.update(x, x + more)
    block.output("service", alive > 0)
    return block


def _motors(plants: Sequence[MotorPlant]) -> Block:
    """Return the motors, with encoders that count whole steps in 16 bits."""
    block = Block("motors")
    current = block.input_vector("current", len(plants))
    counts = []
    for k, plant in enumerate(plants):
        for what in ("k", "inertia", "friction"):
            checked(getattr(plant, what), f"{what} of motor {k}", least=0.0)
        speed = block.state(f"speed{k}")
        block.derivative(speed, (plant.k * current[k] - plant.friction * speed) / plant.inertia)
        angle = block.state(f"angle{k}", speed)
        whole = floor(-angle if plant.reversed else angle)
        counts.append(whole - COUNTER * floor(whole / COUNTER))
    block.output_vector("counts", counts)
    return block


def _word(value: int) -> int:
    """Return a number of 32 bits, or reject it."""
    if int(value) != value or not -WORD <= value <= WORD:
        raise McError(errno.EINVAL, f"{value!r} is not a whole number of 32 bits")
    return int(value)


def _signed(value: int, bits: int) -> int:
    """Return the lowest bits of a number as a signed one.

    >>> _signed(0xFFFF, 16), _signed(0x1_0005, 16)
    (-1, 5)
    """
    return int(np.int64((value & (1 << bits) - 1) ^ (1 << bits - 1)) - (1 << bits - 1))
