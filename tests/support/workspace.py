"""A stand-in workspace of Databricks on loopback, which databricks-sdk asks over HTTP as it asks a real one.

It answers what ``mirrorlake workspace`` asks, in pages of two, and runs statements in DuckDB. What it answers is as
the REST reference describes it; no workspace has shown that it is so.
"""

from __future__ import annotations

import json
import re
import threading
import traceback
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import parse_qs, unquote, urlsplit

import duckdb

TOKEN = "dapi-of-the-stand-in"
NOBODY = "Credential was not sent or was of an unsupported type."
USER = "ann@example.org"
PAGE = 2
Answer = tuple[int, dict[str, Any]]


@dataclass
class Fault:
    """Answers a request whose line begins with ``of`` in place of the workspace, ``times`` times."""

    of: str
    status: int
    error_code: str
    message: str = "no reason"
    times: int = 1
    headers: dict[str, str] = field(default_factory=dict)


@dataclass
class Workspace:
    """host: where it listens. asked: method and path of each request. catalogs, schemas, volumes, grants: by full name;
    grants: privileges by principal. lakes: first table of each, by full name. locations: external ones. runs: by job.
    errors: by run of a task. polls: how often a statement is PENDING.
    """

    host: str = ""
    asked: list[str] = field(default_factory=list)
    agents: set[str] = field(default_factory=set)
    faults: list[Fault] = field(default_factory=list)
    groups: list[str] = field(default_factory=list)
    catalogs: dict[str, dict] = field(default_factory=dict)
    schemas: dict[str, dict] = field(default_factory=dict)
    volumes: dict[str, dict] = field(default_factory=dict)
    lakes: dict[str, dict] = field(default_factory=dict)
    locations: list[dict] = field(default_factory=list)
    grants: dict[str, dict[str, list[str]]] = field(default_factory=dict)
    scopes: dict[str, dict[str, str]] = field(default_factory=dict)
    folders: set[str] = field(default_factory=set)
    versions: list[str] = field(default_factory=list)
    clusters: dict[str, str] = field(default_factory=dict)
    jobs: list[dict] = field(default_factory=list)
    runs: dict[int, list[dict]] = field(default_factory=dict)
    errors: dict[int, str] = field(default_factory=dict)
    warehouses: list[dict] = field(default_factory=list)
    polls: int = 0
    tables: duckdb.DuckDBPyConnection = field(default_factory=duckdb.connect)
    statements: dict[str, dict] = field(default_factory=dict)

    @property
    def environment(self) -> dict[str, str]:
        """What the SDK must find in the environment to log in here."""
        return {
            "DATABRICKS_HOST": self.host,
            "DATABRICKS_TOKEN": TOKEN,
            "DATABRICKS_AUTH_TYPE": "pat",
            "DATABRICKS_CONFIG_FILE": "/dev/null",
            "DATABRICKS_WAREHOUSE_ID": "",
            "DATABRICKS_RUNTIME_VERSION": "",
        }


def problem(status: int, error_code: str, message: str) -> Answer:
    return status, {"error_code": error_code, "message": message}


def of_name(things: dict[str, dict], name: str, kind: str) -> Answer:
    if name in things:
        return 200, {"full_name": name, **things[name]}
    return problem(404, f"{kind.upper()}_DOES_NOT_EXIST", f"{kind} '{name}' does not exist.")


def page(things: list, query: dict[str, str], key: str) -> Answer:
    """A part of a list, and the token that asks for the next one."""
    first = int(query.get("page_token") or 0)
    more = {"next_page_token": str(first + PAGE)} if first + PAGE < len(things) else {}
    return 200, {key: things[first : first + PAGE], **more}


def me(ws: Workspace, *_) -> Answer:
    return 200, {"userName": USER, "groups": [{"display": name, "type": "direct"} for name in ws.groups]}


def catalog(ws: Workspace, name: str, *_) -> Answer:
    return of_name(ws.catalogs, name, "Catalog")


def schema(ws: Workspace, name: str, *_) -> Answer:
    return of_name(ws.schemas, name, "Schema")


def volume(ws: Workspace, name: str, *_) -> Answer:
    return of_name(ws.volumes, name, "Volume")


def table(ws: Workspace, name: str, *_) -> Answer:
    return of_name(ws.lakes, name, "Table")


def locations(ws: Workspace, query, body) -> Answer:
    return page(ws.locations, query, "external_locations")


def make_schema(ws: Workspace, query, body) -> Answer:
    return _make(ws.schemas, f"{body['catalog_name']}.{body['name']}", body, "Schema")


def make_volume(ws: Workspace, query, body) -> Answer:
    return _make(ws.volumes, f"{body['catalog_name']}.{body['schema_name']}.{body['name']}", body, "Volume")


