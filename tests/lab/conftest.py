"""Fixtures of the lab's tests."""

import gzip
import json

import pytest


@pytest.fixture(scope="module")
def archive(data):
    with gzip.open(data / "lab" / "receiver_logs.jsonl.gz", "rt") as file:
        return [json.loads(row) for row in file]
