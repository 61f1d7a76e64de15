"""`python -m buildbot_bench.workflow`: print the JSON Schema of bench.yml."""

import json
import sys

from buildbot_bench.workflow.model import Workflow


def schema() -> str:
    """The schema as buildbot_bench/bench.schema.json holds it, which editors read."""
    described = {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        **Workflow.model_json_schema(),
        "title": "bench.yml, the workflow of a Buildbot Bench farm",
    }
    return json.dumps(described, indent=2, ensure_ascii=False) + "\n"


if __name__ == "__main__":
    sys.stdout.write(schema())
