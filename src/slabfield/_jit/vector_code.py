"""Types and LLVM instructions of the functions on short vectors in compiled code."""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Any

from llvmlite import ir as _ir
from numba import extending as _extending
from numba import types as _types
from numba.core import cgutils as _cgutils
from numba.core import imputils as _imputils
from numba.core.datamodel import models as _models
from numba.core.typing import templates as _templates

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

# numba and llvmlite are used untyped: their stubs lack the internals used here
ir: Any = _ir
types: Any = _types
cgutils: Any = _cgutils
extending: Any = _extending
lower_builtin: Any = _imputils.lower_builtin
infer_global: Any = _templates.infer_global
AbstractTemplate: Any = _templates.AbstractTemplate
PrimitiveModel: Any = _models.PrimitiveModel


class Vector(types.Type):  # type: ignore[misc]
    """Type of a vector in compiled code; its width is a power of two."""

    def __init__(self, dtype: Any, width: int) -> None:
        self.dtype, self.width = dtype, width
        super().__init__(name=f"Vector({dtype}, {width})")


@extending.register_model(Vector)
class _VectorModel(PrimitiveModel):  # type: ignore[misc]
    def __init__(self, manager: Any, kind: Vector) -> None:
        bit = kind.dtype == types.boolean
        element = ir.IntType(1) if bit else manager.lookup(kind.dtype).get_value_type()
        super().__init__(manager, kind, ir.VectorType(element, kind.width))


def _number(value: int) -> Any:
    return ir.Constant(ir.IntType(32), value)


def _shuffled(builder: Any, vector: Any, indices: list[int]) -> Any:
    """Elements of a vector at the given indices."""
    mask = ir.Constant(ir.VectorType(ir.IntType(32), len(indices)), indices)
    return builder.shuffle_vector(vector, ir.Constant(vector.type, ir.Undefined), mask)


def _full(builder: Any, value: Any, width: int) -> Any:
    undefined = ir.Constant(ir.VectorType(value.type, width), ir.Undefined)
    return _shuffled(builder, builder.insert_element(undefined, value, _number(0)), [0] * width)


def _widened(builder: Any, signature: Any, arguments: Any) -> list[Any]:
    """Arguments with numbers broadcast to vectors if any argument is a vector."""
    widths = {kind.width for kind in signature.args if isinstance(kind, Vector)}
    if not widths:
        return list(arguments)
    (width,) = widths
    return [
        value if isinstance(kind, Vector) else _full(builder, value, width)
        for value, kind in zip(arguments, signature.args, strict=True)
    ]


_OPERANDS = ((Vector, Vector), (Vector, types.Float), (types.Float, Vector))


def _compile_as(
    function: Any,
    infer: Callable[..., Any],
    build: Callable[..., Any],
    operands: tuple[tuple[Any, ...], ...] = ((types.VarArg(types.Any),),),
) -> None:
    """Register the compiled version of a function: its signature, and the code of a call."""

    class Template(AbstractTemplate):  # type: ignore[misc]
        key = function
        prefer_literal = True

        def generic(self, arguments: Any, keywords: Any) -> Any:
            return None if keywords else infer(*arguments)

    infer_global(function)(Template)
    for kinds in operands:
        lower_builtin(function, *kinds)(build)


def _common(kinds: tuple[Any, ...]) -> Any:
    """Common type of numbers and vectors; None unless all vectors have the same type."""
    vectors = {kind for kind in kinds if isinstance(kind, Vector)}
    numbers = [kind for kind in kinds if isinstance(kind, types.Float | types.Integer)]
    if len(vectors) + len(numbers) == 0 or len(vectors) > 1:
        return None
    if len(numbers) + sum(isinstance(kind, Vector) for kind in kinds) < len(kinds):
        return None
    if vectors:
        return vectors.pop()
    return max((kind for kind in numbers if isinstance(kind, types.Float)), default=None,
               key=lambda kind: kind.bitwidth)  # fmt: skip


def _taking(result: Any, common: Any, kinds: tuple[Any, ...]) -> Any:
    dtype = common.dtype if isinstance(common, Vector) else common
    return result(*(kind if isinstance(kind, Vector) else dtype for kind in kinds))


def _infer_arithmetic(*kinds: Any) -> Any:
    common = _common(kinds)
    return _taking(common, common, kinds) if isinstance(common, Vector) else None


def _infer_comparison(*kinds: Any) -> Any:
    common = _common(kinds)
    if not isinstance(common, Vector):
        return None
    return _taking(Vector(types.boolean, common.width), common, kinds)


