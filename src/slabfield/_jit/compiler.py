"""Compilation of functions, their disk cache, and dispatch by type.

Arithmetic is strict: nothing is reordered, and products and sums are fused only where the source
says so (:func:`slabfield._jit.vectors.multiply_add`). The result of a function therefore does not
depend on the functions it was compiled with, nor on the alignment of its arrays.

Compiled code is cached on disk, in a folder named after a hash of the compiled sources, so that an
edited source never runs code compiled from an older version. The environment variable
``SLABFIELD_CACHE`` names another parent folder, or disables the cache with ``off``.

To compile and run faster, callees are optimized only as parts of their callers, which relies on
internals of numba. With ``SLABFIELD_JIT=plain`` in the environment all functions are compiled by
numba's public interface instead: slower, with the same results.
"""

from __future__ import annotations

import functools
import hashlib
import os
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

import numba as _numba
from filelock import FileLock
from numba import extending as _extending
from numba.core import caching as _caching
from numba.core import codegen as _codegen
from numba.core import compiler as _compiler
from numba.core import registry as _registry
from numba.core import typed_passes as _typed_passes
from numba.core.compiler_lock import global_compiler_lock as _global_compiler_lock
from numba.core.compiler_machinery import register_pass as _register_pass

# numba is used untyped: its stubs lack the internals used here
numba: Any = _numba
FunctionCache: Any = _caching.FunctionCache
JITCodeLibrary: Any = _codegen.JITCodeLibrary
CompilerBase: Any = _compiler.CompilerBase
DefaultPassBuilder: Any = _compiler.DefaultPassBuilder
CPUDispatcher: Any = _registry.CPUDispatcher
NativeLowering: Any = _typed_passes.NativeLowering
register_pass: Any = _register_pass
extending: Any = _extending
global_compiler_lock: Any = _global_compiler_lock

Function = TypeVar("Function", bound=Callable[..., Any])


def _user_cache() -> Path:
    if sys.platform == "win32":
        return Path(os.environ.get("LOCALAPPDATA", Path.home() / "AppData" / "Local"))
    if sys.platform == "darwin":
        return Path.home() / "Library" / "Caches"
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")


COMPILED = (
    *("_jit/*.py", "kernels/*.py", "models/*.py", "priors.py"),
    *("likelihood/*.py", "moves/*.py"),
)
"""Sources of compiled code: the modules that import this one, and the modules they import."""


PLAIN = os.environ.get("SLABFIELD_JIT", "") == "plain"


def _source_fingerprint() -> str:
    """Return a hash of the compiled sources and of the versions of numba and Python."""
    digest = hashlib.sha256(f"{numba.__version__} {sys.version} {PLAIN}".encode())
    root = Path(__file__).parents[1]
    for source in sorted({path for pattern in COMPILED for path in root.glob(pattern)}):
        digest.update(source.relative_to(root).as_posix().encode())
        digest.update(source.read_bytes())
    return digest.hexdigest()[:16]


def _cache_folder() -> Path | None:
    """Folder of compiled code, or None if caching is off or the folder is not writable."""
    setting = os.environ.get("SLABFIELD_CACHE", "")
    if setting.lower() in {"off", "0", "no"}:
        return None
    parent = Path(setting) if setting else _user_cache() / "slabfield"
    folder = parent / _source_fingerprint()
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError:
        return None
    return folder if os.access(folder, os.W_OK) else None


CACHE_FOLDER = _cache_folder()
OPTIONS: dict[str, Any] = {"nogil": True, "error_model": "numpy"}


class _LockedCache(FunctionCache):  # type: ignore[misc]
    """numba's disk cache with a lock on writing.

    numba reads its index to number the files of a function's signatures; two processes that do so
    at once could leave an index that points to the wrong code.
    """

    def save_overload(self, sig: Any, data: Any) -> None:
        with FileLock(f"{self.cache_path}.lock"):
            super().save_overload(sig, data)


_owning: set[str] = set()
_optimize: Callable[[Any], None] = JITCodeLibrary._optimize_final_module


def _optimize_owning(library: Any) -> None:
    """Optimize a function that Python calls together with private copies of its callees.

    numba lets compiled functions share their callees, which are then seldom inlined; sampling took
    a tenth more time that way.
    """
    if library.name in _owning:
        for function in library._final_module.functions:
            ours = not function.is_declaration and function.name.startswith("_ZN")
            if ours and function.linkage.name == "linkonce_odr":
                function.linkage = "internal"
                # otherwise a call from Python, looked up by name, might find this copy
                function.name += ".own"
    _optimize(library)


if not PLAIN:
    JITCodeLibrary._optimize_final_module = _optimize_owning


class _CachedDispatcher(CPUDispatcher):  # type: ignore[misc]
    """A function that Python calls. Of several processes, one compiles and the others wait.

    They then find the code in the disk cache. The lock is for one signature, and always taken
    after numba's own, so that threads cannot block each other.
    """

    def compile(self, sig: Any) -> Any:
        signature = hashlib.sha256(str(sig).encode()).hexdigest()[:16]
        path = Path(self._cache.cache_path) / f"{self.py_func.__qualname__}-{signature}.lock"
        with global_compiler_lock, FileLock(path):
            return super().compile(sig)


