"""`mirrorlake sql` only reads, and only the lake: whatever else a statement says is refused before anything runs."""

from __future__ import annotations

import shutil
import socket
import sys
from contextlib import suppress
from dataclasses import replace
from pathlib import Path

import pytest
from py4j.protocol import Py4JJavaError

from mirrorlake.errors import UsageError
from mirrorlake.jobs.inspect.read_only import FORBIDDEN_FUNCTIONS, ONLY_READS, _check_text, check_reading
from mirrorlake.jobs.inspect.sql import Catalog, run_sql
from mirrorlake.lake.delta.lake import Lake
from mirrorlake.lake.delta.names import LakeNames
from mirrorlake.lake.gold.control.register import TableRegister

NO_FILE = "this lake has no table"
FUNCTION = "the function"
UDT = (
    '{"type":"struct","fields":[{"name":"a","type":{"type":"udt","pyClass":"this.x","serializedClass":"",'
    '"sqlType":"string"},"nullable":true,"metadata":{}}]}'
)
UNKNOWN = "IDENTIFIER() takes a plain text here"
AS_JSON = "the schema of from_"
DEFAULTS = (
    '{"type":"struct","fields":[{"name":"a","type":"string","nullable":true,"metadata":'
    "{\"EXISTS_DEFAULT\":\"schema_of_xml(\\'<a/>\\', map(\\'rowValidationXSDPath\\', \\'/etc/passwd\\'))\"}}]}"
)