def _make(things: dict[str, dict], name: str, body: dict, kind: str) -> Answer:
    if name in things:
        return problem(409, f"{kind.upper()}_ALREADY_EXISTS", f"{kind} '{name}' already exists")
    things[name] = {"owner": USER, **body}
    return 200, things[name]


def effective(ws: Workspace, kind: str, name: str, query, body) -> Answer:
    found = [
        {"principal": who, "privileges": [{"privilege": one} for one in privileges]}
        for who, privileges in ws.grants.get(name, {}).items()
        if query.get("principal") in (None, who)
    ]
    return page(found, query, "privilege_assignments")


def scopes(ws: Workspace, *_) -> Answer:
    return 200, {"scopes": [{"name": name, "backend_type": "DATABRICKS"} for name in ws.scopes]}


def secrets(ws: Workspace, query, body) -> Answer:
    if query["scope"] not in ws.scopes:
        return problem(404, "RESOURCE_DOES_NOT_EXIST", f"Scope {query['scope']} does not exist!")
    return 200, {"secrets": [{"key": key, "last_updated_timestamp": 1} for key in ws.scopes[query["scope"]]]}


def make_scope(ws: Workspace, query, body) -> Answer:
    if body["scope"] in ws.scopes:
        return problem(400, "RESOURCE_ALREADY_EXISTS", f"Scope {body['scope']} already exists!")
    ws.scopes[body["scope"]] = {}
    return 200, {}


def put_secret(ws: Workspace, query, body) -> Answer:
    ws.scopes[body["scope"]][body["key"]] = body["string_value"]
    return 200, {}


def folder(ws: Workspace, path: str, *_) -> Answer:
    return (200, {}) if path in ws.folders else problem(404, "NOT_FOUND", f"{path} does not exist")


def versions(ws: Workspace, *_) -> Answer:
    return 200, {"versions": [{"key": key, "name": key} for key in ws.versions]}


def cluster(ws: Workspace, query, body) -> Answer:
    return 200, {"cluster_id": query["cluster_id"], "spark_version": ws.clusters[query["cluster_id"]]}


def jobs(ws: Workspace, query, body) -> Answer:
    return page(ws.jobs if query.get("expand_tasks") == "true" else [], query, "jobs")


def runs(ws: Workspace, query, body) -> Answer:
    return page(ws.runs.get(int(query["job_id"]), []), query, "runs")


def run_output(ws: Workspace, query, body) -> Answer:
    run_id = int(query["run_id"])
    if run_id not in ws.errors:
        return problem(400, "INVALID_PARAMETER_VALUE", "this run has no output")
    return 200, {"error": ws.errors[run_id], "error_trace": "Traceback ..."}


def warehouses(ws: Workspace, query, body) -> Answer:
    return page(ws.warehouses, query, "warehouses")


def execute(ws: Workspace, query, body) -> Answer:
    assert body["format"] == "JSON_ARRAY" and body["disposition"] == "INLINE"
    assert body["warehouse_id"] in [one["id"] for one in ws.warehouses] and body["on_wait_timeout"] == "CONTINUE"
    number = f"statement-{len(ws.statements)}"
    ws.statements[number] = {"sql": body["statement"], "polls": ws.polls, "state": "PENDING"}
    return _state(ws, number)


def statement(ws: Workspace, number: str, *_) -> Answer:
    return _state(ws, number)


def _state(ws: Workspace, number: str) -> Answer:
    found = ws.statements[number]
    if found["polls"] > 0:
        found["polls"] -= 1
        return 200, {"statement_id": number, "status": {"state": ("RUNNING", "PENDING")[found["polls"] % 2]}}
    try:
        result = ws.tables.cursor().execute(found["sql"].replace("`", '"'))
        names, found["rows"] = [column[0] for column in result.description], result.fetchall()
    except duckdb.Error as error:
        code = "TABLE_OR_VIEW_NOT_FOUND" if isinstance(error, duckdb.CatalogException) else "PARSE_SYNTAX_ERROR"
        failed = {"error_code": "BAD_REQUEST", "message": f"[{code}] {error}"}
        return 200, {"statement_id": number, "status": {"state": "FAILED", "error": failed}}
    columns = [{"name": name, "position": n, "type_name": "STRING"} for n, name in enumerate(names)]
    manifest = {"format": "JSON_ARRAY", "schema": {"column_count": len(names), "columns": columns}, "truncated": False}
    rows = {"statement_id": number, "status": {"state": "SUCCEEDED"}, "manifest": manifest}
    return 200, {**rows, "result": _chunk(found, 0)}


