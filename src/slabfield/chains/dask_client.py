"""Connection to a Dask distributed cluster."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from slabfield.validation import InputError
from slabfield.validation.errors import shown_value

if TYPE_CHECKING:
    from distributed import Client

# Seconds to wait for a scheduler
REACH_SECONDS = 5.0
# Seconds to wait for its first worker
WORKER_SECONDS = 10.0


def address_of(client: Client) -> str:
    """Return the address of a client's scheduler."""
    return str(client.scheduler.address) if client.scheduler is not None else "its address"


def workers_of(client: Client) -> list[str]:
    """Return the addresses of a cluster's workers."""
    return list(client.ncores())


@contextmanager
def open_client(cluster: Client | str | None) -> Iterator[Client | None]:
    """Connect to a cluster, given by its scheduler's address or a client; None yields None.

    A client that was passed in stays open.
    """
    if cluster is None:
        yield None
        return
    try:
        from distributed import Client, Security
    except ImportError:
        raise InputError(
            "cluster needs the package distributed; it is not installed. Install slabfield[dask]."
        ) from None
    if isinstance(cluster, Client):
        _expect_workers(cluster)
        yield cluster
        return
    if not isinstance(cluster, str) or "://" not in cluster:
        raise InputError(
            "cluster must be the address of a Dask scheduler, such as tcp://HOST:PORT, or a "
            f"distributed.Client; found {shown_value(cluster)}."
        )
    connection = Security().get_connection_args("client")
    if cluster.startswith("tls://") and connection.get("ssl_context") is None:
        raise InputError(
            f"cluster needs a certificate if its address begins with tls; found {cluster}, and "
            "no certificate in Dask's configuration. Set distributed.comm.tls there, or pass a "
            "distributed.Client that has one."
        )
    try:
        client = Client(cluster, timeout=REACH_SECONDS, set_as_default=False)
    except (OSError, ValueError, TypeError, TimeoutError) as error:
        reason = str(error).splitlines()[0] if str(error) else type(error).__name__
        raise InputError(
            f"cluster must be the address of a Dask scheduler; none can be reached at {cluster}: "
            f"{reason}. Start one with dask scheduler, and workers with dask worker {cluster}."
        ) from None
    with client:
        _expect_workers(client)
        yield client


@contextmanager
def everywhere(client: Client | None) -> Iterator[None]:
    """Make a cluster the joblib backend while the context lasts."""
    if client is None:
        yield
        return
    from joblib import parallel_config

    with parallel_config(backend="dask", client=client, wait_for_workers_timeout=WORKER_SECONDS):
        yield


def _expect_workers(client: Client) -> None:
    if client.status != "running":
        raise InputError(
            f"cluster must be a connected client; found one that is {client.status}. Create "
            "another one with distributed.Client(ADDRESS)."
        )
    until = time.monotonic() + WORKER_SECONDS
    while not workers_of(client):
        if time.monotonic() > until:
            raise InputError(
                f"cluster must have a worker; {address_of(client)} has none after "
                f"{WORKER_SECONDS:.0f} s. Start one with dask worker {address_of(client)}."
            )
        time.sleep(0.1)
