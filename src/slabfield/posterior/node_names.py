"""Names of nodes on one short line, for plots and tables."""

from __future__ import annotations


def short_name(name: str, longest: int) -> str:
    r"""Return a name on one line, shortened in the middle to a maximum length.

    The beginning and the end are kept, since names of related columns often differ only there.

    Parameters
    ----------
    name : str
        Any text; line breaks and other control characters become spaces.
    longest : int
        Maximum number of characters.

    Returns
    -------
    str

    Examples
    --------
    >>> from slabfield.posterior.node_names import short_name
    >>> short_name("trouble_sleeping_week_1", 16), short_name("two\nlines", 16)
    ('trouble_…_week_1', 'two lines')
    """
    line = " ".join("".join(c if c.isprintable() else " " for c in name).split())
    if len(line) <= longest:
        return line
    kept = max(longest - 1, 0)
    end = line[len(line) - kept // 2 :]
    return f"{line[: kept - kept // 2].rstrip()}…{end.lstrip()}"