REFUSED = {
    # comments nest, and lines continue, as Spark reads them
    "/* /* */ SHOW */ DELETE FROM shop.customers": ONLY_READS,
    "/* /* */ SHOW */ DROP TABLE shop.customers": ONLY_READS,
    "/* /* */ EXPLAIN */ CREATE TABLE shop.made (a INT) USING delta": ONLY_READS,
    "/* /* */ DESCRIBE */ INSERT OVERWRITE DIRECTORY '{folder}/made' USING json SELECT 1": ONLY_READS,
    "/*+ /*! */ SELECT 1 */ DROP TABLE shop.customers": "[PARSE_SYNTAX_ERROR]",
    "-- \\\nSHOW TABLES\nDROP TABLE shop.customers": ONLY_READS,
    "-- \\\nSELECT 1 \\\n\nDELETE FROM shop.customers": ONLY_READS,
    # programs
    "SELECT TRANSFORM(customer_id) USING 'touch {folder}/made' FROM shop.customers": ONLY_READS,
    "FROM shop.customers MAP customer_id USING 'touch {folder}/made'": ONLY_READS,
    "SELECT * FROM (SELECT TRANSFORM(1) USING 'touch {folder}/made' AS (a))": ONLY_READS,
    "WITH a AS (SELECT TRANSFORM(1) USING 'touch {folder}/made') SELECT * FROM a": ONLY_READS,
    "SELECT (SELECT first(a) FROM (SELECT TRANSFORM(1) USING 'touch {folder}/made' AS (a)))": ONLY_READS,
    "EXPLAIN SELECT TRANSFORM(1) USING 'touch {folder}/made'": ONLY_READS,
    # Java
    "SELECT reflect('java.lang.System', 'getenv', 'HOME')": FUNCTION,
    "SELECT ReFlect('java.lang.System', 'getenv', 'HOME')": FUNCTION,
    "SELECT `reflect`('java.lang.System', 'getenv', 'HOME')": FUNCTION,
    "SELECT system.builtin.reflect('java.lang.System', 'getenv', 'HOME')": FUNCTION,
    "SELECT try_reflect('java.lang.System', 'getenv', 'HOME')": FUNCTION,
    "SELECT java_method('java.lang.System', 'getProperty', 'user.home')": FUNCTION,
    "SELECT 1 WHERE EXISTS (SELECT 1 WHERE java_method('java.lang.System', 'getProperty', 'a') = 'b')": FUNCTION,
    "SELECT transform(array(1), x -> reflect('java.lang.System', 'getenv', 'HOME'))": FUNCTION,
    "SELECT 1 ORDER BY max(reflect('java.lang.System', 'getenv', 'HOME')) OVER (PARTITION BY 1)": FUNCTION,
    "VALUES (reflect('java.lang.System', 'getenv', 'HOME'))": FUNCTION,
    "SELECT * FROM range(1) LATERAL VIEW explode(array(reflect('java.lang.System', 'getenv', 'HOME'))) AS a": FUNCTION,
    "FROM range(1) |> SELECT reflect('java.lang.System', 'getenv', 'HOME')": FUNCTION,
    "SELECT 'java.lang.System'.reflect('getenv', 'HOME')": "",
    "SELECT IDENTIFIER('reflect')('java.lang.System', 'getenv', 'HOME')": UNKNOWN,
    "SELECT IDENTIFIER('ref' || 'lect')('java.lang.System', 'getenv', 'HOME')": UNKNOWN,
    "DESCRIBE QUERY SELECT reflect('java.lang.System', 'getenv', 'HOME')": FUNCTION,
    # files
    "SELECT * FROM text.`/etc/passwd`": NO_FILE,
    "SELECT * FROM TEXT.`file:///etc/passwd`": NO_FILE,
    "SELECT * FROM binaryFile.`/etc/passwd`": NO_FILE,
    "SELECT * FROM csv.`/etc/passwd`": NO_FILE,
    "SELECT * FROM parquet.`{folder}`": NO_FILE,
    "SELECT * FROM delta.`{folder}`": NO_FILE,
    "SELECT * FROM delta.`{lake}/../other`": NO_FILE,
    "SELECT * FROM `org.apache.spark.sql.execution.datasources.text.TextFileFormat`.`/etc/passwd`": NO_FILE,
    "TABLE text.`/etc/passwd`": NO_FILE,
    "FROM text.`/etc/passwd`": NO_FILE,
    "SELECT (SELECT max(value) FROM text.`/etc/passwd`)": NO_FILE,
    "WITH a AS (SELECT * FROM text.`/etc/passwd`) SELECT * FROM a": NO_FILE,
    "SELECT * FROM range(1), LATERAL (SELECT * FROM text.`/etc/passwd`)": NO_FILE,
    "SELECT * FROM IDENTIFIER('text.`/etc/passwd`')": NO_FILE,
    "SELECT * FROM IDENTIFIER('te' || 'xt.`/etc/passwd`')": UNKNOWN,
    "SELECT * FROM text.`/etc/passwd` VERSION AS OF 1": NO_FILE,
    "DESCRIBE text.`/etc/passwd`": NO_FILE,
    "DESCRIBE DETAIL delta.`{folder}`": NO_FILE,
    "DESCRIBE DETAIL '/etc'": NO_FILE,
    "DESCRIBE HISTORY '{folder}'": NO_FILE,
    "SHOW CREATE TABLE text.`/etc/passwd`": NO_FILE,
    "EXPLAIN SELECT * FROM text.`/etc/passwd`": NO_FILE,
    "SELECT * FROM table_changes_by_path('{folder}', 0)": FUNCTION,
    "SELECT * FROM table_changes('shop.customers', 0)": FUNCTION,
    "SELECT * FROM python_worker_logs()": FUNCTION,
    "SELECT * FROM read_files('/etc/passwd')": FUNCTION,
    "SELECT from_protobuf(X'00', 'a', '/etc/passwd')": FUNCTION,
    "SELECT from_xml('<a/>', 'a INT', map('rowValidationXSDPath', '/etc/passwd'))": FUNCTION,
    "SELECT schema_of_xml('<a/>', map('rowValidationXSDPath', '/etc/passwd'))": FUNCTION,
    "SELECT from_avro(X'00', '{}', map('avroSchemaUrl', 'file:///etc/passwd'))": FUNCTION,
    "SELECT * FROM shop.customers WITH ('path' = '/etc')": "a table is read without options",
    "SELECT * FROM delta.`{lake}/gold/../../other`": NO_FILE,
    "SELECT * FROM delta.`{lake}/./bronze/events`": NO_FILE,
    "DESCRIBE DETAIL 'a\0b'": NO_FILE,
    "DESCRIBE HISTORY 'hdfs://127.0.0.1:1/x'": NO_FILE,
    # a type of the user's own: PySpark imports its module
    f"SELECT from_json('{{}}', '{UDT}')": AS_JSON,
    f"SELECT from_json('{{}}', concat('{UDT[:20]}', '{UDT[20:]}'))": AS_JSON,
    f"SELECT from_csv('', '{UDT}')": AS_JSON,
    f"SELECT array(variant_get(parse_json('{{}}'), '$', '{UDT}')) AS a": "[DATATYPE_MISMATCH",
    # DEFAULTs of a schema, which Spark runs
    f"SELECT from_json('{{}}', '{DEFAULTS}')": AS_JSON,
    f"SELECT `From_JSON`('{{}}', ' {DEFAULTS}').a || ''": AS_JSON,
    f"SELECT from_csv('1', '{DEFAULTS}')": AS_JSON,
    f"EXPLAIN SELECT from_json('{{}}', concat('{DEFAULTS[:9]}', '{DEFAULTS[9:]}'))": AS_JSON,
    # streams and changes
    "SELECT * FROM STREAM shop.customers": ONLY_READS,
    # whatever else is no query
    "WITH a AS (SELECT 1) INSERT INTO shop.customers SELECT * FROM a": ONLY_READS,
    "FROM shop.customers INSERT INTO shop.customers SELECT *": ONLY_READS,
    "EXECUTE IMMEDIATE 'DROP TABLE shop.customers'": ONLY_READS,
    "BEGIN SELECT 1; DROP TABLE shop.customers; END": ONLY_READS,
    "BEGIN SELECT 1; END": ONLY_READS,
    "CALL system.drop()": ONLY_READS,
    "DECLARE x INT": ONLY_READS,
    "SET VAR x = 1": ONLY_READS,
    "SET spark.sql.variable.substitute = true": ONLY_READS,
    "SET": ONLY_READS,
    "RESET": ONLY_READS,
    "ADD JAR '/tmp/x.jar'": ONLY_READS,
    "LIST JARS": ONLY_READS,
    "USE shop": ONLY_READS,
    "CACHE TABLE a AS SELECT 1": ONLY_READS,
    "REFRESH TABLE shop.customers": ONLY_READS,
    "ANALYZE TABLE shop.customers COMPUTE STATISTICS": ONLY_READS,
    "CREATE TEMPORARY FUNCTION f AS 'x'": ONLY_READS,
    "CREATE TEMPORARY VIEW v AS SELECT 1": ONLY_READS,
    "VACUUM delta.`{lake}/gold/x`": ONLY_READS,
    "OPTIMIZE delta.`{lake}/gold/x`": ONLY_READS,
    "MERGE INTO shop.customers USING shop.orders ON 1 = 1 WHEN MATCHED THEN DELETE": ONLY_READS,
    "EXPLAIN DROP TABLE shop.customers": ONLY_READS,
    "EXPLAIN EXECUTE IMMEDIATE 'DROP TABLE shop.customers'": ONLY_READS,
    "EXPLAIN FORMATTED EXECUTE IMMEDIATE 'SELECT 1'": ONLY_READS,
    "EXECUTE IMMEDIATE 'SELECT 1'": ONLY_READS,
    "/* a */ EXPLAIN EXECUTE IMMEDIATE 'DELETE FROM shop.customers'": ONLY_READS,
    "EXPLAIN -- EXTENDED\nEXECUTE IMMEDIATE 'DELETE FROM shop.customers'": ONLY_READS,
    "EXPLAIN CALL a.b()": ONLY_READS,
    "EXPLAIN BEGIN DROP TABLE shop.customers; END": "[PARSE_SYNTAX_ERROR]",
    "EXPLAIN INSERT OVERWRITE DIRECTORY '{folder}/made' USING json SELECT 1": ONLY_READS,
    "EXPLAIN DESCRIBE shop.customers": ONLY_READS,
    "DESCRIBE QUERY EXECUTE IMMEDIATE 'DROP TABLE shop.customers'": "[PARSE_SYNTAX_ERROR]",
    "EXPLAIN EXPLAIN DROP TABLE shop.customers": ONLY_READS,
    "EXPLAIN INSERT INTO shop.customers SELECT * FROM shop.customers": ONLY_READS,
    "SELECT 1; DROP TABLE shop.customers": "[PARSE_SYNTAX_ERROR]",
}
READ = [
    "SELECT count(*) FROM shop.customers /* /* nested */ comment */ -- and \\\n a line that goes on",
    "WITH a AS (SELECT * FROM shop.customers), b AS (SELECT * FROM a) SELECT count(*) FROM b",
    "SELECT * FROM (VALUES (1, 'reflect(text.`/etc/passwd`)')) AS t(a, b)",
    "SELECT transform(array(1), x -> x + 1), input_file_name() FROM shop.customers LIMIT 1",
    "SELECT c.customer_id FROM shop.customers c JOIN shop.orders USING (customer_id) LIMIT 1",
    "TABLE customers;",
    "FROM shop.customers |> WHERE customer_id > 1 |> AGGREGATE count(*) AS n",
    "(SELECT 1) UNION ALL (SELECT 2) ORDER BY 1",
    "WITH RECURSIVE r(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM r WHERE n < 3) SELECT * FROM r",
    "SELECT * FROM range(2) LATERAL VIEW explode(array(1, 2)) AS a",
    "SELECT * FROM range(3) PIVOT (count(*) FOR id IN (0, 1))",
    "SELECT * FROM IDENTIFIER('shop.customers') LIMIT 1",
    "SELECT max(customer_id) OVER (PARTITION BY 1 ORDER BY customer_id) FROM shop.customers LIMIT 1",
    "SELECT /*+ BROADCAST(c) */ 1 FROM shop.customers c LIMIT 1",
    "SELECT * FROM spark_catalog.shop.customers LIMIT 1",
    "FROM shop.customers |> EXTEND 1 AS one |> DROP one |> ORDER BY customer_id |> LIMIT 1",
    "SELECT customer_id FROM shop.customers QUALIFY row_number() OVER (ORDER BY customer_id) = 1",
    "SELECT customer_id, count(*) FROM shop.orders GROUP BY ROLLUP (customer_id) HAVING count(*) > 0 LIMIT 2 OFFSET 1",
    "SELECT from_json('{}', 'a INT'), from_json('{}', schema_of_json('{}')), from_csv('1', 'a INT')",
    "SELECT /*+ REPARTITION(2) */ * FROM shop.customers TABLESAMPLE (5 ROWS)",
    "SELECT * FROM range(3) UNPIVOT (v FOR n IN (id))",
    "SHOW TABLES IN shop", "SHOW DATABASES", "SHOW CURRENT NAMESPACE",
    "SHOW COLUMNS IN shop.customers", "SHOW FUNCTIONS LIKE 'abs'",
    "DESCRIBE shop.customers", "DESC FUNCTION abs", "DESCRIBE QUERY SELECT 1",
    "DESCRIBE HISTORY shop.customers", "DESCRIBE DETAIL shop.customers", "EXPLAIN SELECT * FROM shop.customers",
    "EXPLAIN FORMATTED /* a */ WITH a AS (SELECT 1) SELECT * FROM a", "explain\nextended\nVALUES (1)",
    "DESCRIBE HISTORY delta.`{lake}/bronze/events`", "DESCRIBE DETAIL '{lake}/bronze/events'",
]  # fmt: skip


