"""A DuckDB file whose views read the mirrors of a lake in a folder."""

from __future__ import annotations

import os
from collections.abc import Iterable
from importlib.resources import files
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING

from mirrorlake.core.sql_text import Sql, ansi_literal
from mirrorlake.errors import UsageError
from mirrorlake.shown import one_line

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection

_MAGIC, _MAGIC_AT = b"DUCK", 8
"""DuckDB's files have this, after a checksum (DuckDB's manual, Storage)."""


def write_duckdb(file: Path, schemas: Iterable[str], statements: Iterable[Sql]) -> None:
    """Make the file, or replace it at once: a reader has the old one or the new one, whole.

    schemas: that the statements make. DuckDB's delta extension is put into DuckDB's own folder, where every DuckDB of
    this version finds it without a network. Raises UsageError ``usage`` without the package, and for a file that
    cannot be written, is none of DuckDB's or has the name of a schema.
    """
    try:
        import duckdb
    except ImportError:
        raise UsageError("usage", "--duckdb needs DuckDB: pip install 'mirrorlake[duckdb]'") from None
    _check(file, schemas)
    try:
        with TemporaryDirectory(prefix=f".{file.name}.", dir=file.parent) as beside:
            with duckdb.connect(Path(beside, file.name)) as connection:
                install_delta(connection)
                for statement in statements:
                    connection.execute(statement)
            os.replace(Path(beside, file.name), file)
    except duckdb.Error as error:
        raise UsageError("usage", f"DuckDB: {one_line(error)}") from error
    except OSError as error:
        raise UsageError("usage", f"cannot write {file}: {error.strerror}") from error


def install_delta(connection: DuckDBPyConnection) -> None:
    """Install the delta extension from its package and load it. Raises UsageError ``usage``; duckdb.Error."""
    import duckdb

    folder = files("duckdb_extension_delta") / "extensions" / f"v{duckdb.__version__}"
    extension = folder / "delta.duckdb_extension"
    if not extension.is_file():
        raise UsageError("usage", f"duckdb-extension-delta has no extension for DuckDB {duckdb.__version__}")
    connection.execute(f"INSTALL {ansi_literal(str(extension))}")
    connection.execute("LOAD delta")


def _check(file: Path, schemas: Iterable[str]) -> None:
    if file.stem.lower() in map(str.lower, schemas):
        what = f"DuckDB calls the file {file.stem}, as a schema in it: names would be ambiguous; choose another name"
        raise UsageError("usage", what)
    if file.exists() and not _is_of_duckdb(file):
        raise UsageError("usage", f"{file} is there already and is no file of DuckDB")


def _is_of_duckdb(file: Path) -> bool:
    if not file.is_file():  # a FIFO would wait for a writer
        return False
    try:
        with file.open("rb") as opened:
            return opened.read(_MAGIC_AT + len(_MAGIC))[_MAGIC_AT:] == _MAGIC
    except OSError:
        return False
