"""NVIDIA's driver, called as it is: contexts, modules, memory, launches.

The driver's library comes with the card; `ctypes` is enough to call it, so nothing is installed for
it. The context is the primary one of a card, which PyTorch, CuPy and JAX use as well.
"""

from __future__ import annotations

import ctypes
import weakref
from collections.abc import Sequence
from functools import cache
from typing import Any

from linkwright.base.errors import BackendError

_LIBRARIES = ("libcuda.so.1", "libcuda.so", "nvcuda.dll")
_ORDINAL = 9  # CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL
_LOG, _LOG_SIZE = 5, 6  # CU_JIT_ERROR_LOG_BUFFER and its size
_REMEDY = "leave device out to compute on the processor"


@cache
def library() -> Any:
    """Return the driver, which has been started."""
    for name in _LIBRARIES:
        try:
            driver = ctypes.CDLL(name)
        except OSError:
            continue
        status = driver.cuInit(0)
        if status:
            raise BackendError(
                f"the NVIDIA driver does not start ({_named(driver, status)})", remedy=_REMEDY
            )
        return driver
    raise BackendError("there is no NVIDIA driver on this machine", remedy=_REMEDY)


def call(name: str, *arguments: Any) -> None:
    """Call the driver, and raise what it says is wrong."""
    driver = library()
    status = getattr(driver, name)(*arguments)
    if status:
        raise BackendError(f"the card answered {_named(driver, status)} to {name}")


def _named(driver: Any, status: int) -> str:
    text = ctypes.c_char_p()
    driver.cuGetErrorName(status, ctypes.byref(text))
    return (text.value or b"an error without a name").decode()


@cache
def card(number: int = 0) -> GraphicsCard:
    """Return a card by its number."""
    return GraphicsCard(number)


class GraphicsCard:
    """A card and its primary context."""

    def __init__(self, number: int) -> None:
        self.number = number
        count = ctypes.c_int()
        call("cuDeviceGetCount", ctypes.byref(count))
        if not 0 <= number < count.value:
            raise BackendError(f"there is no card {number}; there are {count.value}")
        device, context = ctypes.c_int(), ctypes.c_void_p()
        call("cuDeviceGet", ctypes.byref(device), number)
        call("cuDevicePrimaryCtxRetain", ctypes.byref(context), device)
        self._context = context
        text = ctypes.create_string_buffer(256)
        call("cuDeviceGetName", text, 256, device)
        self.name = text.value.decode()

    def enter(self) -> None:
        """Let this thread's calls go to this card."""
        call("cuCtxSetCurrent", self._context)

    def free_bytes(self) -> int:
        """Return the memory that is free."""
        self.enter()
        free, total = ctypes.c_size_t(), ctypes.c_size_t()
        call("cuMemGetInfo_v2", ctypes.byref(free), ctypes.byref(total))
        return free.value

    def load(self, ptx: str, entry: str) -> ctypes.c_void_p:
        """Compile PTX for this card and return a function of it."""
        return self.functions(ptx, [entry])[entry]

    def functions(self, ptx: str, entries: Sequence[str]) -> dict[str, ctypes.c_void_p]:
        """Compile PTX for this card and return functions of it by name."""
        self.enter()
        log = ctypes.create_string_buffer(4096)
        options = (ctypes.c_int * 2)(_LOG, _LOG_SIZE)
        values = (ctypes.c_void_p * 2)(ctypes.addressof(log), len(log))
        module = ctypes.c_void_p()
        driver = library()
        status = driver.cuModuleLoadDataEx(ctypes.byref(module), ptx.encode(), 2, options, values)
        if status:
            said = log.value.decode(errors="replace").strip().splitlines()
            raise BackendError(
                f"{self.name} does not take the kernel ({_named(driver, status)})"
                + (f": {said[0]}" if said else ""),
                remedy="update the NVIDIA driver",
            )
        found = {entry: ctypes.c_void_p() for entry in entries}
        for entry, function in found.items():
            call("cuModuleGetFunction", ctypes.byref(function), module, entry.encode())
        return found

    def launch(
        self, function: ctypes.c_void_p, count: int, size: int, values: Sequence[int], stream: int
    ) -> None:
        """Run a function in so many threads, `size` of them a block, with whole numbers."""
        held = [ctypes.c_uint64(v) for v in values]
        pointers = (ctypes.c_void_p * len(held))(*(ctypes.addressof(v) for v in held))
        self.enter()
        blocks = -(-count // size)
        shape = (blocks, 1, 1, size, 1, 1)
        call("cuLaunchKernel", function, *shape, 0, ctypes.c_void_p(stream), pointers, None)

    def wait(self) -> None:
        """Wait until all work in the context is done."""
        self.enter()
        call("cuCtxSynchronize")


class CardMemory:
    """Memory of a card, which is given back with the object."""

    def __init__(self, owner: GraphicsCard, size: int) -> None:
        self.card, self.size = owner, size
        address = ctypes.c_uint64()
        owner.enter()
        driver = library()
        status = driver.cuMemAlloc_v2(ctypes.byref(address), ctypes.c_size_t(max(size, 8)))
        if status:
            raise BackendError(
                f"{owner.name} has no {size / 2**20:,.0f} MiB left "
                f"({owner.free_bytes() / 2**20:,.0f} MiB are free)",
                remedy="take fewer rows at a time",
            )
        self.address = address.value
        weakref.finalize(self, _give_back, owner, self.address)

    def write(self, source: int, size: int) -> None:
        """Copy from memory of the processor."""
        self.card.enter()
        call("cuMemcpyHtoD_v2", ctypes.c_uint64(self.address), ctypes.c_void_p(source),
             ctypes.c_size_t(size))  # fmt: skip

    def read(self, target: int, size: int) -> None:
        """Copy to memory of the processor; waits for what was launched."""
        self.card.enter()
        call("cuMemcpyDtoH_v2", ctypes.c_void_p(target), ctypes.c_uint64(self.address),
             ctypes.c_size_t(size))  # fmt: skip


def _give_back(owner: GraphicsCard, address: int) -> None:
    owner.enter()
    library().cuMemFree_v2(ctypes.c_uint64(address))


def card_of(address: int) -> int:
    """Return the number of the card that an address belongs to."""
    number = ctypes.c_int()
    call("cuPointerGetAttribute", ctypes.byref(number), _ORDINAL, ctypes.c_uint64(address))
    return number.value
