"""Kernels compiled as anybody compiles them with Numba: by names that its manual documents, and much more slowly.

Here a kernel is optimised again in each kernel that calls it, and every process compiles its kernels again. Numba's own
cache is not used: it does not notice that a kernel which another one calls has changed, two processes that write it at
the same time can mix up types, and it unpickles whatever its folder holds.
"""

from __future__ import annotations

from typing import Any

import numba
from llvmlite import ir
from numba import types
from numba.extending import intrinsic

VALUE_KERNEL = types.UniTuple(types.int64, 2)(*[types.int64] * 6)
"""The type of kernels that are called by address: six numbers -> two."""

_TWO = ir.ArrayType(ir.IntType(64), 2)
_C_FORM = types.void(types.int64, *VALUE_KERNEL.args)
"""A ``VALUE_KERNEL`` for the calling convention of C, which knows no tuples: it gets the address of its two results."""

_by_address: dict[Any, Any] = {}


def kernel(function: Any) -> Any:
    """See ``compiling``."""
    return numba.njit(nogil=True, error_model="numpy")(function)


def address_of(value_kernel: Any) -> int:
    """See ``compiling``."""
    if value_kernel not in _by_address:

        def in_c_form(results, a, b, c, d, e, f):
            _put_two(results, value_kernel(a, b, c, d, e, f))

        _by_address[value_kernel] = numba.cfunc(_C_FORM, error_model="numpy")(in_c_form)
    return _by_address[value_kernel].address


@intrinsic
def _put_two_(typingctx, address, values):
    def codegen(context, builder, sig, args):
        target = builder.inttoptr(args[0], _TWO.as_pointer())
        for k in range(2):
            builder.store(builder.extract_value(args[1], k), _item(builder, target, k))
        return context.get_dummy_value()

    return types.void(types.int64, VALUE_KERNEL.return_type), codegen


@intrinsic
def _call_at(typingctx, address, a, b, c, d, e, f):
    def codegen(context, builder, sig, args):
        with builder.goto_entry_block():  # a loop must not take new room on the stack for each call
            results = builder.alloca(_TWO)
        number = ir.IntType(64)
        form = ir.FunctionType(ir.VoidType(), [number] * 7)
        callee = builder.inttoptr(args[0], form.as_pointer())
        builder.call(callee, [builder.ptrtoint(results, number), *args[1:]])
        found = [builder.load(_item(builder, results, k)) for k in range(2)]
        return context.make_tuple(builder, sig.return_type, found)

    return VALUE_KERNEL.return_type(types.int64, *VALUE_KERNEL.args), codegen


def _item(builder: Any, target: Any, k: int) -> Any:
    return builder.gep(target, [ir.IntType(32)(0), ir.IntType(32)(k)])


_put_two: Any = _put_two_  # the caller does not give the typing context
call_at: Any = _call_at
