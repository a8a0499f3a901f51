"""How kernels touch memory: unaligned little-endian access, memcpy.

``load_*`` takes an array and an offset. ``peek_*``, ``poke_*`` and ``copy_at`` take an address: an
array that is passed from kernel to kernel costs more than the value that is read from it, and a tuple of arrays costs
many times more. ``addresses`` turns a named tuple of arrays into one of their addresses; the caller of a kernel keeps
the arrays alive.

A kernel is a plain Python function over numbers, addresses and NumPy arrays (``compiling``). With
``NUMBA_DISABLE_JIT=1`` the same functions run interpreted, for debugging; the loads and stores then use the
plain definitions below.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable

import numpy as np
import pyarrow as pa
from llvmlite import ir
from numba import types
from numba.extending import intrinsic

from mirrorlake.core.kernels.compiling import JIT_DISABLED, kernel


def _pointer(context, builder, signature, args, index):
    array = context.make_array(signature.args[index])(context, builder, args[index])
    return builder.gep(array.data, [args[index + 1]])


def _peek_intrinsic(bits: int):
    @intrinsic
    def peek(typingctx, address):
        def codegen(context, builder, sig, args):
            return builder.load(builder.inttoptr(args[0], ir.IntType(bits).as_pointer()), align=1)

        return getattr(types, f"uint{bits}")(types.int64), codegen

    return peek


def _poke_intrinsic(bits: int):
    @intrinsic
    def poke(typingctx, address, value):
        def codegen(context, builder, sig, args):
            builder.store(args[1], builder.inttoptr(args[0], ir.IntType(bits).as_pointer()), align=1)
            return context.get_dummy_value()

        return types.void(types.int64, getattr(types, f"uint{bits}")), codegen

    return poke


def _load_intrinsic(bits: int):
    @intrinsic
    def load(typingctx, buf, offset):
        signature = getattr(types, f"uint{bits}")(buf, types.int64)

        def codegen(context, builder, sig, args):
            pointer = _pointer(context, builder, sig, args, 0)
            return builder.load(builder.bitcast(pointer, ir.IntType(bits).as_pointer()), align=1)

        return signature, codegen

    return load


def _copy_intrinsic(name: str):
    @intrinsic
    def copy(typingctx, target, source, n_bytes):
        def codegen(context, builder, sig, args):
            byte_pointer = ir.IntType(8).as_pointer()
            of_llvm = builder.module.declare_intrinsic(name, [byte_pointer, byte_pointer, ir.IntType(64)])
            to, origin = (builder.inttoptr(address, byte_pointer) for address in args[:2])
            builder.call(of_llvm, [to, origin, args[2], ir.Constant(ir.IntType(1), 0)])
            return context.get_dummy_value()

        return types.void(types.int64, types.int64, types.int64), codegen

    return copy


@intrinsic
def _memcpy(typingctx, target, target_offset, source, source_offset, n_bytes):
    signature = types.void(target, types.int64, source, types.int64, types.int64)

    def codegen(context, builder, sig, args):
        to = _pointer(context, builder, sig, args, 0)
        origin = _pointer(context, builder, sig, args, 2)
        byte_pointer = ir.IntType(8).as_pointer()
        memcpy = builder.module.declare_intrinsic("llvm.memcpy", [byte_pointer, byte_pointer, ir.IntType(64)])
        builder.call(
            memcpy,
            [
                builder.bitcast(to, byte_pointer),
                builder.bitcast(origin, byte_pointer),
                args[4],
                ir.Constant(ir.IntType(1), 0),
            ],
        )
        return context.get_dummy_value()

    return signature, codegen


def _plain_load(width: int, dtype):
    def load(buf, offset):
        return dtype(int.from_bytes(bytes(buf[offset : offset + width]), "little"))

    return load


def _plain_peek(width: int, dtype):
    def peek(address):
        return dtype(int.from_bytes(ctypes.string_at(int(address), width), "little"))

    return peek


def _plain_poke(width: int):
    def poke(address, value):
        ctypes.memmove(int(address), (int(value) % 256**width).to_bytes(width, "little"), width)

    return poke


def _plain_copy_at(target, source, n_bytes):
    ctypes.memmove(int(target), int(source), int(n_bytes))


def _plain_copy(target, target_offset, source, source_offset, n_bytes):
    target[target_offset : target_offset + n_bytes] = source[source_offset : source_offset + n_bytes]


copy_bytes: Callable
copy_at: Callable
move_at: Callable
"""As ``copy_at``; source and target may overlap."""
if JIT_DISABLED:
    load_u8, load_u16 = _plain_load(1, np.uint8), _plain_load(2, np.uint16)
    load_u32, load_u64 = _plain_load(4, np.uint32), _plain_load(8, np.uint64)
    peek_u8, peek_u16 = _plain_peek(1, np.uint8), _plain_peek(2, np.uint16)
    peek_u32, peek_u64 = _plain_peek(4, np.uint32), _plain_peek(8, np.uint64)
    poke_u8, poke_u16, poke_u32, poke_u64 = (_plain_poke(width) for width in (1, 2, 4, 8))
    copy_bytes, copy_at, move_at = _plain_copy, _plain_copy_at, _plain_copy_at
else:
    load_u8, load_u16, load_u32, load_u64 = (_load_intrinsic(bits) for bits in (8, 16, 32, 64))
    peek_u8, peek_u16, peek_u32, peek_u64 = (_peek_intrinsic(bits) for bits in (8, 16, 32, 64))
    poke_u8, poke_u16, poke_u32, poke_u64 = (_poke_intrinsic(bits) for bits in (8, 16, 32, 64))
    copy_bytes, copy_at, move_at = _memcpy, _copy_intrinsic("llvm.memcpy"), _copy_intrinsic("llvm.memmove")


def reusable_bytes(n_bytes: int) -> np.ndarray:
    """Uninitialised uint8[n_bytes] from Arrow's pool, which reuses freed buffers. NumPy takes pages from the system
    each time, which must be cleared: decoding then takes a tenth more time."""
    return np.frombuffer(pa.allocate_buffer(n_bytes), np.uint8)


def addresses(arrays):
    """Return the named tuple with the address of each array's first byte instead of the array."""
    return type(arrays)(*(np.int64(array.ctypes.data) for array in arrays))


@kernel
def item_i64(array, k):
    """Element k of the int64 array at an address."""
    return np.int64(peek_u64(array + 8 * k))


@kernel
def item_u32(array, k):
    """Element k of the uint32 array at an address."""
    return peek_u32(array + 4 * k)


@kernel
def are_equal(a, b, n_bytes):
    """Are the bytes at two addresses the same?"""
    k = np.int64(0)
    while k + 8 <= n_bytes:
        if peek_u64(a + k) != peek_u64(b + k):
            return False
        k += 8
    while k < n_bytes:
        if peek_u8(a + k) != peek_u8(b + k):
            return False
        k += 1
    return True


@kernel
def gather_bytes(buf, offset, length, out):
    """Copy ``buf[offset[i] : offset[i] + length[i]]`` to ``out``, back to back."""
    p = np.int64(0)
    for i in range(offset.shape[0]):
        copy_bytes(out, p, buf, offset[i], length[i])
        p += length[i]