@pytest.fixture(scope="module")
def lake(spark, demo) -> Lake:
    return Lake(spark, LakeNames(str(demo.lakes["mysql"])), "", "mysql")


def test_whatever_does_not_only_read_the_lake_is_refused(lake, tmp_path):
    refusals = {}
    with Catalog(lake) as catalog:
        rows = catalog.query("SELECT * FROM shop.customers").num_rows
        for statement in REFUSED:
            text = _filled(statement, tmp_path, lake)
            with pytest.raises(UsageError) as refused:
                catalog.query(text)
            assert refused.value.code == "sql"
            refusals[statement] = refused.value.message
        assert catalog.query("SELECT * FROM shop.customers").num_rows == rows
        assert "made" not in str(catalog.query("SHOW TABLES IN shop").to_pylist())
    others = {s: m for s, m in refusals.items() if not m.startswith(REFUSED[s])}
    assert others == {}
    assert list(tmp_path.iterdir()) == [] and "this" not in sys.modules


def _filled(statement: str, folder: Path, lake: Lake) -> str:
    return statement.replace("{folder}", str(folder)).replace("{lake}", lake.names.root)


NO_QUERIES = (
    "RESET", "RESET a", "SET", "SET a", "SET a = 1", "a b", "COMMIT", "CLEAR CACHE", "REFRESH a", "SHOW TABLES",
    "USE a", "EXPLAIN SELECT 1", "EXECUTE IMMEDIATE 'SELECT 1'", "DROP TABLE a", "EXTENDED a", "SELECT 1; SELECT 2",
)  # fmt: skip


