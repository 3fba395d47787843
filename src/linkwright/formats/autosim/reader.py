"""Reading AUTOSIM's inputs: the forms of appendix A become a mechanism.

Names of bodies, points and loads are in small letters, parameters in capitals. Speeds are chosen
and numbered as in the thesis, so that `q(4)` and `u(2)` mean what they meant: coordinates by the
tree, speeds without those that the constraints before the form have eliminated. Values are in the
user's units (deg, lbm and inches after `in-lb`) and come to SI units here. A parameter without
a default is 1.0. What has no meaning here (subroutines, labels of printers) is listed.
"""

from __future__ import annotations

import math
import os
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from linkwright.algebra import Expr, free_symbols, substitute
from linkwright.algebra.nodes import SPEED
from linkwright.algebra.units import parse_unit
from linkwright.algebra.units.unit import ANGLE, LENGTH, MASS
from linkwright.base.errors import Error, InputError
from linkwright.base.files import OpenedFile, opened_file
from linkwright.base.reprs import brief
from linkwright.equations.meanings import parameter_units
from linkwright.equations.replies import replies
from linkwright.formats.autosim.forms import FString, LispForm, Symbol, read_forms
from linkwright.formats.autosim.formulas import translated, variable
from linkwright.formats.robot.description import Ignored
from linkwright.mechanism import Mechanism
from linkwright.mechanism.provenance import from_file

_BASES = {
    "mks": {"l": "m", "f": "N", "m": "kg", "t": "s", "a": "rad"},
    "in-lb": {"l": "in", "f": "lbf", "m": "lbm", "t": "s", "a": "deg"},
}
_GEES = {"mks": 9.80665, "in-lb": 386.2 * 0.0254}
_AXES = {1: "x", 2: "y", 3: "z"}
_RUN = {"STEP": 0.01, "STOPT": 10.0, "IPRINT": 1.0}


@dataclass(frozen=True)
class ReadSystem:
    """What a file has come to: the mechanism, and what was not taken."""

    mechanism: Mechanism
    ignored: tuple[Ignored, ...]


def read_autosim(source: str | os.PathLike[str]) -> ReadSystem:
    """Return the mechanism that a file in AUTOSIM's Lisp describes, or a text of several lines.

    >>> found = read_autosim('''(reset)
    ... (add-body rod :parent-rotation-axis 3 :cm-coordinates #(0 !"-len" 0) :inertia-matrix 0)
    ... (add-gravity :direction !"-[n2]")
    ... (set-defaults len 0.5 rodm 2)''')
    >>> found.mechanism, found.mechanism.values["LEN"]
    (Mechanism('model': 1 body, 1 coordinate, 3 parameters), 0.5)
    """
    if isinstance(source, str) and "\n" in source:
        return _read(source, "", "model")
    file = source if isinstance(source, OpenedFile) else opened_file(source)
    path = os.fspath(file)
    try:
        text = file.content.decode("utf-8")
    except UnicodeDecodeError:
        raise InputError("this is not a text in UTF-8", file=path) from None
    name = re.sub(r"\W+", "-", Path(path).stem).strip("-").lower() or "model"
    found = _read(text, path, name)
    from_file(found.mechanism, path, file.content)
    return found


def read_lisp(source: str | os.PathLike[str]) -> Mechanism:
    """Return the mechanism of a file; what was not taken stands in its notes.

    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     file = Path(folder) / "slide.lsp"
    ...     _ = file.write_text("(add-body b :translate 1)")
    ...     read_lisp(file)
    Mechanism('slide': 1 body, 1 coordinate, 7 parameters)
    """
    found = read_autosim(source)
    found.mechanism.reports.extend(f"not taken: {entry.words}" for entry in found.ignored)
    return found.mechanism


