"""Every DDL that is replayed has a class, and the class says how it takes effect exactly once.

    class         statements                                       made repeatable by
    IGNORED       what the options name                            nothing to repeat
    DEFINITION    index, foreign key, default, engine,             nothing touches a mirror; the register's row, if the
                  layout of partitions                             definition shows, is committed once for each epoch
    COMPARED      CREATE TABLE; columns added, dropped, renamed,   each ALTER's commit carries (lsn, step); the mirror's
                  moved, widened in place; a comment; a key;       own history says which steps are done
                  a type whose values stay as they are
    REBUILT       DEFAULT for old rows, conversions of values;     one overwrite or append that carries the transaction
                  the rows of a snapshot                           id
    DESTRUCTIVE   TRUNCATE, DROP and TRUNCATE PARTITION            one overwrite that carries the transaction id
    SELF_INVERSE  EXCHANGE and CONVERT PARTITION                   both outputs are computed from the versions that the
                                                                   ledger's ``prepared`` row pins; each is one overwrite
                                                                   or append that carries the transaction id
    REGISTERED    RENAME TABLE, also in circles; DROP TABLE        no mirror is touched: one commit of the register

The register's commit ends an epoch's work: an epoch whose rows are in the register is not executed again.
"""

from __future__ import annotations

from collections.abc import Iterable
from enum import Enum


class DdlClass(Enum):
    IGNORED = "ignored"
    DEFINITION = "definition"
    REGISTERED = "registered"
    COMPARED = "compared"
    REBUILT = "rebuilt"
    DESTRUCTIVE = "destructive"
    SELF_INVERSE = "self-inverse"


def strongest(classes: Iterable[DdlClass]) -> DdlClass:
    """The class that makes a whole statement repeatable, from the classes of its parts."""
    return max(classes, key=list(DdlClass).index, default=DdlClass.DEFINITION)
