"""Files that cannot be used, for ``bad_input.py``: tables and posteriors."""

from __future__ import annotations

import gzip
import io
import json
import zipfile
from collections.abc import Iterator
from pathlib import Path

import numpy as np

GOOD = b"sleep,work,joy\n0,1,1\n1,0,0\n1,1,0\n0,0,1\n"


def _zipped(**files: str) -> bytes:
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w") as archive:
        for name, text in files.items():
            archive.writestr(zipfile.ZipInfo(name), text)
    return packed.getvalue()


def _spreadsheet(rows: list[list[object]]) -> bytes:
    from openpyxl import Workbook

    book, packed = Workbook(), io.BytesIO()
    for row in rows:
        book.active.append(row)
    book.save(packed)
    return packed.getvalue()


def _far_cell() -> bytes:
    """A small spreadsheet with a cell in the last possible row and column."""
    from openpyxl import Workbook

    book, packed = Workbook(), io.BytesIO()
    book.active["A1"], book.active["XFD1048576"] = "a", 1
    book.save(packed)
    return packed.getvalue()


TEXTS: dict[str, tuple[str, bytes]] = {
    "an empty file": ("table.csv", b""),
    "nothing but spaces": ("table.csv", b" \n\n"),
    "nothing but a byte order mark": ("table.csv", b"\xef\xbb\xbf"),
    "only column names": ("table.csv", b"sleep,work\n"),
    "no column names": ("table.csv", b"0,1\n1,0\n1,1\n"),
    "the same name twice": ("table.csv", b"sleep,sleep\n0,1\n1,0\n"),
    "a line too short": ("table.csv", b"sleep,work\n0,1\n1\n"),
    "a line too long": ("table.csv", b"sleep,work\n0,1\n1,0,1\n"),
    "one column": ("table.csv", b"sleep\n0\n1\n"),
    "one row": ("table.csv", b"sleep,work\n0,1\n"),
    "an empty field": ("table.csv", b"sleep,work\n0,1\n,0\n1,1\n"),
    "a quote that is not closed": ("table.csv", b'sleep,work\n"0,1\n1,0\n'),
    "a field of 200,000 characters": ("table.csv", b"sleep,work\n" + b"x" * 200_000 + b",1\n"),
    "a name of 200,000 characters": ("table.csv", b"x" * 200_000 + b",work\n0,1\n1,0\n"),
    "20,001 columns": (
        "table.csv",
        b"\n".join(b",".join(b"%s%d" % (v, k) for k in range(20_001)) for v in (b"a", b"1", b"0")),
    ),
    "bytes that are no text": ("table.csv", b"sleep,work\n0,1\n\x01\xff,0\n"),
    "two spellings and a mark": ("table.csv", b"sleep,work\nyes,1\nYes,0\nno,1\n.,1\n"),
    "decimal commas": ("table.csv", b"dose;work\n1,5;1\n2;0\n2,5;1\n-99;0\n"),
    "half of a UTF-16 file": ("table.csv", "sleep,work\n0,1\n".encode("utf-16")[:-1]),
    "NUL bytes": ("table.csv", b"sleep,work\n0,1\n\0,0\n"),
    "a picture": ("table.csv", b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR"),
    "gzip, cut short": ("table.csv.gz", gzip.compress(GOOD * 50, mtime=0)[:-20]),
    "gzip in name only": ("table.csv.gz", b"\x1f\x8bnonsense"),
    "gzip of nothing": ("table.csv.gz", gzip.compress(b"", mtime=0)),
    "Excel that is not Excel": ("table.xlsx", b"PK\x03\x04 and then something else"),
    "a zip archive": ("table.zip", _zipped(**{"table.csv": "a,b"})),
    "a zip archive that looks like Excel": ("table.xlsx", _zipped(**{"xl/workbook.xml": "a,b"})),
    "an old spreadsheet": ("table.xls", b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1"),
    "a PDF": ("table.pdf", b"%PDF-1.7"),
    "a bzip2 archive": ("table.csv.bz2", b"BZh91AY&SY"),
    "an xz archive": ("table.csv.xz", b"\xfd7zXZ\0"),
    "Parquet that is not Parquet": ("table.parquet", b"PAR1" + b"\0" * 40 + b"PAR1"),
    "Parquet, cut short": ("table.parquet", b"PAR1\x15\x04"),
}


def table_files(folder: Path) -> Iterator[tuple[str, Path]]:
    """Write invalid files one after another, and yield their descriptions and paths."""
    yield "a file that is not there", folder / "answers.csv"
    (folder / "answers.csv").write_bytes(GOOD)
    yield "a misspelled name", folder / "anwsers.csv"
    (folder / "tables").mkdir()
    yield "a folder", folder / "tables"
    (folder / "link.csv").symlink_to("nowhere.csv")
    yield "a symbolic link to nowhere", folder / "link.csv"
    (folder / "circle.csv").symlink_to("circle.csv")
    yield "a symbolic link to itself", folder / "circle.csv"
    yield "a name of 5,000 characters", folder / ("x" * 5_000)
    yield "a name with a NUL", folder / "answers\0.csv"
    for what, (name, content) in TEXTS.items():
        (folder / name).write_bytes(content)
        yield what, folder / name
    (folder / "table.xlsx").write_bytes(_spreadsheet([["sleep", "work"]]))
    yield "Excel with column names only", folder / "table.xlsx"
    (folder / "table.xlsx").write_bytes(_spreadsheet([["a", "a"], [0, 1], [1, 0]]))
    yield "Excel with the same name twice", folder / "table.xlsx"
    (folder / "table.xlsx").write_bytes(_far_cell())
    yield "Excel with a cell in the last row and column", folder / "table.xlsx"
    (folder / "table.parquet").write_bytes(_long_parquet())
    yield "Parquet, a small file with 80 million rows", folder / "table.parquet"


def _long_parquet() -> bytes:
    """A small Parquet file with very many rows: a constant column takes almost no space."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    packed, zeros = io.BytesIO(), np.zeros(1 << 22, np.int8)
    columns = pa.table(dict.fromkeys(("sleep", "work", "joy", "food"), zeros))
    with pq.ParquetWriter(packed, columns.schema) as writer:
        for _ in range(20):
            writer.write_table(columns)
    return packed.getvalue()


def posterior_files(folder: Path) -> Iterator[tuple[str, Path]]:
    """Write invalid posterior files one after another, and yield their descriptions and paths."""
    import h5py

    from slabfield import Posterior
    from slabfield.draws import Draws
    from slabfield.encoding import Variable
    from slabfield.posterior.integrity import CHECKSUM_LENGTH, FORMAT, append_checksum

    path = folder / "posterior.nc"
    yield "a file that is not there", path
    yield "a folder", folder
    (folder / "link.nc").symlink_to("nowhere.nc")
    yield "a symbolic link to nowhere", folder / "link.nc"
    path.write_bytes(b"")
    yield "an empty file", path
    path.write_bytes(GOOD)
    yield "a table", path
    one = np.ones((2, 3))
    draws = Draws.from_dense(
        one[..., None], one[..., None] == 1, np.zeros((2, 3, 2)), one / 2, one, one
    )
    posterior = Posterior(draws, ["sleep", "work"], {"engine": "exact"})
    posterior.save(path)
    whole = path.read_bytes()
    path.write_bytes(whole[:5_000])
    yield "cut short", path
    damaged = bytearray(whole)
    damaged[5_000] ^= 1
    path.write_bytes(damaged)
    yield "one bit flipped", path
    path.write_bytes(whole + b"\n")
    yield "something added at its end", path
    path.write_bytes(whole[:-CHECKSUM_LENGTH])
    yield "a NetCDF file of another program", path
    append_checksum(path, FORMAT + 1)
    yield "of a newer version", path

    def changed(name: str, **dataset: object) -> Path:
        path.write_bytes(whole[:-CHECKSUM_LENGTH])
        with h5py.File(path, "r+") as file:
            del file[name]
            if dataset:
                file.create_dataset(name, **dataset)
        append_checksum(path)
        return path

    yield "a part missing", changed("posterior/bias")
    yield "the wrong shape", changed("posterior/bias", data=np.zeros((2, 3, 5)))
    yield "the wrong type", changed("posterior/p0", data=np.zeros((2, 3), "i4"))
    yield "numbers for text", changed("run/settings", data=np.zeros(3))
    variables = [Variable.binary(name, (0, 1)).as_record() | {"name": 1} for name in ("a", "b")]
    record = json.dumps({"variables": variables, "has_names": True})
    text = np.frombuffer(record.encode(), "S1")
    yield "numbers for names", changed("run/encoder", data=text)
    huge = {"shape": (1 << 30, 1 << 30), "dtype": "f8", "chunks": (1, 1)}
    yield "a header that claims 8 exabytes", changed("posterior/p0", **huge)