def _read(text: str, file: str, name: str) -> ReadSystem:
    forms = read_forms(text, file)
    last = max((k for k, form in enumerate(forms) if form.name == "RESET"), default=-1)
    forms = forms[last + 1 :]
    system = next((f.name.lower() for f in forms if f.name in ("MKS", "IN-LB")), "in-lb")
    if not any(f.name in ("MKS", "IN-LB") for f in forms):
        system = "mks"
    reader = _Reader(file, name, system)
    reader.take(forms)
    positive = [str(x) for x in reader.kept.values() if reader.defaults.get(str(x), (0.0,))[0] > 0]
    if reader.orders or positive:  # they hold from the beginning: all is entered again
        reader = _Reader(file, name, system, reader.orders, positive)
        reader.take(forms)
    reader.finish()
    if len(reader.ignored) == len(forms):
        raise InputError(
            "there is no form of AUTOSIM in this file that is known here",
            file=file or None,
            remedy="a system has forms such as (add-body rod :parent-rotation-axis 3)",
        )
    return ReadSystem(reader.m, tuple(reader.ignored))


class _Reader:
    """Takes forms one after the other."""

    def __init__(
        self,
        file: str,
        name: str,
        system: str,
        orders: Mapping[str, int] | None = None,
        positive: Sequence[str] = (),
    ) -> None:
        self.file, self.system = file, system
        self.m = Mechanism(name, display=system)
        self.m.small(*(n for n, k in (orders or {}).items() if k > 0))
        self.m.large(*(n for n, k in (orders or {}).items() if k < 0))
        self.m.positive(*positive)
        self.kept: dict[Expr, Expr] = {}  # speeds that a constraint holds at a parameter
        self.orders: dict[str, int] = {}
        self.ignored: list[Ignored] = []
        self.defaults: dict[str, tuple[float, int]] = {}
        self.units: dict[str, str] = {}
        self._left: tuple[int, list[str]] | None = None
        self._calls: dict[tuple[str, str], str] = {}
        self._line = 0

    def take(self, forms: Sequence[LispForm]) -> None:
        """Take forms; an error names the line."""
        for form in forms:
            self._line = form.line
            taker, keywords = _FORMS.get(form.name, (None, ()))
            if taker is None:
                what = f"({form.name.lower()} ...)" if form.name else "a list"
                self.ignore(what, "no form of AUTOSIM that is known here")
                continue
            try:
                required, named = _arguments(form, keywords)
                taker(self, *required, **named)
            except InputError as error:
                if error.line is not None:
                    raise
                raise InputError(_said(error), file=self.file or None, line=form.line) from None
            except (Error, TypeError, ValueError) as error:
                raise InputError(
                    f"in ({form.name.lower()} ...): {_said(error)}",
                    file=self.file or None,
                    line=form.line,
                ) from None

    def ignore(self, what: str, why: str) -> None:
        """Note what is not taken."""
        self.ignored.append(Ignored(what, self._line, why))

    # -- values ------------------------------------------------------------------------------------
    def formula(self, value: Any, dummies: Mapping[str, str] | None = None) -> Any:
        """Return a value as Python or an expression takes it."""
        if isinstance(value, FString):
            named = dummies or {}
            text = str(value)
            for given, usual in named.items():  # a dummy that was given another name
                if given.lower() != usual:
                    text = re.sub(rf"\b{re.escape(given)}\b", usual, text, flags=re.IGNORECASE)
            return translated(
                text,
                self.state,
                dummies=set(named.values()),
                variables=self.m.variables,
                external=self.call,
            )
        if isinstance(value, Symbol):
            reference = variable(value)
            return reference if reference[1:] in self.m.variables else str(value)
        if isinstance(value, LispForm) and len(value.items) == 0:
            return None
        if isinstance(value, tuple):
            return tuple(self.formula(x) for x in value)
        return value

    def expr(self, text: Any) -> Any:
        """Return an expression, with speeds that are held constant by what holds them."""
        if not (isinstance(text, str) and self.kept):
            return text
        return substitute(self.m.expr(text), self.kept)

    def state(self, letter: str, k: int) -> str:
        """Return the name of a state by its number."""
        names = [q.name for body in self.m.depth_first() for q in body.coordinates]
        if letter == "u":
            names = self._speeds()
        if not 1 <= k <= len(names):
            raise InputError(f"there is no {letter}({k}): there are {len(names)}")
        if letter == "qp":
            rate = self.m.kinematics().rates[self.m.coordinates[names[k - 1]]]
            return f"({rate})"
        return names[k - 1]

    def _speeds(self) -> list[str]:
        """Return the speeds that the constraints up to here leave."""
        count = len(self.m.constraints)
        if self._left is None or self._left[0] != count:
            gone = {r.replaces for r in replies(self.m)} if count else set()
            speeds = [s.symbol for s in self.m.kinematics().speeds]
            self._left = count, [u.name for u in speeds if u not in gone]
        return self._left[1]

    def call(self, function: str, arguments: str) -> str:
        """Return the input that stands for a function of the user's."""
        key = function, arguments
        if key not in self._calls:
            count = sum(f == function for f, _ in self._calls) + 1
            name = f"{function.upper()}_{count}"
            self.m.input(name, doc=f"{function}({arguments})")
            self._calls[key] = name
            self.ignore(f"func({function}, ...)", f"its value is the input {name}, 0 by default")
        return self._calls[key]

    # -- bodies and points -------------------------------------------------------------------------
    def add_body(self, symbol: str, **given: Any) -> None:
        name, capital = symbol.lower(), symbol.upper()
        frame = given.get("coordinate_system")
        inertia = given.get("inertia_matrix")
        if inertia is None:
            inertia = [f"{capital}I{k}" for k in ("11", "22", "33", "12", "23", "13")]
        shifts = _listed(given.get("translate"))
        rotate, axis = self._rotation(name, given)
        angles = 0 if rotate is None else len(rotate)
        small = _flags(given, "small_translations", len(shifts))
        small += _flags(given, "small_angles", angles)
        self.m.body(
            name,
            parent=_place(given.get("parent")),
            translate=[self._direction(x) for x in shifts] or None,
            rotate=rotate,
            at=self.formula(given.get("joint_coordinates", (0, 0, 0))),
            mass=self.formula(given.get("mass", Symbol(f"{capital}M"))),
            com=self.formula(given.get("cm_coordinates", (0, 0, 0))),
            inertia=self.formula(tuple(inertia)) if not isinstance(inertia, int) else inertia,
            coordinates_in=_place(frame),
            small=small if any(small) else False,
            body_axis=axis,
            reference=self._direction(given.get("reference_axis")),
            doc=str(given.get("name", "")),
        )

    def _rotation(self, name: str, given: Mapping[str, Any]) -> tuple[Any, str | None]:
        """Return the axes of rotation, and of a single one along which axis of the body it lies."""
        axes, parent = _listed(given.get("body_rotation_axes")), given.get("parent_rotation_axis")
        if len(axes) == 2:
            raise InputError(
                f"{name} has two rotations", remedy="put a massless body between the two"
            )
        if not axes and parent is None:
            return None, None
        if len(axes) == 3:
            if parent is not None and parent != axes[0]:
                raise InputError(f"{name} turns first about another axis than axis {axes[0]}")
            return "".join(_axis(k) for k in axes), None
        if not axes:
            axes = [parent if isinstance(parent, int) else _along(parent)]
        letter = _axis(axes[0])
        direction = self._direction(axes[0] if parent is None else parent)
        return [direction], None if direction == letter else letter

    def _direction(self, value: Any) -> Any:
        return _AXES[value] if isinstance(value, int) and value in _AXES else self.formula(value)

    def add_point(self, symbol: str, **given: Any) -> None:
        at = self.formula(given.get("coordinates", (0, 0, 0)))
        frame = _place(given.get("coordinate_system"))
        self.m.point(symbol.lower(), _place(given.get("body")), at, frame)

    # -- loads -------------------------------------------------------------------------------------
    def add_gravity(self, **given: Any) -> None:
        if not isinstance(given.get("gees", Symbol("GEES")), Symbol):
            g = self.formula(given["gees"])
        else:
            g = str(given.get("gees", "GEES"))
            self.m.parameter(g, _GEES[self.system], unit="m/s^2", doc="gravity")
        self.m.gravity(along=self.formula(given.get("direction", FString("[n3]"))), g=g)

    def _magnitude(self, symbol: str, given: Mapping[str, Any]) -> Any:
        dummies = {str(given.get(key, key)): key for key in ("x", "x0", "v")}
        value = given.get("magnitude", Symbol(symbol.upper()))
        text = self.formula(value, dummies)
        used = re.findall(r"[A-Za-z_]\w*", text) if isinstance(text, str) else []
        return text if {"x", "x0", "v"} & set(used) else self.expr(text)

    def add_line_force(self, symbol: str, **given: Any) -> None:
        self.m.force(
            symbol.lower(),
            self._magnitude(symbol, given),
            at=_place(given.get("point1"), "n0"),
            along=self.formula(given.get("direction", FString("[n3]"))),
            reaction=_place(given.get("point2")),
            doc=str(given.get("name", "")),
        )

    def add_strut(self, symbol: str, **given: Any) -> None:
        self.m.strut(
            symbol.lower(),
            self._magnitude(symbol, given),
            at=_place(given.get("point1"), "n0"),
            to=_place(given.get("point2")),
            doc=str(given.get("name", "")),
        )

    def add_moment(self, symbol: str, **given: Any) -> None:
        self.m.moment(
            symbol.lower(),
            self.expr(self.formula(given.get("magnitude", Symbol(symbol.upper())))),
            on=_place(given.get("body1"), "n"),
            about=self.formula(given.get("direction", FString("[n3]"))),
            reaction=_place(given.get("body2")),
            doc=str(given.get("name", "")),
        )

    # -- relations ---------------------------------------------------------------------------------
    def add_constraint(self, zero: Any, **given: Any) -> None:
        relation = self.m.expr(self.formula(zero))
        chosen = given.get("variable")
        eliminate = None if chosen is None else self.formula(chosen)
        if any(x.roles & SPEED for x in free_symbols(relation)):
            made = self.m.constrain(relation, eliminate=eliminate)
            by = made.by
            if made.replaces is not None and by is not None and by.is_constant and by.op == "sym":
                self.kept[made.replaces] = by
        else:
            self.m.constrain_position(relation, eliminate=eliminate)

    def no_movement(self, first: str, second: str, direction: Any, **given: Any) -> None:
        if given.get("confirm") not in (None, "NIL"):
            self.ignore(":confirm", "nobody is asked while a file is read")
        self.m.constrain_points(first.lower(), second.lower(), self.formula(direction))

    # -- declarations ------------------------------------------------------------------------------
    def declare(self, order: int, *names: Any) -> None:
        for given in names:
            name = str(self.formula(given))
            if isinstance(given, FString):
                x = self.m.expr(name)
                if x.op != "sym":
                    raise InputError(f"{name} is not a single state or parameter")
                name = x.name
            self.orders[name] = order

    def add_variables(self, where: str, kind: str, *names: str) -> None:
        for name in names:
            self.m.input(str(name))
            why = "external code would set it; it is an input, 0 by default"
            self.ignore(f"variable {name}", f"{kind.lower()} of {where.lower()}: {why}")

    def add_subroutine(self, where: str, name: str, *_: Any) -> None:
        self.ignore(f"subroutine {name}", f"called in {where.lower()}; see hooks.c of codegen")

    def set_defaults(self, *pairs: Any) -> None:
        for name, value in _pairs(pairs):
            if not isinstance(value, int | float):
                raise InputError(f"the default of {name} is {brief(value)}, which is not a number")
            self.defaults[str(name)] = float(value), self._line

    def set_names(self, *pairs: Any) -> None:
        for name, text in _pairs(pairs):
            self.m.docs[str(name)] = str(text)

    def set_units(self, *pairs: Any) -> None:
        for name, unit in _pairs(pairs):
            self.units[str(name)] = str(unit).lower()

    def assign(self, name: Any, value: Any) -> None:
        if str(name) == "*MULTIBODY-SYSTEM-NAME*":
            self.m.doc = str(value)
            return
        text = self.formula(value)
        made = value
        if isinstance(value, FString | Symbol):
            made = substitute(self.m.expr(text), self.kept)
        self.m.variables[variable(str(name))[1:]] = made

    # -- outputs -----------------------------------------------------------------------------------
    def add_out(self, value: Any, short: Any, **given: Any) -> None:
        unit = "?" if given.get("units") is None else self._unit(str(given["units"]), "mks")
        name = str(short)
        body = given.get("body")
        body = None if body is None or str(body) == "N" else _place(body)
        doc = str(given.get("long_name", name))
        self.m.output(name, self.expr(self.formula(value)), unit=unit, doc=doc, body=body)

    def add_all(self, kind: str) -> None:
        self.m.output_all(kind)

    # -- the end -----------------------------------------------------------------------------------
    def _unit(self, text: str, system: str) -> str:
        """Return a unit in l, f, m, t and a, or 1, in the base units of a system."""
        bases = _BASES[system]
        plain = text.strip().lower().replace("**", "^")
        return re.sub(r"[a-z]", lambda x: bases.get(x[0], x[0]), plain)

    def finish(self) -> None:
        """Give parameters their values, in SI units, and the run its times."""
        m, known = self.m, set(self.m.parameters)
        run = {name: self.defaults.pop(name, (usual, 0))[0] for name, usual in _RUN.items()}
        for name in [n for n in self.units if n in known]:
            m.units[name] = self._unit(self.units[name], "mks")
        deduced = parameter_units(m)
        for name, (_, line) in self.defaults.items():
            if name not in known:
                self._line = line
                near = [p for p in sorted(known) if p[:3] == name[:3]]
                hint = f"; did you mean {' or '.join(near[:2])}?" if near else ""
                self.ignore(f"default of {name}", f"the model has no such parameter{hint}")
        for name in sorted(known - {"GEES"}):
            value, line = self.defaults.get(name, (math.nan, 0))
            if line == 0:
                if name not in m.values:
                    m.values[name] = 1.0 * self._factor(name, deduced[name])
                    self._line = 0
                    self.ignore(f"value of {name}", "no default is given: 1.0, as in AUTOSIM")
                continue
            m.values[name] = value * self._factor(name, deduced[name])
        m.set_timing(run["STOPT"], step=run["STEP"], every=int(run["IPRINT"]))

    def _factor(self, name: str, unit: str) -> float:
        """Return what one of the user's units is in SI units."""
        if name in self.units:
            return parse_unit(self._unit(self.units[name], self.system)).factor
        if self.system == "mks" or unit in ("?", "", "1", "-"):
            return 1.0
        e = parse_unit(unit).exponents
        slinch = parse_unit("lbf*s^2/in").factor
        if e[MASS] == 1 and not any(x for k, x in enumerate(e) if k != MASS):
            return slinch / 386.2  # AUTOSIM's pound is one over its own gravity
        factor = slinch ** e[MASS] * 0.0254 ** e[LENGTH]
        return float(factor * math.radians(1.0) ** e[ANGLE])


