# Databricks notebook source
# MAGIC %md
# MAGIC # Investigate
# MAGIC Questions about one lake, each answered by a table. An answer that cannot be given says why, and what to do.
# MAGIC Read-only; a question ends after `seconds`, and shows `rows` rows at most.

# COMMAND ----------

dbutils.widgets.text("lake", "uc:main.mirrorlake", "folder or uc:catalog.schema")
dbutils.widgets.text("table", "", "database.table; empty: one that changed last")
dbutils.widgets.text("key", "", "7 or [7, 'a'] as JSON; empty: the row that changed last")
dbutils.widgets.text("transaction", "", "GTID or lsn; empty: the newest")
dbutils.widgets.text("since", "", "time of the source, as 2026-11-21T08:30:00Z")
dbutils.widgets.text("until", "", "time of the source")
dbutils.widgets.text("syncpoint_one", "newest", "name, lsn or time")
dbutils.widgets.text("syncpoint_two", "newest", "name, lsn or time")
dbutils.widgets.text("seconds", "120", "how long a question may take")
dbutils.widgets.text("rows", "1000", "how many rows an answer may have")

# COMMAND ----------

from mirrorlake.config import load_options
from mirrorlake.jobs.notebook.investigate import Investigation

asked = {name: dbutils.widgets.get(name) for name in ("table", "key", "since", "until")}
limits = {"seconds": float(dbutils.widgets.get("seconds")), "rows": int(dbutils.widgets.get("rows"))}
look = Investigation(load_options(None, {"lake": dbutils.widgets.get("lake")}), spark, **asked, **limits)
points = (dbutils.widgets.get("syncpoint_one"), dbutils.widgets.get("syncpoint_two"))

# COMMAND ----------

# MAGIC %md ## Where does this row come from? Its whole history, newest first

# COMMAND ----------

display(look.row_history())

# COMMAND ----------

# MAGIC %md ## What did this transaction do? Its changes in silver, and its events in bronze

# COMMAND ----------

display(look.transaction(dbutils.widgets.get("transaction")))
display(look.events(dbutils.widgets.get("transaction")))

# COMMAND ----------

# MAGIC %md ## What happened between two times?

# COMMAND ----------

display(look.changes())
display(look.activity_plot())

# COMMAND ----------

# MAGIC %md ## Which DDL changed this table, or any table if `table` is empty, between the two times?

# COMMAND ----------

display(look.ddl())

# COMMAND ----------

# MAGIC %md ## What differs between two syncpoints? All tables, then the rows of this one

# COMMAND ----------

display(look.difference(*points))
display(look.rows_that_differ(*points))

# COMMAND ----------

# MAGIC %md ## Why is a table refused?

# COMMAND ----------

display(look.refusals())

# COMMAND ----------

# MAGIC %md ## Where is the lag? Each hop now, and each epoch when it was applied

# COMMAND ----------

display(look.lags())
display(look.lag_plot())
