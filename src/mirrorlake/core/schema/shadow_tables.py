"""Recognise, by their names, tables that online schema change tools keep next to the table they change.

gh-ost: ``_t_gho`` gets the rows in their new form, ``_t_ghc`` is the tool's log, ``t`` becomes ``_t_del`` or
``_t_20240102030405_del``. pt-online-schema-change: ``_t_new``, or with more underscores in front, and ``_t_old``.
"""

from __future__ import annotations

import re

_LOG = re.compile("_.+_ghc")
_SHADOW = re.compile(r"_(.+?)(?:_[0-9]{14})?_(?:gho|del|new|old)")


def is_tool_log(table: str) -> bool:
    return _LOG.fullmatch(table) is not None


def shadowed(table: str) -> tuple[str, ...]:
    """Names of the tables that this one can be a shadow of; none when its name is no shadow's."""
    found = _SHADOW.fullmatch(table)
    if found is None:
        return ()
    name = found[1]
    return tuple(name[i:] for i in range(len(name) - len(name.lstrip("_")) + 1) if name[i:])
