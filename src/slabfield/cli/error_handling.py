"""Exit codes, and the handling of invalid input and Ctrl-C."""

from __future__ import annotations

import logging
from collections.abc import Iterator, Mapping
from contextlib import contextmanager

import typer

NOT_CONVERGED, BAD_INPUT, INTERRUPTED = 1, 2, 130


@contextmanager
def handle_errors(
    on_interrupt: str = "nothing was written",
    quiet: bool = False,
    options: Mapping[str, str | None] | None = None,
) -> Iterator[None]:
    """Turn invalid input and Ctrl-C into a message and an exit code; bugs keep their traceback.

    With `quiet`, there is no message about compilation. `options` has the parameters for which this
    command has another option than usual, or none (None).
    """
    from slabfield.validation import InputError

    logger = logging.getLogger("slabfield")
    level = logger.level
    if quiet:
        logger.setLevel(logging.ERROR)
    try:
        yield
    except InputError as error:
        from slabfield.cli.parameter_options import OPTIONS, in_options

        text = in_options(error.message, {**OPTIONS, **(options or {})})
        typer.echo(f"Error: {text}", err=True)
        raise typer.Exit(BAD_INPUT) from None
    except KeyboardInterrupt as interrupt:
        typer.echo(f"Interrupted; {str(interrupt) or on_interrupt}.", err=True)
        raise typer.Exit(INTERRUPTED) from None
    finally:
        logger.setLevel(level)