def _arguments(form: LispForm, known: Sequence[str]) -> tuple[list[Any], dict[str, Any]]:
    """Return the arguments of a form: what is required, and what has keywords."""
    required: list[Any] = []
    named: dict[str, Any] = {}
    items = list(form.items[1:])
    while items:
        item = items.pop(0)
        if not (isinstance(item, Symbol) and item.startswith(":")):
            required.append(item)
            continue
        key = item[1:].lower().replace("-", "_")
        if key not in known:
            there = ", ".join(f":{k.replace('_', '-')}" for k in known) or "none"
            raise InputError(
                f"({form.name.lower()} ...) has no keyword {item.lower()}", remedy=f"it has {there}"
            )
        if not items:
            raise InputError(f"{item.lower()} has no value")
        named[key] = items.pop(0)
    return required, named


def _pairs(items: Sequence[Any]) -> list[tuple[Any, Any]]:
    if len(items) % 2:
        raise InputError(f"{brief(str(items[-1]))} has no value")
    return list(zip(items[::2], items[1::2], strict=True))


def _place(value: Any, usual: str | None = None) -> Any:
    """Return the name of a body or point; O is the origin of the ground."""
    if value is None:
        return usual
    name = str(value).lower()
    return "n0" if name == "o" else name


def _listed(value: Any) -> list[Any]:
    if value is None or value == "NIL":
        return []
    return list(value.items) if isinstance(value, LispForm) else [value]