def _locked(dispatcher: Any) -> Any:
    """Attach the locked disk cache to a compiled function."""
    if CACHE_FOLDER is not None:
        before = numba.config.CACHE_DIR
        numba.config.CACHE_DIR = str(CACHE_FOLDER)
        try:
            dispatcher._cache = _LockedCache(dispatcher.py_func)
            dispatcher.__class__ = _CachedDispatcher
        finally:
            numba.config.CACHE_DIR = before
    return dispatcher


def jit(function: Callable[..., Any]) -> Any:
    """Compile a function that Python calls, cached on disk."""
    _owning.add(function.__qualname__)
    return _locked(numba.njit(**OPTIONS)(function))


class _Part(JITCodeLibrary):  # type: ignore[misc]
    """Code of a callee, which is optimized and finalized only as a part of its callers.

    numba would optimize every callee separately, each time together with its own callees; that was
    two thirds of the compile time.
    """

    def _optimize_final_module(self) -> None:
        pass

    def _finalize_final_module(self) -> None:
        self._finalize_dynamic_globals()
        self._finalized = True


@register_pass(mutates_CFG=True, analysis_only=False)
class _LoweredPart(NativeLowering):  # type: ignore[misc]
    """Lower a function to code that callers link; it has no address that Python could call."""

    _name = "lowered_part"

    def run_pass(self, state: Any) -> Any:
        context = state.targetctx
        state.library = _Part(context.codegen(), state.func_id.func_qualname)
        state.library.enable_object_caching()
        # numba identifies a function by its Python callable: a distinct one that always raises
        context.get_executable = lambda library, described, environment: [].remove
        try:
            return super().run_pass(state)
        finally:
            del context.get_executable


class _PartCompiler(CompilerBase):  # type: ignore[misc]
    """numba's compiler for functions that only compiled code calls."""

    def define_pipelines(self) -> list[Any]:
        self.state.flags.no_cpython_wrapper = True
        self.state.flags.no_cfunc_wrapper = True
        passes = DefaultPassBuilder.define_nopython_pipeline(self.state)
        passes.passes = [
            (_LoweredPart if step is NativeLowering else step, name) for step, name in passes.passes
        ]
        passes.finalize()
        return [passes]


class _PartDispatcher(CPUDispatcher):  # type: ignore[misc]
    """A function that compiled code calls; calls from Python (tests) compile it again."""

    def __call__(self, *arguments: Any) -> Any:
        return _whole(self)(*arguments)


@functools.cache
def _whole(part: Any) -> Any:
    options = {name: value for name, value in part.targetoptions.items() if name != "nopython"}
    return numba.njit(**options)(part.py_func)


def inner(function: Callable[..., Any]) -> Any:
    """Compile a function that only compiled code calls; it has no disk cache of its own."""
    if PLAIN:
        return numba.njit(**OPTIONS)(function)
    dispatcher = numba.njit(pipeline_class=_PartCompiler, **OPTIONS)(function)
    dispatcher.__class__ = _PartDispatcher
    return dispatcher


def generic(stub: Callable[..., Any]) -> Any:
    """Make a generic function, dispatched on the type of its first argument, compiled or not.

    The first argument is a named tuple; ``stub.register(kind)`` adds the implementation for one
    named tuple class, and ``stub.implemented_by(kind)`` says whether there is one. Compiled callers
    bind it at compile time, at no cost at run time.
    """
    return _dispatched(stub, None)


def optional(default: Callable[..., Any]) -> Any:
    """Make a generic function whose own body serves all types without an implementation."""
    return _dispatched(default, default)


def _dispatched(stub: Callable[..., Any], default: Callable[..., Any] | None) -> Any:
    implementations: dict[Any, Callable[..., Any]] = {}

    def implementation(kind: Any) -> Callable[..., Any] | None:
        return implementations.get(kind, default)

    def call(first: Any, *rest: Any) -> Any:
        chosen = implementation(type(first))
        if chosen is None:
            raise TypeError(f"{type(first).__name__} does not implement {stub.__name__}.")
        return chosen(first, *rest)

    def choose(first: Any, *rest: Any) -> Any:
        kind = getattr(first, "instance_class", None)
        chosen = None if kind is None else implementation(kind)
        return None if chosen is None else getattr(chosen, "py_func", chosen)

    def register(kind: type) -> Callable[[Function], Function]:
        def add(function: Function) -> Function:
            implementations[kind] = function
            return function

        return add

    functools.update_wrapper(call, stub)
    call.register = register  # type: ignore[attr-defined]
    call.implemented_by = lambda kind: kind in implementations or default is not None  # type: ignore[attr-defined]
    call.overridden_by = lambda kind: kind in implementations  # type: ignore[attr-defined]
    options = OPTIONS if PLAIN else OPTIONS | {"pipeline_class": _PartCompiler}
    extending.overload(call, strict=False, jit_options=options)(choose)
    return call


def _count_bits(typing_context: Any, word: Any) -> Any:
    """Number of set bits of a 64-bit word (population count instruction)."""
    del typing_context
    signature = numba.types.uint64(numba.types.uint64)

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        del context, signature
        return builder.ctpop(arguments[0])

    return signature, generate


count_bits: Any = extending.intrinsic(_count_bits)
