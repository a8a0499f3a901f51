"""The part of Go's templates that templates/mirrorlake uses: values, one question of two values, and skipped files."""

from __future__ import annotations

import re
from pathlib import Path

VALUE = r"\{\{\.(\w+)\}\}"
SKIPPED_UNLESS = r"""\A\{\{if ne \.(\w+) "(\w+)"\}\}\{\{skip "([^"]+)"\}\}\{\{end -\}\}\n"""


def render(folder: Path, answers: dict[str, str]) -> dict[str, str]:
    """Path of each file that the template makes -> its text. Fails for all that is not in the part."""
    made = {}
    for file in sorted(folder.rglob("*.tmpl")):
        text, name = file.read_text(), filled(file.relative_to(folder).as_posix().removesuffix(".tmpl"), answers)
        if question := re.match(SKIPPED_UNLESS, text):
            assert Path(name).match(question[3]), "a file can skip only itself"
            if answers[question[1]] != question[2]:
                continue
            text = text[question.end() :]
        made[name] = filled(text, answers)
    return made


def filled(text: str, answers: dict[str, str]) -> str:
    """The text with each value in its position."""
    assert "{{" not in re.sub(VALUE, "", text), "more than values"
    return re.sub(VALUE, lambda found: answers[found[1]], text)
