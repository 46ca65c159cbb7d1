"""Simulated roll calls: votes that hang together, and how an absentee would have voted."""

import os

import numpy as np
import pandas as pd

from slabfield import SpikeSlabMRF, plots

draws = int(os.environ.get("SLABFIELD_DRAWS", "0")) or "auto"
rng = np.random.default_rng(7)
party = rng.random(435) < 0.55
chance = {"budget": 0.9, "taxes": 0.85, "schools": 0.7, "defense": 0.75, "roads": 0.55}
votes = pd.DataFrame(
    {bill: rng.random(435) < np.where(party, p, 1 - p) for bill, p in chance.items()}
)
# The two farm bills go by region and not by party; the second is a trade for the first.
votes["farms 1"] = rng.random(435) < 0.5
votes["farms 2"] = np.where(rng.random(435) < 0.85, votes["farms 1"], ~votes["farms 1"])
votes["rules"] = rng.random(435) < 0.5
votes = votes.replace({True: "aye", False: "no"})

model = SpikeSlabMRF(n_draws=draws, random_state=1).fit(votes)
print(model.posterior_.to_dataframe()[["node_1", "node_2", "bayes_factor", "evidence"]].head(8))

absent = votes[:6].assign(taxes=None)  # their votes on taxes are not known
print("aye on taxes:", model.predict_proba(absent, nodes="taxes").ravel().round(2))
plots.evidence(model.posterior_).figure.savefig("votes.png", dpi=80)
