"""Boredom proneness of 986 people in two languages, which comes with the package."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal, NamedTuple, overload

from slabfield.datasets.shipped_tables import as_bunch, read_shipped

if TYPE_CHECKING:
    from sklearn.utils import Bunch


class Item(NamedTuple):
    """An item of the scale: its readable name, and what who agrees says."""

    name: str
    description: str


ITEMS = {
    "loose_ends": Item("Loose ends", "often does not know what to do with the time"),
    "entertain": Item("Hard to amuse", "finds it hard to find amusement alone"),
    "repetitive": Item("Monotony", "has to do many things that are always the same"),
    "stimulation": Item("Stimulation", "needs more stimulation than others to get going"),
    "motivated": Item("Unmotivated", "feels little motivation for most activities"),
    "keep_interest": Item("Uninterested", "rarely finds anything to do or see that holds interest"),
    "sit_around": Item("Idle", "spends much time sitting around"),
    "half_dead_dull": Item("Dull", "feels dull unless something exciting or dangerous happens"),
}
"""The item in each column of the file."""


@overload
def load_boredom(*, return_X_y: Literal[False] = False, as_frame: bool = True) -> Bunch: ...


@overload
def load_boredom(*, return_X_y: Literal[True], as_frame: bool = True) -> tuple[Any, Any]: ...


def load_boredom(*, return_X_y: bool = False, as_frame: bool = True) -> Bunch | tuple[Any, Any]:
    """Load the boredom proneness of 986 people, eight items of seven levels; no network is needed.

    496 people were asked in English and 490 in French. The items are those of the Short Boredom
    Proneness Scale, answered from 1 (strongly disagree) to 7 (strongly agree). The data are under
    the license CC BY 4.0: whoever passes them on must name their authors, Martarelli and others.

    Parameters
    ----------
    return_X_y : bool
        Return ``(data, target)`` in place of a `Bunch`.
    as_frame : bool
        Whether data and target are a data frame and a series, with names, or arrays.

    Returns
    -------
    sklearn.utils.Bunch or (data, target)
        ``data`` : DataFrame or array of shape (986, 8), uint8
            A person in each row, an item in each column.
        ``target`` : Series or array of shape (986,), str
            Language of the items: "en" or "fr".
        ``frame`` : DataFrame of shape (986, 9), or None
            Both; None unless ``as_frame``.
        ``feature_names``, ``target_names`` : list of str
            Names of the items, and the languages.
        ``descriptions`` : dict
            What who agrees with an item says.
        ``DESCR`` : str
            Where the data are from, and their license.

    References
    ----------
    The data: Martarelli, Baillifard and Audrin (2023). A trait-based network perspective on the
    validation of the French Short Boredom Proneness Scale. European Journal of Psychological
    Assessment 39(6): 390-399. https://doi.org/10.1027/1015-5759/a000718

    The scale: Struk, Carriere, Cheyne and Danckert (2017). A Short Boredom Proneness Scale:
    development and psychometric properties. Assessment 24(3): 346-359.
    https://doi.org/10.1177/1073191115609996

    Examples
    --------
    >>> from slabfield.datasets import load_boredom
    >>> people = load_boredom()
    >>> people.data.shape, people.target.value_counts().to_dict()
    ((986, 8), {'en': 496, 'fr': 490})
    >>> people.descriptions["Idle"]
    'spends much time sitting around'
    """
    names = {column: item.name for column, item in ITEMS.items()}
    return as_bunch(
        "boredom",
        read_shipped("boredom", names | {"language": "language"}),
        "language",
        return_X_y=return_X_y,
        as_frame=as_frame,
        target_names=["en", "fr"],
        descriptions={item.name: item.description for item in ITEMS.values()},
    )
