from linkwright import (
    contact as contact,
    control as control,
    elements as elements,
    grasp as grasp,
    lab as lab,
    learning as learning,
    linear as linear,
    motion as motion,
    mounts as mounts,
    parallel as parallel,
    sampling as sampling,
    server as server,
    sizing as sizing,
    wholebody as wholebody,
    windows as windows,
)
from linkwright.algebra import (
    PI as PI,
    Lookup1D as Lookup1D,
    Lookup2D as Lookup2D,
    absolute as absolute,
    acos as acos,
    asin as asin,
    atan as atan,
    atan2 as atan2,
    cos as cos,
    cosh as cosh,
    diff as diff,
    equal as equal,
    exp as exp,
    floor as floor,
    foreign as foreign,
    log as log,
    maximum as maximum,
    minimum as minimum,
    not_equal as not_equal,
    sign as sign,
    sin as sin,
    sinh as sinh,
    sqrt as sqrt,
    substitute as substitute,
    symbol as symbol,
    symbols as symbols,
    tan as tan,
    tanh as tanh,
    where as where,
)
from linkwright.algebra.printers import latex as latex
from linkwright.algebra.sympy_bridge import from_sympy as from_sympy, to_sympy as to_sympy
from linkwright.backends.c import c_source as c_source
from linkwright.backends.kernel import (
    compile as compile,  # noqa: A004 - linkwright.compile reads well, and shadows nothing
)
from linkwright.backends.python import python_source as python_source
from linkwright.backends.small_systems import small_solver as small_solver
from linkwright.base.errors import (
    BackendError as BackendError,
    CompileError as CompileError,
    DomainError as DomainError,
    Error as Error,
    InputError as InputError,
    ShapeError as ShapeError,
    UnitError as UnitError,
)
from linkwright.base.viewer import page as page, show as show
from linkwright.blocks import KEEP as KEEP, Block as Block, Element as Element, sampled as sampled
from linkwright.codegen import codegen as codegen
from linkwright.doors import load as load
from linkwright.elements import drives as drives
from linkwright.equations import (
    Equations as Equations,
    assemble as assemble,
    derive as derive,
    equilibrium as equilibrium,
)
from linkwright.equations.base_parameters import (
    base_parameters as base_parameters,
)
from linkwright.equations.energy import energy as energy
from linkwright.equations.reactions import reactions as reactions
from linkwright.formats.robot.conversion import (
    convert as convert,
    write_description as write_description,
)
from linkwright.formats.robot.files import read_description as read_description
from linkwright.formats.text.files import write_model as write_model
from linkwright.formats.text.tasks import read_task as read_task
from linkwright.lab.lab import Lab as Lab
from linkwright.linear.linearization import LinearModel as LinearModel, linearize as linearize
from linkwright.mechanism import (
    Ball as Ball,
    Cylindrical as Cylindrical,
    Free as Free,
    Mechanism as Mechanism,
    Planar as Planar,
    Prismatic as Prismatic,
    Revolute as Revolute,
    Screw as Screw,
    Universal as Universal,
    Weld as Weld,
    shapes as shapes,
)
from linkwright.motion.payloads import Payload as Payload
from linkwright.motion.tasks import Task as Task
from linkwright.program import Program as Program, count_operations as count_operations
from linkwright.program.passes import optimize as optimize
from linkwright.recording import Channel as Channel, Recording as Recording
from linkwright.robots import Robot as Robot, identification as identification
from linkwright.simulation import (
    Run as Run,
    fit as fit,
    sensitivity as sensitivity,
    simulate as simulate,
    simulate_batch as simulate_batch,
)
from linkwright.simulation.hardware import Hardware as Hardware
from linkwright.simulation.hardware_kinds import (
    PythonHardware as PythonHardware,
    ReplayHardware as ReplayHardware,
    SimulatedHardware as SimulatedHardware,
    WindowHardware as WindowHardware,
)
from linkwright.simulation.runs import RunStopped as RunStopped
from linkwright.sweeps.sweep import sweep as sweep
from linkwright.system import System as System
from linkwright.version import __version__ as __version__
