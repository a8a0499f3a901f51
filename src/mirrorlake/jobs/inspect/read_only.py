"""Does a statement only read, and only from the lake? The plan of Spark's own parser decides.

So comments, continued lines and names mean what they mean to Spark. These are not run: anything but a query, EXPLAIN of
a query, SHOW and DESCRIBE; a part of a plan that no known form of a query has, such as TRANSFORM, which starts a
program; functions that call Java or leave the machine; files by their path; IDENTIFIER() of an expression, because no
plan says what that names; a schema in the form of JSON, which may have expressions; a result with a user-defined type,
whose Python module PySpark would import.

Spark Connect shows no plan before it runs a statement: there only queries are run, and none whose text has a comment
or any such word.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

from py4j.java_gateway import JavaObject, is_instance_of
from pyspark.errors import AnalysisException, ParseException
from pyspark.sql import DataFrame, SparkSession

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
PLANS_OF_QUERIES = frozenset((
    "Aggregate", "AsOfJoin", "DataFrameDropColumns", "Distinct", "Except", "Filter", "Generate", "GlobalLimit",
    "Intersect", "Join", "LateralJoin", "LimitAll", "LocalLimit", "LocalRelation", "NearestByJoin", "Offset",
    "OneRowRelation", "PipeOperator", "Pivot", "Project", "RelationTimeTravel", "Repartition",
    "RepartitionByExpression", "Sample", "Sort", "SubqueryAlias", "Union", "Unpivot", "UnresolvedHaving",
    "UnresolvedHint", "UnresolvedInlineTable", "UnresolvedQualify", "UnresolvedRelation",
    "UnresolvedSubqueryColumnAliases", "UnresolvedTVFAliases", "UnresolvedTableValuedFunction", "UnresolvedWith",
    "Window", "WithWindowDefinition",
))  # fmt: skip
"""Kinds of ``LogicalPlan`` that Spark's parser makes of a query."""
_NAMED_BY_LOOKING = (
    "UnresolvedNamespace", "UnresolvedTable", "UnresolvedView", "UnresolvedFunctionName", "UnresolvedIdentifier",
    "UnresolvedPathBased", "ResolvedNamespace", "CurrentNamespace",
)  # fmt: skip
"""Begin the kinds below a SHOW or DESCRIBE."""
_LOOKING = ("Show", "Describe")
_RELATIONS = ("UnresolvedRelation", "UnresolvedTable", "UnresolvedTableOrView", "UnresolvedView")
_BY_PATH = "UnresolvedPathBased"  # Delta's own, of DESCRIBE HISTORY and DESCRIBE DETAIL
_IDENTIFIER = "WithUnresolvedIdentifier"
_FUNCTIONS = ("UnresolvedFunction", "UnresolvedGenerator", "UnresolvedTableValuedFunction")
_LEAVES = ("org.apache.spark.sql.catalyst.expressions.Literal", "org.apache.spark.sql.types.")
"""Begin the names of classes in which nothing else is: a list of constants may have thousands."""
_EXPLAIN = re.compile(r"\s*EXPLAIN\s+(?:(?:LOGICAL|FORMATTED|EXTENDED|CODEGEN|COST)\s+)?", re.IGNORECASE)
FORMATS = (
    "text", "csv", "json", "xml", "parquet", "orc", "avro", "protobuf", "binaryfile", "image", "libsvm", "delta",
    "jdbc", "kafka", "statestore", "state-metadata",
)  # fmt: skip
"""Before a path these make a table of a file."""
_BY_SCHEMA = {"from_json": "schema_of_json", "from_csv": "schema_of_csv"}
"""A schema in the form of JSON may have DEFAULTs: expressions, of any function, that no plan shows and Spark runs."""
_WITH_SCHEMA = (*_BY_SCHEMA, "variant_get", "try_variant_get")
"""A schema in the form of JSON may have user-defined types: over Connect it is seen too late."""
_IN_TEXT = re.compile(
    rf"\b(?:{'|'.join([*sorted(FORBIDDEN_FUNCTIONS), *_WITH_SCHEMA])}|identifier)\b"
    rf"|\busing\b(?!\s*\()|`[^`]*[/:.][^`]*`|\b(?:{'|'.join(FORMATS)})`?\s*\.|/\*|--",
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
    for node, kind in _nodes(session, parts):
        is_named = is_looking and (node is parts or kind.name.startswith(_NAMED_BY_LOOKING))
        if kind.is_plan and kind.name not in PLANS_OF_QUERIES and not is_named and not kind.name.endswith(_IDENTIFIER):
            raise UsageError("sql", ONLY_READS)
        _check_names(node, kind.name, is_known)
    return is_explained or _kind(plan).startswith("Show")


def check_types(frame: DataFrame) -> None:
    """Raise UsageError ``sql`` if a column has a user-defined type, before PySpark looks at the schema."""
    if not is_connect(frame.sparkSession) and _has_own_type(json.loads(frame._jdf.schema().json())):
        raise UsageError("sql", "a result has no user-defined types")


def _has_own_type(schema: Any) -> bool:
    if isinstance(schema, dict):
        return schema.get("type") == "udt" or any(map(_has_own_type, schema.values()))
    return isinstance(schema, list) and any(map(_has_own_type, schema))


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


def _check_names(node: JavaObject, kind: str, is_known: Callable[[tuple[str, ...]], bool]) -> None:
    if kind in _RELATIONS or kind.startswith(_BY_PATH):
        name = ("delta", node.path()) if kind.startswith(_BY_PATH) else tuple(_strings(node.multipartIdentifier()))
        if len(name) > 1 and not is_known(name):
            raise UsageError("sql", f"this lake has no table {quote(*name)}, and files are not read by their path")
        if kind == "UnresolvedRelation" and not node.options().isEmpty():
            raise UsageError("sql", "a table is read without options")
    elif kind in _FUNCTIONS:
        called = _function_name(node, kind)
        _check_function(called, is_table=kind == "UnresolvedTableValuedFunction")
        if called in _BY_SCHEMA:
            _check_schema(node, called)
    elif kind.endswith(_IDENTIFIER):
        raise UsageError("sql", "IDENTIFIER() takes a plain text here")


def _check_function(name: str, is_table: bool) -> None:
    if name in FORBIDDEN_FUNCTIONS or is_table and name not in TABLE_FUNCTIONS:
        raise UsageError("sql", f"the function {name} is not run: it may reach beyond the lake's tables")


def _check_schema(function: JavaObject, name: str) -> None:
    for schema in _items(function.arguments().iterator())[1:2]:
        kind = _kind(schema)
        is_plain = kind == "Literal" and "{" not in str(schema.value())
        if not (is_plain or kind == "UnresolvedFunction" and _function_name(schema, kind) == _BY_SCHEMA[name]):
            raise UsageError("sql", f"the schema of {name} is a plain text as in SQL, or {_BY_SCHEMA[name]}()")


def _function_name(node: JavaObject, kind: str) -> str:
    match kind:
        case "UnresolvedFunction":
            return _strings(node.nameParts())[-1].casefold()
        case "UnresolvedTableValuedFunction":
            return _strings(node.name())[-1].casefold()
    return node.name().funcName().casefold()


def _check_text(session: SparkSession, statement: Sql) -> bool:
    """Check without a parser: DESCRIBE QUERY accepts only a query in parentheses."""
    found = _IN_TEXT.search(statement)
    if found:
        raise UsageError("sql", f"over Spark Connect no statement with {found[0]} is run")
    try:
        session.sql(f"DESCRIBE QUERY ({statement})")
    except ParseException:
        raise UsageError("sql", "over Spark Connect only queries are run") from None
    except AnalysisException:  # a name that is not registered yet
        pass
    return False


@dataclass(frozen=True, slots=True)
class _Kind:
    """A class of Spark's plans. name: the last part of its name; is_node: a plan or an expression."""

    name: str
    is_list: bool
    is_product: bool
    is_node: bool
    is_plan: bool
    is_leaf: bool


_kinds: dict[str, _Kind] = {}


def _kind_of(session: SparkSession, found: JavaObject) -> _Kind:
    """Ask the JVM once for each class: a plan may have thousands of nodes."""
    java_class = found.getClass()
    name = java_class.getName()
    if name not in _kinds:
        classes = (
            "scala.collection.Iterable", "scala.Product", "org.apache.spark.sql.catalyst.trees.TreeNode",
            "org.apache.spark.sql.catalyst.plans.logical.LogicalPlan",
        )  # fmt: skip
        gateway = session.sparkContext._gateway
        is_list, is_product, is_node, is_plan = (is_instance_of(gateway, found, each) for each in classes)
        is_leaf = name.startswith(_LEAVES)
        _kinds[name] = _Kind(java_class.getSimpleName(), is_list, is_product, is_node, is_plan, is_leaf)
    return _kinds[name]


def _nodes(session: SparkSession, plan: JavaObject) -> Iterator[tuple[JavaObject, _Kind]]:
    """Yield the plan and every node in it, also plans in expressions and expressions in lists and options."""
    waiting: list[Any] = [plan]
    while waiting:
        found = waiting.pop()
        if not isinstance(found, JavaObject):
            continue
        kind = _kind_of(session, found)
        if kind.is_leaf:
            continue
        if kind.is_list:
            waiting += _items(found.iterator())
        elif kind.is_product or kind.is_node:
            if kind.is_node:
                yield found, kind
            waiting += _items(found.productIterator() if kind.is_product else found.children().iterator())


def _items(iterator: JavaObject) -> list[Any]:
    found = []
    while iterator.hasNext():
        found.append(iterator.next())
    return found


def _strings(names: JavaObject) -> list[str]:
    return _items(names.iterator())


def _kind(node: JavaObject) -> str:
    return node.getClass().getSimpleName()
