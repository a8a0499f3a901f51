"""Whether gold has made each of its commits once."""

from __future__ import annotations

from mirrorlake.lake.delta.lake import Lake
from mirrorlake.lake.delta.notes import read_notes
from mirrorlake.lake.gold.control.register import TableRegister


def check_every_step_once(lake: Lake) -> None:
    """Each mirror has one commit of each transaction id, each epoch one plan and one end."""
    for entry in TableRegister.read(lake):
        if entry.mirror_id:
            notes = [note for note, _ in read_notes(lake.spark, lake.names.mirror(entry.mirror_id))]
            steps = [(note["app_id"], note["txn_version"]) for note in notes if note["app_id"]]
            assert len(set(steps)) == len(steps)
    rows = lake.spark.table(lake.names.control_epochs).orderBy("epoch", "phase").collect()
    assert [(row.epoch, row.phase) for row in rows] == [
        (i + 1, phase) for i in range(len(rows) // 2) for phase in ("done", "plan")
    ]
