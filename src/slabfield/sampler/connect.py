"""Reaching a cluster of Dask distributed."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from slabfield.checks import InputError
from slabfield.checks.errors import shown_value

if TYPE_CHECKING:
    from distributed import Client

# Seconds to wait for a scheduler, and for its first worker
REACH_SECONDS, WORKER_SECONDS = 5.0, 10.0


def address_of(client: Client) -> str:
    """Return the address of a client's scheduler."""
    return str(client.scheduler.address) if client.scheduler is not None else "its address"


def workers_of(client: Client) -> list[str]:
    """Return the addresses of a cluster's workers."""
    return list(client.ncores())


@contextmanager
def open_client(cluster: Client | str | None) -> Iterator[Client | None]:
    """Reach a cluster, given by the address of its scheduler or a client; None stays None.

    A client that was given stays open.
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
    told = Security().get_connection_args("client")
    if cluster.startswith("tls://") and told.get("ssl_context") is None:
        raise InputError(
            f"cluster needs a certificate where its address begins with tls; found {cluster}, and "
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
    """Have joblib run what it is given on a cluster, while the context lasts."""
    if client is None:
        yield
        return
    from joblib import parallel_config

    with parallel_config(backend="dask", client=client, wait_for_workers_timeout=WORKER_SECONDS):
        yield


def _expect_workers(client: Client) -> None:
    if client.status != "running":
        raise InputError(
            f"cluster must be a client that is connected; found one that is {client.status}. "
            "Make another: distributed.Client(ADDRESS)."
        )
    until = time.monotonic() + WORKER_SECONDS
    while not workers_of(client):
        if time.monotonic() > until:
            raise InputError(
                f"cluster must have a worker; {address_of(client)} has none after "
                f"{WORKER_SECONDS:.0f} s. Start one: dask worker {address_of(client)}."
            )
        time.sleep(0.1)
