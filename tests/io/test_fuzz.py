"""Arbitrary bytes in a file give a table, a posterior or an error message, and nothing else.

``make fuzz`` tries thousands (the variable SLABFIELD_FUZZ sets their number).
"""

import gzip
import os
import subprocess
import sys
import warnings
from collections.abc import Callable
from pathlib import Path

import h5py
import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from typer.testing import CliRunner

import slabfield
from made_up_posteriors import make_up
from skips import NEEDS_LINUX, require
from slabfield import load_posterior
from slabfield.chains.checkpoint import Checkpoint, read_checked, write_checked
from slabfield.cli.app import app
from slabfield.encoding import code_table
from slabfield.io.reading import read_table
from slabfield.posterior.integrity import CHECKSUM_LENGTH, FORMAT, append_checksum
from slabfield.posterior.storage import save_posterior
from slabfield.validation import InputError, InputWarning

N_EXAMPLES = int(os.environ.get("SLABFIELD_FUZZ", "40"))
fuzz = settings(
    max_examples=N_EXAMPLES,
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.function_scoped_fixture],
)

GOOD = (
    b"a,b,c\n0,1,1\n1,0,0\n1,1,0\n",
    b"\xef\xbb\xbfa;b\nyes;1\nno;0\n",
    "ä\tb\n0\t1\n1\t0\n".encode(),
    "a,b\n0,1\n1,0\n".encode("utf-16"),
    b'"a""b",b\r\n0,"1"\r\n1,0\r\n',
    gzip.compress(b"a,b\n0,1\n1,0\n", mtime=0),
)
PIECES = (
    *(b",", b";", b"\t", b"\n", b"\r", b'"', b"\0", b"0", b"1", b"a", b"\xff", b"\xc3", b" "),
    *(b"\xef\xbb\xbf", b"\xff\xfe", b"\xe2\x80\xa8", b"\x0b", b"\x1c", b"NA", b"1e999", b"9" * 30),
    *(b"PK\x03\x04", b"\x1f\x8b", b"PAR1", b"#", b"=", b"2020-01-01", b"True", b"inf", b"{}"),
    *(b"x" * 140_000, b"," * 21_000),
)


@st.composite
def mutated(draw: Callable[..., object], wholes: tuple[bytes, ...]) -> bytes:
    """A valid file with bytes inserted, removed and overwritten."""
    content = bytearray(draw(st.sampled_from(wholes)))
    for _ in range(draw(st.integers(1, 4))):
        place = draw(st.integers(0, len(content)))
        length = draw(st.integers(0, 3))
        content[place : place + length] = draw(st.sampled_from((*PIECES, b"")))
    return bytes(content)


CONTENTS = st.one_of(
    st.binary(max_size=80),
    st.lists(st.sampled_from(PIECES), max_size=25).map(b"".join),
    st.text(max_size=60).map(lambda text: text.encode("utf-8", "surrogatepass")),
    st.text(max_size=60).map(lambda text: text.encode("utf-16", "surrogatepass")),
    mutated(GOOD),
)


@fuzz
@given(content=CONTENTS, name=st.sampled_from(["a.csv", "a.tsv", "a.xlsx", "a.csv.gz"]))
def test_any_bytes_are_a_table_or_get_a_message(tmp_path: Path, content: bytes, name: str) -> None:
    path = tmp_path / name
    path.write_bytes(content)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", InputWarning)
        message = ""
        try:
            table = code_table(read_table(path))
        except InputError as error:
            message = str(error)
    if message:
        assert 20 < len(message) < 2_000
    else:
        assert set(np.unique(table.rows)) <= {0, 1}


@fuzz
@given(content=CONTENTS)
def test_the_command_line_ends_with_2_and_a_message(tmp_path: Path, content: bytes) -> None:
    path, out = tmp_path / "a.csv", tmp_path / "out"
    path.write_bytes(content)
    try:
        code_quietly(path)
    except InputError:
        result = CliRunner().invoke(app, ["fit", str(path), "--out", str(out)])
        assert result.exit_code == 2, result.output
        assert "Error: " in result.output
        assert "Traceback" not in result.output


