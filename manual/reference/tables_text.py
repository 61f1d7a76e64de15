"""The page of the tables, from their metadata: those that the plugin keeps beside Buildbot's."""

import sqlalchemy as sa

from buildbot_bench.plugin.db.schema import METADATA
from manual.reference.myst import code, plain, table

# What a row is. The names of columns are the fields of the classes in plugin/db/*rows.py.
_ROWS = {
    "bench_ab_test": "A comparison.",
    "bench_ab_test_image": "An image that a comparison boots.",
    "bench_ab_test_variant": "A variant of a comparison.",
    "bench_artefact": "A kernel archive that is kept, by its digest.",
    "bench_branch": "A watched branch, and where it parts from its trunk.",
    "bench_capture": "A capture of where a kernel spends its cycles.",
    "bench_change": "How often a table was changed. Triggers count.",
    "bench_commit": "A commit on the first-parent history of a branch.",
    "bench_dropped_commit": "A commit that a branch had before somebody moved it back.",
    "bench_image": "A build of a variant.",
    "bench_incident_series": "A series that an incident concerns.",
    "bench_iteration": "A boot and its blast: a value, or the reason why there is none.",
    "bench_judgement": "A verdict on a commit in a series.",
    "bench_lease": "A master that lives, or the master that runs the broker.",
    "bench_mark": "What a person said of a report or a verdict.",
    "bench_metric": "What a series measures, and in which unit.",
    "bench_notice": "A message to a site or to an operator.",
    "bench_patch": "A patch of a variant, by its SHA-256.",
    "bench_probe": "A request to boot an image some times on a testbed.",
    "bench_profile": "A request to sample an image.",
    "bench_quarantine": "A span in which a testbed was in quarantine.",
    "bench_read_files": "The source files that a build read.",
    "bench_report": "A mail that is sent once.",
    "bench_search": "A search, and what it found.",
    "bench_share": "What a person asked of a testbed lately.",
    "bench_value_names": "The names, units and directions of a run's many values, in order.",
    "bench_values": "All named values of an iteration, packed.",
}


def tables_text() -> str:
    """A section for each table, in the order of their names."""
    return "\n\n".join(
        part for name in sorted(METADATA.tables) for part in _table(METADATA.tables[name])
    )


def _table(one: sa.Table) -> tuple[str, ...]:
    rows = [
        (
            code(column.name),
            plain(str(column.type)),
            "" if column.nullable else "yes",
            _keys(column),
        )
        for column in one.columns
    ]
    head = ("Column", "Type", "Required", "Key")
    return (f"## {one.name}", plain(_ROWS.get(one.name, "")), table(head, rows))


def _keys(column: sa.Column[object]) -> str:
    if column.primary_key:
        return "primary"
    return ", ".join(code(key.target_fullname) for key in column.foreign_keys)