@pytest.mark.parametrize("statement", NO_QUERIES)
def test_over_connect_only_queries_are_run(spark, statement):
    """No plan is seen there, but the parser is the same."""
    with pytest.raises(UsageError, match="over Spark Connect only queries are run"):
        _check_text(spark, statement)


@pytest.mark.parametrize("query", ["SELECT 1", "VALUES (1)", "TABLE a", "WITH a AS (SELECT 1) (SELECT * FROM a)"])
def test_over_connect_a_query_is_run(spark, query):
    _check_text(spark, query)


def test_what_only_reads_is_run(lake):
    with Catalog(lake) as catalog:
        n_rows = [catalog.query(statement.replace("{lake}", lake.names.root)).num_rows for statement in READ]
    assert min(n_rows) > 0


@pytest.fixture
def other(lake, tmp_path) -> Path:
    """A table outside of the lake."""
    lake.spark.range(1).write.format("delta").save(str(tmp_path / "other"))
    return tmp_path / "other"


@pytest.mark.parametrize("sql", ["SELECT * FROM delta.`{}`", "DESCRIBE DETAIL '{}'", "DESCRIBE HISTORY '{}'"])
def test_in_the_lakes_folder_an_address_is_no_path_in_it(lake, other, monkeypatch, sql):
    monkeypatch.chdir(lake.names.root)
    with Catalog(replace(lake, names=LakeNames("."))) as catalog:
        for path in (f"file:{other}", f"file://{other}", str(other), "bronze/events"):
            with pytest.raises(UsageError, match=NO_FILE):
                catalog.query(sql.format(path))


