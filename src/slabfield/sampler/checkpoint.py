"""The state of a run in a folder: written as chains go on, read to go on from there.

``run.npz`` holds the data and what the run was told, and each chain has a file of its own, for a
chain does not depend on the others: it goes on from wherever its file was written. Files hold plain
arrays and JSON, end with a digest, and are put in place in one step.
"""

from __future__ import annotations

import json
import os
import re
import signal
import threading
import warnings
import zipfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from itertools import count
from pathlib import Path
from time import monotonic
from typing import Any

import numpy as np
from numpy.typing import NDArray

from slabfield.checks import InputError, InputWarning
from slabfield.checks.errors import listed, shown_value
from slabfield.files import digest_of, write_atomically

FORMAT = 7
# Seconds between two files of a chain, and the largest share of the time that writing may take
INTERVAL_SECONDS = 10.0
MOST_SHARE = 0.02
SEAL = re.compile(rb"\nslabfield checkpoint format ([0-9]{4}) sha256 ([0-9a-f]{64})\n")
SEAL_LENGTH = 106
HEADER = "run.npz"
OTHER_FOLDER = "or name another folder"
BEGIN_ANEW = "Delete this file, and its chain begins anew, with the same draws"

Arrays = dict[str, NDArray[Any]]


def pack(value: Any, arrays: Arrays, given: Mapping[str, Any], path: str = "") -> Any:
    """Describe a value in what JSON can hold; its arrays go to ``arrays``, by their paths.

    Named tuples are kept by name, an array that is the memory of another as such, random numbers by
    their state, and what is ``given`` to whoever unpacks it by its name there.
    """
    for name, known in given.items():
        if value is known:
            return {"given": name}
    if isinstance(value, np.ndarray):
        for other, array in arrays.items():
            if value.size > 0 and _same_memory(value, array):
                return {"view": other, "type": value.dtype.str, "shape": list(value.shape)}
        if value.dtype.hasobject:
            raise TypeError(f"{path} must be an array of numbers; found objects.")
        arrays[path] = value
        return {"array": path}
    if hasattr(value, "to_numpy"):
        return pack(value.to_numpy().tolist(), arrays, given, path)
    if isinstance(value, np.random.Generator):
        return {"generator": value.bit_generator.state}
    if isinstance(value, dict):
        return {
            "dict": [
                [pack(key, arrays, given), pack(part, arrays, given, f"{path}/{key}".lstrip("/"))]
                for key, part in value.items()
            ]
        }
    if isinstance(value, tuple | list):
        names = getattr(value, "_fields", range(len(value)))
        parts = zip(names, value, strict=True)
        packed = [pack(part, arrays, given, f"{path}/{name}".lstrip("/")) for name, part in parts]
        return {"tuple": packed, "kind": type(value).__name__}
    return {"plain": value.item() if isinstance(value, np.generic) else value}


def _same_memory(one: NDArray[Any], other: NDArray[Any]) -> bool:
    return bool(one.ctypes.data == other.ctypes.data and one.nbytes == other.nbytes)


def unpack(tree: Any, arrays: Arrays, given: Mapping[str, Any], kinds: tuple[type, ...]) -> Any:
    """Return the value that was packed; of named tuples, only the given kinds are known."""
    (how, held), *rest = tree.items()
    if how == "given":
        return given[held]
    if how == "array":
        return arrays[held]
    if how == "view":
        return arrays[held].view(np.dtype(tree["type"])).reshape(tree["shape"])
    if how == "generator":
        rng = np.random.default_rng(0)
        rng.bit_generator.state = held
        return rng
    if how == "dict":
        both = ([unpack(half, arrays, given, kinds) for half in pair] for pair in held)
        return dict(both)
    if how == "tuple":
        parts = [unpack(part, arrays, given, kinds) for part in held]
        plain: dict[str, Any] = {"tuple": tuple, "list": list}
        named = {kind.__name__: kind._make for kind in kinds}  # type: ignore[attr-defined]
        return (plain | named)[dict(rest)["kind"]](parts)
    return tree["plain"]


def write_sealed(path: Path, told: Mapping[str, Any], arrays: Arrays) -> None:
    """Write arrays and JSON, and at the end the digest of all that precedes it."""

    def write(temporary: Path) -> None:
        text = np.frombuffer(json.dumps(told, default=str).encode(), np.uint8)
        with open(temporary, "wb") as file:
            np.savez(file, told=text, **arrays)  # type: ignore[arg-type]
        head = b"\nslabfield checkpoint format %04d sha256 " % FORMAT
        with open(temporary, "rb+") as file:
            digest = digest_of(file, temporary.stat().st_size, head)
            file.write(head + digest.encode() + b"\n")

    write_atomically(path, write)


