"""From IR text to code that can be called: compile, load, and both through the disk cache.

External functions (those of libm, and any that the caller binds) are called through the global
offset table: the declaration gets the attribute `nonlazybind`, and the module flag `RtLibUseGOT`
does the same for the calls that LLVM makes on its own, such as those for `llvm.sin`. The loader
then knows the size of that table beforehand, and reserves everything in one block (`target.py`
says why that matters). Object code in which that did not succeed is compiled again with the
default code model.
"""

from __future__ import annotations

import ctypes
import sys
import threading
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from itertools import count
from typing import Any

import llvmlite.binding as llvm

from linkwright.backends.llvm import elf, target
from linkwright.base import cache
from linkwright.base.errors import CompileError
from linkwright.base.forking import held_over_forks

_GOT_CALLS = """
!llvm.module.flags = !{!2147483000}
!2147483000 = !{i32 7, !"RtLibUseGOT", i32 1}
"""
HALF_EXAMPLE = """
define double @half(double %x) {
  %y = fmul double %x, 0.5
  ret double %y
}
"""
_MATHEMATICS = {"linux": "libm.so.6", "darwin": "libSystem.dylib", "win32": "ucrtbase.dll"}
_bind_lock = threading.RLock()
held_over_forks(_bind_lock, 2)
_bound: dict[str, int | None] = {}


# Engines by number. The table is never freed, so that nothing at the end of the process finds its
# code gone.
_engines: dict[int, Any] = {}
ctypes.pythonapi.Py_IncRef(ctypes.py_object(_engines))
_numbers = count()


class _Held:
    """The number of an engine, which is freed when nothing has this object any more.

    An engine unmaps its code when it is finalized, and the collector of cycles finalizes what it
    has found in any order: the `__del__` of a kernel's owner could call code that is gone. What
    is in the table it does not find, and this object, which refers to nothing, is hidden from it:
    it goes when the last reference does, which is after everything else was finalized.
    """

    __slots__ = ("number",)

    def __init__(self, engine: Any) -> None:
        self.number = next(_numbers)
        _engines[self.number] = engine
        ctypes.pythonapi.PyObject_GC_UnTrack(ctypes.py_object(self))

    def __reduce__(self) -> str:
        raise CompileError("native code belongs to its process, and is not copied")

    def __del__(self, free: Callable[[int, None], Any] = _engines.pop) -> None:
        free(self.number, None)


@dataclass(frozen=True, slots=True)
class NativeCode:
    """Loaded machine code; it stays in memory as long as this object is alive."""

    addresses: Mapping[str, int]
    object_size: int
    from_cache: bool
    _engine: _Held = field(repr=False)

    def __copy__(self) -> NativeCode:
        return self

    def __deepcopy__(self, memo: object) -> NativeCode:
        return self

    def __reduce__(self) -> str:
        raise CompileError("native code belongs to its process, and is not pickled")

    def address(self, name: str) -> int:
        """Address of a function or a global variable that was named when the code was loaded."""
        try:
            return self.addresses[name]
        except KeyError:
            known = ", ".join(sorted(self.addresses))
            raise CompileError(
                f"native code has no symbol {name!r}; it was loaded with: {known}"
            ) from None

    def function(self, name: str, result: Any, *arguments: Any) -> Callable[..., Any]:
        """A ctypes function that releases the interpreter lock while it runs.

        It keeps the code alive, so it may outlive this object.
        """
        call = ctypes.CFUNCTYPE(result, *arguments)(self.address(name))
        vars(call)["code"] = self
        return call


def compile_ir(ir_text: str, *, opt: int | None = None) -> bytes:
    """Compile IR text to relocatable object code for this machine.

    `opt` is the effort of code generation (`target.effort`). Triple and data layout are set here.

    >>> code = compile_ir("define double @two() { ret double 2.0 }")
    >>> load(code, ["two"]).function("two", ctypes.c_double)()
    2.0
    """
    model = target.preferred_model()
    code = _emit(ir_text, opt, model)
    if model == "small":
        facts = elf.read_facts(code)
        if facts is None or not facts.one_block:
            code = _emit(ir_text, opt, "default")
    return code


def _emit(ir_text: str, opt: int | None, model: target.Model) -> bytes:
    machine = target.make_target_machine(opt, model)
    try:
        module = llvm.parse_assembly(ir_text + _GOT_CALLS if model == "small" else ir_text)
        module.triple = target.host().triple
        module.data_layout = str(machine.target_data)
        if model == "small":
            for function in module.functions:
                if function.is_declaration and not function.name.startswith("llvm."):
                    function.add_function_attribute("nonlazybind")
        module.verify()
    except RuntimeError as error:
        raise CompileError(f"LLVM rejected the generated IR: {str(error).strip()}") from error
    return bytes(machine.emit_object(module))


