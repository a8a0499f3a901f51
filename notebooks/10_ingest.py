# Databricks notebook source
# MAGIC %md
# MAGIC # Ingest: source -> bronze
# MAGIC Reads the binary log from where bronze ends and appends its events, raw bytes included.
# MAGIC
# MAGIC `source` -> **ingest** -> `bronze_events` -> assemble -> `silver_changes` -> apply -> mirror tables
# MAGIC
# MAGIC Safe to run again at any time: the position to continue from is in the table's own last commit.

# COMMAND ----------

dbutils.widgets.text("source", "", "mysql://user@host:port or files:DIR")
dbutils.widgets.text("lake", "uc:main.mirrorlake", "folder or uc:catalog.schema")
dbutils.widgets.text("mirrors_schema", "", "schema of a new lake's mirrors, in its catalog; empty: the lake's own")
dbutils.widgets.text("tables_location", "", "URL below which a new lake has external tables; empty: managed")
dbutils.widgets.text("password_secret", "mirrorlake/source-password", "secret scope/key")
dbutils.widgets.text("tls", "verify", "verify, required or off")
dbutils.widgets.text("tls_ca", "", "PEM file in a volume; empty: the system's CAs")
dbutils.widgets.text("tls_cert", "", "PEM file in a volume: the client's own certificate")
dbutils.widgets.text("tls_key", "", "its key, when it is not in the same file")
dbutils.widgets.text("server_public_key", "", "PEM file in a volume: the server's RSA key, for passwords without TLS")
dbutils.widgets.text("until", "current", "current, FILE:POS, GTID set or time")

# COMMAND ----------

from mirrorlake.config import load_options
from mirrorlake.jobs.notebook.report import report_ingest

names = (
    "source", "lake", "mirrors_schema", "tables_location", "password_secret", "tls", "tls_ca", "tls_cert", "tls_key",
    "server_public_key", "until",
)
options = load_options(None, {name: dbutils.widgets.get(name) or None for name in names})
report = report_ingest(options, spark)

# COMMAND ----------

display(report.to_pandas())

# COMMAND ----------

# MAGIC %md
# MAGIC One row per commit; none when there was nothing new. A refusal ends the notebook with its code:
# MAGIC `log-*` and `server-*` in docs/refusals.md say what to do. Next: `20_assemble`.