@contextmanager
def plain_failures(path: Path, advice: str) -> Iterator[None]:
    """Say in words what is wrong with a file that does not hold what it should."""
    try:
        yield
    except (OSError, zipfile.BadZipFile, ArithmeticError, LookupError, MemoryError, TypeError,
            AttributeError, EOFError) as error:  # fmt: skip
        found = f"{type(error).__name__}: {error}"
        raise InputError(f"{path} cannot be read; found {found}. {advice}.") from None
    except ValueError as error:
        if isinstance(error, InputError):
            raise
        raise InputError(f"{path} does not hold a state; found {error}. {advice}.") from None


def read_sealed(path: Path, advice: str) -> tuple[dict[str, Any], Arrays]:
    """Read what :func:`write_sealed` wrote, if every byte is as it was written."""
    # opened once: a run at work may put another file in its place meanwhile
    with plain_failures(path, advice), open(path, "rb") as file:
        size = file.seek(0, os.SEEK_END)
        file.seek(max(size - SEAL_LENGTH, 0))
        seal = file.read()
        match = SEAL.fullmatch(seal)
        if match is None:
            raise InputError(
                f"{path} must end with the line that a checkpoint ends with; found something else: "
                f"it was cut short, or is another file. {advice}."
            )
        if digest_of(file, size - SEAL_LENGTH, seal[: match.start(2)]) != match[2].decode():
            raise InputError(
                f"{path} is damaged: what it holds ({size:,} bytes) is not what was written. "
                f"{advice}."
            )
        if int(match[1]) != FORMAT:
            raise InputError(
                f"{path} has format {int(match[1])}; this version of slabfield reads format "
                f"{FORMAT}. Go on with the version that wrote it, {OTHER_FOLDER}."
            )
        file.seek(0)
        with np.load(file, allow_pickle=False) as held:
            if any(member.compress_type != zipfile.ZIP_STORED for member in held.zip.infolist()):
                raise ValueError("compressed arrays")
            arrays = {name: held[name] for name in held.files}
        told = json.loads(arrays.pop("told").tobytes())
        if not isinstance(told, dict):
            raise ValueError("no settings")
        return told, arrays


_NUMBERS = count()
_HEARD: set[str] = set()


class Stop:
    """Whether someone asked the chains of a run to stop: heard in threads and in processes."""

    def __init__(self, folder: Path) -> None:
        self.path = folder / f"stop-{os.getpid()}-{next(_NUMBERS)}"

    def ask(self) -> None:
        """Have the chains stop when they next look."""
        _HEARD.add(self.path.name)
        with suppress(OSError):
            self.path.touch()

    def asked(self) -> bool:
        """Whether to stop."""
        return self.path.name in _HEARD or self.path.exists()


class ChainFile:
    """The file of one chain, and when it is to be written next."""

    def __init__(self, path: Path, stop: Stop, begun: float) -> None:
        self.path, self.stop, self.begun = path, stop, begun
        self.interval, self.most_share = INTERVAL_SECONDS, MOST_SHARE
        self.next, self.failed = monotonic() + self.interval, False

    def due(self) -> bool:
        """Whether it is time to write."""
        return monotonic() >= self.next

    def save(self, tree: Any, arrays: Arrays) -> None:
        """Write the state; where that cannot be done, say so, once, and leave the old one whole."""
        clock = monotonic()
        try:
            write_sealed(self.path, {"state": tree, "elapsed": clock - self.begun}, arrays)
        except OSError as error:
            if not self.failed:
                warnings.warn(_not_written(self.path, error), InputWarning, stacklevel=2)
            self.failed = True
        took = monotonic() - clock
        self.next = clock + took + max(self.interval, took / self.most_share)

    def load(self) -> tuple[Any, Arrays] | None:
        """Read the state, if one was written."""
        if not self.path.exists():
            return None
        told, arrays = read_sealed(self.path, BEGIN_ANEW)
        return told.get("state"), arrays


def _not_written(path: Path, error: OSError) -> str:
    return (
        f"The state of the run cannot be written to {path}; found {error.strerror or error}. The "
        "run goes on, and what was written before is whole. Make room for it."
    )


