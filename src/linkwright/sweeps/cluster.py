"""Parts of a sweep on the workers of a Dask cluster.

Dask's own engine does the work: the scheduler hands parts to workers, and gives those of a worker
that died to another. A part comes back as its few reduced columns, and is written here, so that
workers need no disk in common. They need this package; text models and URDF files travel with the
plan, other files have to be readable where they run.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from linkwright.base.errors import Error
from linkwright.base.optional import extra
from linkwright.sweeps.parts import Columns

_RETRIES = 3


def on_cluster(
    address: str,
    text: str,
    parts: Sequence[int],
    file: str = "",
    content: str = "",
    device: str = "cpu",
) -> Iterator[tuple[int, Columns | dict[str, Any]]]:
    """Yield parts as workers finish them."""
    distributed = extra("distributed", "cluster")
    from linkwright.sweeps.sweep import worker_part

    try:
        client = distributed.Client(address, timeout="10s", set_as_default=False)
    except (OSError, TimeoutError, ValueError, MemoryError) as error:  # another protocol's bytes
        words = str(error).splitlines()[0] if str(error) else type(error).__name__
        raise Error(
            f"no Dask scheduler answers at {address!r}: {words}",
            remedy="start one with `dask scheduler`, and workers with `dask worker ADDRESS`",
        ) from None
    with client:
        pending = {
            client.submit(
                worker_part, text, part, file, content, device, pure=False, retries=_RETRIES
            ): part
            for part in parts
        }
        for future in distributed.as_completed(list(pending), loop=client.loop):
            part = pending.pop(future)
            try:
                columns: Columns | dict[str, Any] = future.result()
            except Error:
                raise
            except Exception as error:
                raise Error(
                    f"part {part} failed on the cluster: {type(error).__name__}: {error}"
                ) from error
            future.release()
            yield part, columns
