"""Encodings and decimal commas of text files: guessed with a note, or given."""

from pathlib import Path
from typing import Any

import pandas as pd
import pytest

from slabfield.encoding import counted, read_counted
from slabfield.io.reading import read_table
from slabfield.validation import InputError, InputWarning

TEXT = "schläft,müde\n0,1\n1,0\n1,1\n"


def both(path: Path, **options: Any) -> tuple[pd.DataFrame, list[str]]:
    """Read a file whole and in chunks, and return the whole table and the notes."""
    notes: list[str] = []
    in_chunks: list[str] = []
    table = read_table(path, notes=notes, **options)
    read = read_counted(path, chunk_rows=2, notes=in_chunks, **options)
    assert read.names == list(table.columns)
    assert in_chunks == notes
    return table, notes


@pytest.mark.parametrize(
    ("encoding", "noted"),
    [
        ("utf-8", None),
        ("utf-8-sig", None),
        ("utf-16", "UTF-16"),
        ("latin-1", "Windows-1252"),
        ("cp1252", "Windows-1252"),
    ],
)
def test_the_encoding_is_guessed(tmp_path: Path, encoding: str, noted: str | None) -> None:
    path = tmp_path / "a.csv"
    path.write_bytes(TEXT.encode(encoding))
    table, notes = both(path)
    assert list(table.columns) == ["schläft", "müde"]
    assert len(notes) == (noted is not None)
    assert all(str(noted) in note for note in notes)


def test_bytes_that_windows_does_not_have_are_latin_1(tmp_path: Path) -> None:
    path = tmp_path / "a.csv"
    path.write_bytes(b"a\x81,b\n0,1\n1,0\n")
    assert "was read as Latin-1" in both(path)[1][0]


def test_a_byte_that_is_not_utf_8_after_the_head(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(counted, "HEAD_BYTES", 64)
    path = tmp_path / "a.csv"
    path.write_bytes(b"a,b\n" + b"0,yes\n1,no\n" * 5_000 + "0,jä\n".encode("latin-1"))
    notes: list[str] = []
    with pytest.warns(InputWarning, match="'jä' of 'b'"):
        table = read_counted(path, notes=notes)
    assert table.variables[1].labels == ("jä", "no", "yes")


@pytest.mark.parametrize(("encoding", "name"), [("cp1251", "дом"), ("UTF-16-LE", "müde")])
def test_the_encoding_is_given(tmp_path: Path, encoding: str, name: str) -> None:
    path = tmp_path / "a.csv"
    path.write_bytes(f"{name},b\n0,1\n1,0\n".encode(encoding))
    table, notes = both(path, encoding=encoding)
    assert list(table.columns) == [name, "b"]
    assert notes == []


@pytest.mark.parametrize("read", [read_table, read_counted])
@pytest.mark.parametrize(
    ("content", "options", "code"),
    [
        (TEXT.encode("latin-1"), {"encoding": "utf-8"}, "wrong-encoding"),
        (TEXT.encode(), {"encoding": "nonsense"}, "unknown-encoding"),
        (TEXT.encode(), {"encoding": "base64"}, "unknown-encoding"),
        (TEXT.encode(), {"decimal": ";"}, "invalid-decimal"),
        (b"a,b\n\x01\x02\xff,1\n", {}, "not-text"),
        (b"PAR1", {"encoding": "utf-8"}, "text-option-without-text"),
        (b"PAR1", {"decimal": ","}, "text-option-without-text"),
    ],
)
def test_bad_encodings(
    tmp_path: Path, read: Any, content: bytes, options: dict[str, str], code: str
) -> None:
    path = tmp_path / "a.csv"
    path.write_bytes(content)
    with pytest.raises(InputError) as refused:
        read(path, **options)
    assert refused.value.code == code


COMMAS = "dose;n\n1,5;1\n2;0\n-0,25;1\n"


def test_decimal_commas_are_recognized_beside_semicolons(tmp_path: Path) -> None:
    path = tmp_path / "a.csv"
    path.write_text(COMMAS)
    notes: list[str] = []
    assert read_table(path, notes=notes)["dose"].tolist() == [1.5, 2.0, -0.25]
    assert notes == ["Column 'dose': commas are decimal commas (1,5 is 1.5)."]
    in_chunks: list[str] = []
    table = read_counted(path, binarize={"dose": 1.5}, chunk_rows=1, notes=in_chunks)
    assert in_chunks == notes
    assert table.variables[0].threshold == 1.5
    assert table.rows.tolist() == [[0, 1], [1, 0], [1, 1]]


def test_the_decimal_separator_is_given(tmp_path: Path) -> None:
    path = tmp_path / "a.csv"
    path.write_text(COMMAS)
    assert read_table(path, decimal=".")["dose"].tolist() == ["1,5", "2", "-0,25"]
    path.write_text('dose,n\n"1,5",1\n2,0\n')
    assert read_table(path)["dose"].tolist() == ["1,5", "2"]
    assert read_table(path, decimal=",")["dose"].tolist() == [1.5, 2.0]


@pytest.mark.parametrize("cell", ["1,2,3", "x", "1.5"])
def test_a_column_with_other_values_has_no_decimal_commas(tmp_path: Path, cell: str) -> None:
    path = tmp_path / "a.csv"
    path.write_text(f"dose;n\n1,5;1\n{cell};0\n")
    assert read_table(path)["dose"].tolist() == ["1,5", cell]


def test_marks_for_missing_answers_do_not_hide_decimal_commas(tmp_path: Path) -> None:
    path = tmp_path / "a.csv"
    path.write_text("dose;n\n1,5;1\n.;0\n;1\n")
    column = read_table(path)["dose"]
    assert column.tolist()[:2] == [1.5, "."]
    assert pd.isna(column[2])
