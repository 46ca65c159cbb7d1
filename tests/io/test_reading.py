"""Tables in all file formats: intact, damaged and misnamed."""

import gzip
import io
import zipfile
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from typer.testing import CliRunner

from skips import require
from slabfield.cli.app import app
from slabfield.io import reading
from slabfield.io.reading import read_table
from slabfield.validation import InputError

TABLE = pd.DataFrame({"sleep": ["yes", "no", "yes"], "work": [1, 0, 0], "joy": [True, False, True]})


def workbook(*sheets: tuple[str, list[list[object]]]) -> bytes:
    openpyxl = require("openpyxl")
    book = openpyxl.Workbook()
    book.remove(book.active)
    for name, rows in sheets:
        sheet = book.create_sheet(name)
        for row in rows:
            sheet.append(row)
    file = io.BytesIO()
    book.save(file)
    return file.getvalue()


def written(folder: Path, name: str, content: bytes) -> Path:
    path = folder / name
    path.write_bytes(content)
    return path


def refused(path: Path, sheet: str | None = None) -> str:
    with pytest.raises(InputError) as caught:
        read_table(path, sheet)
    return str(caught.value)


@pytest.mark.parametrize("name", ["a.csv.gz", "a.tsv.gz", "a.csv", "a"])
def test_gzip(tmp_path: Path, name: str) -> None:
    text = TABLE.to_csv(index=False, sep="\t" if ".tsv" in name else ",")
    table = read_table(written(tmp_path, name, gzip.compress(text.encode())))
    pd.testing.assert_frame_equal(table, TABLE, check_dtype=False)


@pytest.mark.parametrize("name", ["a.parquet", "a.csv"])
def test_parquet_with_any_file_name(tmp_path: Path, name: str) -> None:
    require("pyarrow")
    file = io.BytesIO()
    TABLE.set_index(pd.Index([7, 8, 9], name="case")).to_parquet(file)
    table = read_table(written(tmp_path, name, file.getvalue()))
    pd.testing.assert_frame_equal(table, TABLE, check_dtype=False)


def test_excel_with_blank_rows_and_columns(tmp_path: Path) -> None:
    rows = [["sleep", "work", None, None], ["yes", 1, None, None], [None] * 4, ["no", 0, None, 1]]
    table = read_table(written(tmp_path, "a.xlsx", workbook(("one", rows))))
    assert list(table.columns) == ["sleep", "work", "column 3"]
    assert table["work"].tolist() == [1, 0]
    assert table["work"].dtype.kind in "if"
    assert table["sleep"].tolist() == ["yes", "no"]


def test_a_sheet_by_name(tmp_path: Path) -> None:
    data = [["a", "b"], [0, 1], [1, 0]]
    path = written(tmp_path, "a.xlsx", workbook(("notes", [["read me"]]), ("data", data)))
    assert list(read_table(path, "data").columns) == ["a", "b"]
    assert "name another sheet (sheet)" in refused(path)
    assert "'nothing' is not among 'notes' and 'data'" in refused(path, "nothing")
    plain = written(tmp_path, "a.csv", b"a,b\n0,1\n1,0\n")
    assert "Leave sheet out" in refused(plain, "data")
    assert "Leave --sheet out" in CliRunner().invoke(app, ["fit", str(plain), "--sheet=x"]).output


def test_the_same_name_twice_in_a_sheet(tmp_path: Path) -> None:
    path = written(tmp_path, "a.xlsx", workbook(("one", [["a", "b", "a"], [0, 1, 0]])))
    assert "found 'a' more than once" in refused(path)


def zipped(name: str) -> bytes:
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w") as archive:
        archive.writestr(name, "a,b\n0,1\n")
    return file.getvalue()


@pytest.mark.parametrize(
    ("content", "expected"),
    [
        (gzip.compress(b"a,b\n0,1\n1,0\n" * 50, mtime=0)[:-20], "must be a whole gzip archive"),
        (b"\x1f\x8bnonsense", "must be a whole gzip archive"),
        (gzip.compress(b"", mtime=0), "found an empty file"),
        (zipped("table.csv"), "found a zip archive"),
        (zipped("xl/workbook.xml"), "must be a spreadsheet (.xlsx); reading it failed"),
        (b"PK\x03\x04rest", "found a damaged one"),
        (b"PAR1" + b"\0" * 40 + b"PAR1", "must be a Parquet file; reading it failed"),
        (b"\xd0\xcf\x11\xe0 old", "an old spreadsheet (.xls)"),
        (b"%PDF-1.7", "found a PDF"),
        (b"BZh91AY", "a bzip2 archive"),
    ],
)
def test_damaged_and_other_files(tmp_path: Path, content: bytes, expected: str) -> None:
    assert expected in refused(written(tmp_path, "table", content))


def test_parquet_cut_short(tmp_path: Path) -> None:
    require("pyarrow")
    file = io.BytesIO()
    TABLE.to_parquet(file)
    whole = file.getvalue()
    rng = np.random.default_rng(0)
    for _ in range(20):
        end = int(rng.integers(5, len(whole) - 1))
        assert "must be a Parquet file" in refused(written(tmp_path, "a.parquet", whole[:end]))


def test_unpacking_stops_at_the_size_limit(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    content = b"a,b\n" + b"0,1\n" * 2_000
    monkeypatch.setattr(reading, "MAX_BYTES", 1_000)
    assert "unpacked it holds more" in refused(written(tmp_path, "a.gz", gzip.compress(content)))
    assert "found more" in refused(written(tmp_path, "a.csv", content))
    book = workbook(("one", [["a", "b"], *([0, 1] for _ in range(2_000))]))
    monkeypatch.setattr(reading, "MAX_BYTES", len(book))
    assert "unpacked it holds" in refused(written(tmp_path, "a.xlsx", book))


@pytest.mark.parametrize(
    ("package", "content", "extra"),
    [("pyarrow", b"PAR1", "parquet"), ("openpyxl", zipped("xl/workbook.xml"), "excel")],
)
def test_the_missing_package_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, package: str, content: bytes, extra: str
) -> None:
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    message = refused(written(tmp_path, "table", content))
    assert f"needs the package {package}" in message
    assert f'pip install "slabfield[{extra}]"' in message
