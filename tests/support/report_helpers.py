"""Made-up posteriors for the tests of reports."""

import numpy as np

from slabfield import Posterior
from slabfield.draws import Draws

HOSTILE = [
    "<script>window.hacked=1</script>",
    "</script><script>window.hacked=2</script>",
    "\"'><img src=x onerror=window.hacked=3>",
    "a & b &lt;i&gt; ${1} {{2}} %s",
    "<!-- --> ]]> \\u003c \\",
    "schlaf ä 睡眠 \U0001f634 \u202eabc",
    "tab\tand\nline\u2028end",
    "averylongname" * 12,
]


def made_up(
    n_nodes: int,
    n_chains: int = 4,
    n_draws: int = 100,
    names: list[str] | None = None,
    certain: bool = False,
) -> Posterior:
    """Make up draws: some edges always present, some never, one in exactly half of the draws."""
    rng = np.random.default_rng(n_nodes)
    n_edges = n_nodes * (n_nodes - 1) // 2
    shape = (n_chains, n_draws)
    probability = np.ones(n_edges) if certain else rng.beta(0.6, 0.6, n_edges)
    if n_edges > 3 and not certain:
        probability[:3] = 1.0, 0.0, 0.5
    present = rng.random((*shape, n_edges)) < probability
    if n_edges > 3 and not certain:
        present[..., 2] = np.arange(n_draws) % 2
    # If all edges are certain, the first are the strongest
    strength = np.linspace(6, 2, n_edges) if certain else 2 * rng.normal(size=n_edges)
    coupling = np.where(present, strength + 0.1 * rng.normal(size=present.shape), 0.0)
    draws = Draws.from_dense(
        coupling,
        present,
        rng.normal(size=(*shape, n_nodes)),
        rng.beta(5, 5, shape),
        rng.gamma(5, 0.2, shape),
        rng.normal(-100, 3, shape),
    )
    settings = {
        "engine": "exact", "preset": "default", "n_rows": 300, "n_warmup": 50, "thin": 2, "seed": 7,
        "bias_scale": 10.0, "data_fingerprint": "ab" * 32,
        "inclusion_prior": {"a": 5.0, "b": 5.0, "edges": None},
        "slab_prior": {"c": 5.0, "d": 5.0, "sigma0": None},
        "versions": {"slabfield": "0.1.0", "numpy": "2.0"},
    }  # fmt: skip
    info = [{"cpu_seconds": 1.5} for _ in range(n_chains)]
    return Posterior(draws, names or [f"item {k}" for k in range(n_nodes)], settings, info)
