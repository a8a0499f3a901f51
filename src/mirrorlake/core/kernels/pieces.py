"""Kernels compiled as pieces: each kernel once, as a part of what Python calls, and only what is used.

Numba alone optimises a kernel together with all kernels that it calls, and then again in each kernel that calls it.
Here a kernel that another one calls stays unchanged, and is optimised with the one that Python calls, as one piece. A
kernel that few logs need is called by its address (``address_of``, ``call_at``): a separate piece, compiled on request.
The pieces are cached on disk (``cache.py``), where a folder can be written.

Numba documents ``pipeline_class`` and the passes (developer manual, "Customizing the Compiler"); the libraries are its
inner part, so setup.py names the versions that were tried. Where one of their names is gone, ``compiling`` takes
``plain.py`` instead.
"""

from __future__ import annotations

import functools
import gc
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from numba import _dynfunc  # type: ignore[attr-defined]
from numba.core import registry, typed_passes, types, untyped_passes
from numba.core.codegen import JITCodeLibrary
from numba.core.compiler import CompilerBase
from numba.core.compiler_machinery import PassManager, register_pass
from numba.extending import intrinsic

from mirrorlake.core.kernels.cache import AddressCache, KernelCache, cache_of
from mirrorlake.core.kernels.plain import VALUE_KERNEL

_OPTIONS: dict[str, Any] = {
    "nopython": True, "nogil": True, "boundscheck": False, "error_model": "numpy", "no_cfunc_wrapper": True,
    "_nrt": False,  # kernels make no arrays: nothing counts references
}  # fmt: skip
_NOT_FOR_PYTHON = {"no_cpython_wrapper": True}


@contextmanager
def _no_garbage_collection() -> Iterator[None]:
    """Switch garbage collection off: compilation frees little, and repeated searches for cycles take a tenth of the
    time."""
    was_enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_enabled:
            gc.enable()


class _TypingContext:
    """Caches types, because Numba's context resolves each call and operator again among many implementations."""

    _found: dict[tuple, Any] = {}

    def __init__(self, context: Any) -> None:
        self._context = context

    def __getattr__(self, name: str) -> Any:
        return getattr(self._context, name)

    def resolve_function_type(self, function: Any, args: Any, keywords: Any) -> Any:
        key = function, tuple(args), tuple(keywords.items())
        if key not in self._found:
            self._found[key] = self._context.resolve_function_type(function, args, keywords)
        return self._found[key]


class _Library(JITCodeLibrary):
    def _optimize_functions(self, ll_module: Any) -> None:
        ll_module.data_layout = self._codegen._data_layout


class _Part(_Library):
    """A kernel that other kernels call: it is neither optimised nor made machine code separately."""

    def finalize(self) -> None:
        self._finalized = True


class _Piece(_Library):
    """A kernel with all that it calls, optimised once."""

    def finalize(self) -> None:
        self._linking_libraries = _with_parts(self._linking_libraries)
        super().finalize()


def _with_parts(libraries: list) -> list:
    """The libraries, and those that the kernels among them call."""
    found: dict[JITCodeLibrary, None] = {}
    waiting = list(libraries)
    while waiting:
        library = waiting.pop()
        if library not in found:
            found[library] = None
            waiting += library._linking_libraries if isinstance(library, _Part) else []
    return list(found)


@register_pass(mutates_CFG=False, analysis_only=False)
class _LowerPart(typed_passes.NativeLowering):
    _name = "lower_part"

    def run_pass(self, state: Any) -> bool:
        state.library = _Part(state.targetctx.codegen(), state.func_id.func_qualname)
        state.flags.no_compile = True
        super().run_pass(state)
        result = state["cr"]
        key = _dynfunc.make_function(result.fndesc.lookup_module(), result.fndesc.qualname, "", 0, result.env, ())
        state.targetctx.insert_user_function(key, result.fndesc, [state.library])
        state["cr"] = result._replace(cfunc=key)
        return True


@register_pass(mutates_CFG=False, analysis_only=False)
class _LowerPiece(typed_passes.NativeLowering):
    _name = "lower_piece"

    def run_pass(self, state: Any) -> bool:
        state.library = _Piece(state.targetctx.codegen(), state.func_id.func_qualname)
        state.library.enable_object_caching()
        return super().run_pass(state)


