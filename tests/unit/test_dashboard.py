"""The dashboard's file: its widgets fit their datasets and the page, and its advice is that of the refusals."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from mirrorlake.core.sql_text import literal
from mirrorlake.errors import REFUSALS

ROOT = Path(__file__).resolve().parents[2]
DASHBOARD = json.loads((ROOT / "resources/health.lvdash.json").read_text("utf-8"))
DATASETS = {dataset["name"]: dataset["queryLines"] for dataset in DASHBOARD["datasets"]}
PLACED = [(page["name"], item) for page in DASHBOARD["pages"] for item in page["layout"]]
VERSIONS = {"counter": 2, "line": 3, "bar": 3, "table": 2}
"""Version of the spec of each kind of widget."""
N_COLUMNS = 6


def encoded(encodings) -> set[str]:
    """The names of all fields that a widget shows."""
    shown = encodings.pop("columns", []) + list(encodings.values())
    return {encoding["fieldName"] for encoding in shown}


@pytest.mark.parametrize("item", [item for _, item in PLACED], ids=lambda item: item["widget"]["name"])
def test_a_widget_shows_the_fields_that_it_asks_its_dataset_for(item):
    spec, [query] = item["widget"]["spec"], item["widget"]["queries"]
    fields = {field["name"]: field["expression"] for field in query["query"]["fields"]}
    assert query["query"]["datasetName"] in DATASETS and spec["version"] == VERSIONS[spec["widgetType"]]
    assert fields == {name: f"`{name}`" for name in encoded(dict(spec["encodings"]))}
    assert spec["frame"]["showTitle"] and spec["frame"]["title"]


def test_every_dataset_is_shown_and_every_name_is_used_once():
    used = {item["widget"]["queries"][0]["query"]["datasetName"] for _, item in PLACED}
    names = [item["widget"]["name"] for _, item in PLACED]
    assert used == set(DATASETS) and len(DATASETS) == len(DASHBOARD["datasets"])
    assert len(set(names)) == len(names)


def test_no_widget_lies_on_another_or_beyond_the_page():
    cells = []
    for page, item in PLACED:
        at = item["position"]
        assert at["x"] + at["width"] <= N_COLUMNS
        for x in range(at["x"], at["x"] + at["width"]):
            cells += [(page, x, y) for y in range(at["y"], at["y"] + at["height"])]
    assert len(set(cells)) == len(cells)


def test_the_queries_name_tables_without_a_catalog_or_a_schema():
    text = "".join(line for lines in DATASETS.values() for line in lines)
    assert not re.search(r"(FROM|JOIN) \w+\.", text) and "${" not in text


def test_a_refused_table_gets_the_advice_of_its_code():
    """Each line that is missing here belongs into the dataset ``refused``."""
    page = (ROOT / "docs/refusals.md").read_text("utf-8")
    codes = re.findall(r"^\| `([a-z-]+)` \|", page.split("## One table\n")[1].split("\n## ")[0], re.M)
    lines = [line.strip().rstrip(",") for line in DATASETS["refused"] if line.strip().startswith("('")]
    assert lines == [f"({literal(code)}, {literal(REFUSALS[code])})" for code in codes]
