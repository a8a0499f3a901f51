"""What a mirror's table properties say of its source: how each column is defined there, and the key.

    mirrorlake.columns      JSON object: name -> type, and charset, labels and nullable where they say more
    mirrorlake.primary_key  JSON list of names in the order of the key

The key is the one by which the server identifies rows; see ``TableSchema``. Delta's own NOT NULL is not used: its check
could stop an epoch, where a value that no mirror can hold becomes NULL.
"""

from __future__ import annotations

import json
from typing import Any

from mirrorlake.core.schema.tables import Column, TableSchema
from mirrorlake.core.schema.types import LABELLED


def source_properties(schema: TableSchema) -> dict[str, str]:
    """Table properties of a mirror with this definition."""
    columns = {column.name: _shown(column) for column in schema.columns}
    return {"mirrorlake.columns": _json(columns), "mirrorlake.primary_key": _json(schema.primary_key)}


def _shown(column: Column) -> dict[str, Any]:
    kind = column.type
    shown: dict[str, Any] = {"type": kind.sql()}
    if kind.has_charset and kind.charset:
        shown["charset"] = kind.charset
    if kind.name in LABELLED:
        shown["labels"] = kind.labels
    return shown if column.nullable else {**shown, "nullable": False}


def _json(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False)