def test_two_points_after_a_link_are_no_way_out(lake, other, tmp_path):
    """Python follows the link first, Hadoop cuts the points."""
    (tmp_path / "link").symlink_to(Path(lake.names.root, "gold"))
    (tmp_path / "bronze").mkdir()
    other.rename(tmp_path / "bronze" / "events")
    with Catalog(lake) as catalog, pytest.raises(UsageError, match=NO_FILE):
        catalog.query(f"SELECT * FROM delta.`{tmp_path}/link/../bronze/events`")


def test_a_link_in_the_lake_leads_nowhere(lake, tmp_path):
    lake.spark.range(1).write.format("delta").save(str(tmp_path / "other"))
    linked = replace(lake, names=LakeNames(str(tmp_path / "lake")))
    shutil.copytree(lake.names.root, linked.names.root)
    link = Path(linked.names.root, "gold", "link")
    link.symlink_to(tmp_path / "other")
    with Catalog(linked) as catalog:
        for moment in ("", "@v0", "@V0", "@20261130000000000"):
            with pytest.raises(UsageError, match=NO_FILE):
                catalog.query(f"SELECT * FROM delta.`{link}{moment}`")
        events = f"{linked.names.root}/bronze/events"
        assert catalog.query(f"SELECT * FROM delta.`{events}@v0`").num_rows == 0


