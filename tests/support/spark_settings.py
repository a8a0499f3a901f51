"""Settings that make Spark quick for tests: few rows in many tables, each seen once."""

HUNDREDS_OF_LAKES = {
    # What Delta keeps of lakes that are gone would keep the garbage collector busy.
    "spark.databricks.delta.delta.log.cacheSize": "40",
    # Code made for the few rows of a table that is gone soon is not worth its making: with these three gold takes a
    # quarter less CPU time for `tests/cases`. The commands that tests start as processes run without them.
    "spark.sql.codegen.wholeStage": "false",
    "spark.sql.codegen.factoryMode": "NO_CODEGEN",
    # Plans of few rows gain nothing from a second look while they run. The commands that tests start as processes run
    # without these, too.
    "spark.sql.adaptive.enabled": "false",
    "spark.databricks.delta.optimizeMetadataQuery.enabled": "false",
    # For each commit Hadoop starts ten processes that look at links and change permissions; with these two, two.
    "spark.delta.logStore.file.impl": "io.delta.storage.LocalLogStore",
    "spark.sql.streaming.checkpointFileManagerClass": "org.apache.spark.sql.execution.streaming.checkpointing"
    ".FileSystemBasedCheckpointFileManager",
    "spark.sql.ui.explainMode": "simple",  # each query has its plan written for a page that nobody opens
    "spark.driver.defaultJavaOptions": "-XX:Tier4InvocationThreshold=20000 -XX:Tier4MinInvocationThreshold=2400"
    " -XX:Tier4CompileThreshold=60000 -XX:Tier4BackEdgeThreshold=160000",
}
"""Of the session that all tests share, and of servers that one test has."""
