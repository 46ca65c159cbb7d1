"""The direct links between symptoms of post-traumatic stress."""

import os
from pathlib import Path

import pandas as pd

from slabfield import SpikeSlabMRF, datasets, plots

draws = int(os.environ.get("SLABFIELD_DRAWS", "0")) or "auto"
file = Path(os.environ.get("SLABFIELD_DATA", "no-folder")) / "wenchuan_ptsd_binary_ge3.csv"
if file.exists():  # 344 survivors of the Wenchuan earthquake, 17 symptoms
    answers = pd.read_csv(file)
else:
    print(f"{file.name} is not there: a simulated stand-in, whose names mean nothing")
    answers = pd.DataFrame(datasets.make_random(344, 17, 3.0, random_state=1).rows)
    answers = answers.rename(columns=lambda column: f"symptom {column + 1}")

posterior = SpikeSlabMRF(n_draws=draws, random_state=1).fit(answers).posterior_

edges = posterior.to_dataframe()
print(edges[["node_1", "node_2", "inclusion_probability", "coupling_given_presence"]].head(10))
n_supported = (edges["inclusion_probability"] >= 0.9).sum()
print(f"Converged: {posterior.converged}. Edges of 0.9 or more: {n_supported}")
ax = plots.network(posterior, threshold=0.9)
ax.figure.savefig("symptoms.png", dpi=80)
