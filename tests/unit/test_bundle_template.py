"""The template for `bundle init` makes the targets that the repository shows, and others by the same rules."""

from __future__ import annotations

import json
import re
import shutil
from pathlib import Path

import pytest
from databricks.bundles.jobs import Job

from tests.support import bundle
from tests.support.go_template import filled, render

TEMPLATE = bundle.ROOT / "templates/mirrorlake"
SCHEMA = json.loads((TEMPLATE / "databricks_template_schema.json").read_text())
PROPERTIES = SCHEMA["properties"]
SHOP = {
    "mirror": "shop", "source": "mysql://replica@shop.example.org:3306", "database": "shop", "catalog": "main",
    "service_principal": "00000000-0000-0000-0000-000000000000", "operators": "data-operators",
    "readers": "data-readers", "mode": "live", "node_type_id": "", "policy_id": "", "instance_pool_id": "",
}  # fmt: skip
CRM = SHOP | {
    "mirror": "crm",
    "database": "crm",
    "catalog": "prod",
    "source": "mysql://m@crm:3306",
    "mode": "scheduled",
}


def made(answers: dict[str, str]) -> dict[str, str]:
    return render(TEMPLATE / "template", answers)


def test_the_examples_are_what_the_template_makes():
    assert made(SHOP) == {
        f"targets/target.shop.{kind}yml": (bundle.ROOT / example).read_text()
        for example, kind in zip(bundle.EXAMPLES, ("", "live."), strict=True)
    }


def test_another_mirror_lives_next_to_the_first_one(tmp_path: Path):
    shutil.copytree(bundle.ROOT / "resources", tmp_path / "resources")
    shutil.copy(bundle.ROOT / "databricks.yml", tmp_path)
    (tmp_path / "targets").mkdir()
    files = {**made(SHOP), **made(CRM)}
    assert [name for name in files if "crm" in name] == ["targets/target.crm.yml"]
    for name, text in files.items():
        (tmp_path / name).write_text(text)
        assert Path(name).match("targets/target.*.yml")
    whole = bundle.read(tmp_path, tuple(files))
    assert list(whole["targets"]) == ["shop", "shop_dev", "crm", "crm_dev"]
    resources = bundle.target(whole, "crm")["resources"]
    assert Job.from_dict(resources["jobs"]["scheduled"]).name == "mirrorlake-scheduled-crm"
    assert (resources["schemas"]["lake"]["catalog_name"], resources["schemas"]["lake"]["name"]) == (
        "prod",
        "mirrorlake_crm",
    )
    assert resources["schemas"]["views_crm"]["name"] == "crm" and "views_shop" not in resources["schemas"]
    assert "job_clusters" not in resources["jobs"]["live"]
    words = bundle.job_words(resources["jobs"]["scheduled"])
    assert words[words.index("--source") + 1] == "mysql://m@crm:3306" and "crm.*" in words


def test_every_question_is_asked_once_and_used():
    text = "".join(file.read_text() + file.name for file in TEMPLATE.rglob("*.tmpl")) + SCHEMA["success_message"]
    assert set(re.findall(r"\.(\w+)\b(?= \"|\}\})", text)) == PROPERTIES.keys() == SHOP.keys()
    assert [one["order"] for one in PROPERTIES.values()] == list(range(1, len(PROPERTIES) + 1))
    assert all(one["description"] for one in PROPERTIES.values())
    assert filled(SCHEMA["success_message"], SHOP).split() == (
        "targets/target.shop.yml is there. Next: databricks bundle validate -t shop".split()
    )


@pytest.mark.parametrize(
    ("name", "wrong"),
    [
        ("mirror", "Shop"), ("mirror", "a-b"), ("source", "postgres://h"), ("source", 'mysql://u@h" #'),
        ("database", "a.b"), ("catalog", "${var.x}"), ("service_principal", "me@example.org"), ("readers", 'a"\nb'),
        ("node_type_id", 'x" # '),
    ],
)  # fmt: skip
def test_an_answer_that_would_break_the_file_is_refused_and_ours_are_taken(name, wrong):
    assert re.fullmatch(PROPERTIES[name]["pattern"], SHOP[name]) and not re.search(PROPERTIES[name]["pattern"], wrong)
