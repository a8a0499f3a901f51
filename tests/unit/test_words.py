"""Docs and help texts use the words of the field: tests/words.txt lists what they avoid.

Spelling checkers and style linters look for single words, or have rules of their own. These are phrases, so a search is
enough.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import typer

from mirrorlake.cli import app
from mirrorlake.errors import REFUSALS

ROOT = Path(__file__).resolve().parents[2]
PAGES = [*sorted(ROOT.glob("*.md")), *sorted((ROOT / "docs").glob("*.md"))]
LINES = [line for line in (ROOT / "tests/words.txt").read_text().splitlines() if not line.startswith("#")]
AVOIDED = dict(re.split(r"\s{2,}", line, maxsplit=1) for line in LINES)


def prose(page: Path) -> str:
    """A page without code in backticks, targets of links, and the hints that the program prints."""
    text = page.read_text()
    for hint in REFUSALS.values():
        text = text.replace(f"| {hint} |", "|")
    return re.sub(r"(?<!`)`[^`\n]+`(?!`)|\]\([^)]*\)", "", text)


def helps(command: Any, name: str = "mirrorlake") -> Iterator[tuple[str, str]]:
    """Every command below ``command`` with all of its help."""
    yield name, "\n".join([command.help or "", *(getattr(option, "help", None) or "" for option in command.params)])
    for verb, child in getattr(command, "commands", {}).items():
        yield from helps(child, f"{name} {verb}")


TEXTS = {page.name: prose(page) for page in PAGES} | dict(helps(typer.main.get_command(app)))


@pytest.mark.parametrize("name", TEXTS)
def test_a_text_says_it_in_the_words_of_the_field(name):
    found = {
        f"{hit[0]}: {text.strip()[:100]}": better
        for text in TEXTS[name].splitlines()
        for avoided, better in AVOIDED.items()
        for hit in re.finditer(rf"\b(?:{avoided})\b", text, re.IGNORECASE)
    }
    assert found == {}
