"""Singular curves and proofs: the truss mount, and two mounts proven down to the horizon."""

from __future__ import annotations

import math
import time

import numpy as np

from bench.measure import Row
from linkwright.parallel import prove_regular, singular_loci
from tests.support.closed_loop_machines import truss_mount

TITLE = "Singular curves and proofs"


def run() -> list[Row]:
    """Return the rows of the table."""
    started = time.process_time()
    (curve,) = singular_loci(truss_mount(0.98), "type 2", {"zenith": (0, math.pi / 2)})
    took = time.process_time() - started
    d = curve.at_zenith(math.pi / 2)
    ends = np.sort(np.degrees(np.arctan2(d[:, 1], d[:, 0])) % 360)
    told = f"{len(curve.q)} points; on the horizon at {ends[0]:.9f} and {ends[1]:.9f} degrees"
    rows = [Row("curve of the truss mount, with compiling", took, "s", note=told)]
    for name in ("mount-2-rotary", "mount-prismatic"):
        started = time.process_time()
        proof = prove_regular(name, math.pi / 2, timeout=600.0)
        took = time.process_time() - started if proof.proven else float("inf")
        rows.append(Row(f"{name}, proven to the horizon", took, "s", 60.0, note=proof.words))
    return rows
