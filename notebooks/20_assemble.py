# Databricks notebook source
# MAGIC %md
# MAGIC # Assemble: bronze -> silver
# MAGIC Decodes whole transactions into ordered row changes between BEGIN and COMMIT markers.
# MAGIC
# MAGIC `source` -> ingest -> `bronze_events` -> **assemble** -> `silver_changes` -> apply -> mirror tables
# MAGIC
# MAGIC Safe to run again at any time: silver's progress is in its own last commit.

# COMMAND ----------

dbutils.widgets.text("lake", "uc:main.mirrorlake", "folder or uc:catalog.schema")

# COMMAND ----------

from mirrorlake.config import load_options
from mirrorlake.jobs.notebook.report import report_assemble

options = load_options(None, {"lake": dbutils.widgets.get("lake")})
report = report_assemble(options, spark)

# COMMAND ----------

display(report.to_pandas())

# COMMAND ----------

# MAGIC %md
# MAGIC One row per commit; none when bronze had nothing new. An event that cannot be decoded gives a REFUSED row of its table in
# MAGIC `silver_changes`, and the other tables continue. Next: `30_apply`.
