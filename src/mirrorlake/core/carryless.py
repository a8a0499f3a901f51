"""Blocks of 128 bits and their carry-less product, one instruction of a processor: what a CRC is folded with.

Kernels hold a block as a value of its own type (``Block``), which LLVM keeps in a register. Python never sees one.
"""

from __future__ import annotations

import os
from contextlib import suppress
from typing import Any

from llvmlite import binding, ir
from numba import types
from numba.core import cgutils
from numba.extending import intrinsic as _intrinsic
from numba.extending import models, register_model

from mirrorlake.core.compiling import JIT_DISABLED

intrinsic: Any = _intrinsic  # the caller does not give the typing context

_I8, _I32, _I64, _I128 = (ir.IntType(bits) for bits in (8, 32, 64, 128))
_WORDS = ir.VectorType(_I64, 2)
_LOW_BY_LOW, _HIGH_BY_HIGH = ir.Constant(_I8, 0x00), ir.Constant(_I8, 0x11)


def _is_available() -> bool:
    """Numba compiles for the processor that it runs on, unless it is told of another one."""
    told = {"NUMBA_CPU_NAME", "NUMBA_CPU_FEATURES"} & os.environ.keys()
    if JIT_DISABLED or told:
        return False
    with suppress(RuntimeError):  # LLVM does not know the processor
        return binding.get_host_cpu_features().get("pclmul", False)
    return False


IS_AVAILABLE = _is_available()
"""x86 has the instruction (PCLMULQDQ) since 2010; elsewhere none of the following may be called."""


class _Block(types.Type):
    """Two words of 64 bits, the first one the lower."""

    def __init__(self):
        super().__init__(name="Block")


Block = _Block()


@register_model(_Block)
class _BlockModel(models.PrimitiveModel):
    def __init__(self, manager, kind):
        super().__init__(manager, kind, _WORDS)


@intrinsic
def peek_block(typingctx, address):
    """The 16 bytes at an address, little-endian."""

    def codegen(context, builder, sig, args):
        return builder.load(builder.inttoptr(args[0], _WORDS.as_pointer()), align=1)

    return Block(types.int64), codegen


@intrinsic
def block_of(typingctx, low, high):
    """Of two words."""

    def codegen(context, builder, sig, args):
        block = ir.Constant(_WORDS, ir.Undefined)
        for k, word in enumerate(args):
            block = builder.insert_element(block, word, ir.Constant(_I32, k))
        return block

    return Block(types.uint64, types.uint64), codegen


@intrinsic
def block_xor(typingctx, block, other):
    def codegen(context, builder, sig, args):
        return builder.xor(*args)

    return Block(Block, Block), codegen


@intrinsic
def block_word(typingctx, block, k):
    """Word k (0 or 1) of a block."""

    def codegen(context, builder, sig, args):
        return builder.extract_element(args[0], builder.trunc(args[1], _I32))

    return types.uint64(Block, types.int64), codegen


def _shift_intrinsic(instruction: str):
    @intrinsic
    def shift(typingctx, block, n_bytes):
        def codegen(context, builder, sig, args):
            n_bits = builder.zext(builder.shl(args[1], ir.Constant(_I64, 3)), _I128)
            return builder.bitcast(getattr(builder, instruction)(builder.bitcast(args[0], _I128), n_bits), _WORDS)

        return Block(Block, types.int64), codegen

    return shift


block_up, block_down = _shift_intrinsic("shl"), _shift_intrinsic("lshr")
"""A block with each byte n_bytes (0 to 15) places higher or lower, and zeros behind them."""


@intrinsic
def carryless_products(typingctx, block, factors):
    """low word * low word ^ high word * high word, without carries."""

    def codegen(context, builder, sig, args):
        kind = ir.FunctionType(_WORDS, [_WORDS, _WORDS, _I8])
        multiply = cgutils.get_or_insert_function(builder.module, kind, "llvm.x86.pclmulqdq")
        return builder.xor(*(builder.call(multiply, [*args, which]) for which in (_LOW_BY_LOW, _HIGH_BY_HIGH)))

    return Block(Block, Block), codegen
