"""Random definitions in sessions with random settings. Read from statements and the servers' default table maps, they
are those of the table maps with all metadata, or the table is refused.
"""

from __future__ import annotations

from random import Random

import pytest

from tests.support.definition_maps import account_of
from tests.support.random_definitions import play_definitions

STATEMENTS, STATEMENTS_LONG = 100, 2_000


@pytest.mark.row_metadata("full")
def test_what_is_read_with_less_metadata_is_what_all_metadata_say(server, seed, is_long):
    server.reset()
    statements = STATEMENTS_LONG if is_long else STATEMENTS
    assert play_definitions(server, Random(f"{seed} {server.program}"), statements) > statements / 4
    server.execute("FLUSH BINARY LOGS")
    found = account_of(server.datadir, server.flavor)
    assert found.wrong == []
    assert found.equal > found.refused.total()
