"""Read a secret from a Databricks secret scope: a wheel task gets none as an environment variable."""

from __future__ import annotations

from typing import Any

from mirrorlake.errors import UsageError


def read_secret(secret: str, client: Any = None) -> str:
    """The text of the secret ``scope/key``, read as the user that the job runs as.

    client: a databricks-sdk WorkspaceClient; None: one that logs in by itself, as it does in jobs and notebooks.
    Raises UsageError when the name is not of this form, or the workspace does not hand the secret out.
    """
    scope, key = scope_and_key(secret)
    try:
        client = client or _workspace_client()
        return client.dbutils.secrets.get(scope, key)
    except ImportError:
        raise UsageError("sdk-missing", "a secret scope needs the package databricks-sdk") from None
    except (OSError, ValueError) as error:  # the SDK's errors are OSErrors; without a login it raises ValueError
        raise UsageError("usage", f"cannot read the secret {secret}: {type(error).__name__}") from None


def scope_and_key(secret: str) -> tuple[str, str]:
    """Raises UsageError when the name is not of the form ``scope/key``."""
    scope, slash, key = secret.partition("/")
    if not (scope and slash and key):
        raise UsageError("usage", "a secret is written scope/key")
    return scope, key


def utf8(text: str, variable: str) -> str:
    """The text of an environment variable. Raises UsageError if its bytes are not UTF-8."""
    try:
        text.encode()
    except UnicodeEncodeError:
        raise UsageError("usage", f"{variable} is not UTF-8") from None
    return text


def _workspace_client() -> Any:
    from databricks.sdk import WorkspaceClient

    return WorkspaceClient()
