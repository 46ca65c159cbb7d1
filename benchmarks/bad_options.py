"""Options and checkpoints that cannot be used, for ``bad_input.py``."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np

NAMES = ["sleep", "work", "joy", "time:of:day"]
ROWS = np.array([[0, 1, 1], [1, 0, 1], [1, 1, 0], [0, 0, 1], [1, 1, 1]], dtype=np.uint8)
Tried = Iterator[tuple[str, Callable[[], Any]]]


def options(folder: Path) -> Tried:
    """Yield options of the command line, and calls that parse them."""
    from slabfield.cli.edge_lists import read_pairs
    from slabfield.cli.edge_prior_options import read_communities, read_inclusion
    from slabfield.cli.kind_options import parse_kinds, parse_levels
    from slabfield.cli.option_values import (
        parse_binarize,
        parse_draws,
        parse_na_values,
        parse_slab,
        select_names,
    )

    yield "`--columns sleep,wrok`", lambda: select_names(NAMES, "sleep,wrok", None)
    yield "`--drop rest`", lambda: select_names(NAMES, None, "rest")
    yield "`--binarize high`", lambda: parse_binarize("high")
    yield "`--binarize sleep=high`", lambda: parse_binarize("sleep=high")
    yield "`--na-values sleep:`", lambda: parse_na_values(["sleep:"])
    yield "`--levels sleep`", lambda: parse_levels(["sleep"])
    (folder / "levels.csv").write_text("sleep,never\n")
    yield "`--levels @levels.csv`", lambda: parse_levels(["@levels.csv"])
    yield "`--ordinal sleep,,work`", lambda: parse_kinds(["sleep,,work"])
    yield "`--nominal @nowhere.csv`", lambda: parse_kinds(None, ["@nowhere.csv"])
    yield "`--ordinal joy --blume-capel joy:2`", lambda: parse_kinds(["joy"], None, ["joy:2"])
    yield "`--slab wide`", lambda: parse_slab("wide")
    yield "`--draws many`", lambda: parse_draws("many")
    for text in ("sleep", "sleep:wrok", "sleep:sleep", "@nowhere.csv"):
        yield f"`--forbid {text}`", lambda text=text: read_pairs([text], NAMES, "--forbid")
    for name, content in {
        "empty.csv": "", "unknown.csv": "sleep,wrok\n", "one.csv": "sleep\n",
        "three.csv": "sleep,work,joy\n",
    }.items():  # fmt: skip
        (folder / name).write_text(content)
        yield f"`--require @{name}`", lambda name=name: read_pairs([f"@{name}"], NAMES, "--require")
    for text in ("often", "sleep:work", "sleep:work=often", "sleep:wrok=0.5"):
        yield f"`--inclusion {text}`", lambda text=text: read_inclusion([text], NAMES)
    (folder / "prior.csv").write_text("sleep,work,often\n")
    yield "`--inclusion @prior.csv`", lambda: read_inclusion(["@prior.csv"], NAMES)
    (folder / "communities.csv").write_text("sleep,night\nsleep,day\n")
    yield "`--communities communities.csv`", lambda: read_communities("communities.csv", NAMES)
    yield "`--communities nowhere.csv`", lambda: read_communities("nowhere.csv", NAMES)
    (folder / "short.csv").write_text("sleep\n")
    yield "`--communities short.csv`", lambda: read_communities("short.csv", NAMES)


def checkpoints(folder: Path) -> Tried:
    """Yield faults of the folder of a run, and calls that resume it."""
    from slabfield import SpikeSlabMRF
    from slabfield.chains.checkpoint import FORMAT, read_checked, write_checked

    settings = {"n_draws": 5, "n_warmup": 5, "n_chains": 1, "random_state": 0}
    run, chain = folder / "run", folder / "run" / "exact-0.npz"
    SpikeSlabMRF(**settings).fit(ROWS, checkpoint=run)
    whole = {path: path.read_bytes() for path in run.glob("*.npz")}

    def resume(path: Path, content: bytes) -> Callable[[], Any]:
        def action() -> None:
            for other, old in whole.items():
                other.write_bytes(old)
            path.write_bytes(content)
            SpikeSlabMRF.from_checkpoint(run)

        return action

    yield "no folder", lambda: SpikeSlabMRF.from_checkpoint("nowhere")
    yield "a run cut short in writing", resume(run / "run.npz", whole[run / "run.npz"][:1000])
    yield "a chain cut short in writing", resume(chain, whole[chain][:-100])
    flipped = bytearray(whole[chain])
    flipped[500] ^= 1
    yield "a chain with one bit flipped", resume(chain, bytes(flipped))
    other = whole[chain].replace(b"format %04d" % FORMAT, b"format %04d" % (FORMAT + 1))
    yield "a chain of another format, with a wrong checksum", resume(chain, other)
    chain.write_bytes(whole[chain])
    state, arrays = read_checked(chain, "")
    write_checked(chain, state | {"state": {"tuple": [], "kind": "Popen"}}, arrays)
    unknown = chain.read_bytes()
    yield "a chain that names a kind of object that is not a state", resume(chain, unknown)

    def fit(rows: Any = ROWS, **others: Any) -> Callable[[], Any]:
        return lambda: SpikeSlabMRF(**settings | others).fit(rows, checkpoint=run)

    for path, content in whole.items():
        path.write_bytes(content)
    yield "other data, into the same folder", fit(1 - ROWS)
    yield "other settings, into the same folder", fit(n_warmup=6)
    yield "another seed, into the same folder", fit(random_state=1)


def weights(folder: Path) -> Tried:
    """Yield invalid weights, and calls that fit with them."""
    from slabfield import SpikeSlabMRF

    for what, given in {
        "too few": [1.0, 2.0], "a negative one": [-1.0, 1, 1, 1, 1], "only zeros": [0.0] * 5,
        "one that is not a number": [np.nan, 1, 1, 1, 1], "words": ["many"] * 5,
    }.items():  # fmt: skip
        yield what, lambda given=given: SpikeSlabMRF().fit(ROWS, sample_weight=given)
