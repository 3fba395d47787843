"""Derivatives of Programs, as Programs: see `linkwright.program.derivatives.api`."""

from linkwright.program.derivatives.api import (
    Sparsity,
    derivative,
    hessian_vector,
    jacobian_vector,
    sparsity,
    vector_jacobian,
)

__all__ = [
    "Sparsity",
    "derivative",
    "hessian_vector",
    "jacobian_vector",
    "sparsity",
    "vector_jacobian",
]