def code_quietly(path: Path) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", InputWarning)
        code_table(read_table(path))


@st.composite
def damage(draw: Callable[..., object]) -> Callable[[bytes], bytes]:
    """Damage to a file: flip bits, overwrite numbers, cut, insert, copy parts elsewhere."""
    places = draw(st.lists(st.floats(0, 1, exclude_max=True), min_size=2, max_size=20))
    how = draw(st.sampled_from(["flip", "number", "cut", "add", "copy"]))
    bit, length = draw(st.integers(0, 7)), draw(st.integers(1, 200))
    number = draw(
        st.sampled_from([b"\xff" * 8, b"\0" * 8, b"\xff" * 7 + b"\x7f", b"\0" * 5 + b"\1\0\0"])
    )

    def apply(whole: bytes) -> bytes:
        content = bytearray(whole)
        at = [int(place * len(whole)) for place in places]
        if how == "flip":
            for place in at:
                content[place] ^= 1 << bit
        elif how == "number":
            content[at[0] : at[0] + 8] = number
        elif how == "cut":
            del content[at[0] :]
        elif how == "add":
            content[at[0] : at[0]] = content[at[1] : at[1] + length]
        else:
            content[at[0] : at[0] + length] = content[at[1] : at[1] + length]
        return bytes(content)

    return apply


# --- checkpoints ------------------------------------------------------------------------------

KINDS_OF_RUN: dict[str, dict[str, object]] = {
    "exact": {},
    "pseudo": {"likelihood": "pseudo"},
    "particles": {"likelihood": "particles"},
}
UNEXPECTED = (
    None,
    -1,
    10**18,
    0.5,
    "x",
    [],
    {},
    {"array": "nothing"},
    {"plain": -7},
    {"given": "x"},
)


class Runs(dict[str, dict[str, bytes]]):
    """Files of runs, by kind; too large to be shown."""

    def __repr__(self) -> str:
        return "runs"


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> Runs:
    """The files of unfinished runs."""
    found = Runs()
    rows = np.array([[0, 1, 1], [1, 0, 1], [1, 1, 0], [0, 0, 1], [1, 1, 1]])
    for kind, options in KINDS_OF_RUN.items():
        folder = tmp_path_factory.mktemp(kind)
        model = slabfield.SpikeSlabMRF(n_draws=4, n_warmup=4, n_chains=1, random_state=0, **options)
        model.fit(rows, checkpoint=folder)
        found[kind] = {path.name: path.read_bytes() for path in folder.glob("*.npz")}
        Checkpoint(folder).update({"goal": [6, False, 0], "stopped_by": ""})
        found[kind]["run.npz"] = (folder / "run.npz").read_bytes()
    return found


def restore(folder: Path, files: dict[str, bytes]) -> None:
    for old in folder.iterdir():
        old.unlink()
    for name, content in files.items():
        (folder / name).write_bytes(content)


