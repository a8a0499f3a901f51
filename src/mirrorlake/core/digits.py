"""Parse numbers in text from others: only ASCII digits. Python accepts every script, the servers and Spark do not."""

from __future__ import annotations

import re

_NUMBER = re.compile("[0-9]{1,20}")


def is_number(text: str) -> bool:
    """Is it a whole number without a sign, of at most 20 digits, as 64 bits need?"""
    return _NUMBER.fullmatch(text) is not None
