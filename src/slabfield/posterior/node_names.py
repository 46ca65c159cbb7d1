"""Names of nodes, levels and biases, for plots and tables."""

from __future__ import annotations

from slabfield.encoding.variables import Variable

# Names of the two biases of a Blume-Capel node
BLUME_CAPEL_TERMS = ("linear", "quadratic")


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


def level_names(variable: Variable) -> list[str]:
    """Return the labels of the levels of a variable as text, in the order of their codes.

    Examples
    --------
    >>> from slabfield.encoding import Variable
    >>> from slabfield.posterior.node_names import level_names
    >>> level_names(Variable("mood", "ordinal", (1.0, 2.0, 2.5), (0.0, 1.0, 2.0)))
    ['1', '2', '2.5']
    """
    return [_label_text(label) for label in variable.labels]


def bias_terms(variable: Variable) -> list[str]:
    """Return what each bias of a node belongs to: a level, or a term of a Blume-Capel node.

    The first level has none: the biases of the others are relative to it.

    Examples
    --------
    >>> from slabfield.encoding import Variable
    >>> from slabfield.posterior.node_names import bias_terms
    >>> bias_terms(Variable("place", "nominal", ("north", "south", "west"), ()))
    ['south', 'west']
    """
    if variable.reference is not None:
        return [*BLUME_CAPEL_TERMS]
    return level_names(variable)[1:]


def bias_names(name: str, variable: Variable) -> list[str]:
    """Return the names of the biases of a node.

    Examples
    --------
    >>> from slabfield.encoding import Variable
    >>> from slabfield.posterior.node_names import bias_names
    >>> bias_names("place", Variable("place", "nominal", ("north", "south", "west"), ()))
    ['place[south]', 'place[west]']
    >>> bias_names("sleep", Variable.binary("sleep", ("no", "yes")))
    ['sleep']
    """
    if variable.kind == "binary":
        return [name]
    return [f"{name}[{term}]" for term in bias_terms(variable)]


def _label_text(label: object) -> str:
    if label is None:
        return "(never seen)"
    return f"{label:g}" if isinstance(label, float) else str(label)
