"""``slabfield bench``."""

from __future__ import annotations

from slabfield.cli import options
from slabfield.cli.failures import plain_failures


def bench(quiet: options.Quiet = False) -> None:
    """Measure slabfield on this machine, beside recorded ratios; takes less than a minute.

    Times differ between machines, ratios hardly do: where one is far from the record, something
    keeps compiled code from being as fast as it can be.
    """
    with plain_failures(quiet=quiet):
        import sys

        from rich import box
        from rich.console import Console
        from rich.table import Table

        from slabfield.yardsticks import measure_all, read_recorded

        recorded = read_recorded()
        table = Table(box=box.SIMPLE_HEAD)
        table.add_column("Ratio")
        for heading in ("This machine", "Recorded", "Better is"):
            table.add_column(heading, justify="right")
        for ratio, value in measure_all():
            if not quiet:
                print(f"measured: {ratio.name}", file=sys.stderr, flush=True)
            table.add_row(
                ratio.what,
                "gcc not found" if value is None else f"{value:.3g}",
                f"{recorded['ratios'][ratio.name]:.3g}",
                "more" if ratio.more_is_better else "less",
            )
        console = Console()
        console.print(table)
        console.print(f"Recorded on: {recorded['setting']}", soft_wrap=not console.is_terminal)
