# Databricks notebook source
# MAGIC %md
# MAGIC # Maintenance
# MAGIC Runs OPTIMIZE and VACUUM on every table; deletes mirrors whose source table was dropped longer ago than the
# MAGIC retention, and log in bronze that is older than `bronze_days`.
# MAGIC
# MAGIC Changes no row of a mirror and no progress. A table without new commits is skipped. One that is being written is `busy`, and
# MAGIC the next maintenance tries it again.

# COMMAND ----------

dbutils.widgets.text("lake", "uc:main.mirrorlake", "folder or uc:catalog.schema")
dbutils.widgets.text("retention_days", "30", "days, 30 at least")
dbutils.widgets.text("bronze_days", "", "how long bronze keeps the log; empty: for good")

# COMMAND ----------

from mirrorlake.config import load_options
from mirrorlake.jobs.maintenance import maintain

options = load_options(None, {name: dbutils.widgets.get(name) or None for name in ("lake", "bronze_days")})
outcomes = maintain(options, spark, retention_days=int(dbutils.widgets.get("retention_days")))

# COMMAND ----------

display(outcomes)
