"""Encodings of text files: the one that is named, or a guess."""

from __future__ import annotations

import codecs
import re
from pathlib import Path

from slabfield.validation.errors import InputError, Parameter, shown_value

BYTE_ORDER_MARKS = (b"\xff\xfe", b"\xfe\xff")
"""First bytes of a file in UTF-16."""

UTF_8, UTF_16 = "utf-8-sig", "utf-16"

WESTERN = ("cp1252", "latin-1")
"""Encodings of Western European languages, tried in this order where a file is not UTF-8."""

SHOWN_NAMES = {UTF_8: "UTF-8", "cp1252": "Windows-1252", "latin-1": "Latin-1", UTF_16: "UTF-16"}

# Characters that are not expected in text; bytes of any kind are valid in Western encodings
CONTROL = re.compile(r"[\x00-\x08\x0b\x0e-\x1f]")


def check_encoding(name: str | None) -> str | None:
    """Return the name of a text encoding that Python knows, or None.

    Examples
    --------
    >>> from slabfield.io.text_encoding import check_encoding
    >>> check_encoding("Latin1")
    'iso8859-1'
    """
    if name is None:
        return None
    try:
        found = codecs.lookup(name)
        "".encode(found.name)  # fails for codecs that are not text encodings
    except (LookupError, TypeError, ValueError):
        raise InputError(
            "unknown-encoding",
            "{encoding} must be the name of a text encoding; got {value}. Pass for example utf-8, "
            "latin-1, cp1252 (Windows) or utf-16, or leave it out.",
            encoding=Parameter("encoding"),
            value=shown_value(name),
        ) from None
    # a byte order mark is not part of the first column name
    return UTF_8 if found.name == "utf-8" else found.name


def encodings_to_try(head: bytes, encoding: str | None) -> tuple[str, ...]:
    """Return the encodings that a file may have, the most likely first.

    Examples
    --------
    >>> from slabfield.io.text_encoding import encodings_to_try
    >>> encodings_to_try(b"a,b", None)
    ('utf-8-sig', 'cp1252', 'latin-1')
    """
    if encoding is not None:
        return (encoding,)
    if head.startswith(BYTE_ORDER_MARKS):
        return (UTF_16,)
    return (UTF_8, *WESTERN)


def decode(path: Path, content: bytes, encoding: str | None) -> tuple[str, str]:
    """Return the text of a file, and the encoding with which it was decoded."""
    tried = encodings_to_try(content, encoding)
    if b"\0" in content and encoding is None and tried[0] != UTF_16:
        refuse_not_text(path, "\0", guessed=False)
    failure: UnicodeDecodeError | None = None
    for name in tried:
        try:
            text = content.decode(name)
        except UnicodeDecodeError as error:
            failure = error
            continue
        refuse_not_text(path, text, guessed=encoding is None and name in WESTERN)
        return text, name
    assert failure is not None
    raise wrong_encoding(
        path, tried[0], content[failure.start], content.count(b"\n", 0, failure.start) + 1
    )


def wrong_encoding(path: Path, encoding: str, byte: int, line: int | None = None) -> InputError:
    """Return the error about a byte that is not part of text in an encoding."""
    return InputError(
        "wrong-encoding",
        "{path} must be text in {name}; found a byte that is not, 0x{byte:02x}{where}. Name "
        "another encoding with {encoding}, or save it with the encoding UTF-8.",
        path=path,
        name=SHOWN_NAMES.get(encoding, encoding),
        byte=byte,
        where="" if line is None else f" in line {line}",
        encoding=Parameter("encoding"),
    )


def refuse_not_text(path: Path, text: str, guessed: bool) -> None:
    """Refuse a file with NUL, or with any control character if its encoding was guessed."""
    if CONTROL.search(text) if guessed else "\0" in text:
        raise InputError(
            "not-text",
            "{path} must be a text file; found bytes that are not text. Save the table as CSV "
            "(UTF-8) first.",
            path=path,
        )


def notes_of_encoding(path: Path, used: str, given: str | None) -> list[str]:
    """Return a note on an encoding that was guessed; none for UTF-8.

    Examples
    --------
    >>> from pathlib import Path
    >>> from slabfield.io.text_encoding import notes_of_encoding
    >>> notes_of_encoding(Path("answers.csv"), "cp1252", None)
    ['answers.csv is not in UTF-8 and was read as Windows-1252; check that names look right.']
    """
    if given is not None or used == UTF_8:
        return []
    if used == UTF_16:
        return [f"{path.name} was read as UTF-16."]
    return [
        f"{path.name} is not in UTF-8 and was read as {SHOWN_NAMES[used]}; check that names look "
        "right."
    ]
