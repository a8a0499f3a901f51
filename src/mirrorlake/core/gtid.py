"""GTID sets of either flavor."""

from __future__ import annotations

from mirrorlake.core.mariadb_gtid import MariadbGtidSet
from mirrorlake.core.mysql_gtid import MysqlGtidSet

GtidSet = MysqlGtidSet | MariadbGtidSet


def parse_gtid_set(flavor: str, text: str) -> GtidSet:
    """Parse ``text`` as a server of that flavor prints it; empty text is the empty set."""
    return (MariadbGtidSet if flavor == "mariadb" else MysqlGtidSet).parse(text)


def parse_gtid_state(flavor: str, text: str) -> GtidSet:
    """The inverse of a set's ``state``, for either flavor."""
    return MariadbGtidSet.parse_state(text) if flavor == "mariadb" else MysqlGtidSet.parse(text)


def have_same_state(one: GtidSet, other: GtidSet) -> bool:
    """Are two sets equal, of MariaDB also for each server of a domain?"""
    return sorted(one.state.split(",")) == sorted(other.state.split(","))
