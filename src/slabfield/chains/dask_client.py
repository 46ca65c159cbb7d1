"""Connection to a Dask distributed cluster."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from slabfield.validation import InputError, Parameter
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
            "distributed-not-installed",
            "{parameter} needs the package distributed; it is not installed. Install "
            "slabfield[dask].",
            parameter=Parameter("cluster"),
        ) from None
    if isinstance(cluster, Client):
        _expect_workers(cluster)
        yield cluster
        return
    if not isinstance(cluster, str) or "://" not in cluster:
        raise InputError(
            "invalid-cluster",
            "{parameter} must be the address of a Dask scheduler, such as tcp://HOST:PORT, or a "
            "distributed.Client; found {value}.",
            parameter=Parameter("cluster"),
            value=shown_value(cluster),
        )
    connection = Security().get_connection_args("client")
    if cluster.startswith("tls://") and connection.get("ssl_context") is None:
        raise InputError(
            "cluster-without-certificate",
            "{parameter} needs a certificate if its address begins with tls; found {address}, and "
            "no certificate in Dask's configuration. Set distributed.comm.tls there, or pass a "
            "distributed.Client that has one.",
            parameter=Parameter("cluster"),
            address=cluster,
        )
    try:
        client = Client(cluster, timeout=REACH_SECONDS, set_as_default=False)
    except (OSError, ValueError, TypeError, TimeoutError) as error:
        reason = str(error).splitlines()[0] if str(error) else type(error).__name__
        raise InputError(
            "no-scheduler",
            "{parameter} must be the address of a Dask scheduler; none can be reached at "
            "{address}: {reason}. Start one with dask scheduler, and workers with dask worker "
            "{address}.",
            parameter=Parameter("cluster"),
            address=cluster,
            reason=reason,
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
            "client-not-connected",
            "{parameter} must be a connected client; found one that is {status}. Create another "
            "one with distributed.Client(ADDRESS).",
            parameter=Parameter("cluster"),
            status=client.status,
        )
    until = time.monotonic() + WORKER_SECONDS
    while not workers_of(client):
        if time.monotonic() > until:
            raise InputError(
                "no-workers",
                "{parameter} must have a worker; {address} has none after {seconds:.0f} s. Start "
                "one with dask worker {address}.",
                parameter=Parameter("cluster"),
                address=address_of(client),
                seconds=WORKER_SECONDS,
            )
        time.sleep(0.1)
