"""The effect of statements, of a session and a server whose fields a test gives by name."""

from __future__ import annotations

from dataclasses import fields
from typing import Any

from mirrorlake.core.ddl.effect import interpret as effect
from mirrorlake.core.ddl.parse.session import LoggedSession, SourceServer
from mirrorlake.core.schema.history import DefinitionChange, Definitions

_OF_SERVER = {field.name for field in fields(SourceServer)}


def interpret(statement: str, *, definitions: Definitions, **context: Any) -> list[DefinitionChange]:
    """The changes by a statement. context: fields of ``SourceServer`` and ``LoggedSession``."""
    server = SourceServer(**{name: value for name, value in context.items() if name in _OF_SERVER})
    session = LoggedSession(**{name: value for name, value in context.items() if name not in _OF_SERVER})
    return effect.interpret(statement, server, session, definitions)


def definitions_after(*statements: str, **context: Any) -> Definitions:
    """The definitions after statements of one session. context: see ``interpret``."""
    definitions = Definitions()
    for statement in statements:
        definitions.apply(interpret(statement, definitions=definitions, **context))
    return definitions
