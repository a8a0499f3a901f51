"""What SHOW GRANTS of real servers says of a user's privileges."""

from __future__ import annotations

import pytest

from mirrorlake.mysql.grants import Grants
from tests.support.linear_time import assert_linear

REPLICA = "GRANT REPLICATION SLAVE, REPLICATION CLIENT ON *.* TO `u`@`%`"


@pytest.mark.parametrize(
    ("rows", "may_select", "may_flush"),
    [
        (["GRANT USAGE ON *.* TO `u`@`%` IDENTIFIED BY PASSWORD '*0'"], False, False),
        ([REPLICA], False, False),
        ([REPLICA, "GRANT SELECT ON `shop`.* TO `u`@`%`"], True, False),
        ([REPLICA, "GRANT SELECT (`id`, `a b`), INSERT (`id`) ON `shop`.`a` TO `u`@`%`"], True, False),
        (["GRANT SELECT (`a)`, `(b`), UPDATE (`c``)`) ON `shop`.`a` TO `u`@`%`"], True, False),
        (["GRANT `r1` TO `u`@`%`", "GRANT USAGE ON *.* TO `r1`", "GRANT SELECT ON `shop`.* TO `r1`"], True, False),
        (["GRANT SELECT, RELOAD ON *.* TO `u`@`%`", "GRANT FLUSH_TABLES ON *.* TO `u`@`%`"], True, True),
        (["GRANT RELOAD ON `shop`.* TO `u`@`%`"], False, False),
        (["GRANT ALL PRIVILEGES ON *.* TO `root`@`localhost` WITH GRANT OPTION"], True, True),
        (["GRANT ALL PRIVILEGES ON `shop`.* TO `u`@`%`", "SET DEFAULT ROLE `r1` FOR `u`@`%`"], True, False),
    ],
)
def test_privileges_of_the_user_and_of_active_roles(rows, may_select, may_flush):
    found = Grants.of_user(lambda _: [(row,) for row in rows])
    assert (found.may_select, found.has("RELOAD", "FLUSH_TABLES")) == (may_select, may_flush)


@pytest.mark.parametrize("piece", [" (", " (`", " (`x`", "` (", " ON", ", "])
def test_time_grows_with_the_answers_length_and_no_faster(piece):
    assert_linear(lambda row: Grants.of_user(lambda _: [(row,)]), lambda n: f"GRANT {piece * n} ON *.*", 10_000)
