from linkwright.program.derivatives.api import (
    Sparsity as Sparsity,
    derivative as derivative,
    hessian_vector as hessian_vector,
    jacobian_vector as jacobian_vector,
    sparsity as sparsity,
    vector_jacobian as vector_jacobian,
)
