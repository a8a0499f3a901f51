"""The URL below which the external tables of a lake in a catalog have their folders.

Its forms are those of Spark's file systems: ``s3://bucket/a``, ``gs://bucket``, ``file:///a``, and of Azure, with
the container before the host: ``abfss://container@account.dfs.core.windows.net/a``.
"""

from __future__ import annotations

import re
from pathlib import Path

from mirrorlake.errors import UsageError

_LOCAL = "file://"
_SEGMENTS = r"(?:/[\w.=+~-]+)*"
_URL = re.compile(
    rf"(?:abfss?|wasbs?)://[\w-]+@[\w.-]+{_SEGMENTS}|{_LOCAL}/[\w.=+~-]+{_SEGMENTS}"
    rf"|(?!(?:abfs|wasb)s?:|file:)[a-z][a-z0-9+.-]*://[\w.-]+(?::[0-9]+)?{_SEGMENTS}",
    re.ASCII,
)
_LOCAL_ROOT = re.compile("^file:(?://)?(?=/)")
_FOLDER = re.compile(r"[\w-]+", re.ASCII)


def checked(url: str) -> str:
    """The URL without a slash at its end. Raises UsageError, without the URL, for one that has more than host and
    path, or a character that means something else to a file system or to Spark."""
    url = url.rstrip("/")
    if not _URL.fullmatch(url) or {".", ".."} & {*url.split("/")}:
        form = "a URL such as s3://bucket/folder: letters, digits and -_.=+~, no user, password, query or .."
        raise UsageError("usage", f"--tables-location is {form}")
    return url


def check_folder(schema: str) -> None:
    """Raise UsageError for a schema whose name makes no folder."""
    if not _FOLDER.fullmatch(schema):
        raise UsageError("usage", f"with --tables-location a schema has letters, digits, - and _ alone, not {schema}")


def folders_above(folder: str) -> list[str]:
    """The folders in which a folder below a URL is, the nearest first."""
    scheme, _, path = folder.partition("://")
    names = path.split("/")
    return [f"{scheme}://{'/'.join(names[:n])}" for n in range(len(names) - 1, 0, -1) if any(names[:n])]


def is_same_folder(one: str, other: str) -> bool:
    """Hadoop writes ``file:/a`` for ``file:///a``."""
    return _LOCAL_ROOT.sub("", one.rstrip("/")) == _LOCAL_ROOT.sub("", other)


def local_path(url: str) -> Path | None:
    return Path(url.removeprefix(_LOCAL)) if url.startswith(_LOCAL) else None
