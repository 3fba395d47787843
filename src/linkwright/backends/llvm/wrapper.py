"""The IR of the function that stands between Python and a scalar kernel (see `fastcall.py`).

The text depends on the shapes and the floating type alone. It holds no address: it reads them from
the global table, whose slots are named here and filled in by the process that loads the code.
"""

from __future__ import annotations

from linkwright.backends.llvm import layout as at
from linkwright.backends.llvm.signature import Argument, Signature

CALL, TABLE = "linkwright_call", "linkwright_table"
SLOTS = (
    "array_type",
    "float_type",
    "scalar_type",
    "descriptor",
    "kernel",
    "most",
    "slow",
    "none",
    "vectorcall",
    "incref",
    "decref",
    "new_array",
    "new_float",
    "new_tuple",
    "set_tuple_item",
    "shortcut",
)

SHORTCUT = ("next", "given", "names", "last", "target")
"""The head of a shortcut (`fastcall.add_shortcut`), before its names."""
MOST_GIVEN = 16
"""Arguments of a call that a shortcut takes, at most."""


def wrapper_ir(signature: Signature) -> str:
    """The IR of the wrapper for a signature; the same text for the same shapes.

    >>> from linkwright.backends.llvm.signature import make_signature
    >>> wrapper_ir(make_signature([("x", 3)], [("y", 3)])).count("define")
    1
    """
    return _WrapperWriter(signature).write()


