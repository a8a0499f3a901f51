"""A stand-in workspace for dbx 0.8: what it calls of MLflow, jobs, volumes and clusters, and no more.

dbx drops the port of an address, so this one listens on port 80 of the loopback interface. Its cluster is a process of
the tests' own Python, which has mirrorlake; commands of pip are noted only.
"""

from __future__ import annotations

import json
import re
import subprocess
import sys
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

TOKEN = "a-token"
LOCATION = "dbfs:/Volumes/main/mirrorlake/dbx"
RUN = {"run_id": "r1", "run_uuid": "r1", "experiment_id": "1", "status": "RUNNING", "start_time": 1,
       "lifecycle_stage": "active", "artifact_uri": f"{LOCATION}/1/r1/artifacts"}  # fmt: skip
FIXED: dict[str, Any] = {
    "/workspace/mkdirs": {},
    "/mlflow/experiments/get-by-name": {
        "experiment": {"experiment_id": "1", "name": "x", "artifact_location": LOCATION, "lifecycle_stage": "active"}
    },
    "/mlflow/runs/create": {"run": {"info": RUN, "data": {}}},
    "/mlflow/runs/get": {"run": {"info": RUN, "data": {}}},
    "/mlflow/runs/log-batch": {},
    "/mlflow/runs/update": {"run_info": RUN},
    "/mlflow/runs/search": {},
    "/clusters/list": {"clusters": [{"cluster_id": "c1", "cluster_name": "mine"}]},
    "/clusters/get": {"cluster_id": "c1", "state": "RUNNING"},
    "/contexts/create": {"id": "x1"},
    "/jobs/runs/list": {"runs": []},
    "/jobs/runs/get": {"run_id": 7, "state": {"life_cycle_state": "RUNNING"}, "run_page_url": "x"},
}


CLUSTER = """
import contextlib, io, json, sys, textwrap, traceback
sys.path.append(sys.argv[1])
names = {}
for line in sys.stdin:
    out = io.StringIO()
    try:
        with contextlib.redirect_stdout(out):
            exec(textwrap.dedent(json.loads(line)), names)
        result = {"resultType": "text", "data": out.getvalue().strip()}
    except BaseException:
        result = {"resultType": "error", "cause": traceback.format_exc()}
    print(json.dumps(result), flush=True)
"""


class DbxWorkspace:
    """created: settings of jobs. files: path in a volume -> bytes. launched, deleted: what was asked for. installed:
    files that pip was to install. library: a folder with pkg_resources, which runtimes have."""

    url = "http://127.0.0.1"

    def __init__(self, library: str):
        self.library = library
        self.installed: list[bytes] = []
        self._results: list[dict[str, Any]] = []
        self.created: list[dict[str, Any]] = []
        self.files: dict[str, bytes] = {}
        self.launched: list[dict[str, Any]] = []
        self.deleted: list[dict[str, Any]] = []

    def __enter__(self) -> DbxWorkspace:
        workspace = self
        self._cluster = subprocess.Popen(
            [sys.executable, "-c", CLUSTER, self.library], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )

        class Handler(BaseHTTPRequestHandler):
            def log_message(self, *_) -> None:
                pass

            def answer(self) -> None:
                body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
                known = self.headers.get("Authorization") == f"Bearer {TOKEN}"
                found = workspace.answer(self.path.partition("?")[0], body) if known else None
                data = json.dumps({} if found is None else found).encode()
                self.send_response(200 if found is not None else 404 if known else 403)
                self.send_header("Content-Type", "application/json")
                self.send_header("Content-Length", str(len(data)))
                self.end_headers()
                self.wfile.write(data)

            do_GET = do_POST = do_PUT = answer

        self._server = ThreadingHTTPServer(("127.0.0.1", 80), Handler)
        threading.Thread(target=self._server.serve_forever, daemon=True).start()
        return self

    def __exit__(self, *_) -> None:
        self._server.shutdown()
        self._server.server_close()
        self._cluster.communicate()

    def answer(self, path: str, body: bytes) -> Any:
        """None: nothing is there. Jobs with tasks are known in version 2.1 only."""
        called = re.sub(r"^/api/[12]\.\d", "", path)
        if called.startswith("/fs/files/"):
            self.files[called.removeprefix("/fs/files")] = body
            return {}
        if called.startswith("/jobs/") and not path.startswith("/api/2.1/"):
            return None
        if called == "/commands/execute":
            self._results.append(self._run(json.loads(body)["command"]))
            return {"id": "latest"}
        if called == "/commands/status":
            return {"status": "Finished", "results": self._results[-1]}
        if called == "/jobs/list":
            jobs = enumerate(self.created, 1)
            return {"jobs": [{"job_id": n, "settings": {"name": job["name"]}} for n, job in jobs], "has_more": False}
        if called == "/jobs/create":
            self.created.append(json.loads(body))
            return {"job_id": len(self.created)}
        if called == "/jobs/run-now":
            self.launched.append(json.loads(body))
            return {"run_id": 7, "number_in_job": 1}
        if called == "/jobs/delete":
            self.deleted.append(json.loads(body))
            return {}
        return FIXED.get(called)

    def _run(self, command: str) -> dict[str, Any]:
        if command.startswith("%pip install"):
            self.installed.append(Path(command.split()[-1]).read_bytes())
            return {"resultType": "text", "data": ""}
        self._cluster.stdin.write(json.dumps(command) + "\n")
        self._cluster.stdin.flush()
        return json.loads(self._cluster.stdout.readline())
