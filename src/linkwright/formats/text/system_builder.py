"""From a text model with members to a System.

The mechanism is built first, then the members in their order, then the wires, so that a wire may
lead from any member to any other; values and starts of members come last.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from linkwright.algebra import Lookup1D, Lookup2D
from linkwright.algebra.language import read
from linkwright.algebra.language.syntax import Literal, Unary
from linkwright.base.errors import nearest, suggestion
from linkwright.blocks import Block
from linkwright.formats.text.builder import Functions, build_parts
from linkwright.formats.text.components import Part, expand
from linkwright.formats.text.document import TextLimits, TextSource
from linkwright.formats.text.messages import placed
from linkwright.formats.text.schema import ModelFile
from linkwright.formats.text.values import constant
from linkwright.mechanism import MechanismError
from linkwright.system import System


def build_system(
    model: ModelFile,
    *,
    functions: Functions | None = None,
    options: Mapping[str, int] | None = None,
    trust: bool = False,
    source: TextSource | None = None,
    limits: TextLimits | None = None,
) -> System:
    """Return the System that a model describes.

    >>> servo = {"kind": "PD", "name": "servo", "kp": 9, "rate": 100}
    >>> rod = {"name": "rod", "rotate": "z", "inertia": 1}
    >>> build_system(ModelFile(format=1, name="m", body=[rod], member=[servo]))
    System(m: servo)
    """
    source = source or TextSource()
    flat = expand(model, options, source, limits)
    mechanism = build_parts(model, flat, source, functions or {}, trust)
    table = model.system
    system = System(
        mechanism,
        base=None if table is None or table.base is None else constant(table.base),
        formulation="quick" if table is None else table.formulation,
    )
    if flat["member"]:
        _members(system, flat["member"], source, functions or {}, trust)
    for part in flat["wire"]:
        wire = part.value
        with placed(source, Part(wire.target, (*part.path, "target"), wire.target)):
            inputs = mechanism.inputs
            target = inputs[wire.target] if wire.target in inputs else system[wire.target]
        with placed(source, part):
            system.connect(wire.source, target, solve=wire.solve)
    for part in flat["expose"]:
        with placed(source, part):
            system.expose(part.value.name, part.value.value)
    if table is not None:
        known = _numbers(system)
        for name, value in table.values.items():
            _require(source, ("system", "values", name), name, known)
            with placed(source, Part(value, ("system", "values", name), value)):
                system.set_parameters({name: _given(value)})
        known = _states(system)
        for name, value in table.initial.items():
            _require(source, ("system", "initial", name), name, known)
            with placed(source, Part(value, ("system", "initial", name), value)):
                system.set_initial({name: _given(value)})
    return system


def _given(value: Any) -> Any:
    """Return a number; one with a unit as it is written, to be compared with that of its name."""
    root = read(value).root if isinstance(value, str) else None
    root = root.operand if isinstance(root, Unary) else root
    return value if isinstance(root, Literal) else constant(value)


class ModelNames:
    """What the arguments of members may name: tables, and the members that stand before."""

    def __init__(self, system: System) -> None:
        self.mechanism = system.mechanism
        self.members = system.members

    def member(self, name: str) -> Block:
        """Return the block of a member that stands before."""
        if name not in self.members:
            self.mechanism.unknown(name, self.members, "member before it")
        return self.members[name].block

    def member_or_body(self, name: str) -> Block | str:
        """Return the block of a member that stands before, or the name of a body as it is."""
        if name in self.members:
            return self.members[name].block
        bodies = self.mechanism.bodies
        near = nearest(name, [*self.members, *bodies], cutoff=0.5)
        if name not in bodies and near in self.members:
            raise MechanismError(
                f"{self.mechanism.name!r} has neither a member before it nor a body {name!r}",
                remedy=f"did you mean the member {near!r}?",
            )
        return name

    def table(self, name: str) -> Lookup1D | Lookup2D:
        """Return a table of the model by its name."""
        known = {
            k: f for k, f in self.mechanism.functions.items() if isinstance(f, Lookup1D | Lookup2D)
        }
        if name not in known:
            self.mechanism.unknown(name, known, "table")
        return known[name]


def _members(
    system: System, parts: list[Part], source: TextSource, functions: Functions, trust: bool
) -> None:
    from linkwright.formats.text.members import add_member

    names = ModelNames(system)
    for part in parts:
        with placed(source, part):
            given = functions.get(part.value.name)
            add_member(system, part.value, names, given, trust, source.file or "")


def _numbers(system: System) -> list[str]:
    """Return the names of all parameters and open inputs."""
    members = system.members.values()
    own = [f"{member.name}.{name}" for member in members for name in member.block.parameters]
    return [*own, *system.inputs(), *system.mechanism.parameters]


def _states(system: System) -> list[str]:
    """Return the names of all states that a run starts from."""
    m = system.mechanism
    found = [*m.coordinates, *(s.symbol.name for s in m.kinematics().speeds)]
    for member in system.members.values():
        states = (*member.block.states, *member.block.discrete_states)
        found += [f"{member.name}.{x.name}" for x in states]
    return found


def _require(source: TextSource, path: tuple[str, ...], name: str, known: list[str]) -> None:
    if name not in known:
        remedy = suggestion(name, known, f"known are {', '.join(known[:12])}")
        what = "state" if path[1] == "initial" else "parameter or open input"
        raise source.error(path, f"there is no {what} {name!r}", remedy, key=True)
