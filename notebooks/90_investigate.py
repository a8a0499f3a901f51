# Databricks notebook source
# MAGIC %md
# MAGIC # Investigate
# MAGIC How far is each hop, where does a mirror row come from, how busy and how late was it? Read-only.

# COMMAND ----------

dbutils.widgets.text("lake", "uc:main.mirrorlake", "folder or uc:catalog.schema")
dbutils.widgets.text("table", "", "database.table; empty: the first mirror")
dbutils.widgets.text("key", "", "SQL condition, e.g. id = 7; empty: the row that changed last")

# COMMAND ----------

from mirrorlake.config import load_options
from mirrorlake.jobs.notebook.investigate import investigate

options = load_options(None, {"lake": dbutils.widgets.get("lake")})
found = investigate(options, spark, table=dbutils.widgets.get("table"), key=dbutils.widgets.get("key"))

# COMMAND ----------

# MAGIC %md ## Lag of each hop (bronze: its progress)

# COMMAND ----------

display(found.lag)

# COMMAND ----------

# MAGIC %md ## One transaction through the hops: the mirror row, the changes in silver, the raw events in bronze

# COMMAND ----------

display(found.mirror_row)
display(found.changes)
display(found.events)

# COMMAND ----------

# MAGIC %md ## Row changes per minute of the source's clock, and seconds from source commit to mirror commit per epoch

# COMMAND ----------

import matplotlib.pyplot as plt

figure, (busy, late) = plt.subplots(1, 2, figsize=(12, 4))
per_minute = found.activity.pivot(index="minute", columns="op", values="n_changes").fillna(0)
per_minute.plot(ax=busy, marker="o", xlabel="", ylabel="row changes per minute")
found.epochs.plot(ax=late, x="epoch", y="lag_s", marker="o", ylabel="lag in seconds", legend=False)
display(figure)
