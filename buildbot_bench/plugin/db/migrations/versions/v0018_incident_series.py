"""Let alarms of several series be one incident: the series that join the search of another."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0018"
down_revision = "0017"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Add the table; alarms of earlier releases keep the searches that each of them had."""
    op.create_table(
        "bench_incident_series",
        sa.Column("id", sa.Integer, primary_key=True),
        sa.Column("search_id", sa.Integer, nullable=False),
        sa.Column("testbed", sa.Text, nullable=False),
        sa.Column("workload", sa.Text, nullable=False),
        sa.Column("unit", sa.Text, nullable=False),
        sa.Column("old_sha", sa.String(40), nullable=False),
        sa.Column("old_position", sa.Integer, nullable=False),
        sa.Column("new_sha", sa.String(40), nullable=False),
        sa.Column("new_position", sa.Integer, nullable=False),
        sa.Column("claimed", sa.Double, nullable=False),
        sa.Column("judgement_id", sa.Integer),
        sa.Column("standing", sa.String(24), nullable=False),
        sa.Column("effect", sa.Double),
        sa.Column("low", sa.Double),
        sa.Column("high", sa.Double),
        sa.Column("reason", sa.Text, nullable=False),
        sa.Column("own_search_id", sa.Integer),
        sa.Column("created_at", sa.Double, nullable=False),
        sa.Column("ended_at", sa.Double),
        sa.Column("version", sa.Integer, nullable=False),
        sa.ForeignKeyConstraint(
            ["search_id"], ["bench_search.id"], name="bench_incident_series_search_id_fk"
        ),
        sa.ForeignKeyConstraint(
            ["judgement_id"], ["bench_judgement.id"], name="bench_incident_series_judgement_id_fk"
        ),
        sa.ForeignKeyConstraint(
            ["own_search_id"], ["bench_search.id"], name="bench_incident_series_own_search_id_fk"
        ),
        sa.UniqueConstraint(
            "search_id",
            "testbed",
            "workload",
            name="bench_incident_series_search_id_testbed_workload_key",
        ),
    )
    op.create_index("bench_incident_series_standing", "bench_incident_series", ["standing"])


def downgrade() -> None:
    """Refuse: what was measured is not thrown away."""
    raise NotImplementedError("restore a backup instead of going back")