FAILING = {
    "SELECT 'a' COLLATE `../../x`": "Spark failed with COLLATION_INVALID_NAME",
    "SELECT xpath('<a>', 'a')": "Spark failed with SAXParseException",
    f"SELECT {'(' * 20_000}1{')' * 20_000}": "Spark failed with StackOverflowError",
}


@pytest.mark.parametrize("statement", FAILING, ids=range(len(FAILING)))
def test_what_fails_in_java_is_a_fault_of_the_statement(lake, statement):
    with Catalog(lake) as catalog, pytest.raises(UsageError) as refused:
        catalog.query(statement)
    assert (refused.value.code, refused.value.message) == ("sql", FAILING[statement])


def test_no_variable_is_put_into_a_query(lake, monkeypatch):
    monkeypatch.setenv("HOME", "/home/nobody")
    with Catalog(lake) as catalog:
        assert catalog.query("SELECT '${env:HOME}' AS a").to_pylist() == [{"a": "${env:HOME}"}]


def test_xml_reaches_no_file(lake):
    document = '<!DOCTYPE a [<!ENTITY x SYSTEM "file:///etc/passwd">]><a>&x;</a>'
    with Catalog(lake) as catalog:
        assert catalog.query(f"SELECT xpath_string('{document}', 'a') AS a").to_pylist() == [{"a": ""}]


def test_xml_calls_nobody(spark):
    """A row may hold any XML, and ``xpath`` reads it as whoever runs the query."""
    with socket.create_server(("127.0.0.1", 0)) as listener:
        listener.settimeout(0.2)
        address = f"http://127.0.0.1:{listener.getsockname()[1]}/a.dtd"
        for document in (
            f'<!DOCTYPE a SYSTEM "{address}"><a>x</a>',
            f'<!DOCTYPE a [<!ENTITY % x SYSTEM "{address}"> %x;]><a>x</a>',
            f'<!DOCTYPE a [<!ENTITY x SYSTEM "{address}">]><a>&x;</a>',
        ):
            with suppress(Py4JJavaError):
                spark.sql(f"SELECT xpath_string('{document}', 'a') AS a").collect()
            with pytest.raises(TimeoutError):
                listener.accept()


def test_every_function_of_spark_is_one_that_somebody_has_looked_at(spark):
    """A new Spark brings new ones: they are forbidden, or harmless whatever their arguments."""
    harmless = Path(__file__).with_name("harmless_functions.txt").read_text().split()
    registry = spark._jsparkSession.sessionState().functionRegistry().listFunction().iterator()
    names = set()
    while registry.hasNext():
        names.add(registry.next().funcName())
    assert sorted(names - FORBIDDEN_FUNCTIONS - set(harmless)) == []


FORMATS = (("json", "rows"), ("delta", "rows"), ("text", "/etc/hostname"))