def _flags(given: Mapping[str, Any], key: str, count: int) -> list[bool]:
    flags = [x == "T" for x in _listed(given.get(key))] or [False] * count
    if len(flags) != count:
        raise InputError(f":{key.replace('_', '-')} has {len(flags)} entries for {count}")
    return flags


def _axis(k: Any) -> str:
    if k not in _AXES:
        raise InputError(f"an axis is 1, 2 or 3, not {brief(k)}")
    return _AXES[k]


def _along(direction: Any) -> int:
    """Return the first axis that a direction has a share of."""
    if not isinstance(direction, tuple) or len(direction) != 3:
        raise InputError(f"a direction has three components, not {brief(direction)}")
    return next((k for k, x in enumerate(direction, 1) if x != 0), 1)


def _said(error: BaseException) -> str:
    if isinstance(error, TypeError):
        return "its arguments are not those of the form"
    return str(error)


_BODY = (
    *("parent", "coordinate_system", "name", "mass", "inertia_matrix", "joint_coordinates"),
    *("cm_coordinates", "translate", "parent_rotation_axis", "body_rotation_axes"),
    *("reference_axis", "small_angles", "small_translations"),
)
_LINE = ("name", "magnitude", "no_forcem", "point1", "point2", "x", "x0", "v")
_Taker = Callable[..., None]


