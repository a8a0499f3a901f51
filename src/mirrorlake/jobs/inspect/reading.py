"""Does a statement only read, and only from the lake? The plan of Spark's own parser decides.

So comments, continued lines and names mean what they mean to Spark. These are not run: anything but a query, EXPLAIN of
a query, SHOW and DESCRIBE; TRANSFORM, which starts a program; functions that call Java or leave the machine;
files by their path; IDENTIFIER() of an expression, because no plan says what that names.

Spark Connect shows no plan before it runs a statement: there only queries are run, and none whose text has a comment
or any such word.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from contextlib import suppress
from typing import Any

from py4j.java_gateway import JavaObject, is_instance_of
from pyspark.errors import AnalysisException, ParseException
from pyspark.sql import SparkSession

from mirrorlake.core.sql_text import Sql, quote, users_sql
from mirrorlake.errors import UsageError
from mirrorlake.lake.delta.session import is_connect

FORBIDDEN_FUNCTIONS = frozenset((
    "reflect", "try_reflect", "java_method",  # any static method of Java
    "from_protobuf", "to_protobuf", "python_worker_logs", "table_changes_by_path",  # files of this machine
    "from_xml", "schema_of_xml", "from_avro", "to_avro", "schema_of_avro",  # schemas by their path or address
    "secret", "try_secret", "list_secrets", "http_request", "remote_query", "read_files", "read_kafka",  # Databricks
))  # fmt: skip
TABLE_FUNCTIONS = frozenset((
    "range", "explode", "explode_outer", "posexplode", "posexplode_outer", "inline", "inline_outer", "stack",
    "json_tuple", "variant_explode", "variant_explode_outer", "sql_keywords", "collations",
))  # fmt: skip
_LOOKING = ("Show", "Describe")
_RELATIONS = ("UnresolvedRelation", "UnresolvedTable", "UnresolvedTableOrView", "UnresolvedView")
_BY_PATH = "UnresolvedPathBased"  # Delta's own, of DESCRIBE HISTORY and DESCRIBE DETAIL
_FUNCTIONS = ("UnresolvedFunction", "UnresolvedGenerator", "UnresolvedTableValuedFunction")
_NOT_IN_QUERIES = tuple(
    f"org.apache.spark.sql.catalyst.plans.logical.{name}"
    for name in ("Command", "ParsedStatement", "CompoundPlanStatement", "ScriptTransformation")
)
_EXPLAIN = re.compile(r"\s*EXPLAIN\s+(?:(?:LOGICAL|FORMATTED|EXTENDED|CODEGEN|COST)\s+)?", re.IGNORECASE)
_FORMATS = (
    "text|csv|json|xml|parquet|orc|avro|protobuf|binaryfile|image|libsvm|delta|jdbc|kafka|statestore|state-metadata"
)
_IN_TEXT = re.compile(
    rf"\b(?:{'|'.join(sorted(FORBIDDEN_FUNCTIONS))}|identifier)\b|\busing\b(?!\s*\()|`[^`]*[/:.][^`]*`"
    rf"|\b(?:{_FORMATS})`?\s*\.|/\*|--",
    re.IGNORECASE,
)

ONLY_READS = "only statements that read are run: SELECT, WITH, VALUES, TABLE, FROM, SHOW, DESCRIBE, EXPLAIN"


def check_reading(session: SparkSession, statement: Sql, is_known: Callable[[tuple[str, ...]], bool]) -> bool:
    """Is the statement a SHOW or EXPLAIN, which Spark answers without asking for a table's name?

    is_known: may a name of several parts be read? Raises UsageError ``sql`` for a statement that does anything else,
    and PySparkException for one that Spark does not understand.
    """
    if is_connect(session):
        return _check_text(session, statement)
    plan, is_query = _parsed(session, statement)
    is_explained, is_looking = _kind(plan) == "ExplainCommand", _kind(plan).startswith(_LOOKING)
    if is_explained:
        is_query = _explains_query(session, statement)
    if not (is_query or is_looking):
        raise UsageError("sql", ONLY_READS)
    parts = plan.logicalPlan() if is_explained else plan
    for node in _nodes(session, parts):
        if not (is_looking and node is parts) and _is_any(session, node, _NOT_IN_QUERIES):
            raise UsageError("sql", ONLY_READS)
        _check_names(node, is_known)
    return is_explained or _kind(plan).startswith("Show")


def _parsed(session: SparkSession, statement: Sql) -> tuple[JavaObject, bool]:
    """The plan, and whether the text is a query by the grammar's rule for queries, which has nothing that writes.

    A parser uses the settings of the active session: here it is this one, as when it runs the statement.
    """
    sessions = SparkSession._get_j_spark_session_class(session._jvm)
    parser, before = session._jsparkSession.sessionState().sqlParser(), sessions.getActiveSession()
    sessions.setActiveSession(session._jsparkSession)
    try:
        plan = parser.parsePlan(statement)
        with suppress(ParseException):
            parser.parseQuery(statement)
            return plan, True
        return plan, False
    finally:
        sessions.setActiveSession(before.get()) if before.isDefined() else sessions.clearActiveSession()


def _explains_query(session: SparkSession, statement: Sql) -> bool:
    """Is what EXPLAIN explains a query? Spark executes some other statements when it explains them."""
    found = _EXPLAIN.match(statement)
    return found is not None and _parsed(session, users_sql(statement[found.end() :]))[1]


def _check_names(node: JavaObject, is_known: Callable[[tuple[str, ...]], bool]) -> None:
    kind = _kind(node)
    if kind in _RELATIONS or kind.startswith(_BY_PATH):
        name = ("delta", node.path()) if kind.startswith(_BY_PATH) else tuple(_strings(node.multipartIdentifier()))
        if len(name) > 1 and not is_known(name):
            raise UsageError("sql", f"this lake has no table {quote(*name)}, and files are not read by their path")
        if kind == "UnresolvedRelation" and not node.options().isEmpty():
            raise UsageError("sql", "a table is read without options")
    elif kind in _FUNCTIONS:
        _check_function(_function_name(node), is_table=kind == "UnresolvedTableValuedFunction")
    elif kind.endswith("WithUnresolvedIdentifier"):
        raise UsageError("sql", "IDENTIFIER() takes a plain text here")


def _check_function(name: str, is_table: bool) -> None:
    if name in FORBIDDEN_FUNCTIONS or is_table and name not in TABLE_FUNCTIONS:
        raise UsageError("sql", f"the function {name} is not run: it may reach beyond the lake's tables")


def _function_name(node: JavaObject) -> str:
    match _kind(node):
        case "UnresolvedFunction":
            return _strings(node.nameParts())[-1].casefold()
        case "UnresolvedTableValuedFunction":
            return _strings(node.name())[-1].casefold()
    return node.name().funcName().casefold()


def _check_text(session: SparkSession, statement: Sql) -> bool:
    """Check without a parser: DESCRIBE QUERY accepts only a query in parentheses."""
    found = _IN_TEXT.search(statement)
    if found:
        raise UsageError("sql", f"over Spark Connect no statement is run in which {found[0]} stands")
    try:
        session.sql(f"DESCRIBE QUERY ({statement})")
    except ParseException:
        raise UsageError("sql", "over Spark Connect only queries are run") from None
    except AnalysisException:  # a name that is not registered yet
        pass
    return False


def _nodes(session: SparkSession, plan: JavaObject) -> Iterator[JavaObject]:
    """Yield the plan and every node in it, also plans in expressions and expressions in lists and options."""
    waiting: list[Any] = [plan]
    while waiting:
        found = waiting.pop()
        if not isinstance(found, JavaObject):
            continue
        if _is_any(session, found, ("scala.collection.Iterable",)):
            waiting += _items(found.iterator())
        elif _is_any(session, found, ("scala.Product",)):
            if _is_any(session, found, ("org.apache.spark.sql.catalyst.trees.TreeNode",)):
                yield found
            waiting += _items(found.productIterator())


def _items(iterator: JavaObject) -> list[Any]:
    found = []
    while iterator.hasNext():
        found.append(iterator.next())
    return found


def _strings(names: JavaObject) -> list[str]:
    return _items(names.iterator())


def _kind(node: JavaObject) -> str:
    return node.getClass().getSimpleName()


def _is_any(session: SparkSession, found: JavaObject, kinds: tuple[str, ...]) -> bool:
    return any(is_instance_of(session.sparkContext._gateway, found, kind) for kind in kinds)