def is_run_or_message(folder: Path) -> bool:
    """Resume a run; return whether it finished, rather than raising InputError."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            model = slabfield.SpikeSlabMRF.from_checkpoint(folder).resume(time_budget=5.0)
    except InputError:
        return False
    assert model.inclusion_probability_.shape == (3, 3)
    return True


@fuzz
@given(change=damage(), kind=st.sampled_from(list(KINDS_OF_RUN)), chain=st.booleans())
def test_a_damaged_checkpoint_is_detected_by_its_checksum(
    tmp_path: Path,
    runs: Runs,
    change: Callable[[bytes], bytes],
    kind: str,
    chain: bool,
) -> None:
    restore(tmp_path, runs[kind])
    path = tmp_path / (f"{kind}-0.npz" if chain else "run.npz")
    whole = path.read_bytes()
    damaged = change(whole)
    path.write_bytes(damaged)
    same = damaged == whole
    assert is_run_or_message(tmp_path) == same


@st.composite
def tamper(draw: Callable[..., object]) -> Callable[[object, dict[str, np.ndarray]], None]:
    """Changes to the content of a checkpoint: to its tree, or to one of its arrays."""
    place, value = draw(st.integers(0, 10**6)), draw(st.sampled_from(UNEXPECTED))
    how = draw(st.sampled_from(["tree", "short", "type", "flat", "large", "nan", "gone"]))

    def apply(tree: object, arrays: dict[str, np.ndarray]) -> None:
        name = sorted(arrays)[place % len(arrays)]
        array = arrays[name]
        if how == "tree":
            holders = [node for node in nodes_of(tree) if node]
            holder = holders[place % len(holders)]
            keys = list(holder) if isinstance(holder, dict) else range(len(holder))
            holder[list(keys)[place % len(holder)]] = value
        elif how == "short":
            arrays[name] = array[:-1] if array.ndim else array
        elif how == "type":
            arrays[name] = array.astype(np.float32 if array.dtype.kind == "i" else np.int64)
        elif how == "flat":
            arrays[name] = array.reshape(-1, 1)
        elif how == "large":
            arrays[name] = np.full_like(array, np.iinfo(np.int8).max)
        elif how == "nan" and array.dtype.kind == "f":
            arrays[name] = np.full_like(array, np.nan)
        else:
            del arrays[name]

    return apply


def nodes_of(tree: object) -> list:
    """All lists and dicts of a tree."""
    if not isinstance(tree, dict | list):
        return []
    parts = tree.values() if isinstance(tree, dict) else tree
    return [tree, *(node for part in parts for node in nodes_of(part))]


@fuzz
@given(change=tamper(), kind=st.sampled_from(list(KINDS_OF_RUN)))
def test_a_changed_checkpoint_with_a_valid_checksum(
    tmp_path: Path,
    runs: Runs,
    change: Callable[[object, dict[str, np.ndarray]], None],
    kind: str,
) -> None:
    """A deliberate change: the run resumes from the new state, or raises InputError."""
    restore(tmp_path, runs[kind])
    path = tmp_path / f"{kind}-0.npz"
    tree, arrays = read_checked(path, "")
    change(tree, arrays)
    write_checked(path, tree, arrays)
    is_run_or_message(tmp_path)


# --- posteriors -------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def wholes(tmp_path_factory: pytest.TempPathFactory) -> list[bytes]:
    """Valid files: small dense, small sparse, and compressed; without their checksums."""
    path = tmp_path_factory.mktemp("good") / "posterior.nc"
    found = []
    for size, dense in (((2, 5), True), ((2, 5), False), ((2, 300), True)):
        save_posterior(make_up(*size), path, dense)
        found.append(path.read_bytes()[:-CHECKSUM_LENGTH])
    return found


@fuzz
@given(change=damage(), which=st.integers(0, 2))
def test_a_damaged_posterior_is_detected_by_its_checksum(
    tmp_path: Path, wholes: list[bytes], change: Callable[[bytes], bytes], which: int
) -> None:
    path = tmp_path / "posterior.nc"
    path.write_bytes(wholes[which])
    append_checksum(path)
    original = path.read_bytes()
    damaged = change(original)
    path.write_bytes(damaged)
    if damaged == original:
        load_posterior(path)
        return
    with pytest.raises(InputError, match=r"posterior\.nc"):
        load_posterior(path)


@fuzz
@given(change=damage(), which=st.integers(0, 2), version=st.sampled_from([0, FORMAT, FORMAT + 1]))
def test_a_changed_posterior_with_a_valid_checksum(
    tmp_path: Path,
    wholes: list[bytes],
    change: Callable[[bytes], bytes],
    which: int,
    version: int,
) -> None:
    """A deliberate change: the result is a posterior of the right shape, or InputError."""
    path = tmp_path / "posterior.nc"
    path.write_bytes(change(wholes[which]))
    append_checksum(path, version)
    try:
        posterior = load_posterior(path)
    except InputError:
        return
    n_edges = posterior.n_nodes * (posterior.n_nodes - 1) // 2
    assert posterior.edge_probability.shape == (n_edges,)


def swap(file: h5py.File, one: str, other: str) -> None:
    file.move(one, "aside")
    file.move(other, one)
    file.move("aside", other)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("posterior/bias", "posterior/coupling"),
        ("posterior/bias", "posterior/p0"),
        ("run/settings", "run/info"),
        ("run/encoder", "run/info"),
        ("posterior/present", "posterior/coupling"),
    ],
)
def test_variables_in_each_others_places(
    tmp_path: Path, wholes: list[bytes], one: str, other: str
) -> None:
    path = tmp_path / "posterior.nc"
    save_posterior(make_up(names=["a", "b", "c", "d"]), path, dense=True)
    path.write_bytes(path.read_bytes()[:-CHECKSUM_LENGTH])
    with h5py.File(path, "r+") as file:
        swap(file, one, other)
    append_checksum(path)
    with pytest.raises(InputError, match="is not a posterior"):
        load_posterior(path)


LIMITED = """
import resource, sys
from slabfield import load_posterior
from slabfield.validation import InputError
from slabfield.io.reading import read_table
from pathlib import Path
import h5py, pandas, pyarrow.parquet, openpyxl
used = int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()
resource.setrlimit(resource.RLIMIT_AS, (used + (1 << 29),) * 2)
for name in sys.argv[1:]:
    try:
        (load_posterior if name.endswith(".nc") else read_table)(Path(name))
    except InputError as error:
        print(error)
    else:
        raise SystemExit(f"{name} was read")
