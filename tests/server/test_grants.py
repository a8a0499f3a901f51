"""The grants of docs/security.md are enough for what the verbs ask of a server, and none of them is too much."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from pathlib import Path

import pytest
from typer.testing import CliRunner

from mirrorlake.cli import app
from mirrorlake.errors import RefusedError
from mirrorlake.jobs.verify import EQUAL
from mirrorlake.mysql.connection import ServerConnection
from mirrorlake.mysql.consistent_read import ConsistentRead
from mirrorlake.mysql.login import ServerLogin
from mirrorlake.mysql.preflight import run_preflight
from mirrorlake.mysql.source_tables import after_parents, list_tables

PAGE = Path(__file__).resolve().parents[2] / "docs/security.md"
PASSWORD = "only for these tests"
TABLES = (
    "CREATE TABLE shop.a_children (id INT PRIMARY KEY, parent INT, note VARCHAR(20),"
    " FOREIGN KEY (parent) REFERENCES shop.z_parents (id) ON DELETE CASCADE)",
    "INSERT INTO shop.z_parents VALUES (1), (2)",
    "INSERT INTO shop.a_children VALUES (10, 1, 'a'), (20, 2, NULL)",
)


def documented(flavor: str, verb: str) -> str:
    """The GRANT statement of the page for this server and verb; {} means the user."""
    name = {"mariadb": "MariaDB", "mysql": "MySQL"}[flavor]
    rows = re.findall(rf"^\| (.+) \| {name}\b[^|]* \| `GRANT (.+) ON \*\.\* TO mirror` \|$", PAGE.read_text(), re.M)
    (privileges,) = [privileges for verbs, privileges in rows if f"`{verb}`" in verbs]
    return f"GRANT {privileges} ON *.* TO {{}}"


@pytest.fixture
def user(server):
    """(verb) -> a user with just the grants of this verb."""
    made = []

    def make(verb: str) -> str:
        if f"for_{verb}" in made:
            return f"for_{verb}"
        made.append(f"for_{verb}")
        server.execute(f"CREATE USER {made[-1]} IDENTIFIED BY '{PASSWORD}'")
        server.execute(documented(server.flavor, verb).format(made[-1]))
        return made[-1]

    yield make
    for name in made:
        server.execute(f"DROP USER {name}")


def test_the_documented_grants_show_which_table_is_whose_parent(server, user):
    server.reset()
    for sql in ("CREATE DATABASE shop", "CREATE TABLE shop.z_parents (id INT PRIMARY KEY)", *TABLES):
        server.execute(sql)
    connection = ServerConnection(ServerLogin("127.0.0.1", server.port, user("snapshot"), PASSWORD))
    tables = list_tables(connection.query)
    connection.close()
    assert [(one.table, set(one.parents)) for one in tables] == [
        ("a_children", {("shop", "z_parents")}),
        ("z_parents", set()),
    ]
    assert [one.table for one in after_parents(tables)] == ["z_parents", "a_children"]


def test_each_documented_privilege_is_needed(server, user):
    """What asks for one that is taken away is refused."""
    server.reset()
    server.execute("CREATE DATABASE shop")
    server.execute("CREATE TABLE shop.z_parents (id INT PRIMARY KEY)")
    name = user("snapshot")
    login = ServerLogin("127.0.0.1", server.port, name, PASSWORD)
    read_table(login)
    privileges = re.findall("GRANT (.+) ON", documented(server.flavor, "snapshot"))[0].split(", ")
    for privilege in privileges:
        server.execute(f"REVOKE {privilege} ON *.* FROM {name}")
        if privilege.startswith("REPLICATION"):
            assert missing(login) == [f"privilege {privilege}"]
        else:
            with pytest.raises(RefusedError, match="^server-privilege: "):
                read_table(login)
        server.execute(f"GRANT {privilege} ON *.* TO {name}")
    assert missing(login) == []


class Commands:
    """``mirrorlake`` with a lake and a server as a user who has the documented grants of the verb, and no more."""

    def __init__(self, port: int, lake: Path, user: Callable[[str], str]):
        self._port, self._lake, self._user = port, lake, user

    def __call__(self, verb: str, *arguments: str) -> str:
        """What it prints; it must succeed."""
        source = f"mysql://{self._user(verb)}@127.0.0.1:{self._port}"
        lake = () if verb == "preflight" else ("--lake", str(self._lake))
        done = CliRunner().invoke(
            app, [verb, *arguments, "--source", source, *lake], env={"MIRRORLAKE_PASSWORD": PASSWORD}
        )
        assert done.exit_code == 0, (verb, done.stdout, done.stderr)
        return done.stdout


def rows_of(printed: str) -> dict[str, dict]:
    """By table: the list in what ``--json`` prints after the lines of a run."""
    found, _ = json.JSONDecoder().raw_decode(printed[printed.index("[") :])
    return {row["table"]: row for row in found}


@pytest.mark.heavy
def test_every_verb_works_with_the_documented_grants_and_no_more(server, user, spark, lake_dir):
    server.reset()
    for sql in ("CREATE DATABASE shop", "CREATE TABLE shop.z_parents (id INT PRIMARY KEY)", *TABLES):
        server.execute(sql)
    mirrorlake = Commands(server.port, lake_dir, user)
    mirrorlake("preflight")
    mirrorlake("snapshot", "shop.*")
    server.execute("DELETE FROM shop.z_parents WHERE id = 1")  # cascades
    mirrorlake("run")
    server.execute("INSERT INTO shop.z_parents VALUES (3)")
    mirrorlake("ingest")
    compared = rows_of(mirrorlake("verify", "--run", "--json"))
    assert {name: (row["state"], row["rows"]) for name, row in compared.items()} == {
        "a_children": (EQUAL, 1),
        "z_parents": (EQUAL, 2),
    }
    assert "tables: 2 streaming" in mirrorlake("status")
    assert set(rows_of(mirrorlake("tables", "--json"))) == {"a_children", "z_parents"}
    mirrorlake("resync", "shop.a_children")
    mirrorlake("run", "--failover", "follow")
    assert {row["state"] for row in rows_of(mirrorlake("verify", "--run", "--json")).values()} == {EQUAL}


def missing(login: ServerLogin) -> list[str]:
    """Privileges that preflight does not find."""
    connection = ServerConnection(login)
    checks = run_preflight(connection)
    connection.close()
    return [check.name for check in checks if not check.ok and check.code == "server-privilege"]


def read_table(login: ServerLogin) -> None:
    """As a copy and ``verify`` begin."""
    ConsistentRead(login, holding=[("shop", "z_parents")]).close()
