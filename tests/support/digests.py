"""The digest of a value in a hashed column, by the function of the page: it asserts an example of its own."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

from mirrorlake.core.schema.types import ColumnType

_PAGE = Path(__file__).parents[2] / "docs/command-line.md"
_TEXT = ColumnType("text", charset="utf8mb4")


def _of_page() -> dict[str, Any]:
    names: dict[str, Any] = {}
    exec(re.search(r"^```python\n(.*?)^```$", _PAGE.read_text(encoding="utf-8"), re.MULTILINE | re.DOTALL)[1], names)  # noqa: S102
    return names


_NAMES = _of_page()


def digest_of(secret: str, value: object, kind: ColumnType = _TEXT) -> str | None:
    """kind: the column's type."""
    if value is None:
        return None
    return _NAMES["digest"](secret, value, kind.fraction_digits or 0, ">f" if kind.name == "float" else ">d")
