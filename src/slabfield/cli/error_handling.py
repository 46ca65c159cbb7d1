"""Exit codes, and the handling of invalid input and Ctrl-C."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from contextlib import contextmanager

import typer

NOT_CONVERGED, BAD_INPUT, INTERRUPTED = 1, 2, 130

HINTS = {
    "na='drop'": "--na drop, --na impute, or --drop NAME,... to leave columns out",
    "df.drop(": "--drop NAME,... leaves columns out",
    "binarize": "--binarize NUMBER cuts every numeric column, --binarize NAME=NUMBER,... some",
}
"""The options that correspond to the advice of a message without fields."""


@contextmanager
def handle_errors(on_interrupt: str = "nothing was written", quiet: bool = False) -> Iterator[None]:
    """Turn invalid input and Ctrl-C into a message and an exit code; bugs keep their traceback.

    With `quiet`, there is no message about compilation.
    """
    from slabfield.validation import InputError

    logger = logging.getLogger("slabfield")
    level = logger.level
    if quiet:
        logger.setLevel(logging.ERROR)
    try:
        yield
    except InputError as error:
        from slabfield.cli.parameter_options import in_options

        text = in_options(error.message)
        typer.echo(f"Error: {text}", err=True)
        # other messages name the options themselves
        hints = [hint for word, hint in HINTS.items() if error.code == "input" and word in text]
        if hints:
            typer.echo(f"On the command line: {'; '.join(hints)}.", err=True)
        raise typer.Exit(BAD_INPUT) from None
    except KeyboardInterrupt as interrupt:
        typer.echo(f"Interrupted; {str(interrupt) or on_interrupt}.", err=True)
        raise typer.Exit(INTERRUPTED) from None
    finally:
        logger.setLevel(level)
