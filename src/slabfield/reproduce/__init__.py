"""The experiments of Chen and Welling (2012), run anew: one short file for each figure.

`slabfield reproduce FIGURE` on the command line. A figure is made of *pieces* (one fit, one path),
which are kept on disk as they are finished; it writes its numbers as CSV beside its pictures, and
draws only these. Importing this package imports nothing heavy.
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
"""What can be asked for, and the file that makes it; ``all`` is all of them and a page."""
