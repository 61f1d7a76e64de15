"""Keep which way is better of a unit that a lab's own workload has, and how it repeats."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0026"
down_revision = "0025"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Add a table; of searches and series that are there, the unit alone tells it."""
    op.create_table(
        "bench_metric",
        sa.Column("id", sa.Integer, primary_key=True),
        sa.Column("testbed", sa.Text, nullable=False),
        sa.Column("workload", sa.Text, nullable=False),
        sa.Column("unit", sa.Text, nullable=False),
        sa.Column("name", sa.Text, nullable=False),
        sa.Column("higher_is_better", sa.Boolean, nullable=False),
        sa.Column("exact", sa.Boolean, nullable=False),
        sa.UniqueConstraint("testbed", "workload", "unit"),
    )
    for table in ("bench_search", "bench_incident_series"):
        op.add_column(table, sa.Column("higher_is_better", sa.Boolean))


def downgrade() -> None:
    """Refuse: what was measured is not thrown away."""
    raise NotImplementedError("restore a backup instead of going back")
