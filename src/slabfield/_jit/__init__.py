"""The only package that imports numba: compilation, and short vectors for compiled loops."""

from slabfield._jit import vector_code as vector_code
from slabfield._jit.compiler import (
    CACHE_FOLDER,
    COMPILED,
    count_bits,
    generic,
    inner,
    jit,
    numba,
    optional,
)
from slabfield._jit.vectors import (
    exponents,
    fold_add,
    fold_multiply,
    full,
    load,
    mantissas,
    maximum,
    multiply_add,
    polynomial,
    reduce_add,
    reduce_max,
    reduce_multiply,
    store,
    where,
)

__all__ = [
    "CACHE_FOLDER",
    "COMPILED",
    "count_bits",
    "exponents",
    "fold_add",
    "fold_multiply",
    "full",
    "generic",
    "inner",
    "jit",
    "load",
    "mantissas",
    "maximum",
    "multiply_add",
    "numba",
    "optional",
    "polynomial",
    "reduce_add",
    "reduce_max",
    "reduce_multiply",
    "store",
    "where",
]