class _WrapperWriter:
    """Writes one wrapper: a chain of checks that each leave to `%slow`, then the call."""

    def __init__(self, signature: Signature) -> None:
        self.signature = signature
        self.bytes = signature.numpy_dtype.itemsize
        self.kind = "double" if self.bytes == 8 else "float"
        self.lines: list[str] = []
        self.locals: list[str] = []
        self.blocks = 0

    def write(self) -> str:
        inputs, outputs = self.signature.inputs, self.signature.outputs
        few, many = len(inputs), len(inputs) + len(outputs)
        self.lines = [
            f"@{TABLE} = dso_local global [{len(SLOTS)} x i64] zeroinitializer, align 64",
            *self._shape_constants(),
            f"define dso_local ptr @{CALL}(ptr %self, ptr %args, i64 %nargs, ptr %kwnames) {{",
            "entry:",
        ]
        self._add("%positional = icmp eq ptr %kwnames, null")
        self._add("br i1 %positional, label %plain, label %named")
        self._label("plain")
        self._add(f"%few = icmp eq i64 %nargs, {few}")
        self._load_slot("most")
        self._add("%many = icmp eq i64 %nargs, %most")
        self._add("%number = or i1 %few, %many")
        self._require("%number")
        for slot in ("array_type", "descriptor", "kernel"):
            self._load_slot(slot)
        for index, argument in enumerate(inputs):
            self._check_input(index, argument)
        if outputs:
            self._add("br i1 %few, label %fresh, label %given")
        else:
            self._add("br label %given")
        self._given(few, many)
        if outputs:
            self._fresh(few)
        self._named()
        self._slow()
        self.lines.append("}")
        entry = self.lines.index("entry:") + 1
        self.lines[entry:entry] = self.locals
        return "\n".join(self.lines) + "\n"

    def _add(self, line: str) -> None:
        self.lines.append("  " + line)

    def _label(self, name: str) -> None:
        self.lines.append(f"{name}:")

    def _require(self, condition: str) -> None:
        self.blocks += 1
        self._add(f"br i1 {condition}, label %ok{self.blocks}, label %slow")
        self._label(f"ok{self.blocks}")

    def _load_slot(self, slot: str, value: str | None = None, kind: str = "i64") -> str:
        value = value or f"%{slot}"
        offset = 8 * SLOTS.index(slot)
        self._add(f"{value}.at = getelementptr i8, ptr @{TABLE}, i64 {offset}")
        self._add(f"{value} = load {kind}, ptr {value}.at")
        return value

    def _field(self, value: str, base: str, offset: int, kind: str) -> str:
        self._add(f"{value}.at = getelementptr i8, ptr {base}, i64 {offset}")
        self._add(f"{value} = load {kind}, ptr {value}.at")
        return value

    def _shape_constants(self) -> list[str]:
        lines = []
        for index, argument in enumerate(self.signature.outputs):
            values = ", ".join(f"i64 {n}" for n in argument.shape) or "i64 0"
            count = max(len(argument.shape), 1)
            lines.append(f"@shape{index} = private constant [{count} x i64] [{values}]")
        return lines

    def _check_array(self, index: int, argument: Argument, flags: int, source: str) -> None:
        """Everything but the type of the object, which the caller has compared already."""
        x = f"%x{index}"
        self._field(f"{x}.data{source}", f"{x}", at.DATA, "ptr")
        conditions = []
        for field, offset, kind, wanted in (
            ("nd", at.NDIM, "i32", str(len(argument.shape))),
            ("descr", at.DESCRIPTOR, "i64", "%descriptor"),
        ):
            self._field(f"{x}.{field}", x, offset, kind)
            self._add(f"{x}.{field}.ok = icmp eq {kind} {x}.{field}, {wanted}")
            conditions.append(f"{x}.{field}.ok")
        self._field(f"{x}.flags", x, at.FLAGS, "i32")
        self._add(f"{x}.flags.set = and i32 {x}.flags, {flags}")
        self._add(f"{x}.flags.ok = icmp eq i32 {x}.flags.set, {flags}")
        conditions.append(f"{x}.flags.ok")
        self._require(self._all(f"{x}.plain", conditions))
        if not argument.shape:
            return
        self._field(f"{x}.dims", x, at.DIMENSIONS, "ptr")
        conditions = []
        for axis, length in enumerate(argument.shape):
            self._field(f"{x}.dim{axis}", f"{x}.dims", 8 * axis, "i64")
            self._add(f"{x}.dim{axis}.ok = icmp eq i64 {x}.dim{axis}, {length}")
            conditions.append(f"{x}.dim{axis}.ok")
        self._require(self._all(f"{x}.shape", conditions))

    def _all(self, value: str, conditions: list[str]) -> str:
        result = conditions[0]
        for index, condition in enumerate(conditions[1:]):
            self._add(f"{value}{index} = and i1 {result}, {condition}")
            result = f"{value}{index}"
        return result

    def _object(self, index: int) -> None:
        self._add(f"%x{index}.at = getelementptr ptr, ptr %args, i64 {index}")
        self._add(f"%x{index} = load ptr, ptr %x{index}.at")
        self._field(f"%x{index}.type", f"%x{index}", at.TYPE, "i64")
        self._add(f"%x{index}.isarray = icmp eq i64 %x{index}.type, %array_type")

    def _check_input(self, index: int, argument: Argument) -> None:
        self._object(index)
        flags = at.C_CONTIGUOUS | at.ALIGNED
        x = f"%x{index}"
        if argument.shape:
            self._require(f"{x}.isarray")
            self._check_array(index, argument, flags, "")
            return
        # A scalar: an array of rank 0, a NumPy scalar of the kernel's type, or a Python float.
        self._add(f"br i1 {x}.isarray, label %array{index}, label %other{index}")
        self._label(f"other{index}")
        self._load_slot("scalar_type", f"{x}.wanted")
        self._load_slot("float_type", f"{x}.float")
        self._add(f"{x}.isscalar = icmp eq i64 {x}.type, {x}.wanted")
        self._add(f"{x}.isfloat = icmp eq i64 {x}.type, {x}.float")
        self._add(f"{x}.data.value = getelementptr i8, ptr {x}, i64 {at.SCALAR_VALUE}")
        if self.bytes == 8:
            self._require(self._any(f"{x}.number", f"{x}.isscalar", f"{x}.isfloat"))
            last = f"ok{self.blocks}"
            self._add(f"br label %have{index}")
            incoming = [(f"{x}.data.value", last)]
        else:
            self._add(f"br i1 {x}.isscalar, label %scalar{index}, label %pyfloat{index}")
            self._label(f"scalar{index}")
            self._add(f"br label %have{index}")
            self._label(f"pyfloat{index}")
            self._require(f"{x}.isfloat")
            last = f"ok{self.blocks}"
            self._add(f"{x}.double = load double, ptr {x}.data.value")
            self._add(f"{x}.single = fptrunc double {x}.double to float")
            self.locals.append(f"  {x}.slot = alloca float")
            self._add(f"store float {x}.single, ptr {x}.slot")
            self._add(f"br label %have{index}")
            incoming = [(f"{x}.data.value", f"scalar{index}"), (f"{x}.slot", last)]
        self._label(f"array{index}")
        self._check_array(index, argument, flags, ".array")
        incoming.append((f"{x}.data.array", f"ok{self.blocks}"))
        self._add(f"br label %have{index}")
        self._label(f"have{index}")
        choices = ", ".join(f"[ {value}, %{block} ]" for value, block in incoming)
        self._add(f"{x}.data = phi ptr {choices}")

    def _any(self, value: str, first: str, second: str) -> str:
        self._add(f"{value} = or i1 {first}, {second}")
        return value

    def _given(self, few: int, many: int) -> None:
        self._label("given")
        arguments = self.signature.arguments
        for index in range(few, many):
            self._object(index)
            self._require(f"%x{index}.isarray")
            flags = at.C_CONTIGUOUS | at.ALIGNED | at.WRITEABLE
            self._check_array(index, arguments[index], flags, "")
        for index in range(many):
            self._add(f"%a{index} = ptrtoint ptr %x{index}.data to i64")
        conditions = []
        for output in range(few, many):
            for other in range(output):
                a, b = arguments[output].size * self.bytes, arguments[other].size * self.bytes
                if a and b:
                    conditions.append(self._apart(output, other, a, b))
        if conditions:
            self._require(self._all("%apart", conditions))
        self._call("%given", [f"%x{index}.data" for index in range(many)])
        self._load_slot("none", kind="ptr")
        self._load_slot("incref", "%incref.none", "ptr")
        self._add("call void %incref.none(ptr %none)")
        self._add("ret ptr %none")

    def _apart(self, first: int, second: int, size: int, other: int) -> str:
        """Two blocks of memory are apart when their distance, wrapped, leaves the window."""
        value = f"%gap{first}.{second}"
        self._add(f"{value} = sub i64 %a{first}, %a{second}")
        self._add(f"{value}.up = add i64 {value}, {size - 1}")
        self._add(f"{value}.ok = icmp uge i64 {value}.up, {size + other - 1}")
        return f"{value}.ok"

    def _call(self, value: str, pointers: list[str]) -> None:
        self._add(f"{value}.kernel = inttoptr i64 %kernel to ptr")
        self._add(f"call void {value}.kernel({', '.join(f'ptr {p}' for p in pointers)})")

    def _fresh(self, few: int) -> None:
        outputs = self.signature.outputs
        self._label("fresh")
        self._load_slot("array_type", "%type", "ptr")
        self._load_slot("descriptor", "%descr", "ptr")
        self._load_slot("incref", "%incref.descr", "ptr")
        self._load_slot("new_array", kind="ptr")
        made: list[int] = []
        for index, output in enumerate(outputs):
            if output.shape:
                self._new_array(index, output, made)
                made.append(index)
            else:
                self.locals.append(f"  %y{index}.data = alloca {self.kind}")
        pointers = [f"%x{index}.data" for index in range(few)]
        self._call("%fresh", pointers + [f"%y{index}.data" for index in range(len(outputs))])
        for index, output in enumerate(outputs):
            if not output.shape:
                self._new_float(index, made)
                made.append(index)
        if len(outputs) == 1:
            self._add("ret ptr %y0")
        else:
            self._tuple(len(outputs))

    def _new_array(self, index: int, output: Argument, made: list[int]) -> None:
        y = f"%y{index}"
        self._add("call void %incref.descr(ptr %descr)")
        self._add(
            f"{y} = call ptr %new_array(ptr %type, ptr %descr, i32 {len(output.shape)}, "
            f"ptr @shape{index}, ptr null, ptr null, i32 0, ptr null)"
        )
        self._unless_null(y, made)
        self._field(f"{y}.data", y, at.DATA, "ptr")

    def _new_float(self, index: int, made: list[int]) -> None:
        y = f"%y{index}"
        self._load_slot("new_float", f"{y}.new", "ptr")
        value = f"{y}.value"
        self._add(f"{value} = load {self.kind}, ptr {y}.data")
        if self.kind == "float":
            self._add(f"{value}.wide = fpext float {value} to double")
            value = f"{value}.wide"
        self._add(f"{y} = call ptr {y}.new(double {value})")
        self._unless_null(y, made)

    def _tuple(self, count: int) -> None:
        self._load_slot("new_tuple", kind="ptr")
        self._load_slot("set_tuple_item", kind="ptr")
        self._add(f"%result = call ptr %new_tuple(i64 {count})")
        self._unless_null("%result", list(range(count)))
        for index in range(count):
            self._add(
                f"%set{index} = call i32 %set_tuple_item(ptr %result, i64 {index}, ptr %y{index})"
            )
        self._add("ret ptr %result")

    def _unless_null(self, value: str, made: list[int]) -> None:
        """Return null (an exception is set) when `value` is, after dropping what was made."""
        self.blocks += 1
        block = self.blocks
        self._add(f"{value}.null = icmp eq ptr {value}, null")
        self._add(f"br i1 {value}.null, label %failed{block}, label %ok{block}")
        self._label(f"failed{block}")
        if made:
            self._load_slot("decref", f"%decref{block}", "ptr")
        for index in made:
            self._add(f"call void %decref{block}(ptr %y{index})")
        self._add("ret ptr null")
        self._label(f"ok{block}")

    def _named(self) -> None:
        """Go straight to the function that a shortcut has for these keywords, if there is one.

        The function finds the values of keywords in the order of the shortcut, after the others.
        """
        self.locals.append(f"  %sorted = alloca [{MOST_GIVEN} x ptr]")
        self._label("named")
        self._load_slot("shortcut", kind="ptr")
        self._load_slot("vectorcall", "%target.call", "ptr")
        self._load_slot("none", "%nothing", "ptr")
        self._field("%names", "%kwnames", at.TUPLE_SIZE, "i64")
        self._add("%count = add i64 %nargs, %names")
        self._add("br label %look")
        self._label("look")
        self._add("%entry.at = phi ptr [ %shortcut, %named ], [ %next, %other ]")
        self._add("%none.left = icmp eq ptr %entry.at, null")
        self._add("br i1 %none.left, label %slow, label %entry.head")
        self._label("entry.head")
        head = [("given", "%nargs"), ("names", "%names")]
        for field, wanted in head:
            value = self._field(f"%e.{field}", "%entry.at", 8 * SHORTCUT.index(field), "i64")
            self._add(f"{value}.ok = icmp eq i64 {value}, {wanted}")
        alike = self._all("%e.head", [f"%e.{field}.ok" for field, _ in head])
        self._add(f"br i1 {alike}, label %value, label %other")
        self._label("value")
        self._add("%k = phi i64 [ 0, %entry.head ], [ %k.next, %place ]")
        self._item("%value.k", "%args", "%k")
        self._add("%k.unnamed = icmp ult i64 %k, %nargs")
        self._add("%k.name = sub i64 %k, %nargs")
        self._add("br i1 %k.unnamed, label %place, label %by.name")
        self._label("by.name")
        self._add("%value.none = icmp eq ptr %value.k, %nothing")
        self._add("br i1 %value.none, label %other, label %search.first")
        self._label("search.first")
        self._add("br label %search")
        self._label("search")
        self._add("%j = phi i64 [ 0, %search.first ], [ %j.next, %search.on ]")
        for value, base, start, index in (
            ("%mine", "%entry.at", 8 * len(SHORTCUT), "%j"),
            ("%theirs", "%kwnames", at.TUPLE_ITEMS, "%k.name"),
        ):
            self._add(f"{value}.start = getelementptr i8, ptr {base}, i64 {start}")
            self._item(value, f"{value}.start", index)
        self._add("%same = icmp eq ptr %mine, %theirs")
        self._add("%j.place = add i64 %nargs, %j")
        self._add("br i1 %same, label %place, label %search.on")
        self._label("search.on")
        self._add("%j.next = add i64 %j, 1")
        self._add("%j.more = icmp ult i64 %j.next, %names")
        self._add("br i1 %j.more, label %search, label %other")
        self._label("place")
        self._add("%to = phi i64 [ %k, %value ], [ %j.place, %search ]")
        self._add("%to.at = getelementptr ptr, ptr %sorted, i64 %to")
        self._add("store ptr %value.k, ptr %to.at")
        self._add("%k.next = add i64 %k, 1")
        self._add("%k.more = icmp ult i64 %k.next, %count")
        self._add("br i1 %k.more, label %value, label %last")
        self._label("last")
        self._add("%but.one = add i64 %count, -1")
        self._item("%said", "%sorted", "%but.one")
        self._field("%e.last", "%entry.at", 8 * SHORTCUT.index("last"), "ptr")
        self._add("%any.last = icmp eq ptr %e.last, null")
        self._add("%this.last = icmp eq ptr %e.last, %said")
        self._add("%last.ok = or i1 %any.last, %this.last")
        self._add("br i1 %last.ok, label %target, label %other")
        self._label("target")
        self._field("%e.target", "%entry.at", 8 * SHORTCUT.index("target"), "ptr")
        self._add("%passed = select i1 %any.last, i64 %count, i64 %but.one")
        self._add(
            "%target.result = call ptr %target.call"
            "(ptr %e.target, ptr %sorted, i64 %passed, ptr null)"
        )
        self._add("ret ptr %target.result")
        self._label("other")
        self._field("%next", "%entry.at", 8 * SHORTCUT.index("next"), "ptr")
        self._add("br label %look")

    def _item(self, value: str, base: str, index: str) -> None:
        self._add(f"{value}.at = getelementptr ptr, ptr {base}, i64 {index}")
        self._add(f"{value} = load ptr, ptr {value}.at")

    def _slow(self) -> None:
        self._label("slow")
        self._load_slot("slow", "%slow.function", "ptr")
        self._load_slot("vectorcall", kind="ptr")
        self._add(
            "%slow.result = call ptr %vectorcall"
            "(ptr %slow.function, ptr %args, i64 %nargs, ptr %kwnames)"
        )
        self._add("ret ptr %slow.result")
