"""Tables that come with the package, as scikit-learn's loaders return them."""

from __future__ import annotations

from importlib.resources import files
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import pandas as pd
    from sklearn.utils import Bunch

FOLDER = files("slabfield.datasets").joinpath("data")


def read_shipped(name: str, columns: dict[str, str]) -> pd.DataFrame:
    """Read a table, with these of its columns renamed.

    Parameters
    ----------
    name : str
        Of the file, without its ending.
    columns : dict
        New names of all columns, in their order.
    """
    import pandas as pd

    with FOLDER.joinpath(f"{name}.csv").open("rb") as file:
        table = pd.read_csv(file)
    numbers = table.select_dtypes("number").columns
    return table.astype(dict.fromkeys(numbers, "uint8"))[list(columns)].rename(columns=columns)


def as_bunch(
    name: str,
    frame: pd.DataFrame,
    target: str,
    *,
    return_X_y: bool,
    as_frame: bool,
    **facts: Any,
) -> Bunch | tuple[Any, Any]:
    """Return a table as scikit-learn's loaders do.

    Parameters
    ----------
    name : str
        Of the file that says where the data are from, without its ending.
    frame : DataFrame
        Rows with all columns.
    target : str
        The column that is not one of the data.
    return_X_y, as_frame : bool
        As in scikit-learn.
    **facts
        Further entries of the bunch.
    """
    from sklearn.utils import Bunch

    data: Any = frame.drop(columns=target)
    labels: Any = frame[target]
    names = list(data.columns)
    if not as_frame:
        data, labels = data.to_numpy(), labels.to_numpy()
    if return_X_y:
        return data, labels
    return Bunch(
        data=data,
        target=labels,
        frame=frame if as_frame else None,
        feature_names=names,
        DESCR=FOLDER.joinpath(f"{name}.md").read_text("utf-8"),
        **facts,
    )