class _PartCompiler(CompilerBase):
    """The passes of Numba that kernels need."""

    lowering: type = _LowerPart

    def __init__(self, typing_context: Any, *others: Any) -> None:
        super().__init__(_TypingContext(typing_context), *others)

    def define_pipelines(self) -> list[PassManager]:
        passes = PassManager("kernel")
        for step in (
            untyped_passes.TranslateByteCode, untyped_passes.FixupArgs, untyped_passes.IRProcessing,
            untyped_passes.GenericRewrites, untyped_passes.ReconstructSSA, typed_passes.NopythonTypeInference,
            typed_passes.PreLowerStripPhis, typed_passes.IRLegalization, self.lowering, typed_passes.NoPythonBackend,
        ):  # fmt: skip
            passes.add_pass(step, step.__name__)
        passes.finalize()
        return [passes]


class _PieceCompiler(_PartCompiler):
    lowering = _LowerPiece


class _PartDispatcher(registry.CPUDispatcher):
    """Compiles one form for each type of a kernel's arguments, and no extra one for each constant."""

    def get_call_template(self, args: Any, kws: Any) -> Any:
        return super().get_call_template([types.unliteral(kind) for kind in args], kws)


class _PieceDispatcher(registry.CPUDispatcher):
    def compile(self, sig: Any) -> Any:
        with _no_garbage_collection():
            return super().compile(sig)


def _piece(function: Any, options: dict[str, Any], cache_kind: type[KernelCache]) -> Any:
    piece: Any = _PieceDispatcher(function, targetoptions=options, pipeline_class=_PieceCompiler)
    cache = cache_of(function, cache_kind)
    if cache is not None:
        piece._cache = cache
    return piece


class Kernel:
    """A function that kernels call and Python may call."""

    def __init__(self, function: Any) -> None:
        functools.update_wrapper(self, function)
        self._function = function
        self._part = _PartDispatcher(function, targetoptions=_OPTIONS | _NOT_FOR_PYTHON, pipeline_class=_PartCompiler)
        self._numba_type_ = self._part._numba_type_  # by which Numba knows what a kernel calls

    def __call__(self, *args: Any) -> Any:
        return self._piece(*args)

    @functools.cached_property
    def _piece(self) -> Any:
        return _piece(self._function, _OPTIONS, KernelCache)

    @functools.cached_property
    def _piece_by_address(self) -> Any:
        return _piece(self._function, _OPTIONS | _NOT_FOR_PYTHON, AddressCache)

    @functools.cached_property
    def address(self) -> int:
        """Address of the machine code of a ``VALUE_KERNEL``."""
        self._piece_by_address.compile(VALUE_KERNEL)
        done = self._piece_by_address.overloads[VALUE_KERNEL.args]
        return done.library.get_pointer_to_function(done.fndesc.llvm_func_name)


def kernel(function: Any) -> Kernel:
    """See ``compiling``."""
    return Kernel(function)


def address_of(value_kernel: Kernel) -> int:
    """See ``compiling``."""
    return value_kernel.address


@intrinsic
def _call_at(typingctx, address, a, b, c, d, e, f):
    """Call the ``VALUE_KERNEL`` at an address."""

    def codegen(context, builder, sig, args):
        convention, result, kinds = context.call_conv, VALUE_KERNEL.return_type, VALUE_KERNEL.args
        callee = builder.inttoptr(args[0], convention.get_function_type(result, kinds).as_pointer())
        return convention.call_function(builder, callee, result, kinds, args[1:])[1]

    return VALUE_KERNEL.return_type(types.int64, *VALUE_KERNEL.args), codegen


call_at: Any = _call_at  # the caller does not give the typing context


def try_out() -> None:
    """Compile a kernel that calls another one, by its name and by its address, and call it. Raises whatever a Numba of
    other inner parts raises; RuntimeError for another result."""
    found = _doubled_and_swapped(_swapped.address, 1, 2)
    if found != (4, 2):
        raise RuntimeError(f"a kernel for trial gave {found}")


@kernel
def _doubled(number):
    return 2 * number


@kernel
def _swapped(a, b, c, d, e, f):
    return b, a


@kernel
def _doubled_and_swapped(address, a, b):
    return call_at(address, _doubled(a), _doubled(b), 0, 0, 0, 0)
