"""Messages of errors and warnings: codes, fields, and the two ways to name a parameter."""

import ast
import copy
import pickle
import re
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from string import Formatter

import numpy as np
import pandas as pd
import pytest
from typer.main import get_command

import slabfield
from slabfield import SpikeSlabMRF
from slabfield.baselines import ChowLiuTree
from slabfield.cli.app import app
from slabfield.cli.fit_run import FitRequest
from slabfield.cli.parameter_options import OPTIONS, VALUES, as_option, in_options
from slabfield.encoding import code_table
from slabfield.validation import (
    InputError,
    InputWarning,
    Message,
    NotFiniteError,
    Parameter,
    check_positive_int,
)

SOURCES = Path(slabfield.__file__).parent
RAISED = ("InputError", "InputWarning", "NotFiniteError")
# Functions whose first argument is the name of a parameter
CHECKS = ("Parameter", "check_choice", "check_number", "check_positive_int", "find_node")


def calls(*names: str) -> Iterator[tuple[str, ast.Call]]:
    """Every call in the sources of a function or class of one of these names, and its place."""
    for path in sorted(SOURCES.rglob("*.py")):
        place = path.relative_to(SOURCES)
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Call) and ast.unparse(node.func).split(".")[-1] in names:
                yield f"{place}:{node.lineno}", node


def text_of(node: ast.expr) -> str:
    assert isinstance(node, ast.Constant), ast.unparse(node)
    assert isinstance(node.value, str)
    return node.value


def fields_of(template: str) -> set[str]:
    return {re.split(r"[.\[]", name)[0] for _, name, _, _ in Formatter().parse(template) if name}


def parameters_named() -> set[str]:
    """The parameters that messages refer to by a name in the sources."""
    return {
        node.args[0].value
        for _, node in calls(*CHECKS)
        if node.args and isinstance(node.args[0], ast.Constant)
    }


MESSAGES = [item for item in calls("Message") if not item[0].startswith("validation/errors.py")]
RAISING = list(calls(*RAISED))


# --- rendering --------------------------------------------------------------------------------


def test_a_parameter_is_rendered_for_python_and_for_the_command_line() -> None:
    message = Message(
        "example",
        "{draws}, {example}, {exact}, {particles}, {full}",
        {
            "draws": Parameter("n_draws"),
            "example": Parameter("n_draws", 100),
            "exact": Parameter("likelihood", "exact"),
            "particles": Parameter("max_draws"),
            "full": Parameter("sampler", {"thin": 5}),
        },
    )
    assert str(message) == (
        "n_draws, n_draws=100, likelihood='exact', max_draws, sampler={'thin': 5}"
    )
    assert in_options(message) == (
        "--draws, --draws 100, --likelihood exact, max_draws (in Python), "
        "sampler={'thin': 5} (in Python)"
    )


def test_missing_values_are_empty_cells_on_the_command_line() -> None:
    with pytest.raises(InputError, match=re.escape("(NaN or None)")) as caught:
        code_table([[0, 1], [None, 0], [1, 1]])
    text = in_options(caught.value.message)
    assert "FILE must have no missing values (empty cells); found 1" in text
    assert "NaN" not in text
    assert "None" not in text


def test_advice_can_be_pasted() -> None:
    names = [f"item {k}" for k in range(30)]
    table = pd.DataFrame({name: [f"free text {k}" for k in range(20)] for name in names})
    with pytest.raises(InputError) as caught:
        code_table(table)
    text = in_options(caught.value.message)
    assert f"--drop '{','.join(names)}'" in text


def test_a_warning_names_the_line_of_the_user() -> None:
    constant = pd.DataFrame({"a": [0, 0, 0], "b": [0, 1, 0]})
    model = SpikeSlabMRF(n_draws=5, n_warmup=5, random_state=0)
    with pytest.warns(InputWarning) as of_fit:
        model.fit(constant)
    with pytest.warns(InputWarning) as of_tree:
        ChowLiuTree().fit(constant)
    with pytest.warns(InputWarning) as of_score:
        model.score(constant.to_numpy())
    for caught in (of_fit, of_tree, of_score):
        (given,) = (item for item in caught if isinstance(item.message, InputWarning))
        assert given.filename == __file__


