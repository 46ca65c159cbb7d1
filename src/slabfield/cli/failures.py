"""Exit codes, and how bad input and Ctrl-C end a command."""

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
    'method="gibbs"': "--method gibbs",
}
"""What the advice of a message is called on the command line."""


@contextmanager
def plain_failures(left: str = "nothing was written", quiet: bool = False) -> Iterator[None]:
    """Turn bad input and Ctrl-C into a message and an exit code; bugs keep their traceback.

    Where it is to be quiet, nothing is said of compiling.

    Examples
    --------
    >>> from slabfield.cli.failures import plain_failures
    >>> with plain_failures():
    ...     pass
    """
    from slabfield.checks import InputError

    logger = logging.getLogger("slabfield")
    before = logger.level
    if quiet:
        logger.setLevel(logging.ERROR)
    try:
        yield
    except InputError as error:
        from slabfield.cli.show import as_options

        message = str(error)
        typer.echo(f"Error: {as_options(message)}", err=True)
        hints = dict.fromkeys(hint for word, hint in HINTS.items() if word in message)
        if hints:
            typer.echo(f"On the command line: {'; '.join(hints)}.", err=True)
        raise typer.Exit(BAD_INPUT) from None
    except KeyboardInterrupt as stop:
        typer.echo(f"Interrupted; {str(stop) or left}.", err=True)
        raise typer.Exit(INTERRUPTED) from None
    finally:
        logger.setLevel(before)
