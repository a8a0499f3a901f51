"""The login to a workspace of Databricks, its SQL warehouse, and its errors as ours."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from contextlib import contextmanager

from databricks.sdk import WorkspaceClient
from databricks.sdk.config import Config
from databricks.sdk.errors import (
    DatabricksError,
    DeadlineExceeded,
    InternalError,
    TemporarilyUnavailable,
    TooManyRequests,
    Unauthenticated,
)
from databricks.sdk.service.sql import EndpointInfo
from requests import RequestException

from mirrorlake import __version__
from mirrorlake.errors import RefusedError, RetryableError, UsageError
from mirrorlake.shown import one_line

RETRY_S = 30
"""How long the SDK repeats a call that the workspace throttles, or that does not reach it."""
_UNREADABLE = (AttributeError, LookupError, TypeError, ValueError, ArithmeticError)
"""Of Python, where an answer has other parts than the workspace documents."""
_PASSING = (TooManyRequests, InternalError, TemporarilyUnavailable, DeadlineExceeded)


@contextmanager
def workspace(profile: str | None) -> Iterator[WorkspaceClient]:
    """Log in to the workspace that the SDK's own settings name. profile: of ``~/.databrickscfg``, if not the default.

    Errors of the SDK inside the block are raised as ours: UsageError ``workspace-login``, RefusedError
    ``workspace-refused``, RetryableError ``workspace-unreachable``.
    """
    with _errors_of_ours():
        yield _log_in(profile)


def _log_in(profile: str | None) -> WorkspaceClient:
    logging.getLogger("databricks.sdk").setLevel(logging.ERROR)  # it warns of what it has a way round
    try:
        config = Config(
            profile=profile, retry_timeout_seconds=RETRY_S, product="mirrorlake", product_version=__version__
        )
        return WorkspaceClient(config=config)
    except ValueError as error:
        raise UsageError("workspace-login", _first_line(error)) from None


def find_warehouse(client: WorkspaceClient, wanted: str | None) -> EndpointInfo:
    """The warehouse with this id or name; without one that of the SDK's own settings, else the only one.

    Raises UsageError that names those that there are.
    """
    wanted = wanted or client.config.warehouse_id
    found = list(client.warehouses.list())
    fitting = [one for one in found if wanted in (None, "", one.id, one.name)]
    if len(fitting) == 1:
        return fitting[0]
    there = ", ".join(sorted(f"{one.name} ({one.id})" for one in found)) or "none"
    raise UsageError("usage", f"--warehouse names one of the SQL warehouses: {there}")


@contextmanager
def _errors_of_ours() -> Iterator[None]:
    try:
        yield
    except Unauthenticated as error:
        raise UsageError("workspace-login", _first_line(error)) from error
    except _PASSING as error:
        raise RetryableError("workspace-unreachable", _named(error)) from error
    except DatabricksError as error:
        raise RefusedError("workspace-refused", _named(error)) from error
    except (TimeoutError, RequestException) as error:
        raise RetryableError("workspace-unreachable", _named(error.__cause__ or error)) from error
    except _UNREADABLE as error:
        raise RefusedError("workspace-refused", f"an answer that cannot be read: {type(error).__name__}") from error


def _named(error: BaseException) -> str:
    return f"{type(error).__name__}: {_first_line(error)}"


def _first_line(error: BaseException) -> str:
    text, _, _ = str(error).partition(" Config: ")  # where the login came from
    return one_line(next(iter(text.splitlines()), "no reason is given"))
