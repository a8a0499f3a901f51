"""Read the secret of hashed columns, and keep it in this process alone."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from mirrorlake.errors import UsageError
from mirrorlake.jobs.run.secret import read_secret, utf8

if TYPE_CHECKING:
    from mirrorlake.config import Options
    from mirrorlake.core.schema.hashing import DigestKey

COLUMN_SECRET_VARIABLE = "MIRRORLAKE_COLUMN_SECRET"
SHORTEST = 16
"""Characters: the secret is tried by whoever has digests of values that can be guessed."""
_taken: str | None = None


def take_column_secret() -> None:
    """Move the secret from the environment into this module, as ``take_password`` does with the password."""
    global _taken
    _taken = os.environ.pop(COLUMN_SECRET_VARIABLE, _taken)


def column_key(options: Options) -> DigestKey | None:
    """The key of hashed columns, from the secret scope, else the environment; None: no column is hashed.

    Raises UsageError ``column-secret`` if there is no secret, or a short one; what ``read_secret`` raises.
    """
    take_column_secret()
    if not options.hashes_columns:
        return None
    secret = read_secret(options.column_secret) if options.column_secret else utf8(_taken or "", COLUMN_SECRET_VARIABLE)
    if not secret:
        raise UsageError("column-secret", "`columns` hashes columns, and there is no secret")
    if len(secret) < SHORTEST:
        raise UsageError("column-secret", f"the secret of hashed columns has fewer than {SHORTEST} characters")
    from mirrorlake.core.values.hmac_sha256 import digest_key

    return digest_key(secret.encode())