def _chunk(found: dict, number: int) -> dict[str, Any]:
    rows = found["rows"][number * PAGE : (number + 1) * PAGE]
    more = {"next_chunk_index": number + 1} if (number + 1) * PAGE < len(found["rows"]) else {}
    values = [[None if value is None else str(value) for value in row] for row in rows]
    return {"chunk_index": number, "row_count": len(rows), "data_array": values, **more}


def chunk(ws: Workspace, number: str, index: str, *_) -> Answer:
    return 200, _chunk(ws.statements[number], int(index))


def cancel(ws: Workspace, number: str, *_) -> Answer:
    ws.statements[number]["state"] = "CANCELED"
    return 200, {}


UNITY, SQL = "/api/2.1/unity-catalog", "/api/2.0/sql"
ROUTES: list[tuple[str, Callable[..., Answer]]] = [
    ("GET /api/2.0/preview/scim/v2/Me", me),
    (f"GET {UNITY}/catalogs/([^/]+)", catalog),
    (f"GET {UNITY}/schemas/([^/]+)", schema),
    (f"POST {UNITY}/schemas", make_schema),
    (f"GET {UNITY}/volumes/([^/]+)", volume),
    (f"POST {UNITY}/volumes", make_volume),
    (f"GET {UNITY}/tables/([^/]+)", table),
    (f"GET {UNITY}/external-locations", locations),
    (f"GET {UNITY}/effective-permissions/([^/]+)/([^/]+)", effective),
    ("GET /api/2.0/secrets/scopes/list", scopes),
    ("GET /api/2.0/secrets/list", secrets),
    ("POST /api/2.0/secrets/scopes/create", make_scope),
    ("POST /api/2.0/secrets/put", put_secret),
    ("HEAD /api/2.0/fs/directories(/.*)", folder),
    (r"GET /api/2.\d/clusters/spark-versions", versions),
    (r"GET /api/2.\d/clusters/get", cluster),
    ("GET /api/2.2/jobs/list", jobs),
    ("GET /api/2.2/jobs/runs/list", runs),
    ("GET /api/2.2/jobs/runs/get-output", run_output),
    (f"GET {SQL}/warehouses", warehouses),
    (f"POST {SQL}/statements/?", execute),
    (f"GET {SQL}/statements/([^/]+)", statement),
    (f"GET {SQL}/statements/([^/]+)/result/chunks/([0-9]+)", chunk),
    (f"POST {SQL}/statements/([^/]+)/cancel", cancel),
]


def answer(ws: Workspace, line: str, query: dict[str, str], body: dict) -> tuple[Answer, dict[str, str]]:
    if fault := next((one for one in ws.faults if one.times > 0 and line.startswith(one.of)), None):
        fault.times -= 1
        return problem(fault.status, fault.error_code, fault.message), fault.headers
    for route, function in ROUTES:
        if found := re.fullmatch(route, line):
            return function(ws, *map(unquote, found.groups()), query, body), {}
    return problem(404, "ENDPOINT_NOT_FOUND", f"No API found for '{line}'"), {}


def handler_of(ws: Workspace) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_GET(self):
            url = urlsplit(self.path)
            line, length = f"{self.command} {url.path}", int(self.headers.get("Content-Length") or 0)
            body = json.loads(self.rfile.read(length) or "{}")
            ws.asked.append(line)
            ws.agents.add(self.headers["User-Agent"])
            try:
                self.send(line, {name: values[0] for name, values in parse_qs(url.query).items()}, body)
            except Exception:
                self.reply(problem(500, "INTERNAL_ERROR", traceback.format_exc()), {})

        do_POST = do_HEAD = do_GET

        def send(self, line: str, query: dict[str, str], body: dict) -> None:
            if self.headers["Authorization"] != f"Bearer {TOKEN}" and not line.startswith("GET /.well-known/"):
                self.reply(problem(401, "UNAUTHENTICATED", NOBODY), {})
            else:
                self.reply(*answer(ws, line, query, body))

        def reply(self, found: Answer, headers: dict[str, str]) -> None:
            text = json.dumps(found[1]).encode()
            self.send_response(found[0])
            for name, value in {"Content-Type": "application/json", **headers}.items():
                self.send_header(name, value)
            self.send_header("Content-Length", "0" if self.command == "HEAD" else str(len(text)))
            self.end_headers()
            self.wfile.write(b"" if self.command == "HEAD" else text)

        def log_message(self, *_):
            pass

    return Handler


@contextmanager
def stand_in() -> Iterator[Workspace]:
    ws = Workspace()
    server = ThreadingHTTPServer(("127.0.0.1", 0), handler_of(ws))
    server.daemon_threads = True
    thread = threading.Thread(target=server.serve_forever, args=(0.02,), daemon=True)
    thread.start()
    ws.host = f"http://127.0.0.1:{server.server_address[1]}"
    try:
        yield ws
    finally:
        server.shutdown()
        server.server_close()
        ws.tables.close()
