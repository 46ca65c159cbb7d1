"""The words of newsgroup posts that go together when all other words are known."""

import os
from pathlib import Path

import numpy as np
import pandas as pd

from slabfield import SpikeSlabMRF, datasets, plots

draws = int(os.environ.get("SLABFIELD_DRAWS", "0")) or 500
file = Path(os.environ.get("SLABFIELD_DATA", "no-folder")) / "newsgroups_w100.npz"
if file.exists():  # which of 100 words are in each of 16,242 posts
    found = np.load(file)
    posts = pd.DataFrame(found["X"], columns=found["words"])
    posts = posts.sample(2000, random_state=1)
    posts = posts[posts.mean().nlargest(40).index]
else:
    print(f"{file.name} is not there: simulated posts, whose words mean nothing")
    posts = pd.DataFrame(datasets.make_random(500, 20, 2.0, random_state=1, method="gibbs").rows)
    posts = posts.rename(columns=lambda column: f"word {column + 1}")

model = SpikeSlabMRF(likelihood="pseudo", n_draws=draws, random_state=1).fit(posts)

posterior = model.posterior_
edges = posterior.to_dataframe()
print(edges[["node_1", "node_2", "inclusion_probability", "coupling_given_presence"]].head(15))
print("Share of pairs with an edge:", posterior.density.mean().round(3))
plots.network(posterior, threshold=0.9).figure.savefig("words.png", dpi=80)
