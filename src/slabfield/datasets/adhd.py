"""Symptoms of ADHD in 355 children, which come with the package."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal, NamedTuple, overload

from slabfield.datasets.shipped_tables import as_bunch, read_shipped

if TYPE_CHECKING:
    from sklearn.utils import Bunch

INATTENTION = "inattention"
HYPERACTIVITY = "hyperactivity-impulsivity"


class Symptom(NamedTuple):
    """A symptom: its readable name, the community it belongs to, and a description."""

    name: str
    community: str
    description: str


SYMPTOMS = {
    "avoid": Symptom(
        "Avoids tasks", INATTENTION, "avoids or dislikes tasks that take sustained mental effort"
    ),
    "closeatt": Symptom("Careless", INATTENTION, "overlooks details or makes careless mistakes"),
    "distract": Symptom("Distractible", INATTENTION, "is easily distracted by what goes on around"),
    "forget": Symptom("Forgetful", INATTENTION, "is forgetful in daily life"),
    "instruct": Symptom(
        "Does not finish", INATTENTION, "does not follow instructions through or finish work"
    ),
    "listen": Symptom(
        "Does not listen", INATTENTION, "does not seem to listen when spoken to directly"
    ),
    "loses": Symptom("Loses things", INATTENTION, "loses things that tasks or activities need"),
    "org": Symptom("Disorganized", INATTENTION, "has difficulty organizing tasks and activities"),
    "susatt": Symptom(
        "Loses focus", INATTENTION, "has difficulty sustaining attention in tasks or play"
    ),
    "blurts": Symptom(
        "Blurts answers", HYPERACTIVITY, "answers before the question has been completed"
    ),
    "fidget": Symptom("Fidgets", HYPERACTIVITY, "fidgets with hands or feet, or squirms"),
    "interrupt": Symptom("Interrupts", HYPERACTIVITY, "interrupts others or intrudes on them"),
    "motor": Symptom("On the go", HYPERACTIVITY, "is on the go, as if driven by a motor"),
    "quiet": Symptom("Noisy at play", HYPERACTIVITY, "has difficulty playing quietly"),
    "runs": Symptom(
        "Runs and climbs", HYPERACTIVITY, "runs about or climbs where it is out of place"
    ),
    "seat": Symptom("Leaves seat", HYPERACTIVITY, "leaves the seat where sitting is expected"),
    "talks": Symptom("Talks a lot", HYPERACTIVITY, "talks excessively"),
    "turn": Symptom("Cannot wait", HYPERACTIVITY, "has difficulty waiting for a turn"),
}
"""The symptom in each column of the file."""


@overload
def load_adhd(*, return_X_y: Literal[False] = False, as_frame: bool = True) -> Bunch: ...


@overload
def load_adhd(*, return_X_y: Literal[True], as_frame: bool = True) -> tuple[Any, Any]: ...


def load_adhd(*, return_X_y: bool = False, as_frame: bool = True) -> Bunch | tuple[Any, Any]:
    """Load 18 symptoms of ADHD, present or absent, in 355 children; no network is needed.

    Nine symptoms are of inattention and nine of hyperactivity and impulsivity, as the parents of
    children aged 6 to 8 reported them in an interview. 146 of the children have a diagnosis
    of ADHD. Children were chosen by a screening for ADHD, and the diagnosis is made
    from these symptoms: the mean correlation between two symptoms is 0.45 in all children, but
    0.09 and 0.12 within the groups. The data are under the license CC BY 4.0: whoever passes them
    on must name their authors, Silk and others.

    Parameters
    ----------
    return_X_y : bool
        Return ``(data, target)`` in place of a `Bunch`.
    as_frame : bool
        Whether data and target are a data frame and a series, with names, or arrays.

    Returns
    -------
    sklearn.utils.Bunch or (data, target)
        ``data`` : DataFrame or array of shape (355, 18), uint8
            A child in each row, a symptom in each column; 1 is present.
        ``target`` : Series or array of shape (355,), uint8
            Diagnosis of ADHD: 1 yes, 0 no.
        ``frame`` : DataFrame of shape (355, 19), or None
            Both; None unless ``as_frame``.
        ``feature_names``, ``target_names`` : list of str
            Names of the symptoms, and of the target's values 0 and 1.
        ``descriptions`` : dict
            What each symptom means.
        ``communities`` : dict
            "inattention" or "hyperactivity-impulsivity" for each symptom, as the parameter
            ``communities`` of :class:`slabfield.SpikeSlabMRF` takes it.
        ``DESCR`` : str
            Where the data are from, and their license.

    References
    ----------
    The data: Silk and others (2019). A network analysis approach to ADHD symptoms: More than the
    sum of its parts. PLoS ONE 14(1): e0211053. https://doi.org/10.1371/journal.pone.0211053

    The interview: Shaffer and others (2000). NIMH Diagnostic Interview Schedule for Children
    Version IV. Journal of the American Academy of Child and Adolescent Psychiatry 39(1): 28-38.

    Examples
    --------
    >>> from slabfield.datasets import load_adhd
    >>> children = load_adhd()
    >>> children.data.shape, int(children.target.sum())
    ((355, 18), 146)
    >>> children.feature_names[:3]
    ['Avoids tasks', 'Careless', 'Distractible']
    >>> children.descriptions["On the go"]
    'is on the go, as if driven by a motor'
    """
    names = {column: symptom.name for column, symptom in SYMPTOMS.items()}
    return as_bunch(
        "adhd",
        read_shipped("adhd", names | {"group": "diagnosis"}),
        "diagnosis",
        return_X_y=return_X_y,
        as_frame=as_frame,
        target_names=["no ADHD", "ADHD"],
        descriptions={symptom.name: symptom.description for symptom in SYMPTOMS.values()},
        communities={symptom.name: symptom.community for symptom in SYMPTOMS.values()},
    )