def test_none_is_a_value_and_numbers_of_numpy_are_numbers() -> None:
    assert str(Parameter("n_jobs", None)) == "n_jobs=None"
    assert str(Parameter("within", np.float64(0.5))) == "within=0.5"


@pytest.mark.parametrize(
    ("name", "value", "expected"),
    [
        ("forbid", [("a", "b")], "--forbid a:b"),
        ("require", [("a", "b")], "--require a:b"),
        ("inclusion_prior", {("a", "b"): 0.1}, "--inclusion a:b=0.1"),
        ("binarize", 2.5, "--binarize 2.5"),
        ("binarize", 2.0, "--binarize 2"),
        ("binarize", {"a": 2.0, "b": 0.5}, "--binarize a=2,b=0.5"),
        ("binarize", {"a b": 2.0, "c,d": 0.5}, """--binarize 'a b=2,"c,d=0.5"'"""),
        ("binarize", "median", "--binarize median"),
        ("binarize", {"a": "median"}, "--binarize a=median"),
        ("na", "drop", "--na drop"),
        ("na_values", [9, -99], "--na-values 9,-99"),
        ("na_values", {"a b": [9], "c": []}, "--na-values 'a b:9' --na-values c:none"),
        ("levels", {"a": [1, 2.5], "b": ["x", "y z"]}, "--levels a=1,2.5 --levels 'b=x,y z'"),
        ("kinds", {"a": "nominal"}, "--nominal a"),
        ("kinds", {"a b": ("blume-capel", 3), "c": "ordinal"}, "--blume-capel 'a b:3' --ordinal c"),
        ("slab_prior", (5, 2.5), "--slab 5,2.5"),
        ("slab_prior", 1.0, "--slab 1"),
        ("drop", ["a", "b"], "--drop a,b"),
        ("drop", list("abcdef"), "--drop a,b,c,d,e,f"),
        ("drop", ["x"] * 101, "--drop x,x,x,x,x,..."),
        ("drop", ["a" * 100], f"--drop {'a' * 77}..."),
        ("shape", (10, 12), "--shape 10x12"),
    ],
)
def test_values_are_written_as_the_options_take_them(
    name: str, value: object, expected: str
) -> None:
    assert as_option(Parameter(name, value)) == expected


@pytest.mark.parametrize(
    "value", ["n_draws", "{draws}", "{", "}", "{0}", "%s", "likelihood='exact'"]
)
def test_what_the_user_gave_is_never_changed(value: str) -> None:
    error = InputError("example", "{column}; {draws}", column=value, draws=Parameter("n_draws"))
    assert str(error) == f"{value}; n_draws"
    assert in_options(error.message) == f"{value}; --draws"


def test_a_message_within_a_message_is_rendered_too() -> None:
    inner = Message("inner", "raise {draws}", {"draws": Parameter("n_draws")})
    assert in_options(Message("outer", "Or {what}.", {"what": inner})) == "Or raise --draws."


def test_a_text_alone_is_not_enough() -> None:
    with pytest.raises(TypeError):
        InputError("Column 'a' is constant.")  # type: ignore[call-arg]


def test_advice_may_be_written_otherwise_in_python() -> None:
    advice = Parameter("drop", ["a", "b, c"], in_python="df.drop(columns=['a', 'b, c'])")
    assert str(advice) == "df.drop(columns=['a', 'b, c'])"
    assert as_option(advice) == """--drop 'a,"b, c"'"""


def test_a_command_may_have_another_option_or_none() -> None:
    options = {**OPTIONS, "checkpoint": "FOLDER", "na": None}
    message = Message(
        "example",
        "{checkpoint}, {na}, {draws}",
        {
            "checkpoint": Parameter("checkpoint"),
            "na": Parameter("na", "drop"),
            "draws": Parameter("n_draws"),
        },
    )
    assert in_options(message) == "--out, --na drop, --draws"
    assert in_options(message, options) == "FOLDER, na='drop' (in Python), --draws"