class Checkpoint:
    """The folder of a run.

    ``told`` is what its first file holds (None where there is none yet): ``identity``, what makes
    the run the one it is; ``finished``, whether it came to its end; and what else is needed.
    """

    def __init__(self, path: str | os.PathLike[str]) -> None:
        self.folder = Path(path)
        self.header = self.folder / HEADER
        self.told: dict[str, Any] | None = None
        self.arrays: Arrays = {}
        self.begun = monotonic()
        self.stop = Stop(self.folder)
        if self.header.exists():
            advice = f"Take another copy, delete the folder {self.folder} and fit again"
            self.told, self.arrays = read_sealed(self.header, f"{advice}, {OTHER_FOLDER}")
            with plain_failures(self.header, advice):
                self.begun -= max([0.0, *map(self._spent, self.chain_files())])

    def chain_files(self) -> list[Path]:
        """Return the files of chains, but not what was left by a process killed while writing."""
        return [p for p in sorted(self.folder.glob("*-*.npz")) if not p.name.startswith(".")]

    def _spent(self, path: Path) -> float:
        """Seconds that the run had taken when a file was written."""
        return float(read_sealed(path, BEGIN_ANEW)[0]["elapsed"])

    @property
    def finished(self) -> bool:
        """Whether the run came to its end."""
        return self.told is not None and bool(self.told.get("finished"))

    def begin(self, identity: dict[str, Any], told: dict[str, Any], arrays: Arrays) -> None:
        """Write down which run this is; or, where one is there, check that it is this one."""
        if self.told is None:
            self.arrays = arrays
            self.tell({"identity": identity, "finished": False, **told})
            return
        there, here = self.told.get("identity", {}), json.loads(json.dumps(identity))
        differ = [name for name in here if there.get(name) != here[name]]
        if differ:
            how = [
                f"{name} {shown_value(there.get(name))} there and {shown_value(here[name])} here"
                for name in differ
            ]
            raise InputError(
                f"{self.folder} holds the state of another run; found {listed(how)}. Go on with "
                f"the same data, settings and version of slabfield, {OTHER_FOLDER}."
            )

    def tell(self, more: dict[str, Any]) -> None:
        """Write down more of the run."""
        told = (self.told or {}) | more
        write_sealed(self.header, told, self.arrays)
        self.told = told

    def finish(self) -> None:
        """Write down that the run came to its end."""
        if not self.finished:
            try:
                self.tell({"finished": True})
            except OSError as error:
                warnings.warn(_not_written(self.header, error), InputWarning, stacklevel=2)

    def chain(self, engine: str, number: int) -> ChainFile:
        """Return the file of a chain."""
        return ChainFile(self.folder / f"{engine}-{number}.npz", self.stop, self.begun)

    def take_up(self, runs: list[Any]) -> None:
        """Have chains of an earlier run listen to this one."""
        self.stop = Stop(self.folder)
        for run in runs:
            run.file.stop = self.stop

    def discard(self) -> None:
        """Delete the files of the run."""
        for path in (*self.chain_files(), self.header):
            path.unlink(missing_ok=True)
        self.told, self.begun = None, monotonic()

    @contextmanager
    def at_work(self) -> Iterator[None]:
        """Keep other processes out, and have a first Ctrl-C stop the chains when they next look.

        A second one interrupts as ever; what was written is whole.
        """
        from filelock import FileLock, Timeout

        try:
            self.folder.mkdir(parents=True, exist_ok=True)
            lock = FileLock(self.folder / "lock", timeout=0)
            lock.acquire()
            for left in [*self.folder.glob(".slabfield-*"), *self.folder.glob("stop-*")]:
                # of runs that were killed; threads of this process may still have to stop
                if not left.name.startswith(f"stop-{os.getpid()}-"):
                    left.unlink(missing_ok=True)
        except Timeout:
            raise InputError(
                f"checkpoint must be a folder of one run at a time; another process is at work in "
                f"{self.folder}. Wait until it has ended, {OTHER_FOLDER}."
            ) from None
        except OSError as error:
            raise InputError(cannot_write(self.folder, error)) from None
        before = signal.getsignal(signal.SIGINT)
        listening = threading.current_thread() is threading.main_thread()

        def heard(*_: Any) -> None:
            signal.signal(signal.SIGINT, before)
            self.stop.ask()

        if listening:
            signal.signal(signal.SIGINT, heard)
        try:
            yield
        finally:
            if listening:
                signal.signal(signal.SIGINT, before)
            lock.release()


def cannot_write(folder: Path, error: OSError) -> str:
    """Say that the folder of a run cannot be written in."""
    return (
        f"checkpoint must be a folder that can be written in; {folder} cannot: "
        f"{error.strerror or error}. Name another folder, or make room."
    )
