# Databricks notebook source
# MAGIC %md
# MAGIC # Apply: silver -> mirror tables
# MAGIC Applies silver's changes to every mirror table, epoch by epoch: row changes, then the DDL between them.
# MAGIC
# MAGIC `source` -> ingest -> `bronze_events` -> assemble -> `silver_changes` -> **apply** -> mirror tables
# MAGIC
# MAGIC Safe to run again at any time: a table that already has an epoch is skipped. Needs a dedicated cluster, see
# MAGIC docs/databricks.md.

# COMMAND ----------

dbutils.widgets.text("lake", "uc:main.mirrorlake", "folder or uc:catalog.schema")
dbutils.widgets.text("tables", "*", "patterns of database.table")

# COMMAND ----------

from mirrorlake.config import load_options
from mirrorlake.jobs.notebook.report import report_apply

options = load_options(None, {name: dbutils.widgets.get(name) for name in ("lake", "tables")})
report = report_apply(options, spark)

# COMMAND ----------

display(report.to_pandas())

# COMMAND ----------

# MAGIC %md
# MAGIC One row per epoch. `refused` names tables that stopped being mirrored here; docs/refusals.md says what to do about
# MAGIC each code; `invalid` has tables with values that no mirror can hold, and the number that became NULL. Next: `90_investigate`.
