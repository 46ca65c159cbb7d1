"""Checkpoints: the state of a run in a folder, from which the run can be resumed.

``run.npz`` holds the data and the run record. Each chain has a file of its own, since chains are
independent: it continues from its last saved state. Files hold plain arrays and JSON, end with a
checksum, and are replaced atomically.
"""

from __future__ import annotations

import json
import os
import signal
import sys
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

from slabfield.chains.run_clock import Stopwatch
from slabfield.io.atomic import write_atomically
from slabfield.io.checksum import append_checksum, read_checksum
from slabfield.validation import InputError, InputWarning, Parameter
from slabfield.validation.errors import listed, shown_value

# Version of the file format
FORMAT = 13
# Least seconds between two saves of a chain
INTERVAL_SECONDS = 10.0
# Largest share of the time that saving may take
MOST_SHARE = 0.02
# Kind of file in the checksum line
KIND = "checkpoint"
# Name of the file with the data and the run record
HEADER = "run.npz"
# Ends of messages: what to do
OTHER_FOLDER = "or name another folder"
RESTART_ADVICE = "Delete this file to restart its chain, which then makes the same draws"

Arrays = dict[str, NDArray[Any]]


def pack(value: Any, arrays: Arrays, given: Mapping[str, Any], path: str = "") -> Any:
    """Return a value as a JSON-compatible tree; its arrays are added to ``arrays`` by path.

    Named tuples are stored with their class name, an array that shares the memory of another as a
    view of it, random generators by their state, and objects in ``given``, which :func:`unpack` is
    passed again, by their name.
    """
    for name, shared in given.items():
        if value is shared:
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
    """Return the value that was packed; only the named tuples in ``kinds`` are allowed."""
    (node, content), *rest = tree.items()
    if node == "given":
        return given[content]
    if node == "array":
        return arrays[content]
    if node == "view":
        return arrays[content].view(np.dtype(tree["type"])).reshape(tree["shape"])
    if node == "generator":
        rng = np.random.default_rng(0)
        rng.bit_generator.state = content
        return rng
    if node == "dict":
        items = ([unpack(part, arrays, given, kinds) for part in item] for item in content)
        return dict(items)
    if node == "tuple":
        parts = [unpack(part, arrays, given, kinds) for part in content]
        plain: dict[str, Any] = {"tuple": tuple, "list": list}
        named = {kind.__name__: kind._make for kind in kinds}  # type: ignore[attr-defined]
        return (plain | named)[dict(rest)["kind"]](parts)
    return tree["plain"]


def write_checked(path: Path, metadata: Mapping[str, Any], arrays: Arrays) -> None:
    """Write arrays and JSON metadata, followed by a checksum."""

    def write(temporary: Path) -> None:
        text = np.frombuffer(json.dumps(metadata, default=str).encode(), np.uint8)
        with open(temporary, "wb") as file:
            np.savez(file, metadata=text, **arrays)  # type: ignore[arg-type]
        append_checksum(temporary, KIND, FORMAT)

    write_atomically(path, write)


@contextmanager
def plain_failures(path: Path, advice: str) -> Iterator[None]:
    """Turn errors in reading a file into an InputError that says what is wrong with it."""
    try:
        yield
    except (OSError, zipfile.BadZipFile, ArithmeticError, LookupError, MemoryError, TypeError,
            AttributeError, EOFError) as error:  # fmt: skip
        found = f"{type(error).__name__}: {error}"
        raise InputError(
            "unreadable-checkpoint",
            "{path} cannot be read; found {found}. {advice}.",
            path=path,
            found=found,
            advice=advice,
        ) from None
    except ValueError as error:
        if isinstance(error, InputError):
            raise
        raise InputError(
            "invalid-state",
            "{path} must hold a valid state; found {error}. {advice}.",
            path=path,
            error=str(error),
            advice=advice,
        ) from None


def read_checked(path: Path, advice: str) -> tuple[dict[str, Any], Arrays]:
    """Read a file of :func:`write_checked`, and verify its checksum."""
    # opened once: an active run may replace the file in the meantime
    with plain_failures(path, advice), open(path, "rb") as file:
        checksum = read_checksum(file, KIND)
        if checksum is None:
            raise InputError(
                "checkpoint-without-checksum",
                "{path} must end with the checksum of a checkpoint; found none: it was cut short, "
                "or is another kind of file. {advice}.",
                path=path,
                advice=advice,
            )
        if not checksum.intact:
            size = file.seek(0, os.SEEK_END)
            raise InputError(
                "damaged-checkpoint",
                "{path} is damaged: its content ({size:,} bytes) does not match its checksum. "
                "{advice}.",
                path=path,
                size=size,
                advice=advice,
            )
        if checksum.version != FORMAT:
            raise InputError(
                "checkpoint-of-another-format",
                "{path} has format {found}; this version of slabfield reads format {format}. "
                "Continue with the version that wrote it, {otherwise}.",
                path=path,
                found=checksum.version,
                format=FORMAT,
                otherwise=OTHER_FOLDER,
            )
        file.seek(0)
        with np.load(file, allow_pickle=False) as archive:
            if any(member.compress_type != zipfile.ZIP_STORED for member in archive.zip.infolist()):
                raise ValueError("compressed arrays")
            arrays = {name: archive[name] for name in archive.files}
        metadata = json.loads(arrays.pop("metadata").tobytes())
        if not isinstance(metadata, dict):
            raise ValueError("no metadata")
        return metadata, arrays