def simplified(ir_text: str) -> str:
    """Return IR text with variables in registers where it has them on the stack.

    Code generation alone leaves each in memory, which costs a loop of short steps a quarter.

    >>> "alloca" in simplified(
    ...     "define i64 @f(i64 %x) { %a = alloca i64\\n"
    ...     "store i64 %x, ptr %a\\n %y = load i64, ptr %a\\n ret i64 %y }"
    ... )
    False
    """
    machine = target.make_target_machine()
    module = llvm.parse_assembly(ir_text)
    module.triple, module.data_layout = target.host().triple, str(machine.target_data)
    builder = llvm.create_pass_builder(machine, llvm.create_pipeline_tuning_options())
    passes = llvm.create_new_function_pass_manager()
    passes.add_sroa_pass()
    passes.add_simplify_cfg_pass()
    passes.add_instruction_combine_pass()
    for function in module.functions:
        if not function.is_declaration:
            passes.run(function, builder)
    return str(module)


def load(
    object_code: bytes,
    symbols: Sequence[str],
    *,
    bind: Mapping[str, int] | None = None,
    from_cache: bool = False,
) -> NativeCode:
    """Load object code into this process and find the addresses of `symbols`.

    `bind` gives addresses to external names, before those of libm and of the process.

    >>> half = load(compile_ir(HALF_EXAMPLE), ["half"])
    >>> half.function("half", ctypes.c_double, ctypes.c_double)(3.0)
    1.5
    """
    _load_mathematics()
    facts = elf.read_facts(object_code)
    if facts is not None:
        missing = sorted(set(symbols) - facts.defined)
        if missing:
            raise CompileError(f"object code does not define {', '.join(missing)}")
    machine = target.make_target_machine(
        model="small" if facts is not None and facts.one_block else "default"
    )
    # Names are resolved while the engine is finalized, so a binding holds for this load alone.
    with _bind_lock:
        _bind_externals(facts, bind or {})
        engine = llvm.create_mcjit_compiler(
            llvm.parse_assembly(""),
            machine,
            use_lmm=True if facts is not None and facts.one_block else None,
        )
        engine.add_object_file(llvm.object_file.ObjectFileRef.from_data(object_code))
        engine.finalize_object()
    addresses = {name: int(engine.get_global_value_address(name)) for name in symbols}
    absent = sorted(name for name, address in addresses.items() if not address)
    if absent:
        raise CompileError(f"object code does not define {', '.join(absent)}")
    return NativeCode(addresses, len(object_code), from_cache, _Held(engine))


def native(
    ir_text: str,
    symbols: Sequence[str],
    *,
    opt: int | None = None,
    bind: Mapping[str, int] | None = None,
) -> NativeCode:
    """Compile and load IR text, or load the object code that the cache holds for this text.

    >>> native(HALF_EXAMPLE, ["half"]).function("half", ctypes.c_double, ctypes.c_double)(5.0)
    2.5
    """
    return cached_native(b"ir:" + ir_text.encode(), lambda: ir_text, symbols, opt=opt, bind=bind)


def cached_native(
    key: bytes,
    make_ir: Callable[[], str],
    symbols: Sequence[str],
    *,
    opt: int | None = None,
    bind: Mapping[str, int] | None = None,
) -> NativeCode:
    """Load code by a key that stands for its IR; the IR is written only when the cache has none.

    `key` must change with anything that changes the IR: the program, the version of the generator,
    the number of lanes. Versions of LLVM, processor, features and code settings are added here.

    >>> code = cached_native(b"half, version 1", lambda: HALF_EXAMPLE, ["half"])
    >>> cached_native(b"half, version 1", lambda: "not even read", ["half"]).from_cache
    True
    """
    entry = cache.entry_key(key, target.code_settings(opt))
    store = cache.open_cache()
    code = store.fetch(entry) if store is not None else None
    if code is not None:
        return load(code, symbols, bind=bind, from_cache=True)
    code = compile_ir(make_ir(), opt=opt)
    loaded = load(code, symbols, bind=bind)
    if store is not None:
        store.put(entry, code)
    return loaded


@lru_cache(maxsize=1)
def _load_mathematics() -> None:
    target.initialize()
    library = _MATHEMATICS.get(sys.platform)
    if library is not None:
        try:
            llvm.load_library_permanently(library)
        except RuntimeError:
            return  # The functions may still be in the process; each name is checked on load.


def _bind_externals(facts: elf.ObjectFacts | None, bind: Mapping[str, int]) -> None:
    for name, address in bind.items():
        if name not in _bound:
            _bound[name] = llvm.address_of_symbol(name)
        llvm.add_symbol(name, address)
    if facts is None:
        return
    unknown = []
    for name in sorted(facts.undefined - set(bind)):
        if name in _bound:
            original = _bound[name]
            if original is None:
                unknown.append(name)
            else:
                llvm.add_symbol(name, original)
        elif llvm.address_of_symbol(name) is None:
            unknown.append(name)
    if unknown:
        raise CompileError(
            f"native code calls {', '.join(unknown)}, which neither libm nor the process defines; "
            "give the address with bind={name: address}"
        )