def _nothing(_: _Reader, *__: Any) -> None:
    """Take a form that has no meaning here: equations and programs come when they are asked for."""


def _all(kind: str) -> _Taker:
    return lambda reader: reader.add_all(kind)


_FORMS: dict[str, tuple[_Taker, tuple[str, ...]]] = {
    "ADD-BODY": (_Reader.add_body, _BODY),
    "ADD-POINT": (_Reader.add_point, ("name", "body", "coordinates", "coordinate_system")),
    "ADD-GRAVITY": (_Reader.add_gravity, ("direction", "gees")),
    "ADD-LINE-FORCE": (_Reader.add_line_force, (*_LINE, "direction")),
    "ADD-STRUT": (_Reader.add_strut, _LINE),
    "ADD-MOMENT": (
        _Reader.add_moment,
        ("name", "direction", "magnitude", "body1", "body2", "no_forcem"),
    ),
    "ADD-CONSTRAINT": (_Reader.add_constraint, ("variable",)),
    "NO-MOVEMENT": (_Reader.no_movement, ("confirm",)),
    "SMALL": (lambda reader, *names: reader.declare(1, *names), ()),
    "LARGE": (lambda reader, *names: reader.declare(-1, *names), ()),
    "ADD-SUBROUTINE": (_Reader.add_subroutine, ()),
    "ADD-VARIABLES": (_Reader.add_variables, ()),
    "SET-DEFAULTS": (_Reader.set_defaults, ()),
    "SET-NAME": (_Reader.set_names, ()),
    "SET-UNITS": (_Reader.set_units, ()),
    "SETF": (_Reader.assign, ()),
    "ADD-OUT": (_Reader.add_out, ("long_name", "gen_name", "body", "units")),
    **{
        f"ADD-{kind.upper()}-TO-OUTPUT": (_all(kind), ())
        for kind in ("coordinates", "speeds", "accelerations", "forces", "moments")
    },
    **dict.fromkeys(("RESET", "DYNAMICS", "WRITE-SIM", "MKS", "IN-LB"), (_nothing, ())),
}
"""The forms of appendix A: what takes each, and its keywords."""
