"""Which samples are shown where there are more than can be: spread evenly, both ends among them."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray


def spread(count: int, most: int) -> NDArray[np.intp]:
    """Return the places of at most so many of some samples.

    >>> spread(10, 4).tolist(), spread(3, 4).tolist(), spread(0, 4).tolist()
    ([0, 3, 6, 9], [0, 1, 2], [])
    """
    if count <= most:
        return np.arange(count)
    return np.linspace(0, count - 1, most).round().astype(np.intp)
