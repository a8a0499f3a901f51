"""What an expression is to ``sql_flow``: SQL, raw text, or something made of both."""

from __future__ import annotations

import ast
from dataclasses import dataclass
from functools import reduce

SQL, RAW, LOOP = "SQL", "RAW", "LOOP"
"""LOOP: of a value that is made of itself, as in a loop; what else it is made of decides."""
NUMBERS = {"int", "bool", "float", "None", "Sql"}
SEQUENCES = {"list", "Sequence", "Iterable", "Iterator", "set", "frozenset", "Collection"}
CONDITIONS = {"Column", "Array", "ChunkedArray", "BooleanArray"}
"""Objects that ``where`` and ``filter`` take instead of SQL."""


@dataclass(frozen=True)
class Seq:
    item: object


@dataclass(frozen=True)
class Tup:
    items: tuple


@dataclass(frozen=True)
class Map:
    key: object
    value: object


@dataclass(frozen=True)
class Func:
    takes: tuple
    gives: object


@dataclass(frozen=True)
class Obj:
    """An object of a class of ours, or of a class that is not known."""

    name: str


def joined(one: object, other: object) -> object:
    """The kind of a value that is one or the other."""
    if one == other or other == LOOP:
        return one
    if one == LOOP:
        return other
    match one, other:
        case Seq(a), Seq(b):
            return Seq(joined(a, b))
        case Tup(a), Tup(b) if len(a) == len(b):
            return Tup(tuple(map(joined, a, b)))
        case Map(a, b), Map(c, d):
            return Map(joined(a, c), joined(b, d))
        case (Seq() | Map() | Tup() | Func() | Obj()) as kept, "SQL":  # None, "" or () beside it
            return kept
        case "SQL", (Seq() | Map() | Tup() | Func() | Obj()) as kept:
            return kept
    return RAW


def fits(wanted: object, found: object) -> bool:
    match wanted, found:
        case ("RAW", _) | (_, "LOOP"):
            return True
        case "SQL", _:
            return found == SQL or isinstance(found, Obj) and found.name in CONDITIONS
        case _, "SQL":  # None, or a constant
            return True
        case Obj(), _:  # an object or SQL
            return isinstance(found, Obj)
        case Seq(a), Seq(b):
            return fits(a, b)
        case Seq(a), Tup(items):
            return all(fits(a, item) for item in items)
        case Tup(a), Tup(b):
            return len(a) == len(b) and all(map(fits, a, b))
        case Map(a, b), Map(c, d):
            return fits(a, c) and fits(b, d)
        case Func(), Func():
            return fits(wanted.gives, found.gives)
    return False


def annotated(note: ast.expr | None) -> object:
    """The kind that an annotation promises."""
    match note:
        case ast.Attribute(attr=name):
            return Obj(name)
        case ast.Constant(value=str(text)):
            return annotated(ast.parse(text, mode="eval").body)
        case ast.Constant(value=None):
            return SQL
        case ast.Name(id=name):
            return SQL if name in NUMBERS else RAW if name in ("str", "Any", "object", "bytes") else Obj(name)
        case ast.BinOp(left=left, right=right):
            return joined(annotated(left), annotated(right))
        case ast.Subscript(value=ast.Name(id="tuple"), slice=ast.Tuple(elts=[item, ast.Constant(value=e)])) if e is ...:
            return Seq(annotated(item))
        case ast.Subscript(value=ast.Name(id="tuple"), slice=ast.Tuple(elts=items)):
            return Tup(tuple(map(annotated, items)))
        case ast.Subscript(value=ast.Name(id=name), slice=item) if name in SEQUENCES:
            return Seq(annotated(item))
        case ast.Subscript(value=ast.Name(id="dict" | "Mapping"), slice=ast.Tuple(elts=[key, value])):
            return Map(annotated(key), annotated(value))
        case ast.Subscript(value=ast.Name(id="Callable"), slice=ast.Tuple(elts=[ast.List(elts=takes), gives])):
            return Func(tuple(map(required, takes)), annotated(gives))
        case ast.Subscript(value=ast.Name(id="Literal" | "Final")):
            return SQL
    return RAW


def required(note: ast.expr | None) -> object:
    """What an annotation asks of a value: nothing where it does not say ``Sql``."""
    names = {node.id for node in ast.walk(note) if isinstance(node, ast.Name)} if note is not None else set()
    return annotated(note) if "Sql" in names else RAW


def item_of(kind: object) -> object:
    match kind:
        case Seq(item):
            return item
        case "LOOP":
            return LOOP
        case "SQL":  # its characters, or none
            return SQL
        case Tup(items):
            return reduce(joined, items) if items else SQL
        case Map(key, _):
            return key
    return RAW


def part_of(kind: object, i: int) -> object:
    match kind:
        case "LOOP":
            return LOOP
        case Tup(items):
            return items[i] if i < len(items) else RAW
        case "SQL":
            return SQL
    return item_of(kind)
