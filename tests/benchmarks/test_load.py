"""What `make load` measures, on a farm with few commits: it runs, and asks few queries."""

import json
import sys

from tests.running import ran

# As many queries as an idle cycle asks on the farm of docs/contributing/load.md, and some to spare.
MOST_QUERIES = 70


def test_an_idle_cycle_of_a_hundred_series_asks_few_queries(tmp_path):
    command = [sys.executable, "-m", "benchmarks.load", str(tmp_path), "300", "2"]
    text = ran(command, check=True).stdout
    figures = json.loads(text.splitlines()[-1])
    assert figures["idle_queries"] <= MOST_QUERIES
    assert figures["first_ms"] > figures["idle_ms"] > 0
