"""The command line. Nothing heavy is imported before a command runs."""

from __future__ import annotations


def main() -> None:
    """Run the ``slabfield`` command."""
    from slabfield.cli.app import app

    app(prog_name="slabfield")
