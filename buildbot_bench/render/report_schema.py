"""`python -m buildbot_bench.render.report_schema`: print the JSON Schema of a report."""

import json
import sys

from buildbot_bench.core.json_model import schema_of
from buildbot_bench.core.report.model import Report


def schema() -> str:
    """The schema as buildbot_bench/report.schema.json holds it."""
    described = schema_of(Report, title="The report of a Buildbot Bench search")
    return json.dumps(described, indent=2, ensure_ascii=False) + "\n"


if __name__ == "__main__":
    sys.stdout.write(schema())
