"""Every published block of the archive, byte for byte (see tests/data/ministat/README.md)."""

import gzip
import json
from pathlib import Path
from typing import Any

import pytest

from buildbot_bench.core.ministat_text import render

BLOCKS = Path(__file__).parents[1] / "data" / "ministat" / "blocks.jsonl.gz"


def load_blocks() -> list[dict[str, Any]]:
    with gzip.open(BLOCKS, "rt", encoding="utf-8") as lines:
        return [json.loads(line) for line in lines]


def rendered(block: dict[str, Any]) -> list[str]:
    """The lines of the block as we print them, tabs as in the archive."""
    text = render(
        [(one["label"], list(map(float, one["text"].split()))) for one in block["datasets"]],
        width=block["width"],
        separate="-s" in block["flags"],
        confidence=block["confidence"] or 95.0,
    )
    return text.replace("\t", " " * 8).splitlines(keepends=True)


def test_the_archive_is_there_as_a_whole():
    kinds = [block["relative_error"] for block in load_blocks()]
    assert (kinds.count("current"), kinds.count("before-2016-11")) == (206, 25)


@pytest.mark.parametrize("block", load_blocks(), ids=lambda b: f"{b['source']}#{b['block']}")
def test_a_published_block_is_printed_byte_for_byte(block: dict[str, Any]):
    expected = block["expected"].splitlines(keepends=True)
    printed = rendered(block)
    if block["relative_error"] == "before-2016-11":
        expected = [line for line in expected if "% +/- " not in line]
        printed = [line for line in printed if "% +/- " not in line]
    assert printed == expected