_NUMBERS = count()
_REQUESTED: set[str] = set()


class Stop:
    """A request that the chains of a run stop, visible to all threads and processes."""

    def __init__(self, folder: Path) -> None:
        self.path = folder / f"stop-{os.getpid()}-{next(_NUMBERS)}"

    def request(self) -> None:
        """Request that the chains stop after their current chunk."""
        _REQUESTED.add(self.path.name)
        with suppress(OSError):
            self.path.touch()

    def requested(self) -> bool:
        """Whether a stop was requested."""
        return self.path.name in _REQUESTED or self.path.exists()


class ChainFile:
    """The file of one chain, and the time of its next save."""

    def __init__(self, path: Path, stop: Stop, stopwatch: Stopwatch) -> None:
        self.path, self.stop, self.stopwatch = path, stop, stopwatch
        self.interval, self.most_share = INTERVAL_SECONDS, MOST_SHARE
        self.next, self.failed = monotonic() + self.interval, False

    def due(self) -> bool:
        """Whether it is time to save."""
        return monotonic() >= self.next

    def save(self, tree: Any, arrays: Arrays) -> None:
        """Write the state; if that fails, warn once and keep the previous file."""
        clock = monotonic()
        try:
            metadata = {"state": tree, "elapsed": self.stopwatch.elapsed()}
            write_checked(self.path, metadata, arrays)
        except OSError as error:
            if not self.failed:
                warnings.warn(_not_written(self.path, error), stacklevel=2)
            self.failed = True
        took = monotonic() - clock
        self.next = clock + took + max(self.interval, took / self.most_share)

    def load(self) -> tuple[Any, Arrays] | None:
        """Read the state; None if there is no file."""
        if not self.path.exists():
            return None
        metadata, arrays = read_checked(self.path, RESTART_ADVICE)
        return metadata.get("state"), arrays


def _not_written(path: Path, error: OSError) -> InputWarning:
    return InputWarning(
        "state-not-written",
        "The state of the run cannot be written to {path}; found {error}. The run continues, and "
        "the state written before is intact. Free space on the disk.",
        path=path,
        error=str(error.strerror or error),
    )


