"""``slabfield bench``."""

from __future__ import annotations

from slabfield.cli import options
from slabfield.cli.error_handling import handle_errors


def bench(quiet: options.Quiet = False) -> None:
    """Measure speed ratios on this machine and compare them with recorded ones (under a minute).

    Times differ between machines, ratios hardly do: a ratio far from the recorded one means that
    compiled code runs slower than it should.
    """
    with handle_errors(quiet=quiet):
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
