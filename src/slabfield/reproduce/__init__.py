"""Reproduction of the experiments of Chen and Welling (2012), one module for each figure.

Command line: `slabfield reproduce FIGURE`. A figure needs several *pieces* of work (one fit, one
path), whose results are cached on disk. It writes its numbers as CSV files, and plots only these.
Importing this package is fast.
"""

from __future__ import annotations

FIGURES: dict[str, str] = {
    "1": "figure01",
    "2": "figure02",
    "3": "figure03",
    "4": "figure04",
    "5": "figure05",
    "6": "figure06",
    "7": "figure07",
    "8": "figure08",
    "9": "figure09",
    "10": "figure10",
    "11": "figure11",
    "sizes": "sizes",
    "sensitivity": "sensitivity",
}
"""Names of figures and their modules; ``all`` makes all of them and a results page."""
