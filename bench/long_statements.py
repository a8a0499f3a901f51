"""How long one statement of 16 MB is read, for each kind of long statement: seconds of CPU time.

python -m bench.long_statements [--megabytes 16]
"""

from __future__ import annotations

import argparse
import time

from mirrorlake.core.ddl.effect.interpret import interpret
from mirrorlake.core.ddl.parse.session import LoggedSession, SourceServer
from mirrorlake.core.schema.history import DefinitionChange, Definitions
from tests.support.long_statements import LONG

TABLE = "create table t (id int primary key, a varchar(5), b int)"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--megabytes", type=float, default=16)
    length = int(parser.parse_args().megabytes * 1_000_000)
    print(f"{'statement':28}{'MB':>8}{'s':>8}  effect")
    for kind, make in LONG.items():
        sql = make(length * 10_000 // len(make(10_000)))
        definitions = Definitions()
        definitions.apply(read(TABLE, definitions))
        started = time.process_time()
        changes = read(sql, definitions)
        seconds = time.process_time() - started
        effects = sorted({change.action for change in changes})
        print(f"{kind:28}{len(sql) / 1e6:8.1f}{seconds:8.2f}  {', '.join(effects) or 'none'}", flush=True)


def read(sql: str, definitions: Definitions) -> list[DefinitionChange]:
    return interpret(sql, SourceServer("mysql", 90704), LoggedSession("d", server_charset="utf8mb4"), definitions)


if __name__ == "__main__":
    main()
