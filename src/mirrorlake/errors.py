"""Errors, by who acts next.

    MirrorlakeError            code, what happened, where (position, table), what to do next
    +-- RetryableError         the outside world: run the same command again            exit code 4
    +-- RefusedError           continuing would be wrong: a person decides              exit code 3
    +-- UsageError             the command line or the configuration is wrong             exit code 2
    +-- InternalError          our own defect                                           exit code 1

``REFUSALS`` is the catalogue: every code the program can print, with the line that says what to do next.
No message ever holds a row's value or a password.
"""

from __future__ import annotations

from mirrorlake.shown import shown

REFUSALS: dict[str, str] = {
    # --- the log
    "log-missing": "Point --source at the folder or server that still has this file; bronze keeps what was read so far.",
    "log-truncated": "Copy the file again from the server; nothing after the last complete transaction was taken.",
    "log-checksum": "Copy the file again; if the server's own file is damaged, start a new lake after the damage.",
    "log-gap": "Bring back the missing binlog files, or start a new lake: events between the two positions are unknown.",
    "log-range": "RESET the source's binary log (files up to number 2097151 and 32 GiB fit the order key) and start a new lake.",
    "log-event": "Read the reason: the log holds something this version cannot decode; upgrade or start a new lake after it.",
    "log-incident": "The server itself lost events here; start a new lake from a position after the incident.",
    "log-starts-inside-transaction": "Start at an earlier position: the chosen one is not the start of a transaction.",
    "log-replaced": "RESET, a restored backup or other files: bring back the log that the lake was made from, or start a new lake.",
    "torn-transaction": "The rest of this transaction is missing: copy the file again from the server, or start a new lake after it.",
    "xa-not-prepared": "Its rows are in an older binlog file: start a new lake from that file, or one after this position.",
    # --- the server
    "server-unreachable": "Check host, port and network; the run can be repeated as it is.",
    "server-lost": "The connection broke; run again to continue from the last committed boundary.",
    "server-password": "Check the user and the password (environment variable MIRRORLAKE_PASSWORD or --password-file).",
    "server-tls": "Compare --tls and --tls-ca with what the server offers: whether it has TLS, its certificate and its CA.",
    "server-protocol": "Check that --source names a MySQL or MariaDB server, and any proxy or firewall between here and there.",
    "server-privilege": "GRANT REPLICATION SLAVE, REPLICATION CLIENT ON *.* TO this user; for snapshot, resync and verify also SELECT, on MySQL FLUSH_TABLES (before 8.0.23 RELOAD).",
    "server-log-purged": "The server no longer has this position; start a new lake; `mirrorlake snapshot` fills it with the tables' present rows.",
    "binlog-off": "Start the server with log_bin enabled, then run preflight again.",
    "binlog-format": "SET GLOBAL binlog_format = 'ROW' and reconnect all clients.",
    "binlog-row-image": "SET GLOBAL binlog_row_image = 'FULL' and reconnect all clients.",
    "binlog-row-value-options": "SET GLOBAL binlog_row_value_options = '', or row images FULL and no trigger; `mirrorlake resync` a refused table.",
    "binlog-filter": "Start the server without binlog_do_db and binlog_ignore_db: by the database of a session they keep DDL of other tables out of the log.",
    "replica-log": "Start this server with log_replica_updates (log_slave_updates): its log lacks what it gets from others; or use the primary as source.",
    "binlog-checksum": "SET GLOBAL binlog_checksum = 'CRC32'.",
    "server-version": "Use MySQL 5.6 or later, or MariaDB 10.2 or later.",
    # --- another server takes over
    "failover-gap": "Point --source at a server whose log still has these transactions (the former one, another replica), or start a new lake.",
    "failover-diverged": "A replica that lags catches up: run again. Else bring the former server back as source, or start a new lake from this one.",
    "failover-unproven": "GTIDs do not show that this server continues where the lake ends: use the former one as source, or start a new lake.",
    # --- the lake
    "lake-source": "Use this lake with its own source or another folder; after a failover, `--failover follow` continues by GTID.",
    "lake-names": "Use the lake with the setting that it began with, or start a new lake; of files, `mirrorlake replay --lower-case-table-names` makes one.",
    "column-secret": "Set the environment variable MIRRORLAKE_COLUMN_SECRET, or `column_secret` in the file, to the secret of hashed columns: at least 16 characters.",
    "lake-column-secret": "Give the secret of hashed columns that the lake began with, or start a new lake.",
    "lake-columns": "Undo the change of `columns` in the file, or `mirrorlake resync` these tables with it, then run again; `mirrorlake replay` makes a lake without the values.",
    "lake-writer": "Another process writes this lake; nothing was written. Stop one of the two and run again.",
    "apply-groups": "Start `mirrorlake apply --group` for every group, the first one too; run this one again.",
    "lake-version": "The lake was written by a newer version of mirrorlake; upgrade.",
    "lake-missing": "Run `mirrorlake run` or `mirrorlake demo` first, or check --lake.",
    "lake-restored": "Delta counts undone commits as done: restore the newest version again, or start a new lake.",
    "lake-note": "The log has more GTIDs or prepared XA transactions than a lake can note; begin a new lake where it has fewer.",
    "lake-history": "Start a new lake. To prevent it, run every hop once in three weeks, or let no other tool commit to the lake.",
    "lake-damaged": "Bring the missing or broken files back from a copy, then run again; or start a new lake.",
    "lake-unborn": "Remove the table's folder, in which nothing was ever committed, and run again.",
    "lake-conflict": "Nothing was written; run again. If it comes back each time, keep maintenance and replication apart.",
    "lake-storage": "Free more space than a batch needs (bronze_batch_mb), or bring the storage back; then run again: what was committed is kept.",
    "lake-access": "Give this user read and write access to the lake's folder, or choose another one.",
    # --- one table; the others continue
    "mirror-changed": "Only mirrorlake may write to a mirror table: this one is wrong now, `mirrorlake resync` the table.",
    "mirror-diverged": "The mirror is not what the source was, from an earlier moment on; `mirrorlake resync` the table.",
    "spark-refused": "Spark or Delta does not take this table's changes, for the reason that is named; `mirrorlake resync` the table when that is gone.",
    "needs-first-copy": "The CREATE TABLE is not in the log, so older rows are unknown: `mirrorlake snapshot` reads them, or says why it cannot.",
    "column-type": "This column type is not mirrored yet; the table's events are kept in bronze.",
    "column-charset": "This character set is not mirrored yet; the table's events are kept in bronze.",
    "column-name": "Rename the column: _lsn is reserved (and _committed_at and _gtid with --commit-columns), and so are two names that Spark and Delta use; Spark takes some names for one, and ${...} needs a Spark that leaves it as it is.",
    "row-image": "SET GLOBAL binlog_row_image = 'FULL', or run with --partial-images if the reason says so; `mirrorlake resync` the table.",
    "generated-column": "Run with --generated leave-out to mirror the table without the column, then `mirrorlake resync` the table.",
    "hidden-column": "The mirror needs the column: give `columns` in the file a pattern that does not fit it, or exclude the table; then `mirrorlake resync` it.",
    "row-metadata": "SET GLOBAL binlog_row_metadata = 'FULL', then `mirrorlake resync` the table.",
    "row-event": "The row event could not be decoded to its end; `mirrorlake resync` the table after the cause is found.",
    "statement-dml": "Rows were changed in STATEMENT format; set binlog_format = ROW and `mirrorlake resync` the table.",
    "foreign-key-cascade": "If the parent has no mirror, mirror it too; else drop the foreign key's ON DELETE and ON UPDATE. Then `mirrorlake resync` the table.",
    "definition-mismatch": "The log's table map and the known definition differ; `mirrorlake resync` the table.",
    "ddl-unsupported": "This statement is not replayed yet; `mirrorlake resync` the table after it.",
    "needs-resync": "What the statement did to rows that exist does not follow from the log; `mirrorlake resync` the table after it.",
    "invalid-key": "Correct the key values in the source, then `mirrorlake resync` the table; dates may be mirrored with --invalid-values text.",
    "invalid-value": "Correct the values in the source and `mirrorlake resync` the table; or mirror it with --invalid-values null or text.",
    "ddl-ambiguous": "The statement's effect depends on what existed before the log; `mirrorlake resync` the table.",
    "name-case": "Say how the server compares names: `mirrorlake replay --lower-case-table-names 0, 1 or 2` makes the lake again, and `run` takes the option.",
    # --- views; the mirrors continue
    "view-name": "Choose another --schema-template (--views), or read the mirror with `mirrorlake sql` or by its path, see `mirrorlake tables`.",
    "view-taken": "Rename or drop what has this name, or choose another --views, then run again; what others have made is never replaced.",
    "view-failed": "Read the reason: a view needs USE and CREATE rights on its catalog and schema, and SELECT on the mirror; the next run tries again.",
    # --- a workspace of Databricks
    "workspace-login": "databricks auth login --host https://WORKSPACE, or name another --profile; jobs and notebooks log in by themselves.",
    "workspace-refused": "Read the reason; `mirrorlake workspace check` lists what is missing, each with its fix.",
    "workspace-unreachable": "Run again; if it comes back, check the host of the workspace and the network between here and there.",
    # --- what a verb found
    "tables-refused": "`mirrorlake status` shows why and what to do for each; all other tables are up to date.",
    "lag": "Run again, or look at `mirrorlake status --source`: it shows which hop is late, and by how much.",
    "differs": "The output names each table and what differs; `mirrorlake resync` a mirror that is wrong.",
    "check-failed": "The output names the fix for each failed check.",
    "left-out": "The output names each table that was left out, and why.",
    # --- the command line
    "spark-start": "Install Java 17 or later (or set JAVA_HOME), and name a folder with room in SPARK_LOCAL_DIRS;"
    " MIRRORLAKE_SPARK_LOG=FILE keeps Spark's own log.",
    "spark-missing": "pip install 'mirrorlake[spark]'; on Databricks use its runtime's own. Only preflight and workspace need no Spark.",
    "sdk-missing": "pip install 'mirrorlake[databricks]'; on Databricks its runtime has the SDK.",
    "spark-ended": "Run again; if it comes back, Spark had too little memory: raise MIRRORLAKE_DRIVER_MEMORY (2g).",
    "ddl-answer": "`mirrorlake ddl list` shows the statements that can be overridden, and the overrides given.",
    "spark-session": "Set it where the platform makes its sessions, or use a session of mirrorlake's own.",
    "verify-wait": "Start a run on this lake (`mirrorlake run --follow`) or repeat with --run, which makes one itself.",
    "syncpoint": "`mirrorlake syncpoints` lists those that there are.",
    "question-time": "Ask about fewer rows or a shorter time, give more seconds, or use larger compute.",
    "sql": "Correct the statement; `mirrorlake tables` lists what can be queried.",
    "usage": "See mirrorlake --help.",
    "internal": "This is a defect of mirrorlake; please report it with the output of --verbose.",
}

