"""Random foreign keys on a real server, and epochs that end anywhere: every mirror equals SELECT, or is refused."""

from __future__ import annotations

from random import Random

from mirrorlake.lake.gold.apply import ApplyHop
from mirrorlake.lake.gold.control.rules import TableRules
from tests.support.ddl_histories import compare
from tests.support.lake_runs import LakeRun
from tests.support.random_foreign_keys import write_histories

HISTORIES, HISTORIES_LONG = 3, 30
EPOCHS, EPOCHS_LONG = 1, 3


def test_rows_that_foreign_keys_change_are_those_of_the_server(mariadb, spark, seed, is_long, tmp_path):
    names = [f"h{n}" for n in range(HISTORIES_LONG if is_long else HISTORIES)]
    histories = write_histories(mariadb, str(seed), names, 3 if is_long else 1, tmp_path / "logs")
    run = LakeRun(spark, tmp_path / "logs", tmp_path / "lake")
    run.ingest()
    run.assemble()
    apply_in_epochs(run, Random(seed), EPOCHS_LONG if is_long else EPOCHS)
    found = compare(run, histories)
    for history in histories:
        (tmp_path / f"{history.database}.sql").write_text("".join(f"{text};\n" for text in history.statements))
        history.close()
    assert found.wrong == {}
    assert found.tables > 0


def apply_in_epochs(run: LakeRun, random: Random, cuts: int) -> None:
    """Apply up to some commits of the log, then the rest."""
    changes = run.spark.table(run.lake.names.silver_changes)
    commits = changes.where("op = 'COMMIT'").select("lsn").toArrow()["lsn"].to_pylist()
    hop = ApplyHop(run.lake, TableRules(), epoch_changes=1_000_000)
    for lsn in sorted(random.sample(commits, cuts)):
        list(hop.apply(up_to=lsn))
    list(hop.apply())
    hop.flush()