def _operator(combine: Callable[[Any, Any, Any], Any]) -> Callable[..., Any]:
    def build(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        del context
        return combine(builder, *_widened(builder, signature, arguments))

    return build


def _comparison(symbol: str) -> Callable[..., Any]:
    def build(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        del context
        return builder.fcmp_ordered(symbol, *_widened(builder, signature, arguments))

    return build


def _infer_load(array: Any, start: Any, width: Any) -> Any:
    del start
    if not isinstance(array, types.Array) or array.layout != "C" or array.ndim != 1:
        return None
    dtype = types.float64 if isinstance(array.dtype, types.Integer) else array.dtype
    return Vector(dtype, width.literal_value)(array, types.intp, width)


def _pointer(context: Any, builder: Any, signature: Any, arguments: Any, vector: Any) -> Any:
    array = context.make_array(signature.args[0])(context, builder, arguments[0])
    address = builder.gep(array.data, [arguments[1]])
    return builder.bitcast(address, context.get_value_type(vector).as_pointer())


def _build_load(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
    vector, held = signature.return_type, signature.args[0].dtype
    pointer = _pointer(context, builder, signature, arguments, Vector(held, vector.width))
    numbers = builder.load(pointer, align=held.bitwidth // 8)
    if held == vector.dtype:
        return numbers
    convert = builder.sitofp if held.signed else builder.uitofp
    return convert(numbers, context.get_value_type(vector))


def _infer_store(array: Any, start: Any, vector: Any) -> Any:
    del start
    if not isinstance(array, types.Array) or array.layout != "C" or array.ndim != 1:
        return None
    wider = (vector.dtype, array.dtype) == (types.float32, types.float64)
    if vector.dtype != array.dtype and not wider:
        return None
    return types.none(array, types.intp, vector)


def _build_store(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
    dtype, vector, numbers = signature.args[0].dtype, signature.args[2], arguments[2]
    held = Vector(dtype, vector.width)
    if vector.dtype != dtype:
        numbers = builder.fpext(numbers, context.get_value_type(held))
    pointer = _pointer(context, builder, signature, arguments, held)
    builder.store(numbers, pointer, align=dtype.bitwidth // 8)
    return context.get_dummy_value()


def _infer_full(value: Any, width: Any) -> Any:
    value = types.unliteral(value)
    return Vector(value, width.literal_value)(value, width)


def _build_full(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
    del context
    return _full(builder, arguments[0], signature.return_type.width)


def _infer_where(condition: Any, yes: Any, no: Any) -> Any:
    common = _common((yes, no))
    if not isinstance(common, Vector) or condition != Vector(types.boolean, common.width):
        return None
    return _taking(common, common, (condition, yes, no))


def _build_where(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
    del context
    return builder.select(*_widened(builder, signature, arguments))


def _maximum(builder: Any, one: Any, other: Any) -> Any:
    return builder.select(builder.fcmp_ordered(">", one, other), one, other)


def _build_maximum(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
    del context
    return _maximum(builder, *_widened(builder, signature, arguments))


def _infer_multiply_add(*kinds: Any) -> Any:
    common = _common(kinds)
    return None if common is None else _taking(common, common, kinds)


def _multiply_add(builder: Any, one: Any, other: Any, added: Any) -> Any:
    """Instructions of one * other + added, fused if the processor has the instruction."""
    kind = one.type
    vector = isinstance(kind, ir.VectorType)
    element = kind.element if vector else kind
    bits = "f64" if element == ir.DoubleType() else "f32"
    name = f"llvm.fmuladd.v{kind.count}{bits}" if vector else f"llvm.fmuladd.{bits}"
    function = cgutils.get_or_insert_function(
        builder.module, ir.FunctionType(kind, [kind] * 3), name
    )
    return builder.call(function, [one, other, added])


def _build_multiply_add(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
    del context
    return _multiply_add(builder, *_widened(builder, signature, arguments))


def _infer_polynomial(x: Any, coefficients: Any) -> Any:
    dtype = x.dtype if isinstance(x, Vector) else x
    if not isinstance(coefficients, types.UniTuple):
        return None
    return x(x, types.UniTuple(dtype, coefficients.count))


def _build_polynomial(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
    del context
    x, held = arguments
    kind = signature.args[0]
    numbers = [builder.extract_value(held, k) for k in range(signature.args[1].count)]
    if isinstance(kind, Vector):
        numbers = [_full(builder, number, kind.width) for number in numbers]
    value = numbers.pop()
    while numbers:
        value = _multiply_add(builder, value, x, numbers.pop())
    return value


Combine = Callable[[Any, Any, Any], Any]


def _fold(builder: Any, vector: Any, width: int, combine: Combine) -> Any:
    while vector.type.count > width:
        half = vector.type.count // 2
        parts = list(range(half)), list(range(half, 2 * half))
        vector = combine(builder, *(_shuffled(builder, vector, part) for part in parts))
    return vector


def _infer_fold(vector: Any, width: Any) -> Any:
    if not isinstance(vector, Vector):
        return None
    return Vector(vector.dtype, width.literal_value)(vector, width)


def _build_fold(combine: Combine) -> Callable[..., Any]:
    def build(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        del context
        return _fold(builder, arguments[0], signature.return_type.width, combine)

    return build


def _infer_reduce(vector: Any) -> Any:
    return vector.dtype(vector) if isinstance(vector, Vector) else None


def _build_reduce(combine: Combine) -> Callable[..., Any]:
    def build(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        del context, signature
        return builder.extract_element(_fold(builder, arguments[0], 1, combine), _number(0))

    return build


def _add(builder: Any, low: Any, high: Any) -> Any:
    whole = isinstance(low.type.element, ir.IntType)
    return builder.add(low, high) if whole else builder.fadd(low, high)


def _multiply(builder: Any, low: Any, high: Any) -> Any:
    return builder.fmul(low, high)


EXPONENT_BITS, MANTISSA_MASK, ONE_BITS = 52, (1 << 52) - 1, 1023 << 52


def _bits(builder: Any, vector: Any) -> tuple[Any, Callable[[int], Any]]:
    """Return a vector viewed as 64-bit integers, and a function that broadcasts an integer."""
    kind = ir.VectorType(ir.IntType(64), vector.type.count)
    return builder.bitcast(vector, kind), lambda value: ir.Constant(
        kind, [value] * vector.type.count
    )


def _infer_exponents(vector: Any) -> Any:
    good = isinstance(vector, Vector) and vector.dtype == types.float64
    return Vector(types.int64, vector.width)(vector) if good else None


def _build_exponents(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
    del context, signature
    bits, constant = _bits(builder, arguments[0])
    return builder.sub(builder.lshr(bits, constant(EXPONENT_BITS)), constant(1023))


def _infer_mantissas(vector: Any) -> Any:
    good = isinstance(vector, Vector) and vector.dtype == types.float64
    return vector(vector) if good else None


def _build_mantissas(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
    del context, signature
    bits, constant = _bits(builder, arguments[0])
    kept = builder.or_(builder.and_(bits, constant(MANTISSA_MASK)), constant(ONE_BITS))
    return builder.bitcast(kept, arguments[0].type)


for _functions, _combine in (
    ((operator.add, operator.iadd), _add),
    ((operator.sub, operator.isub), lambda builder, one, other: builder.fsub(one, other)),
    ((operator.mul, operator.imul), _multiply),
    ((operator.truediv, operator.itruediv), lambda builder, one, other: builder.fdiv(one, other)),
):
    for _function in _functions:
        _compile_as(_function, _infer_arithmetic, _operator(_combine), _OPERANDS)
for _function, _symbol in ((operator.lt, "<"), (operator.gt, ">"), (operator.ge, ">=")):
    _compile_as(_function, _infer_comparison, _comparison(_symbol), _OPERANDS)
_compile_as(load, _infer_load, _build_load)
_compile_as(store, _infer_store, _build_store)
_compile_as(full, _infer_full, _build_full)
_compile_as(where, _infer_where, _build_where)
_compile_as(maximum, _infer_arithmetic, _build_maximum)
_compile_as(multiply_add, _infer_multiply_add, _build_multiply_add)
_compile_as(polynomial, _infer_polynomial, _build_polynomial)
_compile_as(exponents, _infer_exponents, _build_exponents)
_compile_as(mantissas, _infer_mantissas, _build_mantissas)
_compile_as(fold_add, _infer_fold, _build_fold(_add))
_compile_as(fold_multiply, _infer_fold, _build_fold(_multiply))
_compile_as(reduce_add, _infer_reduce, _build_reduce(_add))
_compile_as(reduce_multiply, _infer_reduce, _build_reduce(_multiply))
_compile_as(reduce_max, _infer_reduce, _build_reduce(_maximum))
