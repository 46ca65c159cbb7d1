"""Learn 4 x 4 pixels of handwritten digits, and draw new ones from what was learned."""

import os

import matplotlib.pyplot as plt
import numpy as np

from slabfield import SpikeSlabMRF, datasets

draws = int(os.environ.get("SLABFIELD_DRAWS", "0")) or "auto"
digits = datasets.load_digits_binary(pool=2)  # 1,797 pictures; they come with scikit-learn
model = SpikeSlabMRF(n_draws=draws, random_state=1).fit(digits)

strength = np.abs(model.coupling_)
row, column = np.divmod(np.arange(16), 4)
apart = np.abs(row[:, None] - row) + np.abs(column[:, None] - column)
for steps in range(1, 7):
    print(f"pixels {steps} apart: mean strength {strength[apart == steps].mean():.2f}")

new = model.sample(24, random_state=1)
rows = np.vstack([digits.sample(24, random_state=1), new])
figure, panels = plt.subplots(4, 12, figsize=(9, 3.8), layout="constrained")
for panel, pixels in zip(panels.flat, rows, strict=True):
    panel.imshow(np.reshape(pixels, (4, 4)), cmap="Grays")
    panel.set(xticks=[], yticks=[])
panels[0, 0].set_title("real", loc="left")
panels[2, 0].set_title("drawn from the model", loc="left")
figure.savefig("pixels.png", dpi=80)
