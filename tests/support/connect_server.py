"""A Spark Connect server with Delta as a process of its own, which its clients' ends do not end."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pyspark

from mirrorlake.lake.delta.session import LOCAL_SETTINGS, delta_jars
from tests.support.servers import free_port
from tests.support.spark_settings import HUNDREDS_OF_LAKES

START_S = 180


@contextmanager
def connect_server(log: Path) -> Iterator[str]:
    """The URL for SPARK_REMOTE. log: what the server says."""
    home, port = Path(pyspark.__file__).parent, free_port()
    settings = (
        LOCAL_SETTINGS | HUNDREDS_OF_LAKES | dict([delta_jars()]) | {"spark.connect.grpc.binding.port": str(port)}
    )
    command = [str(home / "bin/spark-submit"), "--master", "local[*]", "--driver-memory", "2g"]
    command += ["--class", "org.apache.spark.sql.connect.service.SparkConnectServer"]
    command += [part for setting in settings.items() for part in ("--conf", "=".join(setting))] + ["spark-internal"]
    own_java = Path(sys.prefix) / "java"
    environment = os.environ | {
        "SPARK_HOME": str(home),
        "PYSPARK_PYTHON": sys.executable,
        "SPARK_LOCAL_IP": "127.0.0.1",
    }
    if own_java.exists():
        environment.setdefault("JAVA_HOME", str(own_java))
    with log.open("ab") as out:
        process = subprocess.Popen(command, stdout=out, stderr=out, env=environment, start_new_session=True)
    try:
        give_up = time.monotonic() + START_S
        while "Spark Connect server started" not in log.read_text():
            assert process.poll() is None and time.monotonic() < give_up, log.read_text()[-3000:]
            time.sleep(0.2)
        yield f"sc://127.0.0.1:{port}"
    finally:
        os.killpg(process.pid, signal.SIGKILL)
        process.wait()