_OF_LATER_VERSION = "This version of mirrorlake does not know the code: use the one that recorded it, or a later one."


def next_step(code: str | None) -> str:
    """What to do about a refusal that a lake records, which a later version may have done."""
    return REFUSALS.get(code or "", _OF_LATER_VERSION)


class MirrorlakeError(Exception):
    """Base of all errors a user can meet; never raised itself.

    code: a key of ``REFUSALS``. message: one line. position: ``file:offset`` in the log. table: ``db.table``.
    """

    exit_code = 1

    def __init__(self, code: str, message: str, *, position: str | None = None, table: str | None = None):
        if type(self) is MirrorlakeError:
            raise TypeError("raise one of MirrorlakeError's kinds")
        if code not in REFUSALS:
            raise KeyError(code)
        super().__init__(message)
        self.code, self.message, self.position, self.table = code, message, position, table

    def __reduce__(self):
        return _rebuild, (type(self), self.code, self.message, self.position, self.table)

    @property
    def hint(self) -> str:
        return REFUSALS[self.code]

    def __str__(self) -> str:
        where = [f"table {shown(self.table)}"] if self.table else []
        where += [f"at {shown(self.position)}"] if self.position else []
        return f"{self.code}: {shown(self.message)}" + (f" ({', '.join(where)})" if where else "")


def _rebuild(kind, code, message, position, table):
    return kind(code, message, position=position, table=table)


class RetryableError(MirrorlakeError):
    exit_code = 4


class RefusedError(MirrorlakeError):
    exit_code = 3


class UsageError(MirrorlakeError):
    exit_code = 2


class InternalError(MirrorlakeError):
    exit_code = 1