"""


@NEEDS_LINUX
def test_claimed_sizes_allocate_no_memory(tmp_path: Path) -> None:
    """The process may allocate at most half a gigabyte beyond its initial memory."""
    for package in ("pyarrow", "openpyxl"):
        require(package)
    from bad_files import _far_cell, _long_parquet

    (tmp_path / "far.xlsx").write_bytes(_far_cell())
    (tmp_path / "long.parquet").write_bytes(_long_parquet())
    claims = {
        "p0": {"posterior/p0": (1 << 20, 1 << 20)},
        "text": {"run/settings": (1 << 40,)},
        "sparse": {"sparse/value": (1 << 38,), "sparse/edge_number": (1 << 38,)},
    }
    for name, shapes in claims.items():
        path = tmp_path / f"{name}.nc"
        save_posterior(make_up(), path, dense=False)
        path.write_bytes(path.read_bytes()[:-CHECKSUM_LENGTH])
        with h5py.File(path, "r+") as file:
            for where, shape in shapes.items():
                kind = file[where].dtype
                del file[where]
                file.create_dataset(where, shape=shape, dtype=kind, chunks=(1,) * len(shape))
        append_checksum(path)
    names = sorted(str(path) for path in tmp_path.iterdir())
    source = str(Path(slabfield.__file__).parents[1])
    done = subprocess.run(
        [sys.executable, "-c", LIMITED, *names],
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
        env=os.environ | {"PYTHONPATH": source, "ARROW_DEFAULT_MEMORY_POOL": "system"},
    )
    assert done.returncode == 0, done.stderr[-2_000:] + done.stdout
    assert len(done.stdout.splitlines()) == len(names)


# --- nothing in a file is run -----------------------------------------------------------------


def test_nothing_is_ever_unpickled() -> None:
    package = Path(slabfield.__file__).parent
    for path in package.rglob("*.py"):
        source = path.read_text(encoding="utf-8")
        for word in (
            "allow_pickle=True",
            "import pickle",
            "pickle.load",
            "read_pickle",
            "joblib.load",
        ):
            assert word not in source, f"{path.name} has {word}"
        assert " eval(" not in source, path.name
        assert " exec(" not in source, path.name


def test_a_pickle_in_a_posterior_is_refused(tmp_path: Path) -> None:
    """HDF5 files of NumPy objects may contain pickles; here they are bytes that are not text."""
    path = tmp_path / "posterior.nc"
    save_posterior(make_up(), path, dense=True)
    path.write_bytes(path.read_bytes()[:-CHECKSUM_LENGTH])
    code = b"cos\nsystem\n(S'touch was-here'\ntR."
    with h5py.File(path, "r+") as file:
        del file["run/settings"]
        file["run/settings"] = np.frombuffer(code, "S1")
    append_checksum(path)
    with pytest.raises(InputError, match="is not a posterior"):
        load_posterior(path)
    assert not Path("was-here").exists()