class Checkpoint:
    """The folder of a run.

    ``run_record`` is the metadata of its header file (None if there is no file yet): ``identity``,
    the data and settings that define the run; ``goal``, how many draws it is to make;
    ``stopped_by``, why it ended (empty while it runs, and if it was killed); ``n_draws``, the draws
    of each chain when it ended; and what a resumed run needs besides.

    ``elapsed`` is the time that the run had taken when its files were written, and ``lengths`` the
    number of draws in each file of a chain.
    """

    def __init__(self, path: str | os.PathLike[str]) -> None:
        self.folder = Path(path)
        self.header = self.folder / HEADER
        self.run_record: dict[str, Any] | None = None
        self.arrays: Arrays = {}
        self.elapsed, self.lengths = 0.0, list[int]()
        self.stop, self.stopwatch = Stop(self.folder), Stopwatch()
        if self.header.exists():
            advice = f"Take another copy, delete the folder {self.folder} and fit again"
            self.run_record, self.arrays = read_checked(self.header, f"{advice}, {OTHER_FOLDER}")
            for path in self.chain_files():
                self._read_extent(path)

    def chain_files(self) -> list[Path]:
        """Return the files of chains, without temporary files of killed processes."""
        return [p for p in sorted(self.folder.glob("*-*.npz")) if not p.name.startswith(".")]

    def _read_extent(self, path: Path) -> None:
        """Read from a file how long the run had taken when it was written, and its draws."""
        metadata, arrays = read_checked(path, RESTART_ADVICE)
        with plain_failures(path, RESTART_ADVICE):
            self.elapsed = max(self.elapsed, float(metadata["elapsed"]))
            self.lengths.append(len(arrays.get("draws/bias", ())))

    @property
    def stopped_by(self) -> str:
        """Why the run ended; empty if it has not, or was killed."""
        return str((self.run_record or {}).get("stopped_by", ""))

    @property
    def ended(self) -> bool:
        """Whether the run came to an end of its own: all draws, convergence or the time budget."""
        return self.stopped_by not in ("", "interrupt")

    def begin(self, identity: dict[str, Any], details: dict[str, Any], arrays: Arrays) -> None:
        """Write the run record; if there is one, check that it is that of the same run."""
        if self.run_record is None:
            self.arrays = arrays
            self.update({"identity": identity, **details})
            return
        there, here = self.run_record.get("identity", {}), json.loads(json.dumps(identity))
        differ = [name for name in here if there.get(name) != here[name]]
        if differ:
            raise InputError(
                "checkpoint-of-another-run",
                "{folder} must be empty or hold the state of this same run; it holds that of "
                "another one, which differs in {found}. To keep that run, name another folder; to "
                "give it up, delete this folder; to continue it, use the same data, settings and "
                "version of slabfield.",
                folder=self.folder,
                found=_differences(there, here, differ),
            )

    def update(self, changes: dict[str, Any]) -> None:
        """Write the run record with some entries changed."""
        record = (self.run_record or {}) | changes
        write_checked(self.header, record, self.arrays)
        self.run_record = record

    def end(self, stopped_by: str, n_draws: int) -> None:
        """Record why the run ended, and with how many draws of each chain."""
        self.elapsed = self.stopwatch.elapsed()
        found = {"stopped_by": stopped_by, "n_draws": n_draws}
        if any((self.run_record or {}).get(name) != value for name, value in found.items()):
            try:
                self.update(found)
            except OSError as error:
                warnings.warn(_not_written(self.header, error), stacklevel=2)

    def start_clock(self) -> None:
        """Let the clock of the run go on from the time it has taken so far."""
        self.stopwatch = Stopwatch(self.elapsed)

    def chain(self, engine: str, number: int) -> ChainFile:
        """Return the file of a chain."""
        return ChainFile(self.folder / f"{engine}-{number}.npz", self.stop, self.stopwatch)

    def take_up(self, runs: list[Any]) -> None:
        """Let the chains of an earlier run obey stop requests of this one, and go by its clock."""
        self.stop = Stop(self.folder)
        self.start_clock()
        for run in runs:
            run.file.stop, run.file.stopwatch = self.stop, self.stopwatch

    def discard(self) -> None:
        """Delete the files of the run."""
        for path in (*self.chain_files(), self.header):
            path.unlink(missing_ok=True)
        self.run_record, self.elapsed, self.lengths = None, 0.0, []

    @contextmanager
    def at_work(self) -> Iterator[None]:
        """Lock the folder, and let the first Ctrl-C stop the chains after their current chunk.

        A second Ctrl-C interrupts at once; the files stay intact.
        """
        from filelock import FileLock, Timeout

        try:
            self.folder.mkdir(parents=True, exist_ok=True)
            lock = FileLock(self.folder / "lock", timeout=0)
            lock.acquire()
            for stray in [*self.folder.glob(".slabfield-*"), *self.folder.glob("stop-*")]:
                # left by killed runs; threads of this process may still have to stop
                if not stray.name.startswith(f"stop-{os.getpid()}-"):
                    stray.unlink(missing_ok=True)
        except Timeout:
            raise InputError(
                "checkpoint-in-use",
                "{parameter} must be a folder that no other run uses; another process is using "
                "{folder}. Wait until it has ended, {otherwise}.",
                parameter=Parameter("checkpoint"),
                folder=self.folder,
                otherwise=OTHER_FOLDER,
            ) from None
        except OSError as error:
            raise cannot_write(self.folder, error) from None
        before = signal.getsignal(signal.SIGINT)
        in_main_thread = threading.current_thread() is threading.main_thread()

        def on_interrupt(*_: Any) -> None:
            signal.signal(signal.SIGINT, before)
            self.stop.request()
            if sys.stderr is not None and sys.stderr.isatty():
                text = "Stopping after the current step; Ctrl-C again stops at once."
                print(text, file=sys.stderr, flush=True)

        if in_main_thread:
            signal.signal(signal.SIGINT, on_interrupt)
        try:
            yield
        finally:
            if in_main_thread:
                signal.signal(signal.SIGINT, before)
            lock.release()


# What differs between two runs, in words, where values would say nothing
IN_WORDS = {
    "data_fingerprint": "the data",
    "names": "the names of the columns",
    "code": "the code of the sampler",
    "coding": "the coding of the columns",
}


def _differences(there: dict[str, Any], here: dict[str, Any], names: list[str]) -> str:
    """List what differs between two runs, first the data, and values only where they are short."""
    found = [words for name, words in IN_WORDS.items() if name in names]
    found += [
        f"{name.removeprefix('n_').replace('_', ' ')} ({shown_value(there.get(name))} there, "
        f"{shown_value(here[name])} here)"
        for name in names
        if name not in IN_WORDS
    ]
    return listed(found)


def cannot_write(folder: Path, error: OSError) -> InputError:
    """Return the error that the folder of a run is not writable."""
    return InputError(
        "checkpoint-not-writable",
        "{parameter} must be a writable folder; {folder} is not: {error}. Name another folder, or "
        "free space on the disk.",
        parameter=Parameter("checkpoint"),
        folder=folder,
        error=str(error.strerror or error),
    )
