"""Docs, help texts, messages and docstrings use the words of the field: tests/words.txt lists what they avoid.

Spelling checkers and style linters look for single words, or have rules of their own. These are phrases, so a search is
enough.
"""

from __future__ import annotations

import ast
import io
import re
import tokenize
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import typer

from mirrorlake.cli import app

ROOT = Path(__file__).resolve().parents[2]
PAGES = [*sorted(ROOT.glob("*.md")), *sorted((ROOT / "docs").rglob("*.md"))]
MODULES = sorted((ROOT / "src/mirrorlake").rglob("*.py"))
LINES = [line for line in (ROOT / "tests/words.txt").read_text().splitlines() if not line.startswith("#")]
AVOIDED = dict(re.split(r"\s{2,}", line, maxsplit=1) for line in LINES)


def prose(page: Path) -> str:
    """A page without code in backticks and targets of links."""
    return re.sub(r"(?<!`)`[^`\n]+`(?!`)|\]\([^)]*\)", "", page.read_text())


def helps(command: Any, name: str = "mirrorlake") -> Iterator[tuple[str, str]]:
    """Every command below ``command`` with all of its help."""
    yield name, "\n".join([command.help or "", *(getattr(option, "help", None) or "" for option in command.params)])
    for verb, child in getattr(command, "commands", {}).items():
        yield from helps(child, f"{name} {verb}")


def remarks(module: Path) -> str:
    """Docstrings and comments of a module, without code in backticks."""
    source = module.read_text()
    found = [
        token.string
        for token in tokenize.generate_tokens(io.StringIO(source).readline)
        if token.type == tokenize.COMMENT
    ]
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant) and isinstance(node.value.value, str):
            found.append(node.value.value)
    return re.sub(r"``[^`]*``", "", "\n".join(found))


def messages(module: Path) -> str:
    """The texts of a module that have three words or more: what users read, SQL with it, and no docstrings."""
    tree = ast.parse(module.read_text())
    docstrings = {id(node.value) for node in ast.walk(tree) if isinstance(node, ast.Expr)}
    texts = (
        node.value
        for node in ast.walk(tree)
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in docstrings
    )
    return "\n".join(text for text in texts if len(re.findall(r"\b[a-z']+\b", text)) >= 3)


TEXTS = {
    **{page.name: prose(page) for page in PAGES},
    **dict(helps(typer.main.get_command(app))),
    **{module.relative_to(ROOT).as_posix(): f"{remarks(module)}\n{messages(module)}" for module in MODULES},
}


def complaints(text: str) -> dict[str, str]:
    """Each avoided word of a text with its line -> the word to use."""
    return {
        f"{hit[0]}: {line.strip()[:100]}": better
        for line in text.splitlines()
        for avoided, better in AVOIDED.items()
        for hit in re.finditer(rf"\b(?:{avoided})\b", line, re.IGNORECASE)
    }


def test_an_avoided_word_is_found_with_a_better_one():
    assert complaints("It goes on.\nIt is in place.") == {"goes on: It goes on.": "continue"}


@pytest.mark.parametrize("name", TEXTS)
def test_a_text_says_it_in_the_words_of_the_field(name):
    assert complaints(TEXTS[name]) == {}