def test_a_database_that_is_called_like_a_format_of_files_is_a_database(lake, monkeypatch):
    """A file that has the table's name, or none, must not be read instead of the mirror."""
    [entry] = [entry for entry in TableRegister.read(lake) if entry.name == ("shop", "customers")]
    register = TableRegister(replace(entry, database=database, table=table) for database, table in FORMATS)
    monkeypatch.setattr(TableRegister, "read", lambda *_, **__: register)
    n_rows = lake.spark.table(lake.names.mirror(entry.mirror_id)).count()
    for name in ("json.rows", "delta.rows", "spark_catalog.json.rows", "JSON.Rows"):
        assert run_sql(lake, f"SELECT count(*) AS n FROM {name}").to_pylist() == [{"n": n_rows}]
    with pytest.raises(UsageError, match=NO_FILE):
        run_sql(lake, "SELECT * FROM json.`row\u017f`")
    with pytest.raises(UsageError, match="the mirror is called `text__/etc/hostname`"):
        run_sql(lake, "SELECT * FROM text.`/etc/hostname`")


def with_tables(lake, monkeypatch, *names: tuple[str, str]) -> None:
    """Further names for the mirror of shop.customers."""
    [entry] = [entry for entry in TableRegister.read(lake) if entry.name == ("shop", "customers")]
    register = TableRegister([entry, *(replace(entry, database=database, table=table) for database, table in names)])
    monkeypatch.setattr(TableRegister, "read", lambda *_, **__: register)


def test_a_name_in_another_case_is_no_file_where_case_matters(lake, monkeypatch, tmp_path):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "SECRET").write_text("a line")
    with_tables(lake, monkeypatch, ("text", "secret"), ("shop", "Customers"))
    for name in ("text.SECRET", "TEXT.SECRET", "Text.secret"):
        with pytest.raises(UsageError, match=NO_FILE):
            run_sql(lake, f"SELECT * FROM {name}")
    assert run_sql(lake, "SELECT 1 AS one FROM text.secret LIMIT 1").num_rows == 1


@pytest.mark.parametrize("database", ["global_temp", "Spark_Catalog"])
def test_a_database_that_spark_does_not_create_is_in_no_ones_way(lake, monkeypatch, database):
    with_tables(lake, monkeypatch, (database, "t"))
    assert run_sql(lake, "SHOW TABLES IN shop").num_rows > 0
    assert run_sql(lake, f"SELECT 1 AS one FROM {database}__t LIMIT 1").num_rows == 1


def test_a_name_of_two_mirrors_is_none_of_a_third(lake, monkeypatch):
    with_tables(lake, monkeypatch, ("shop", "a__b"), ("shop__a", "b"), ("evil", "shop__a__b"))
    with pytest.raises(UsageError, match="TABLE_OR_VIEW_NOT_FOUND"):
        run_sql(lake, "SELECT * FROM shop__a__b")


@pytest.mark.parametrize(
    "name", ["text.SECRET", "text.`.`", "text.`*`", "CSV.a", "`org.example.Source`.a", "delta.`a`"]
)
def test_in_unity_no_file_is_read_by_a_name(spark, name):
    lake = Lake(spark, LakeNames("uc:spark_catalog.default"), "", "mysql")
    catalog = Catalog.__new__(Catalog)
    catalog._lake, catalog._spark = lake, spark
    with pytest.raises(UsageError, match=NO_FILE):
        check_reading(spark, f"SELECT * FROM {name}", catalog._may_be_read)


def test_columns_keep_all_values_and_variants_are_json(lake):
    found = run_sql(
        lake,
        "SELECT 1 AS a, 2 AS a, 3 AS a_2, parse_json('[1]') AS v, 4 AS V, array(parse_json('{\"b\":2}')) AS l,"
        " named_struct('x', parse_json('null')) AS s",
    )
    assert found.to_pylist() == [{"a": 1, "a_3": 2, "a_2": 3, "v": "[1]", "V": 4, "l": '[{"b":2}]', "s": '{"x":null}'}]


def test_a_list_of_thousands_is_checked_at_once(lake):
    """Literals are skipped: every call to the JVM counts."""
    ids = ", ".join(map(str, range(3_000)))
    assert run_sql(lake, f"SELECT 2999 IN ({ids}) AS found").to_pylist() == [{"found": True}]
