# Databricks notebook source
# MAGIC %md
# MAGIC # Start here
# MAGIC What this lake holds, how to read it, how late it is, and what to do next. Read-only.

# COMMAND ----------

dbutils.widgets.text("lake", "uc:main.mirrorlake", "folder or uc:catalog.schema")

# COMMAND ----------

from mirrorlake.config import load_options
from mirrorlake.jobs.notebook.investigate import Investigation

look = Investigation(load_options(None, {"lake": dbutils.widgets.get("lake")}), spark)

# COMMAND ----------

# MAGIC %md
# MAGIC ## The mirrors
# MAGIC One per source table, with the name that statements use. `apply --views` also keeps a view under the source's name.

# COMMAND ----------

display(look.mirrors())

# COMMAND ----------

# MAGIC %md
# MAGIC ## Lag of each hop
# MAGIC How much of the log each hop has, and how much waits before it. The source is not asked: bronze has no lag here.

# COMMAND ----------

display(look.lags())

# COMMAND ----------

# MAGIC %md
# MAGIC ## First statements
# MAGIC Each can be copied into a cell of its own after `%sql`. The first one's rows are below.

# COMMAND ----------

display(look.first_statements())
display(look.first_rows())

# COMMAND ----------

# MAGIC %md
# MAGIC ## What to do next

# COMMAND ----------

display(look.next_steps())
