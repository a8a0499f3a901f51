"""Which tables a statement may name is told from its text, however long that is."""

from __future__ import annotations

import pytest

from mirrorlake.jobs.inspect.sql import _names
from mirrorlake.lake.gold.control.register import STREAMING, TableEntry
from tests.support.linear_time import assert_linear

ORDERS = TableEntry(0, "shop", "orders", STREAMING)


@pytest.mark.parametrize(
    "name",
    [
        "shop.orders", "`shop`.`orders`", "SHOP . orders", "shop/**/./* a */orders", "shop /* a /* b */ c */ .orders",
        "shop -- a.\n . -- b\n orders", "shop\n\n.\torders", "x.shop.orders",
    ],
)  # fmt: skip
def test_a_name_with_spaces_and_comments_is_found(name):
    assert _names(f"SELECT * FROM {name} WHERE a", ORDERS)


@pytest.mark.parametrize("name", ["shop.orders2", "shop, orders", "shop orders", "shop /* a */ orders", "orders.shop"])
def test_another_name_is_not_found(name):
    assert not _names(f"SELECT * FROM {name}", ORDERS)


@pytest.mark.parametrize("piece", ["/**/ ", "-- a\n", "/* a */", "\n", "/*"])
def test_time_grows_with_the_number_of_comments_and_no_faster(piece):
    assert_linear(lambda text: _names(text, ORDERS), lambda n: f"SELECT shop {piece * n} FROM a", 20)
    assert_linear(lambda text: _names(text, ORDERS), lambda n: f"SELECT shop {piece * n} FROM a", 5000)