def test_a_field_may_have_any_name() -> None:
    error = InputError("example", "{code} {template} {self}", code=1, template=2, self=3)
    assert (error.code, str(error)) == ("example", "1 2 3")


# --- exceptions -------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", [InputError, NotFiniteError, InputWarning])
def test_errors_and_warnings_can_be_pickled_and_copied(
    kind: type[InputError | InputWarning],
) -> None:
    error = kind("example", "{path}: {draws}", path=Path("a{b}"), draws=Parameter("n_draws"))
    error.add_note("seen")
    for again in (pickle.loads(pickle.dumps(error)), copy.copy(error), copy.deepcopy(error)):
        assert type(again) is kind
        assert again.message == error.message
        assert str(again) == str(error) == "a{b}: n_draws"
        assert again.__notes__ == ["seen"]
        assert in_options(again.message) == "a{b}: --draws"


def test_an_error_keeps_its_cause() -> None:
    cause = KeyError("a")
    with pytest.raises(ValueError, match="wrong") as caught:
        raise InputError("example", "{what}", what="wrong") from cause
    assert caught.value.__cause__ is cause


def test_an_error_tells_its_code_and_fields() -> None:
    with pytest.raises(InputError) as caught:
        check_positive_int("n_draws", -3)
    error = caught.value
    assert error.code == "not-a-whole-number"
    assert error.fields["parameter"] == Parameter("n_draws")
    assert error.fields["value"] == "-3"
    assert in_options(error.message) == (
        "--draws must be a whole number of at least 1; got -3. Pass for example --draws 4."
    )


# --- the sources ------------------------------------------------------------------------------


def test_every_error_and_warning_has_a_code_of_its_own() -> None:
    assert len(RAISING) > 150
    codes = [(place, text_of(node.args[0])) for place, node in RAISING if len(node.args) == 2]
    assert len(codes) == len(RAISING)
    codes += [(place, text_of(node.args[0])) for place, node in MESSAGES]
    assert [item for item in codes if not re.fullmatch(r"[a-z0-9]+(-[a-z0-9]+)*", item[1])] == []
    assert [code for code, n in Counter(code for _, code in codes).items() if n > 1] == []


def test_every_field_of_a_template_is_given() -> None:
    for place, node in RAISING:
        given = {keyword.arg for keyword in node.keywords}
        assert fields_of(text_of(node.args[1])) == given, place
    checked = 0
    for place, node in MESSAGES:
        if len(node.args) == 3 and isinstance(node.args[2], ast.Dict):
            given = {text_of(key) for key in node.args[2].keys if key is not None}
            assert fields_of(text_of(node.args[1])) == given, place
            checked += 1
    assert checked > 10


def test_the_library_names_no_options() -> None:
    option = re.compile(r"(?<!dask worker )--[a-z]")
    for place, node in [*RAISING, *MESSAGES]:
        if not place.startswith("cli/"):
            assert not option.search(ast.unparse(node)), place


def test_every_parameter_that_is_named_exists() -> None:
    known = {
        argument.arg
        for path in SOURCES.rglob("*.py")
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if isinstance(node, ast.FunctionDef)
        for argument in [*node.args.args, *node.args.kwonlyargs]
    }
    named = parameters_named()
    assert {"n_draws", "likelihood", "X", "sheet", "sampler"} <= named
    assert named - known == set()


def test_every_parameter_has_an_option_or_is_said_to_be_one_of_python() -> None:
    offered = set()
    for command in get_command(app).commands.values():  # type: ignore[attr-defined]
        for parameter in command.params:
            offered |= {*parameter.opts, parameter.name.upper()}
    named = {option for options in OPTIONS.values() for option in re.split(", | or ", options)}
    assert named - offered == set()
    assert set(VALUES) <= set(OPTIONS)
    for name in parameters_named():
        rendered = as_option(Parameter(name))
        is_option = set(re.split(", | or ", rendered)) <= offered
        assert is_option or rendered == f"{name} (in Python)"


def test_what_a_command_sets_has_an_option() -> None:
    assert set(FitRequest._fields) - set(OPTIONS) == set()
